"""Calls checked against the tools that there are: every mistake is named, with what was expected."""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.tools import argument_schema
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, ToolKind, Touch
from cogency_tui.tools.files import Read as FileRead
from cogency_tui.tools.registry import Registry, default_tools, own_arguments, own_tool
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.processes_tool import Processes
from cogency_tui.tools.shell.shell_tool import ShellArgs
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases
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


@cases(
    ("name", "args", "told"),
    [
        ("read", {}, '"file" is missing'),
        ("read", {"file": True}, '"file" must be a string, not true'),
        ("read", {"file": 1.5}, '"file" must be a string, not 1.5'),
        ("read", {"file": 10**18}, '"file" must be a string, not 1000000000000000000'),
        ("read", {"file": None}, '"file" must be a string, not null'),
        ("read", {"file": "a", "start": 0}, "an integer of at least 1, not 0"),
        ("read", {"file": "a", "start": True}, "an integer of at least 1, not true"),
        ("shell", {"command": "x", "background": 2}, '"background" must be true or false, not 2'),
        ("read", {"file": "a", "start": 1.5}, "an integer of at least 1, not 1.5"),
        ("read", {"file": "a", "strat": 3}, 'unknown argument "strat" (did you mean "start"?). Arguments'),
        ("read", {"file": "a", "zzz": 3}, 'unknown argument "zzz".'),
        ("shell", {"command": "x", "timeout": 601}, "an integer from 1 to 600, in seconds, not 601"),
        ("shell", {"command": ""}, "a string that is not empty"),
        ("shell", {"command": "x", "cmd": "y"}, '"command" and "cmd" both mean "command"'),
        ("read", {"path": "a", "filename": "a"}, '"path" and "filename" both mean "file"'),
        ("read", {"path": [1]}, '"file" (given as "path") must be a string, not [1]'),
        ("read", {"file": "a", "start": "1.5"}, 'an integer of at least 1, not "1.5"'),
        ("read", {"file": "a", "start": "0"}, "an integer of at least 1, not 0"),
        (
            "read",
            {"file": "a", "end_line": 0},
            'unknown argument "end_line" (use lines for the number of lines)',
        ),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "use edit for a single file"),
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


@pytest.mark.parametrize("called", ["Read", "READ", "re_ad"])
def test_our_own_name_in_another_case_is_no_other_name(bench: Bench, called: str) -> None:
    assert _refused(bench, called, {"x": 1}).startswith('read: unknown argument "x"; "file" is missing')


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
    assert "Tools: ask, edit, fetch, find, list, plan, read, replace, search, shell, write." in advice


EDIT = {"file": "a", "old": "x", "new": "y"}
NAMES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # Names of the older protocol.
    ("file_read", {"file": "a"}, "read", {"file": "a"}),
    ("file_write", {"file": "a", "content": ""}, "write", {"file": "a", "content": ""}),
    ("file_edit", EDIT, "edit", EDIT),
    ("file_list", {}, "list", {}),
    ("file_search", {"content": "x", "pattern": "*.py"}, "find", {"content": "x", "pattern": "*.py"}),
    ("web_search", {"query": "x"}, "search", {"query": "x"}),
    ("web_scrape", {"url": "https://a.example"}, "fetch", {"url": "https://a.example"}),
    ("scrape", {"url": "https://a.example"}, "fetch", {"url": "https://a.example"}),
    # Names of other agents, with their arguments.
    ("Bash", {"command": "ls", "description": "Lists."}, "shell", {"command": "ls"}),
    ("bash", {"cmd": "ls", "run_in_background": "true"}, "shell", {"command": "ls", "background": True}),
    ("bash", {"command": "ls", "background": 1}, "shell", {"command": "ls", "background": True}),
    ("execute_command", {"command": "ls", "requires_approval": False}, "shell", {"command": "ls"}),
    ("run_command", {"command": "ls", "timeout": "9"}, "shell", {"command": "ls", "timeout": 9}),
    ("run_shell_command", {"command": "ls", "directory": "src"}, "shell", {"command": "ls", "cwd": "src"}),
    ("execute_command", {"command": "ls"}, "shell", {"command": "ls"}),
    ("run_terminal_cmd", {"command": "ls", "is_background": False}, "shell", {"command": "ls"}),
    ("bash", {"command": "ls", "restart": False}, "shell", {"command": "ls"}),
    ("bash", {"command": "ls", "timeout": 5000}, "shell", {"command": "ls", "timeout": 5}),
    ("bash", {"command": "ls", "timeout": "120500"}, "shell", {"command": "ls", "timeout": 121}),
    ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "shell", {"command": "ls | wc"}),
    ("shell", {"command": ["/bin/sh", "-c", "ls"]}, "shell", {"command": "ls"}),
    ("shell", {"command": '["bash", "-lc", "ls | wc"]'}, "shell", {"command": "ls | wc"}),
    ("shell", {"command": '["cat", "a b"]'}, "shell", {"command": "cat 'a b'"}),
    ("shell", {"command": "[ -f a ]"}, "shell", {"command": "[ -f a ]"}),
    ("shell", {"command": "ls", "timeout_ms": 10000.0}, "shell", {"command": "ls", "timeout": 10}),
    ("shell", {"command": "ls", "timeout_ms": "1500"}, "shell", {"command": "ls", "timeout": 2}),
    ("run_shell_command", {"command": "ls", "dir_path": "src"}, "shell", {"command": "ls", "cwd": "src"}),
    ("container.exec", {"cmd": ["cat", "a b", "$x"]}, "shell", {"command": "cat 'a b' '$x'"}),
    (
        "shell",
        {"command": "ls", "justification": "why", "with_escalated_permissions": True},
        "shell",
        {"command": "ls"},
    ),
    ("Read", {"file_path": "a", "offset": 3, "limit": 4}, "read", {"file": "a", "start": 3, "lines": 4}),
    ("cat", {"filename": "a"}, "read", {"file": "a"}),
    ("read_file", {"path": "a", "start_line": "3"}, "read", {"file": "a", "start": 3}),
    ("readFile", {"filepath": "a"}, "read", {"file": "a"}),
    ("view", {"path": "a", "view_range": None}, "read", {"file": "a"}),
    (
        "Grep",
        {"pattern": "f.x", "path": "src", "include": "*.py", "-n": True, "output_mode": "content"},
        "find",
        {"content": "f.x", "path": "src", "pattern": "*.py"},
    ),
    ("grep", {"query": "x", "glob": "*.py", "-i": False}, "find", {"content": "x", "pattern": "*.py"}),
    ("grep", {"regex": "x", "-C": 2}, "find", {"content": "x", "context": 2}),
    ("search_file_content", {"pattern": "x"}, "find", {"content": "x"}),
    ("search_files", {"regex": "x", "file_pattern": "*.py"}, "find", {"content": "x", "pattern": "*.py"}),
    ("search_files", {"pattern": "*.py", "path": "src"}, "find", {"pattern": "*.py", "path": "src"}),
    ("Glob", {"pattern": "**/*.py", "path": "src"}, "find", {"pattern": "**/*.py", "path": "src"}),
    ("glob", {"pattern": "*.py"}, "find", {"pattern": "*.py"}),
    ("str_replace", {"path": "a", "old_str": "x", "new_str": "y"}, "edit", EDIT),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
        "edit",
        EDIT,
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
        "edit",
        EDIT,
    ),
    (
        "Edit",
        {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": "False"},
        "edit",
        {**EDIT, "all": False},
    ),
    ("edit_file", {"path": "a", "old_text": "x", "new_text": "y"}, "edit", EDIT),
    ("Write", {"file_path": "a", "content": "x"}, "write", {"file": "a", "content": "x"}),
    ("write_file", {"path": "a", "contents": "x"}, "write", {"file": "a", "content": "x"}),
    ("create_file", {"path": "a", "file_text": "x"}, "write", {"file": "a", "content": "x"}),
    ("LS", {"path": "src"}, "list", {"path": "src"}),
    ("ls", {}, "list", {}),
    ("list_dir", {"target_directory": "src"}, "list", {"path": "src"}),
    ("list_directory", {"dir_path": "src"}, "list", {"path": "src"}),
    ("list_files", {"path": "src", "recursive": False}, "list", {"path": "src"}),
    ("WebFetch", {"url": "https://a.example", "prompt": "x"}, "fetch", {"url": "https://a.example"}),
    ("web_fetch", {"url": "https://a.example"}, "fetch", {"url": "https://a.example"}),
    ("WebSearch", {"query": "x", "max_results": "3"}, "search", {"query": "x", "limit": 3}),
    # Our own names, with the arguments of others.
    ("read", {"path": "a", "description": "Reads."}, "read", {"file": "a"}),
    ("edit", {"file": "a", "old_string": "x", "new_string": "y"}, "edit", EDIT),
    ("find", {"content": 404}, "find", {"content": "404"}),
    ("read", {"file": 1}, "read", {"file": "1"}),
    ("find", {"pattern": "*.py", "explanation": "x"}, "find", {"pattern": "*.py"}),
]


