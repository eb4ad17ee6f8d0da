"""The commands that a project would start once it is trusted, to be read before that.

Invariant: what is parsed here is shown, and used for nothing else. A file that cannot be parsed says so: of
such a file nothing is used after trust either.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cogency_tui.agent.project.cogency_folder import CONFIG, FOLDER, LARGEST_CONFIG
from cogency_tui.agent.project.trust import Part
from cogency_tui.config import toml_reader
from cogency_tui.config.hooks import EVENTS
from cogency_tui.safe_text import one_line


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """A command of the file at `place`, on one line and cleaned, and what it runs on; `problem` is why it
    does not run. Without `when`, it is why the commands of the file cannot be shown. `hook` is the name of
    the hook whose command it is.
    """

    place: str
    when: str
    command: str
    problem: str = ""
    hook: str = ""


def planned_commands(part: Part) -> list[PlannedCommand]:
    """The commands of the hooks and MCP servers of a part."""
    if part.kind == "settings":
        return list(_of_settings(part))
    if part.kind == "folder" and CONFIG in part.contents:
        return list(_of_config(part.contents[CONFIG]))
    return []


def _of_settings(part: Part) -> Iterator[PlannedCommand]:
    # Loaded where there are such settings.
    from cogency_tui.agent.hooks.claude_settings import SettingsError, read_claude_hooks

    for data in part.contents.values():
        try:
            hooks = read_claude_hooks(data, "project", "")
        except SettingsError as exc:
            yield PlannedCommand(part.path, "", "", one_line(str(exc)))
            continue
        for hook in hooks:
            when = f"{hook.claude_event} {hook.is_for_each}".strip()
            yield PlannedCommand(
                part.path,
                one_line(when),
                one_line(hook.command),
                one_line(hook.problem),
                one_line(hook.name),
            )


def _of_config(data: bytes) -> Iterator[PlannedCommand]:
    place = f"{FOLDER}/{CONFIG}"
    if len(data) > LARGEST_CONFIG:
        yield PlannedCommand(place, "", "", f"it has more than {LARGEST_CONFIG >> 10} KB")
        return
    try:
        table = toml_reader.loads(data.decode("utf-8-sig"))
    except RecursionError:
        yield PlannedCommand(place, "", "", "it is nested too deeply")
        return
    except ValueError as exc:
        yield PlannedCommand(place, "", "", one_line(str(exc)))
        return
    for name, hook in _tables(table, "hooks"):
        on: object = hook.get("on", "")
        events = cast("list[object]", on) if isinstance(on, list) else [on]
        when = f"{', '.join(map(str, events))} ({name})"
        problem = "" if hook.get("enabled", True) is True else "enabled = false"
        if unknown := [str(event) for event in events if event and event not in EVENTS]:
            problem = f'there is no event "{one_line(unknown[0])[:60]}"'
        yield PlannedCommand(place, one_line(when), _command(hook), problem, one_line(name))
    for name, server in _tables(table, "mcp"):
        if "command" in server or "url" in server:
            yield PlannedCommand(place, one_line(f"MCP server {name}"), _server(server))


def _tables(table: Mapping[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    found: object = table.get(kind)
    if isinstance(found, dict):
        for name, each in cast("dict[str, Any]", found).items():
            if isinstance(each, dict):
                yield name, cast("dict[str, Any]", each)


def _server(table: Mapping[str, Any]) -> str:
    """Its address, or its command with what decides what that runs: the variables and the directory."""
    if "command" not in table:
        return one_line(str(table["url"]))
    given: object = table.get("env")
    variables = cast("dict[str, object]", given).items() if isinstance(given, dict) else ()
    env = [one_line(f"{name}={shlex.quote(str(value))}") for name, value in variables]
    directory = [one_line(f"(in {table['cwd']})")] if table.get("cwd") else []
    return " ".join([*env, _command(table), *directory])


def _command(table: Mapping[str, Any]) -> str:
    """Its command and arguments on one line, to read."""
    words: list[str] = []
    for key in ("command", "args"):
        value: object = table.get(key, [])
        words += map(str, cast("list[object]", value) if isinstance(value, list) else [value])
    return one_line(" ".join(" ".join(words).split()))
