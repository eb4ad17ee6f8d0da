"""Offers for the text before the cursor: pure functions.

An offer replaces the word that it was made for. Files are offered for a word that begins with `@`, commands
for `/` at the very beginning, and a command's arguments after its name.
"""

import re
from collections.abc import Sequence

import msgspec

from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.prompt.path_search import Paths, fold, matched

_FILE = re.compile(r'(?:^|(?<=[\s(\[{<,;:=\'"]))@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))$')
_COMMAND = re.compile(r"/(?P<name>[\w-]*)$")
_ARGUMENT = re.compile(r"/(?P<name>[\w-]+) +(?P<argument>\S*)$")


class Offer(msgspec.Struct, frozen=True):
    """One row: `text` is shown with the characters numbered in `marks` marked, `note` beside it.

    `insert` replaces the word. With `goes_on` further offers follow; `whole` means that the text is then
    complete, and can be sent.
    """

    text: str
    insert: str
    note: str = ""
    marks: tuple[int, ...] = ()
    goes_on: bool = False
    whole: bool = False


class Word(msgspec.Struct, frozen=True):
    """The word before the cursor: its kind, its column and the text to match."""

    kind: str
    column: int
    query: str
    command: str = ""


def word_before(line: str, *, first: bool) -> Word | None:
    """The word at the end of `line`, which ends at the cursor; `first` marks the first line of the text."""
    if found := _FILE.search(line):
        quoted = found["quoted"]
        return Word("file", found.start(), found["plain"] if quoted is None else quoted)
    if first and (found := _COMMAND.match(line)):
        return Word("command", 0, found["name"])
    if first and (found := _ARGUMENT.match(line)):
        return Word("argument", found.start("argument"), found["argument"], found["name"])
    return None


def offer_files(paths: Paths, query: str) -> list[Offer]:
    """The files and directories that match `query`."""
    return [
        Offer(
            path,
            mention(path),
            marks=tuple(matched(query, path)) if query else (),
            goes_on=path.endswith("/"),
        )
        for path in paths.find(query)
    ]


def mention(path: str) -> str:
    """The notation of a path in a message; a path inside a directory can follow it."""
    written = f'@"{path}' if " " in path else f"@{path}"
    if path.endswith("/"):
        return written
    return f'{written}" ' if " " in path else f"{written} "


def offer_commands(commands: Sequence[SlashCommand], query: str) -> list[Offer]:
    """The commands whose names begin with `query`; then those that contain it in name or summary."""
    query = fold(query)
    ranked = [(rank, command) for command in commands if (rank := _rank(command, query)) is not None]
    ranked.sort(key=lambda found: found[0])
    return [_command_offer(command, query) for _rank_, command in ranked]


def offer_arguments(commands: Sequence[SlashCommand], name: str, query: str) -> list[Offer]:
    """The choices of the command called `name`."""
    command = next((command for command in commands if command.name == name), None)
    choices = command.choices() if command and command.choices else ()
    query = fold(query)
    found = [choice for choice in choices if query in fold(choice)]
    found.sort(key=lambda choice: not fold(choice).startswith(query))
    return [Offer(choice, choice, marks=_marks(query, choice, 0), whole=True) for choice in found]


def _rank(command: SlashCommand, query: str) -> int | None:
    name = fold(command.name)
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    return 2 if len(query) > 2 and query in fold(command.summary) else None


def _command_offer(command: SlashCommand, query: str) -> Offer:
    more = bool(command.choices or command.takes)
    return Offer(
        f"/{command.name}",
        f"/{command.name} " if more else f"/{command.name}",
        command.summary,
        _marks(query, command.name, 1),
        goes_on=more,
        whole=not more,
    )


def _marks(query: str, text: str, shift: int) -> tuple[int, ...]:
    at = fold(text).find(query)
    return tuple(range(at + shift, at + shift + len(query))) if query and at != -1 else ()
