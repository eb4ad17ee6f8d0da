"""Hooks of Claude Code's settings files: what of them is understood, and what is listed as not supported."""

import json
from typing import Any

import pytest

from cogency_tui.agent.hooks.claude_settings import SettingsError, command_lines, read_claude_hooks
from cogency_tui.agent.hooks.hook import Hook
from tests.cases import cases


def read(hooks: Any, **more: Any) -> list[Hook]:
    data = json.dumps({"hooks": hooks, **more}, indent=2).encode()
    return read_claude_hooks(data, "user", "settings.json")


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **more}


def test_a_hook_has_its_event_matcher_and_limit() -> None:
    (hook,) = read(
        {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [command("npx prettier", timeout=9)]}]}
    )
    assert (hook.name, hook.events, hook.claude_event) == ("prettier", ("after_call",), "PostToolUse")
    assert (hook.matcher, hook.timeout, hook.problem) == ("Edit|Write", 9, "")
    assert hook.words[1:] == ("-c", "npx prettier")
    assert hook.place == "settings.json, line 9"
    assert hook.command == "npx prettier"


@cases(
    ("matcher", "tool", "args", "fits"),
    [
        ("", "read", {}, True),
        ("*", "shell", {}, True),
        ("Edit", "edit", {}, True),
        ("Edit", "write", {}, False),
        ("edit", "edit", {}, False),
        ("Edit|Write", "write", {}, True),
        ("Edit, Write", "write", {}, True),
        ("Edit|MultiEdit|Write", "replace", {}, True),
        ("Bash", "shell", {}, True),
        ("^(Edit|Write)$", "edit", {}, True),
        ("Web.*", "fetch", {}, True),
        ("Grep", "find", {"content": "x"}, True),
        ("Grep", "find", {"pattern": "*.py"}, False),
        ("Glob", "find", {"pattern": "*.py"}, True),
        ("Task", "agent", {}, True),
        ("Agent", "agent", {}, True),
        ("mcp__files__.*", "files.read", {}, True),
        ("mcp__.*", "read", {}, False),
    ],
)
def test_a_matcher_means_tools_by_their_names_there(
    matcher: str, tool: str, args: dict[str, Any], fits: bool
) -> None:
    (hook,) = read({"PreToolUse": [{"matcher": matcher, "hooks": [command("x")]}]})
    assert hook.is_for(tool, args) is fits


@cases(
    ("hooks", "problem"),
    [
        ({"PreCompact": [{"hooks": [command("x")]}]}, "not supported: PreCompact"),
        ({"Notification": [{"matcher": "", "hooks": [command("x")]}]}, "not supported: Notification"),
        ({"SubagentStop": [{"hooks": [command("x")]}]}, "not supported: SubagentStop"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "Done?"}]}]}, 'not supported: type "prompt"'),
        ({"Stop": [{"hooks": [command("x", **{"async": True})]}]}, 'not supported: "async"'),
        ({"PreToolUse": [{"hooks": [command("x", **{"if": "Bash(git *)"})]}]}, 'not supported: "if"'),
        ({"PreToolUse": [{"matcher": "(", "hooks": [command("x")]}]}, "its matcher is no regular expression"),
    ],
)
def test_what_means_nothing_the_same_here_is_listed_and_never_runs(hooks: Any, problem: str) -> None:
    (hook,) = read(hooks)
    assert hook.problem.startswith(problem)
    assert not hook.can_run


def test_switched_off_hooks_are_listed() -> None:
    (hook,) = read({"Stop": [{"hooks": [command("x")]}]}, disableAllHooks=True)
    assert "disableAllHooks" in hook.problem


def test_a_command_with_arguments_is_run_without_a_shell() -> None:
    entry = command("${CLAUDE_PROJECT_DIR}/x.sh", args=["--in", "$CLAUDE_PROJECT_DIR", "a b; c"])
    (hook,) = read({"Stop": [{"hooks": [entry]}]})
    assert hook.words == ("{project}/x.sh", "--in", "{project}", "a b; c")


