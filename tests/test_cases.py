import inspect
from typing import Any

import pytest

from tests.cases import VARIABLE, cases

ROWS = [(1, 1), (2, 3), (4, 4), (5, 6)]


def test_all_rows_run_and_those_that_fail_are_named() -> None:
    tried: list[int] = []

    @cases("a, b", ROWS)
    def table(a: int, b: int) -> None:
        tried.append(a)
        assert a == b

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail") as raised:
        table()  # pyright: ignore[reportCallIssue]
    assert tried == [1, 2, 4, 5]
    assert [each.__notes__ for each in raised.value.exceptions] == [
        [f"Row 1, alone with {VARIABLE}=1: a=2, b=3"],
        [f"Row 3, alone with {VARIABLE}=3: a=5, b=6"],
    ]
    assert str(raised.value.exceptions[0]).startswith("assert 2 == 3")


def test_a_label_is_reported_and_no_argument() -> None:
    @cases("_case, a", [("odd", 1), ("even", 2)])
    def table(a: int) -> None:
        assert a == 1

    with pytest.raises(AssertionError) as raised:
        table()  # pyright: ignore[reportCallIssue]
    assert raised.value.__notes__ == [f"Row 1, alone with {VARIABLE}=1: _case='even', a=2"]


async def test_the_rows_of_a_coroutine_are_awaited() -> None:
    @cases("a", [1, 2])
    async def table(a: int) -> None:
        assert a == 1

    with pytest.raises(AssertionError, match="assert 2 == 1"):
        await table()  # pyright: ignore[reportCallIssue]


@cases(("number", "text"), [(1, "one"), (2, "two")])
def test_fixtures_come_beside_the_row(request: pytest.FixtureRequest, number: int, text: str) -> None:
    assert {"number", "text"}.isdisjoint(request.fixturenames)
    assert {1: "one", 2: "two"}[number] == text


def test_each_row_meets_each_of_the_table_below() -> None:
    met: list[tuple[int, str, str]] = []

    @cases("number", [1, 2])
    @cases("text, fixed", [("a", "x"), ("b", "y")])
    def table(text: str, number: int, fixed: str, fixture: str = "") -> None:
        met.append((number, text, fixed))

    assert list(inspect.signature(table).parameters) == ["fixture"]
    table()  # pyright: ignore[reportCallIssue]
    assert met == [(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "y")]


def test_one_row_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    @cases("a, b", ROWS)
    def table(a: int, b: int) -> None:
        tried.append(a)

    monkeypatch.setenv(VARIABLE, "2")
    table()  # pyright: ignore[reportCallIssue]
    assert tried == [4]
    monkeypatch.setenv(VARIABLE, "4")
    with pytest.raises(IndexError):
        table()  # pyright: ignore[reportCallIssue]


def test_a_failure_that_is_no_exception_and_a_skip_count() -> None:
    @cases("end", [pytest.fail, pytest.skip])
    def table(end: Any) -> None:
        end("so")

    with pytest.raises(BaseExceptionGroup) as raised:
        table()  # pyright: ignore[reportCallIssue]
    assert [type(each) for each in raised.value.exceptions] == [pytest.fail.Exception, pytest.skip.Exception]


def test_a_timeout_ends_the_test() -> None:
    tried: list[int] = []

    @cases("number", [1, 2])
    def table(number: int) -> None:
        tried.append(number)
        pytest.fail("Timeout (>300.0s) from pytest-timeout.")

    with pytest.raises(pytest.fail.Exception):
        table()  # pyright: ignore[reportCallIssue]
    assert tried == [1]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError):
        cases("a", [])
