"""The command palette: every command and every action that works here, with its key, found by typing. The
options are found, too, by label or key, and open the settings there.

The actions are the bindings that are active on the screen below: those of the screen, the app and the focused
pane. The entries used last come first.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, cast

import msgspec
from rich.segment import Segment
from textual.app import App
from textual.binding import ActiveBinding, Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from cogency_tui import private_files
from cogency_tui.config.options import options
from cogency_tui.safe_text import one_line
from cogency_tui.tui.action_groups import group_of, in_order
from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.kit.cell_text import cells, fit, fit_words
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.fuzzy import Rank, marked, match_closely
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.select_list import LETTERS, Heading, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_MOST_RECENT = 4
_FILE_NAME = "recent-actions.json"


class Entry(msgspec.Struct, frozen=True):
    """An action of `node`, with the key that runs it. `command` is its name with the slash, if it has one; of
    an option, it is the option's key. Only the filter finds an option, and a command `with_argument`."""

    id: str
    title: str
    group: str
    action: str
    node: "App[object] | Widget"
    key: str = ""
    command: str = ""
    is_option: bool = False
    with_argument: bool = False

    @property
    def is_listed(self) -> bool:
        """True if it is in the list without a filter."""
        return not (self.is_option or self.with_argument)


class EntryRow(msgspec.Struct, frozen=True):
    """An entry as a row; `marks` are the characters that match the filter, of its command or of its title."""

    entry: Entry
    marks: tuple[int, ...] = ()
    in_command: bool = False
    recent: bool = False


Row: TypeAlias = Heading | EntryRow


def entries_of(screen: Screen[Any], commands: Sequence[SlashCommand]) -> list[Entry]:
    """All that can be run on `screen` now, group by group."""
    active = [each for each in screen.active_bindings.values() if _is_offered(each)]
    keys = {each.binding.action: key_name(each.binding.key) for each in reversed(active)}
    entries = [_command_entry(command, screen, keys) for command in commands]
    taken = {action for command in commands for action in _actions_of(command)} | {"command_palette"}
    for each in active:
        if each.binding.action not in taken:
            taken.add(each.binding.action)
            entries.append(_action_entry(each, screen))
    entries += [each for command in commands for each in _argument_entries(command, screen)]
    order = in_order([each.group for each in entries])
    ordered = sorted(entries, key=lambda each: order.index(each.group))
    settings = next((command for command in commands if command.handler == "settings"), None)
    return [*ordered, *(_option_entries(settings, screen) if settings else ())]


_OPTION = "Settings: "


def _option_entries(settings: SlashCommand, screen: Screen[Any]) -> Iterator[Entry]:
    """An entry for each option, which opens the settings there."""
    for each in options().values():
        title = f"{_OPTION}{each.label}"
        action = settings.action(each.key)
        id = f"option.{each.key}"
        yield Entry(id, title, settings.group, action, screen, command=each.key, is_option=True)


def _actions_of(command: SlashCommand) -> tuple[str, str]:
    """The actions of bindings that do the same as `command`."""
    return f"command({command.handler!r})", command.handler


def _is_offered(each: ActiveBinding) -> bool:
    """Return whether a binding is one of ours that works now, and not for writing or moving: only those that
    do more are in the footer or have a tooltip."""
    binding = each.binding
    does_more = bool(binding.show or binding.tooltip)
    return each.enabled and bool(binding.id) and does_more and not isinstance(each.node, TextArea | Input)


def _command_entry(command: SlashCommand, screen: Screen[Any], keys: Mapping[str, str]) -> Entry:
    key = next((keys[action] for action in _actions_of(command) if action in keys), "")
    name = f"/{command.name}"
    return Entry(name, command.summary, command.group, command.action(), screen, key, name)


def _argument_entries(command: SlashCommand, screen: Screen[Any]) -> Iterator[Entry]:
    """An entry for each choice of the command's argument."""
    for each in command.choices() if command.choices else ():
        name, action = f"/{command.name} {each}", command.action(each)
        yield Entry(name, command.summary, command.group, action, screen, command=name, with_argument=True)


