"""Calls checked against the tools that there are: every mistake is named, with what was expected."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import pytest

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, Touch
from cogency_tui.tools.files import Read as FileRead
from cogency_tui.tools.registry import Registry, default_registry, default_tools
from tests.tools.conftest import Bench


def _refused(bench: Bench, name: str, args: Any) -> str:
    with pytest.raises(ToolError) as caught:
        bench.registry.bind(name, args, bench.context)
    caught.value.advice.encode()
    return caught.value.advice


def test_wrong_value_is_told_with_what_was_expected(bench: Bench) -> None:
    assert _refused(bench, "read", {"file": "a", "start": "x"}) == (
        'read: "start" must be an integer of at least 1, not "x". '
        "Arguments: file: str, [start: int = 1], [lines: int = 2000]"
    )


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("read", {}, '"file" is missing'),
        ("read", {"file": 1}, '"file" must be a string, not 1'),
        ("read", {"file": None}, '"file" must be a string, not null'),
        ("read", {"file": "a", "start": 0}, "an integer of at least 1, not 0"),
        ("read", {"file": "a", "start": True}, "an integer of at least 1, not true"),
        ("read", {"file": "a", "start": 1.5}, "an integer of at least 1, not 1.5"),
        ("read", {"file": "a", "strat": 3}, 'unknown argument "strat", did you mean "start"?'),
        ("read", {"file": "a", "zzz": 3}, 'unknown argument "zzz".'),
        ("shell", {"command": "x", "timeout": 601}, "an integer from 1 to 600, not 601"),
        ("shell", {"command": ""}, "a string that is not empty"),
        ("shell", {"command": "x", "cmd": "y"}, '"command" is given twice'),
        ("shell", {"command": "x", "forever": True}, 'unknown argument "forever"'),
        ("write", {"file": "a", "content": "x", "overwrite": "yes"}, 'must be true or false, not "yes"'),
        ("find", {"context": 21, "content": "x"}, "an integer from 0 to 20"),
        ("read", ["a"], 'the arguments must be an object, not ["a"]'),
        ("read", None, "the arguments must be an object, not null"),
        ("read", {"file": "a", "x\ud800\n": 1}, 'unknown argument "x\\ud800\\n"'),
        ("read", {"file": ["\ud800"]}, "not"),
    ],
)
def test_mistake_is_named(bench: Bench, name: str, args: Any, told: str) -> None:
    assert told in _refused(bench, name, args)


def test_every_mistake_of_a_call_is_named_at_once(bench: Bench) -> None:
    advice = _refused(bench, "read", {"fiel": "a", "lines": -1})
    assert 'did you mean "file"' in advice
    assert '"file" is missing' in advice
    assert '"lines" must be' in advice
    assert advice.count("Arguments:") == 1


@pytest.mark.parametrize("value", ["x" * 10_000, {"deep": ["x"] * 1000}])
def test_long_wrong_value_is_cut(bench: Bench, value: Any) -> None:
    assert len(_refused(bench, "read", {"file": "a", "start": value})) < 300


def test_unknown_tool_is_told_with_the_nearest_and_all(bench: Bench) -> None:
    advice = _refused(bench, "raed", {})
    assert "Did you mean read?" in advice
    assert "Tools: edit, fetch, find, list, read, replace, search, shell, write." in advice


@pytest.mark.parametrize(
    ("older", "name", "args"),
    [
        ("file_read", "read", {"file": "a"}),
        ("file_write", "write", {"file": "a", "content": ""}),
        ("file_edit", "edit", {"file": "a", "old": "x", "new": "y"}),
        ("file_list", "list", {}),
        ("file_search", "find", {"content": "x"}),
    ],
)
def test_older_name_is_accepted(bench: Bench, older: str, name: str, args: dict[str, Any]) -> None:
    assert bench.registry.bind(older, args, bench.context).name == name


def test_older_name_of_a_tool_that_is_not_there_is_unknown() -> None:
    with pytest.raises(ToolError, match="no tool"):
        Registry([FileRead()]).get("web_scrape")


def test_argument_alias_is_accepted(bench: Bench) -> None:
    call = bench.registry.bind("shell", {"cmd": "true"}, bench.context)
    assert msgspec.structs.asdict(call.args)["command"] == "true"


def test_path_that_cannot_be_used_is_refused_when_bound(bench: Bench) -> None:
    with pytest.raises(WorkspaceError, match="outside"):
        bench.registry.bind("read", {"file": "../x"}, bench.context)


def test_description_is_the_same_bytes_each_time() -> None:
    assert default_registry().describe() == default_registry().describe()


def test_description_names_every_tool_and_argument() -> None:
    text = default_registry().describe()
    for tool in default_tools():
        assert f"{tool.name}: {tool.description}" in text
        for field in msgspec.structs.fields(tool.args):
            assert f"- {field.encode_name}: " in text
    assert "- timeout: int 1 to 600, default 120 — seconds until it is stopped" in text
    assert "- start: int ≥ 1, default 1" in text
    assert "- pattern: str, optional — " in text
    assert len(text) < 5000


class PickArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of many types."""

    mode: Literal["fast", "slow"]
    ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    names: list[str] = []
    options: dict[str, int] = {}
    extra: Any = None
    count: Annotated[int, msgspec.Meta(le=5)] | None = None


