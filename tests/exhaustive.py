"""Which cases of many the quick run tries; `.ci/run` tries them all."""

from collections.abc import Collection
from typing import Any, cast

import pytest

_expressions: list[str] = []


def note_run(config: pytest.Config) -> None:
    """Note which tests this run selects."""
    _expressions[:] = [str(config.getoption("markexpr"))]


def is_quick() -> bool:
    """True in a run that leaves out what is marked `exhaustive`."""
    return _expressions == ["not exhaustive"]


def sampled(cases: Collection[Any], quick: int) -> list[Any]:
    """`cases` for `parametrize`: all but `quick` of them, spread evenly, are marked `exhaustive`."""
    step = max(len(cases) // quick, 1)
    return [
        case if number % step == 0 else pytest.param(*_values(case), marks=pytest.mark.exhaustive)
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", case) if isinstance(case, tuple) else (case,)
