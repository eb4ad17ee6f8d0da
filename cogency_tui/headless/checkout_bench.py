"""`cogency-tui bench tokens` and `bench render`: what is measured against the loopback servers of the tests.

These are there in a checkout only.
"""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cogency_tui.errors import UsageError

_CHECKOUT = Path(__file__).parents[2]


def bench_in_checkout(name: str, options: Sequence[str]) -> int:
    """Run this benchmark of the tests with these options; the exit status.

    Raises:
        UsageError: this is no checkout, or it lacks what the tests need.
    """
    if not (_CHECKOUT / "tests" / "benchmarks" / f"{name}.py").is_file():
        raise UsageError(
            "The servers of this benchmark are part of the tests, which are not installed.",
            "Clone the repository, install it with `pip install -e '.[dev]'`, and run it there.",
        )
    sys.path.insert(0, str(_CHECKOUT))
    benchmark: Any = importlib.import_module(f"tests.benchmarks.{name}")
    return benchmark.main(list(options))