class Pick:
    """A tool of somebody else."""

    name = "pick"
    description = "Picks."
    args = PickArgs
    aliases: Mapping[str, str] = NO_ALIASES

    async def plan(self, args: PickArgs, context: ToolContext) -> Intent:
        return Intent("read", "Pick")

    async def run(self, args: PickArgs, context: ToolContext) -> Outcome:
        return Outcome(args.mode)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"mode": "x"}, 'one of "fast", "slow", not "x"'),
        ({"mode": "fast", "ratio": 2}, "a number from 0 to 1, not 2"),
        ({"mode": "fast", "names": "x"}, 'a list, not "x"'),
        ({"mode": "fast", "names": ["x", 1]}, "at `$[1]`"),
        ({"mode": "fast", "options": []}, "an object, not []"),
        ({"mode": "fast", "count": 6}, "an integer of at most 5, not 6"),
    ],
)
async def test_tool_of_somebody_else_is_checked_and_run(
    bench: Bench, args: dict[str, Any], told: str
) -> None:
    bench.registry = Registry([*default_tools(), Pick()])
    assert told in _refused(bench, "pick", args)
    assert (await bench.run("pick", mode="fast", ratio=1, count=None)).outcome == "fast"
    assert 'mode: "fast" | "slow"' in _refused(bench, "pick", args)


def test_tool_that_touches_no_files_says_nothing(bench: Bench) -> None:
    bench.registry = Registry([Pick()])
    assert bench.registry.bind("pick", {"mode": "fast"}, bench.context).touch == Touch()


def test_later_tool_takes_the_place_of_an_earlier_one() -> None:
    class Read(Pick):
        name = "read"

    assert type(Registry([*default_tools(), Read()]).get("read")) is Read


CONFLICTS: list[tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]], bool]] = [
    (("read", {"file": "a"}), ("read", {"file": "a"}), False),
    (("read", {"file": "a"}), ("write", {"file": "./a", "content": ""}), True),
    (("read", {"file": "a"}), ("write", {"file": "b", "content": ""}), False),
    (("read", {"file": "link"}), ("write", {"file": "a", "content": ""}), True),
    (
        ("edit", {"file": "a", "old": "x", "new": "y"}),
        ("edit", {"file": "a", "old": "x", "new": "y"}),
        True,
    ),
    (("shell", {"command": "x"}), ("read", {"file": "a"}), True),
    (("shell", {"command": "x"}), ("shell", {"command": "y"}), True),
    (("find", {"content": "x"}), ("write", {"file": "a", "content": ""}), True),
    (("find", {"content": "x"}), ("list", {}), False),
    (("find", {"content": "x"}), ("read", {"file": "a"}), False),
    (("replace", {"pattern": "*", "old": "x", "new": "y"}), ("list", {}), True),
]


@pytest.mark.parametrize(("one", "other", "conflict"), CONFLICTS)
def test_calls_on_the_same_file_conflict_when_one_writes(
    bench: Bench, one: tuple[str, Any], other: tuple[str, Any], conflict: bool
) -> None:
    bench.put("a", "")
    (bench.root / "link").symlink_to("a")
    first, second = (bench.registry.bind(name, args, bench.context).touch for name, args in (one, other))
    assert first.conflicts(second) is conflict
    assert second.conflicts(first) is conflict
