"""Offers for the text before the cursor: pure functions.

An offer replaces the word that it was made for. Files are offered for a word that begins with `@`, commands
for `/` at the very beginning, and a command's arguments after its name.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.kit.fuzzy import Rank, fold, match, matched
from cogency_tui.tui.prompt.path_search import Paths

_FILE = re.compile(r'(?:^|(?<=[\s(\[{<,;:=\'"]))@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))$')
_COMMAND = re.compile(r"/(?P<name>[\w-]*)$")
_ARGUMENT = re.compile(r"/(?P<name>[\w-]+) +(?P<argument>\S*)$")
_SHORTEST_MEANING = 3
"""Letters from which on the meaning of a command is searched too."""


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
    """The word before the cursor: its kind, its column, the text to match and the whole text of the word."""

    kind: str
    column: int
    query: str
    text: str
    command: str = ""


def word_before(line: str, *, first: bool) -> Word | None:
    """The word at the end of `line`, which ends at the cursor; `first` marks the first line of the text."""
    if found := _FILE.search(line):
        quoted = found["quoted"]
        return Word("file", found.start(), found["plain"] if quoted is None else quoted, found[0])
    if first and (found := _COMMAND.match(line)):
        return Word("command", 0, found["name"], found[0])
    if first and (found := _ARGUMENT.match(line)):
        argument = found["argument"]
        return Word("argument", found.start("argument"), argument, argument, found["name"])
    return None


def offer_files(paths: Paths, query: str) -> list[Offer]:
    """The files and directories that match `query`, first the file of exactly this path."""
    return [
        Offer(
            path,
            mention(path),
            marks=tuple(matched(query, path)) if query else (),
            goes_on=path.endswith("/"),
        )
        for path in paths.find(query)
    ]


def leaves_project(query: str) -> bool:
    """Return whether a path is not one below the project's directory: `/…`, `~/…`, `../…`, `./…`."""
    return query.startswith(("/", "~/", "../", "./"))


def mention(path: str) -> str:
    """The notation of a path in a message; a path inside a directory can follow it."""
    written = f'@"{path}' if " " in path else f"@{path}"
    if path.endswith("/"):
        return written
    return f'{written}" ' if " " in path else f"{written} "


def offer_commands(commands: Sequence[SlashCommand], query: str) -> list[Offer]:
    """The commands that match `query` in their names, the exact one first, or else in an alias or in their
    summaries."""
    found = [(rank, offer) for each in commands for rank, offer in _command_hit(each, query)]
    found.sort(key=lambda each: each[0])
    return [offer for _rank, offer in found]


def offer_arguments(commands: Sequence[SlashCommand], name: str, query: str) -> list[Offer]:
    """The choices of the command called `name`, the exact one first."""
    command = next((command for command in commands if name in command.names), None)
    choices = command.choices() if command and command.choices else ()
    found = [(hit, choice) for choice in choices if (hit := match(query, choice))]
    found.sort(key=lambda each: each[0][0])
    return [Offer(choice, choice, marks=marks, whole=True) for (_rank, marks), choice in found]


def _command_hit(command: SlashCommand, query: str) -> Iterator[tuple[int, Offer]]:
    """The rank and the offer of a command, if it matches `query`."""
    if hit := match(query, command.name):
        yield hit[0], _command_offer(command, command.name, hit[1])
    elif alias := next((each for each in command.aliases if each.startswith(fold(query))), ""):
        yield Rank.PREFIX, _command_offer(command, alias, range(len(query)))
    elif len(query) >= _SHORTEST_MEANING and fold(query) in fold(command.summary):
        yield Rank.LETTERS + 1, _command_offer(command, command.name, ())


def _command_offer(command: SlashCommand, name: str, marks: Iterable[int]) -> Offer:
    """The offer of a command by one of its names; `marks` are the characters of the name that match."""
    more = bool(command.choices or command.takes)
    return Offer(
        f"/{name}",
        f"/{name} " if more else f"/{name}",
        command.summary,
        tuple(at + len("/") for at in marks),
        goes_on=more,
        whole=not more,
    )