def _action_entry(each: ActiveBinding, screen: Screen[Any]) -> Entry:
    binding = each.binding
    title = binding.tooltip or binding.description
    key = key_name(binding.key)
    node = cast("App[object] | Widget", each.node)
    return Entry(binding.id or "", title, group_of(each, screen), binding.action, node, key)


def list_rows(entries: Sequence[Entry], recent: Sequence[str]) -> list[Row]:
    """The entries under the names of their groups, and above them those used last."""
    by_id = {each.id: each for each in entries}
    last = [EntryRow(by_id[id], recent=True) for id in recent if id in by_id]
    rows: list[Row] = [Heading("Recent"), *last] if last else []
    group = ""
    for entry in entries:
        if not entry.is_listed:
            continue
        if entry.group != group:
            group = entry.group
            rows += [*([Heading("")] if rows else []), Heading(group)]
        rows.append(EntryRow(entry))
    return rows


def find_rows(entries: Sequence[Entry], query: str) -> list[Row]:
    """The entries that match `query` in their command or title, the best first. Those that have only its
    letters are found where no other does."""
    query = query.strip().removeprefix("/")
    found = [hit for entry in entries if (hit := _hit(entry, query))]
    found.sort(key=lambda hit: hit[0])
    only_letters = bool(found) and found[0][0][0] is Rank.LETTERS
    return [row for rank, row in found if only_letters or rank[0] is not Rank.LETTERS]


_Rank: TypeAlias = tuple[Rank, bool, bool]


def _hit(entry: Entry, query: str) -> tuple[_Rank, EntryRow] | None:
    """The rank of an entry, if it matches; a command matches better than a title, and both than an option."""
    if entry.is_option:
        return _hit_option(entry, query)
    if entry.with_argument and " " not in query:
        return None
    by_command = match_closely(query, entry.command[1:]) if entry.command else None
    by_title = None if entry.with_argument else match_closely(query, entry.title)
    if by_command and (not by_title or by_command[0] <= by_title[0]):
        rank, marks = by_command
        return (rank, False, False), EntryRow(entry, tuple(at + 1 for at in marks), in_command=True)
    return ((by_title[0], True, False), EntryRow(entry, by_title[1])) if by_title else None


def _hit_option(entry: Entry, query: str) -> tuple[_Rank, EntryRow] | None:
    """The rank of an option, by its label or its key."""
    if by_label := match_closely(query, entry.title.removeprefix(_OPTION)):
        marks = tuple(at + len(_OPTION) for at in by_label[1])
        return (by_label[0], True, True), EntryRow(entry, marks)
    if by_key := match_closely(query, entry.command):
        return (by_key[0], True, True), EntryRow(entry, by_key[1], in_command=True)
    return None


_COMMAND, _KEY = 14, 10
"""Cells of the columns."""

_SHORT_KEY = 5
"""Cells of the column of the keys on a narrow screen, where the commands end in front of it."""

_SHORTEST_TITLE, _USUAL_TITLE = 20, 40
"""Cells of a title that the name of its command leaves, and of most titles."""