@cases(("called", "written", "name", "args"), NAMES)
def test_name_and_spellings_of_other_agents_are_understood(
    bench: Bench, called: str, written: dict[str, Any], name: str, args: dict[str, Any]
) -> None:
    call = bench.registry.bind(called, written, bench.context)
    assert call.name == bench.registry.own_name(called) == own_tool(called) == name
    assert call.args == msgspec.convert(args, call.tool.args)
    shown = own_arguments(called, name, written)
    assert argument_schema.convert(name, {key: shown[key] for key in args}, call.tool.args) == call.args


def test_names_for_background_commands_say_what_to_do() -> None:
    registry = Registry(default_tools(Background()))
    context = ToolContext(Workspace(Path.cwd()))
    for called, id, action in (
        ("BashOutput", "bash_id", "read"),
        ("KillShell", "shell_id", "stop"),
        ("KillBash", "shell_id", "stop"),
    ):
        call = registry.bind(called, {id: "p1"}, context)
        assert msgspec.structs.asdict(call.args) == {
            "id": "p1",
            "action": action,
            "pattern": "",
            "seconds": 120,
        }


@cases(
    ("called", "args", "told"),
    [
        ("bash", {}, 'bash is shell here: "command" is missing'),
        ("Read", {"file_path": "a", "x": 1}, 'unknown argument "x"'),
        ("cat", {"file_path": "a", "x": 1}, 'cat is read here: unknown argument "x"'),
        ("grep", {"pattern": "x", "query": "y"}, '"pattern" and "query" both mean "content"'),
        ("grep", {"pattern": "x", "-i": True}, 'unknown argument "-i" (begin content with (?i))'),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "a"},
            'unknown argument "command" (view is read here, create is write',
        ),
        ("MultiEdit", {}, "MultiEdit is edit here, one call for each change."),
        ("apply_patch", {}, "apply_patch is edit here"),
        ("NotebookEdit", {}, "NotebookEdit is edit here"),
        ("TodoWrite", {}, 'TodoWrite is plan here: "steps" is missing'),
        ("TodoRead", {}, "what you last wrote with plan"),
        ("codebase_search", {}, "Use find"),
        ("TaskCreate", {}, "Use plan: each call gives the whole list of steps."),
        ("TaskUpdate", {}, "Use plan: each call gives the whole list of steps."),
        ("TaskList", {}, "what you last wrote with plan"),
        ("Sleep", {}, "Sleep is shell here, with sleep."),
        (
            "Skill",
            {},
            "There is no tool \"Skill\". No skill can be used here (a project's need the user's trust): do the task yourself. Tools: ask",
        ),
        ("use_skill", {}, "No skill can be used here"),
        ("exec_command", {"cmd": "ls", "x": 1}, 'exec_command is shell here: unknown argument "x"'),
        ("request_user_input", {}, 'ask: "questions" is missing'),
        (
            "Task",
            {},
            'There is no tool "Task". There are no sub-agents here: do the task yourself. Tools: ask',
        ),
        ("BashOutput", {}, 'There is no tool "BashOutput". Tools: ask, edit'),
    ],
)
def test_name_of_another_agent_that_cannot_be_taken_is_told(
    bench: Bench, called: str, args: dict[str, Any], told: str
) -> None:
    assert told in _refused(bench, called, args)


