"""A typed async function as a tool."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from cogency_tui.errors import ToolError, UsageError
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.function import as_tool, reads
from cogency_tui.tools.registry import Registry
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


async def forecast(city: str, days: Annotated[int, Meta(ge=1, description="how many")] = 3) -> dict[str, Any]:
    """Say what the weather will be."""
    return {"city": city, "days": days}


@reads
async def greeting() -> str:
    """Say hello."""
    return "hello"


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(Workspace(tmp_path))


async def test_a_function_is_called_with_the_arguments(context: ToolContext) -> None:
    bound = Registry([as_tool(forecast)]).bind("forecast", {"city": "Bonn"}, context)
    outcome = await bound.run()
    assert outcome.content == {"city": "Bonn", "days": 3}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, '"city" is missing'),
        ({"city": [1]}, '"city" must be a string'),
        ({"city": "a", "days": 0}, "at least 1"),
    ],
)
def test_wrong_arguments_are_named(context: ToolContext, args: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        Registry([as_tool(forecast)]).bind("forecast", args, context)


def test_its_docstring_and_types_are_what_the_model_reads() -> None:
    described = Registry([as_tool(forecast)]).describe()
    assert "forecast: Say what the weather will be." in described
    assert "- days: int ≥ 1, default 3 — how many" in described


async def test_it_is_asked_for_unless_it_only_reads(context: ToolContext) -> None:
    registry = Registry([as_tool(forecast), as_tool(greeting)])
    assert (await registry.bind("forecast", {"city": "Bonn"}, context).plan()).effect == "command"
    assert (await registry.bind("greeting", {}, context).plan()).effect == "read"


def test_a_tool_is_itself() -> None:
    made = as_tool(forecast)
    assert as_tool(made) is made


async def untyped(city: str) -> None:
    """Lacks a type."""


del untyped.__annotations__["city"]


async def undocumented(city: str) -> None: ...


def synchronous(city: str) -> None:
    """Is not async."""


async def variadic(*cities: str) -> None:
    """Takes any number."""


async def unencodable(where: Path = Path()) -> None:
    """Has a default that is not JSON."""


async def ambiguous(value: str | bytes) -> None:
    """Has alternatives that JSON does not tell apart."""


@cases("function", [untyped, undocumented, synchronous, variadic, unencodable, ambiguous])
def test_a_function_that_says_too_little_is_refused(function: Any) -> None:
    with pytest.raises(UsageError, match=function.__name__):
        as_tool(function)