def draw_row(row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: title, command, and the key at the right end. The key of an option is shown
    only if the filter matches it."""
    if isinstance(row, Heading):
        return Line([Segment(fit(row.text, width), styles("text", on, "bold"))])
    plain, dim, bright = styles("text", on), styles("dim", on), styles("accent", on, "bold")
    key = row.entry.key
    room = width - (cells(key) + 2 if key else 0)
    command = _command_beside(row, width, room)
    title = fit_words(one_line(row.entry.title), room - (cells(command) + 2 if command else 0))
    left, column = room - cells(title) - cells(command), width - _KEY - _COMMAND
    if column < _USUAL_TITLE:
        column = min(room, width - _SHORT_KEY) - cells(command)
    # A title that reaches into the column of the commands moves its own to the right.
    gap = min(left, max(2, column - cells(title))) if command else 0
    title_marks, marks = ((), row.marks) if row.in_command else (row.marks, ())
    return Line(
        [
            *marked(title, title_marks, 0, plain, bright),
            Segment(" " * gap, dim),
            *marked(command, marks, 0, dim, bright),
            Segment(" " * (width - cells(title) - gap - cells(command) - cells(key)) + key, plain),
        ]
    )


def _command_beside(row: EntryRow, width: int, room: int) -> str:
    """The command beside the title in `room` cells; empty where that would have too few, unless the filter
    matches the command."""
    entry = row.entry
    if row.in_command:
        return fit(entry.command, max(_COMMAND - 2, width // 2))
    least = min(_SHORTEST_TITLE, cells(entry.title))
    fits = room - cells(entry.command) - 2 >= least
    return entry.command if fits and not entry.is_option else ""


class Palette(ListDialog["Entry | None", Row]):
    """Returns one of `entries`; `recent` reads the ids of those used last."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Close", id="palette.back", tooltip="Clear the filter, or close"),
        Binding("enter", "open", "Run", id="palette.run"),
        *list_keys("palette", without=LETTERS),
        Binding("ctrl+home", "end(-1)", "First", show=False, id="palette.first"),
        Binding("ctrl+end", "end(1)", "Last", show=False, id="palette.last"),
    ]
    AUTO_FOCUS = "FilterField"

    def __init__(self, entries: Sequence[Entry], recent: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__("palette", "Commands", SelectList(draw_row, _key_of, id="palette-list"))
        self._entries = entries
        self._read_recent = recent
        self._recent: Sequence[str] = ()
        self._field = FilterField(id="palette-filter")
        self._filtered = ""

    def parts(self) -> list[Widget]:
        return [self._field, self.rows]

    async def on_mount(self) -> None:
        self._recent = await asyncio.to_thread(self._read_recent)
        if self.is_attached:
            self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def catch_up(self) -> None:
        if self._field.value != self._filtered:
            self._show()

    async def clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.catch_up()
        if isinstance(row := self.rows.row, EntryRow):
            self.dismiss(row.entry)

    def action_back(self) -> None:
        """Clear the filter, else close."""
        if self._field.value:
            self._field.value = ""
            self.catch_up()
        else:
            self.dismiss(None)

    def choices(self) -> list[Choice]:
        closing = "clear filter" if self._filtered else "close"
        run: list[Choice] = [("enter", "run", "open")] if isinstance(self.rows.row, EntryRow) else []
        return [*run, ("escape", closing, "back")]

    def _show(self) -> None:
        self._filtered = self._field.value
        if self._filtered.strip():
            rows = find_rows(self._entries, self._filtered)
            self.rows.notice = f"No command matches “{one_line(self._filtered.strip())}”."
            total = sum(not entry.with_argument for entry in self._entries)
            self.heading.state(f"{len(rows)} of {total}")
        else:
            rows = list_rows(self._entries, self._recent)
            self.heading.state("")
        self.rows.show(rows)
        self.show_selected()


def _key_of(row: Row) -> Hashable:
    return row.text if isinstance(row, Heading) else (row.entry.id, row.recent)


class RecentActions:
    """The ids of the entries used last, in a file of the data directory. The calls block."""

    def __init__(self, data: Path) -> None:
        self._path = data / _FILE_NAME

    def read(self) -> list[str]:
        """The ids, the last one first; none if the file is missing or unreadable."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[str])[:_MOST_RECENT]
        except (OSError, msgspec.DecodeError):
            return []

    def note(self, id: str) -> None:
        """Put `id` first. A file that cannot be written is no reason to complain: only the order is lost."""
        ids = [id, *(each for each in self.read() if each != id)][:_MOST_RECENT]
        try:
            private_files.make_directory(self._path.parent)
            private_files.replace_file(self._path, msgspec.json.encode(ids))
        except OSError:
            return
