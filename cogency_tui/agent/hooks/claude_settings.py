"""The hooks in the settings files of Claude Code (`settings.json`), where they mean the same here.

Invariant: a hook whose event, type or condition has no same meaning here never runs; it is listed with the
reason. A file with any value of the wrong type has no hooks at all.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from cogency_tui.agent.hooks.hook import Hook, Owner
from cogency_tui.config.hooks import HookEvent
from cogency_tui.tools.shell.command_execution import shell_path

LARGEST = 256 << 10
"""Bytes of a file."""

EVENTS: Mapping[str, HookEvent] = {
    "PreToolUse": "before_call",
    "PostToolUse": "after_call",
    "PostToolUseFailure": "after_call",
    "UserPromptSubmit": "before_message",
    "Stop": "after_turn",
    "SessionStart": "before_session",
    "SessionEnd": "after_session",
}

_OTHER_EVENTS = frozenset(
    ("Notification", "PermissionRequest", "PreCompact", "PostCompact", "Setup", "StopFailure")
    + ("SubagentStart", "SubagentStop", "TaskCompleted", "TaskCreated", "TeammateIdle", "ConfigChange")
    + ("CwdChanged", "FileChanged", "InstructionsLoaded", "WorktreeCreate", "WorktreeRemove")
    + ("Elicitation", "ElicitationResult", "PermissionDenied")
)

_PROJECT = re.compile(r"\$\{CLAUDE_PROJECT_DIR\}|\$CLAUDE_PROJECT_DIR\b")
_TIMEOUT = 600.0
_LONGEST_TIMEOUT = 3600.0
_LONGEST_MATCHER = 500
_LONGEST_EVENT = 24
_MOST = 200
"""Hooks of a file."""

_UNSUPPORTED_KEYS = ("if", "async", "asyncRewake", "once", "shell")
_PREFIXES = frozenset(
    ("bash", "bun", "deno", "env", "exec", "jq", "node", "npx", "perl", "python", "python3", "ruby", "run")
    + ("sh", "sudo", "uv", "uvx", "xargs", "zsh")
)
"""Words of a command that do not name what it does."""


class SettingsError(ValueError):
    """A file that cannot be used; the message has the reason, with the line."""


def read_claude_hooks(data: bytes, owner: Owner, place: str) -> list[Hook]:
    """The hooks of a file at `place`, those that cannot run included.

    Raises:
        SettingsError: it is no JSON, or a value has the wrong type.
    """
    text, table = _parse(data)
    hooks = table.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsError(f'{_line(text, "hooks")}"hooks" must be an object')
    found: list[Hook] = []
    off = (
        "hooks are switched off in this file (disableAllHooks)"
        if table.get("disableAllHooks") is True
        else ""
    )
    for event, groups in cast("dict[str, Any]", hooks).items():
        for path, group in _items(groups, f"hooks.{event}", event, text):
            matcher = group.get("matcher", "")
            if not isinstance(matcher, str):
                raise SettingsError(f"{_line(text, event)}{path}.matcher must be text")
            for inner, entry in _items(group.get("hooks", []), f"{path}.hooks", event, text):
                if len(found) == _MOST:
                    raise SettingsError(f"it has more than {_MOST} hooks")
                made = _hook(event, matcher, entry, inner, text, owner, place)
                found.append(_with_problem(made, off) if off else made)
    return _named_apart(found)


def command_lines(data: bytes, *, running: bool = False) -> list[str]:
    """The command lines of all hooks in a file, or of those that would run, as far as it can be read: it is
    not trusted yet."""
    try:
        hooks = read_claude_hooks(data, "project", "")
    except SettingsError:
        return []
    return [hook.line for hook in hooks if hook.words and (hook.can_run or not running)]


def _parse(data: bytes) -> tuple[str, dict[str, Any]]:
    if len(data) > LARGEST:
        raise SettingsError(f"it has more than {LARGEST >> 10} KB")
    try:
        text = data.decode("utf-8-sig")
        table: Any = json.loads(text)
    except UnicodeDecodeError as exc:
        raise SettingsError(f"it is not UTF-8 (at byte {exc.start})") from exc
    except json.JSONDecodeError as exc:
        raise SettingsError(f"line {exc.lineno}: it is no JSON: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"it is no JSON: {exc}") from exc
    if not isinstance(table, dict):
        raise SettingsError("it must be an object")
    return text, cast("dict[str, Any]", table)


def _items(value: Any, path: str, event: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its path."""
    if not isinstance(value, list):
        raise SettingsError(f"{_line(text, event)}{path} must be a list")
    for number, item in enumerate(cast("list[Any]", value)):
        if not isinstance(item, dict):
            raise SettingsError(f"{_line(text, event)}{path}[{number}] must be an object")
        yield f"{path}[{number}]", cast("dict[str, Any]", item)


