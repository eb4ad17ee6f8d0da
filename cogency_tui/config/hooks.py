"""`[hooks.NAME]`: commands that run on our events.

Invariant: a table without a `problem_in` it names a program and the events that start it. The words of a
command are its arguments: no shell reads them, and a path in place of `{file}` is always one word of it.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import Meta

from cogency_tui.config.mcp import Problem
from cogency_tui.config.workflows import problem_of

HookEvent: TypeAlias = Literal[
    "before_call",
    "after_call",
    "before_edit",
    "after_edit",
    "before_message",
    "after_message",
    "before_turn",
    "after_turn",
    "before_session",
    "after_session",
]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)

FILE, FILES, PROJECT = "{file}", "{files}", "{project}"
"""What stands for paths in a command."""

INSIDE = "COGENCY_HOOK"
"""The variable by which a program knows that a hook has started it: it runs none itself."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}"
_OF_CALLS = frozenset[HookEvent]({"before_call", "after_call", "before_edit", "after_edit"})
_SYNTAX = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})
"""Words that only a shell understands."""

_IN_SHELL = 'no shell reads "command": write ["sh", "-c", "…"] to use one'

Events: TypeAlias = Annotated[list[HookEvent], Meta(min_length=1)]
Words: TypeAlias = Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[hooks.NAME]` table: `command` runs on each event of `on`, for at most `timeout` seconds.

    `tools` and `files` (patterns of paths in the project) are the calls that it is for; without them it is
    for all. A command with `{file}` runs once for each of their files.
    """

    on: HookEvent | Events
    command: Annotated[str, Meta(min_length=1)] | Words
    tools: str | list[str] = []
    files: str | list[str] = []
    timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    enabled: bool = True

    @property
    def events(self) -> tuple[HookEvent, ...]:
        """The events that it runs on."""
        return tuple(self.on) if isinstance(self.on, list) else (self.on,)

    @property
    def words(self) -> tuple[str, ...]:
        """The command: a program and its arguments."""
        # Loaded late: not on the way to the first frame.
        import shlex

        return tuple(shlex.split(self.command) if isinstance(self.command, str) else self.command)


def as_list(value: str | list[str]) -> tuple[str, ...]:
    """A value that may be a single text, as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def problem_in(name: str, given: object) -> Problem | None:
    """The problem with the table of the hook `name`; None if there is none."""
    if not re.fullmatch(_NAME, name):
        return Problem("", "a name has only letters, digits, -, _ and ., at most 32 characters")
    if not isinstance(given, dict):
        return Problem("", "it must be a table, such as [hooks.format]")
    table = cast("dict[str, Any]", given)
    if unknown := next((each for each in _named_events(table.get("on")) if each not in EVENTS), None):
        return Problem("on", f'"on": there is no event "{unknown}"; there are {", ".join(EVENTS)}')
    for key, value in table.items():
        if words := problem_of({"on": EVENTS[0], "command": "x"} | {key: value}, HookSettings):
            return Problem(key, words)
    if words := problem_of(table, HookSettings):
        return Problem("", words)
    return _misuse(msgspec.convert(table, HookSettings))


def _named_events(on: Any) -> Iterator[str]:
    given = cast("list[Any]", on) if isinstance(on, list) else [on]
    yield from (each for each in given if isinstance(each, str))


def _misuse(hook: HookSettings) -> Problem | None:
    """The problem with values that each have the right type."""
    try:
        words = hook.words
    except ValueError as exc:
        return Problem("command", f'"command" cannot be split into words: {str(exc).lower()}')
    if not words:
        return Problem("command", '"command" has no program')
    if any("\0" in word for word in words):
        return Problem("command", '"command" has a NUL character')
    if isinstance(hook.command, str) and any(_is_for_shell(word) for word in words):
        return Problem("command", _IN_SHELL)
    if FILE in words[0] or FILES in words[0]:
        return Problem("command", f'"command" would run the file itself: {FILE} cannot be the program')
    if any(FILES in word and word != FILES for word in words):
        return Problem("command", f'"command": {FILES} must be a word of its own')
    others = [event for event in hook.events if event not in _OF_CALLS]
    if others and any(FILE in word or FILES in word for word in words):
        return Problem("command", f'"command": {others[0]} has no file to put in place of {FILE}')
    for key in ("tools", "files"):
        if others and getattr(hook, key):
            return Problem(key, f'"{key}" is only for events of calls and edits, not for {others[0]}')
    return None


def _is_for_shell(word: str) -> bool:
    return word in _SYNTAX or word.startswith("$(") or word.endswith(";")
