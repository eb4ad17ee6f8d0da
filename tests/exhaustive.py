"""Which tests the quick run leaves out: the run of `pytest` alone, without files, folders or `-m`."""

from collections.abc import Collection
from typing import Any, cast

import pytest

_QUICK = "not exhaustive"

_expressions: list[str] = []


def select(config: pytest.Config) -> None:
    """Have a run that nothing was selected for be the quick one. Workers are told what the main process selects."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = _QUICK
    _expressions[:] = [config.option.markexpr]


def is_quick() -> bool:
    """True in a run that leaves out what is marked `exhaustive`."""
    return _expressions == [_QUICK]


def sampled(cases: Collection[Any], quick: int) -> list[Any]:
    """`cases` for `parametrize`: all but `quick` of them, spread evenly, are marked `exhaustive`."""
    step = max(len(cases) // quick, 1)
    return [
        case if number % step == 0 else pytest.param(*_values(case), marks=pytest.mark.exhaustive)
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", case) if isinstance(case, tuple) else (case,)