def _hook(
    event: str, matcher: str, entry: Mapping[str, Any], path: str, text: str, owner: Owner, place: str
) -> Hook:
    kind = entry.get("type", "command")
    command, args, timeout = entry.get("command", ""), entry.get("args"), entry.get("timeout", _TIMEOUT)
    where = _line(text, event)
    if not isinstance(kind, str):
        raise SettingsError(f"{where}{path}.type must be text")
    if kind == "command" and (not isinstance(command, str) or not command.strip() or "\0" in command):
        raise SettingsError(f"{where}{path}.command must be the text of a command")
    if args is not None and not _are_words(args):
        raise SettingsError(f"{where}{path}.args must be a list of texts")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise SettingsError(f"{where}{path}.timeout must be a number of seconds")
    # A shell sets the variable by itself.
    words = [shell_path(), "-c", command] if args is None else [_filled(word) for word in (command, *args)]
    line = _line_of_value(text, str(command)) or _number(text, event)
    hook = Hook(
        name=_name_of(str(command)) or kind,
        events=(EVENTS[event],) if event in EVENTS else (),
        words=tuple(words) if kind == "command" else (),
        owner=owner,
        place=f"{place}, line {line}" if line else place,
        timeout=min(float(timeout), _LONGEST_TIMEOUT),
        claude_event=event,
        matcher=matcher,
    )
    return _with_problem(hook, _unsupported(event, matcher, kind, entry))


def _filled(word: str) -> str:
    """A word of a command that no shell reads, with what stands here for the project."""
    return _PROJECT.sub("{project}", word)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) and "\0" not in each for each in cast("list[Any]", value)
    )


def _unsupported(event: str, matcher: str, kind: str, entry: Mapping[str, Any]) -> str:
    """Why a hook has no same meaning here; empty if it has."""
    if event not in EVENTS:
        return f"not supported: {event}" if event in _OTHER_EVENTS else f"unknown event: {event}"
    if kind != "command":
        return f'not supported: type "{kind}"'
    if key := next((key for key in _UNSUPPORTED_KEYS if entry.get(key) not in (None, False, "")), ""):
        return f'not supported: "{key}"'
    try:
        if len(matcher) > _LONGEST_MATCHER:
            return f"its matcher has more than {_LONGEST_MATCHER} characters"
        re.compile(matcher if matcher != "*" else "")
    except re.error as exc:
        return f"its matcher is no regular expression: {exc}"
    return ""


def _with_problem(hook: Hook, problem: str) -> Hook:
    from dataclasses import replace

    return replace(hook, problem=hook.problem or problem)


def _name_of(command: str) -> str:
    """A name for a hook: that of its script or program."""
    words = [word.strip("\"'(){};") for word in command.split()]
    names = [word.rpartition("/")[2] for word in words if word and not word.startswith(("-", "$(", "|", "&"))]
    # A filter of jq is no program.
    names = [name for name in names if not name.startswith(".")] or names
    plain = [name for name in names if name and "=" not in name and name.lower() not in _PREFIXES]
    scripts = [name for name in plain if re.fullmatch(r"[\w-]+\.(?:py|sh|js|mjs|cjs|ts|rb|pl)", name)]
    found = next(iter(scripts or plain or names), "")
    return re.sub(r"[^\w.-]", "", found, flags=re.ASCII)[:28]


def _named_apart(hooks: list[Hook]) -> list[Hook]:
    """The hooks with different names for different events and commands."""
    from dataclasses import replace

    events: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for hook in hooks:
        commands = events.setdefault(hook.name, {}).setdefault(hook.claude_event, [])
        if hook.words not in commands:
            commands.append(hook.words)
    apart: list[Hook] = []
    for hook in hooks:
        own = events[hook.name]
        number = own[hook.claude_event].index(hook.words) + 1
        which = f" {number}" if number > 1 else ""
        if len(own) > 1:
            apart.append(replace(hook, name=f"{hook.name} ({hook.claude_event[:_LONGEST_EVENT]}{which})"))
        else:
            apart.append(replace(hook, name=f"{hook.name}-{number}") if which else hook)
    return apart


def _line_of_value(text: str, value: str) -> int:
    place = text.find(json.dumps(value)) if value else -1
    place = text.find(json.dumps(value, ensure_ascii=False)) if place < 0 and value else place
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _number(text: str, key: str) -> int:
    place = text.find(f'"{key}"')
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _line(text: str, key: str) -> str:
    """The line of a key, before a message."""
    number = _number(text, key)
    return f"line {number}: " if number else ""