def test_older_name_of_a_tool_that_is_not_there_is_unknown() -> None:
    with pytest.raises(ToolError, match="no tool"):
        Registry([FileRead()]).get("web_scrape")


def test_path_that_cannot_be_used_is_refused_when_bound(bench: Bench) -> None:
    with pytest.raises(WorkspaceError, match="outside"):
        bench.registry.bind("read", {"file": "../x"}, bench.context)


def test_description_is_the_same_bytes_each_time() -> None:
    assert Registry(default_tools()).describe() == Registry(default_tools()).describe()


def test_description_names_every_tool_and_argument() -> None:
    text = Registry(default_tools()).describe()
    for tool in default_tools():
        assert f"{tool.name}: {tool.description}" in text
        for field in msgspec.structs.fields(tool.args):
            assert f"- {field.encode_name}: " in text
    assert (
        "- timeout: int 1 to 600, default 120 — seconds until it is stopped; not used in the background"
        in text
    )
    assert "- start: int ≥ 1, default 1" in text
    assert "- pattern: str, optional — " in text
    assert len(text) < 5000


def test_tools_of_one_line_stand_below_how_to_read_them() -> None:
    text = Registry(default_tools(Background())).describe()
    assert "\n\nIn short, as name(arguments):\nprocesses([id: str" in text
    assert "In short" not in Registry(default_tools()).describe()


class PickArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of many types."""

    mode: Literal["fast", "slow"]
    ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    names: list[str] = []
    options: dict[str, int] = {}
    extra: Any = None
    count: Annotated[int, msgspec.Meta(le=5)] | None = None


class Place(msgspec.Struct):
    """Where, with more inside."""

    file: str
    start: int = 1
    deeper: list["Place"] = []


class NestedArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments that hold others."""

    places: list[Place]
    sizes: dict[str, list[int]] = {}
    either: int | str = 1
    anything: dict[str, Any] = {}
    description: str = ""
    factor: float = 1.0


def test_what_arguments_hold_is_described_with_its_fields() -> None:
    inner = "{file: str, [start: int = 1], [deeper: list]}"
    place = f"{{file: str, [start: int = 1], [deeper: list of {inner}]}}"
    assert argument_schema.described(NestedArgs).startswith(f"- places: list of {place}\n")
    assert argument_schema.usage(NestedArgs) == (
        f"places: list of {place}, [sizes: object of list of int], [either: int or str = 1], "
        '[anything: object], [description: str = ""], [factor: float = 1.0]'
    )


class Change(msgspec.Struct, tag="change"):
    """A change of a file."""

    old: Annotated[str, msgspec.Meta(description="exact text from the file")]
    new: str = ""
    at: list[Place] = []


class Removal(msgspec.Struct, tag="removal"):
    line: Annotated[int, msgspec.Meta(ge=1, description="counted from 1")]
    lines: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1


class EditArgs(msgspec.Struct):
    """Arguments whose parts have meanings of their own."""

    edits: Annotated[list[Change | Removal], msgspec.Meta(description="in order")]
    span: tuple[int, int] = (1, 2)


def test_meanings_of_the_fields_of_nested_structs_are_below_their_argument() -> None:
    assert argument_schema.described(EditArgs).splitlines() == [
        '- edits: list of {type: "change", old: str, [new: str = ""], [at: list of {file: str, [start: int = 1], [deeper: list]}]} or '
        '{type: "removal", line: int, [lines: int = 1]} — in order',
        "  - old — exact text from the file",
        "  - line: ≥ 1 — counted from 1",
        "  - lines: 1 to 9",
        "- span: [int, int], default [1, 2]",
    ]


def test_struct_that_is_too_large_for_a_schema_is_described_in_a_line_each() -> None:
    wide = msgspec.defstruct("Wide", [(f"a{number}", Place) for number in range(2_000)])
    lines = argument_schema.described(wide).splitlines()
    assert lines[0].startswith("- a0: {file: str")
    assert len(lines) == 2_000
    schema = argument_schema.json_schema(wide)
    assert schema.keys() == {"type", "description", "properties"}
    assert schema["description"].endswith(f"Arguments:\n{argument_schema.described(wide)}")


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"either": "1"}, {"either": "1"}),
        ({"description": "x"}, {"description": "x"}),
        ({"factor": "-2.5e1"}, {"factor": -25.0}),
    ],
)
def test_only_what_wants_no_string_is_taken_from_one(given: dict[str, Any], taken: dict[str, Any]) -> None:
    args = argument_schema.convert("x", {"places": [], **given}, NestedArgs)
    assert msgspec.structs.asdict(args).items() >= taken.items()


class Pick:
    """A tool of somebody else."""

    name = "pick"
    description = "Picks."
    args = PickArgs
    kind: ToolKind = "other"
    aliases = NO_ALIASES

    async def plan(self, args: PickArgs, context: ToolContext) -> Intent:
        return Intent("read", "Pick")

    async def run(self, args: PickArgs, context: ToolContext) -> Outcome:
        return Outcome(args.mode)


@cases(
    ("args", "told"),
    [
        ({"mode": "x"}, 'one of "fast", "slow", not "x"'),
        ({"mode": "fast", "ratio": 2}, "a number from 0 to 1, not 2"),
        ({"mode": "fast", "names": "x"}, 'a list, not "x"'),
        ({"mode": "fast", "names": ["x", 1]}, "pick: names[1]: expected a string, got an integer"),
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


@pytest.mark.parametrize("called", ["bash", "Bash"])
def test_tool_of_the_user_goes_before_a_name_of_another_agent(called: str) -> None:
    class Bash(Pick):
        name = "bash"

    assert type(Registry([*default_tools(), Bash()]).get(called)) is Bash


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


def test_command_of_codex_is_one_of_shell(bench: Bench) -> None:
    args = {"cmd": "ls", "workdir": ".", "yield_time_ms": 1000, "max_output_tokens": 500}
    call = bench.registry.bind("exec_command", args, bench.context)
    assert isinstance(call.args, ShellArgs)
    assert (call.args.command, call.args.cwd) == ("ls", ".")


def test_monitor_of_another_agent_is_a_watch() -> None:
    with pytest.raises(ToolError, match="then processes with action watch and a pattern"):
        Registry([Processes(Background())]).get("Monitor")