@cases(
    ("line", "name"),
    [
        ("uv run $CLAUDE_PROJECT_DIR/.claude/hooks/pre_tool_use.py", "pre_tool_use.py"),
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/check-style.sh', "check-style.sh"),
        ("jq -r '.tool_input.file_path' | xargs npx prettier --write", "prettier"),
        ("afplay /System/Library/Sounds/Glass.aiff", "afplay"),
        ("bash -c 'exit 0'", "exit"),
        ("\x1b[2J; $(touch x)", "2J"),
    ],
)
def test_a_hook_is_named_after_what_it_runs(line: str, name: str) -> None:
    (hook,) = read({"Stop": [{"hooks": [command(line)]}]})
    assert hook.name == name


def test_different_commands_have_different_names() -> None:
    entries = [command("make lint"), command("make test"), command("make lint")]
    names = [hook.name for hook in read({"Stop": [{"hooks": entries}]})]
    assert names == ["make", "make-2", "make"]


def test_hooks_of_one_script_are_named_by_their_events() -> None:
    entries = {
        "PreToolUse": [{"hooks": [command("python3 h.py pre"), command("python3 h.py guard")]}],
        "Stop": [{"hooks": [command("python3 h.py pre"), command("make")]}],
    }
    assert [hook.name for hook in read(entries)] == [
        "h.py (PreToolUse)",
        "h.py (PreToolUse 2)",
        "h.py (Stop)",
        "make",
    ]


@cases(
    ("text", "told"),
    [
        ("{", "line 1: it is no JSON"),
        ('{\n"hooks": {,}}', "line 2: it is no JSON"),
        ("[1]", "it must be an object"),
        ('{"a": 1,\n"hooks": [1]}', 'line 2: "hooks" must be an object'),
        ('{"hooks": {\n"Stop": {}}}', "line 2: hooks.Stop must be a list"),
        ('{"hooks": {\n\n"Stop": ["x"]}}', "line 3: hooks.Stop[0] must be an object"),
        ('{"hooks": {\n"Stop": [{"matcher": 3}]}}', "line 2: hooks.Stop[0].matcher must be text"),
        ('{"hooks": {\n"Stop": [{"hooks": 3}]}}', "line 2: hooks.Stop[0].hooks must be a list"),
        (
            '{"hooks": {\n"Stop": [{"hooks": [{"type": "command"}]}]}}',
            "line 2: hooks.Stop[0].hooks[0].command must be the text of a command",
        ),
        (
            '{"hooks": {\n"Stop": [{"hooks": [{"type": 1, "command": "x"}]}]}}',
            "line 2: hooks.Stop[0].hooks[0].type must be text",
        ),
        (
            '{"hooks": {\n"Stop": [{"hooks": [{"command": "x", "timeout": "9"}]}]}}',
            "line 2: hooks.Stop[0].hooks[0].timeout must be a number of seconds",
        ),
        (
            '{"hooks": {\n"Stop": [{"hooks": [{"command": "x", "timeout": true}]}]}}',
            "timeout must be a number of seconds",
        ),
        ('{"hooks": {\n"Stop": [{"hooks": [{"command": "x\\u0000"}]}]}}', "must be the text of a command"),
        ("[" * 100_000, "it is no JSON"),
        ('{"hooks": ' + " " * (256 << 10) + "{}}", "it has more than 256 KB"),
        ("\udcff", "it is not UTF-8 (at byte 0)"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_line(text: str, told: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    with pytest.raises(SettingsError) as raised:
        read_claude_hooks(data, "user", "settings.json")
    assert told in str(raised.value)
    assert command_lines(data) == []


@cases(
    ("line", "name"),
    [
        ("jq -r .tool_input.file_path", "jq"),
        ("jq -r '.tool_input.file_path' | xargs prettier --write", "prettier"),
        ("python3 .claude/hooks/check.py", "check.py"),
    ],
)
def test_a_filter_is_no_name(line: str, name: str) -> None:
    (hook,) = read({"PostToolUse": [{"hooks": [command(line)]}]})
    assert hook.name == name


def test_an_event_that_does_not_exist_is_unknown() -> None:
    (hook,) = read({"PostTooluse": [{"hooks": [command("x")]}]})
    assert hook.problem == "unknown event: PostTooluse"
