"""Runs all rows of a table in one test: for rows that cost less than the fixtures and reports of a test."""

import inspect
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, TypeVar, cast

import pytest

Test = TypeVar("Test", bound=Callable[..., object])
Row = dict[str, Any]

VARIABLE = "TEST_CASE"
"""Environment variable: the number of the only row to run."""

_LONGEST = 500
"""Characters of a value that a failure shows."""


def cases(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Call the test with each row, as `pytest.mark.parametrize` does, and report all rows that fail.

    The rows share the fixtures: none may leave anything behind for the next. A name that begins with `_` is
    only reported. Above other `cases`, each row meets each of theirs. A row that skips fails, or it would hide
    the rows after it.
    """
    single = isinstance(names, str) and "," not in names
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    own: list[Row] = [dict(zip(keys, (row,) if single else row, strict=True)) for row in rows]
    if not own:
        raise ValueError("a table without rows proves nothing")

    def decorate(test: Test) -> Test:
        function, below = cast("tuple[Test, list[Row]]", vars(test).get("_cases", (test, [{}])))
        table = [{**row, **rest} for row in own for rest in below]

        make = _awaiting if inspect.iscoroutinefunction(function) else _calling
        run = update_wrapper(make(function, table), test)
        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in own[0]]
        vars(run).update(__signature__=signature.replace(parameters=fixtures), _cases=(function, table))
        return cast(Test, run)

    return decorate


def _calling(test: Callable[..., object], table: Sequence[Row]) -> Callable[..., object]:
    def run(**fixtures: Any) -> None:
        __tracebackhide__ = True
        failures = _Failures()
        for number, row in _chosen(table):
            with failures.of(number, row):
                test(**fixtures, **_arguments(row))
        failures.report(len(table))

    return run


def _awaiting(test: Callable[..., Any], table: Sequence[Row]) -> Callable[..., object]:
    async def run(**fixtures: Any) -> None:
        __tracebackhide__ = True
        failures = _Failures()
        for number, row in _chosen(table):
            with failures.of(number, row):
                await test(**fixtures, **_arguments(row))
        failures.report(len(table))

    return run


def _chosen(table: Sequence[Row]) -> Iterable[tuple[int, Row]]:
    number = os.environ.get(VARIABLE)
    return enumerate(table) if number is None else [(int(number), table[int(number)])]


def _arguments(row: Row) -> Row:
    return {name: value for name, value in row.items() if not name.startswith("_")}


class _Failures:
    def __init__(self) -> None:
        self._found: list[BaseException] = []

    @contextmanager
    def of(self, number: int, row: Row) -> Generator[None]:
        """Collect the failure of a row. A timeout ends the test: it is not set again for the next row."""
        __tracebackhide__ = True
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            values = ", ".join(f"{name}={_shortened(repr(value))}" for name, value in row.items())
            error.add_note(f"Row {number}, alone with {VARIABLE}={number}: {values}")
            if isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout"):
                raise
            self._found.append(error)

    def report(self, total: int) -> None:
        __tracebackhide__ = True
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise BaseExceptionGroup(f"{len(self._found)} of {total} rows fail", self._found)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
