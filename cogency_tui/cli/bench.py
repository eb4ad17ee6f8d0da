"""`cogency-tui bench`: the benchmarks of a checkout, which are not in the package."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cogency_tui.errors import UsageError

_CHECKOUT = Path(__file__).parents[2]


def run_benchmark(name: str, arguments: Sequence[str]) -> int:
    """Run `tests/benchmarks/NAME.py` with these arguments; the exit status.

    Raises:
        UsageError: this is no checkout, or it lacks what the tests need.
    """
    if not (_CHECKOUT / "tests" / "benchmarks" / f"{name}.py").is_file():
        raise UsageError(
            "Benchmarks are part of the tests, which are not installed.",
            "Clone the repository, install it with `pip install -e '.[dev]'`, and run them there.",
        )
    sys.path.insert(0, str(_CHECKOUT))
    benchmark: Any = importlib.import_module(f"tests.benchmarks.{name}")
    return benchmark.main(list(arguments))
