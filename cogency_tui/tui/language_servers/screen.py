"""The dialog of language servers: a line for each, and the selected one in full; keys restart it, and allow
or forbid it in the project."""

from functools import partial
from operator import attrgetter
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.language_servers import LanguageServersOnDemand
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tools.language_servers.server import State
from cogency_tui.tools.language_servers.servers import Listed
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 16
_MARKS = {
    State.IDLE: ("◌", "dim"),
    State.STARTING: ("⠋", "running"),
    State.READY: ("✓", "good"),
    State.FAILED: ("✗", "bad"),
}
_ORDER = (State.FAILED, State.STARTING, State.READY, State.IDLE)


def state_of(server: Listed) -> State:
    """The state of a server; of one in several directories, the one that deserves attention."""
    states = {each.state for each in server.running}
    return next((state for state in _ORDER if state in states), State.IDLE)


def draw_server(server: Listed, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: its state, its name, its program, and its memory."""
    mark, role = _MARKS[state_of(server)]
    ink = "text" if server.command else "dim"
    if not server.command:
        mark, role = "·", "dim"
    elif server.asks:
        mark, role = "?", "edit"
    right = f"{_status(server):>12}"
    room = max(1, width - 2 - _NAME - 1 - cells(right))
    shown = fit(one_line(server.command[0]) if server.command else "", room)
    return Line(
        [
            Segment(f"{mark} ", styles(role, on)),
            Segment(
                f"{fit(one_line(server.name), _NAME):<{_NAME}} ",
                styles(ink, on),
            ),
            Segment(shown + " " * (room - cells(shown)), styles("dim", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def _status(server: Listed) -> str:
    if not server.command:
        return "not installed"
    if server.asks:
        return "not allowed" if server.allowed is False else "asks first"
    memory = sum(each.memory for each in server.running)
    return f"{memory / 1e6:,.0f} MB" if memory else state_of(server).value


def draw_server_note(server: Listed | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw its problem, what it would run, its command, and the directories that it works in."""
    if server is None:
        return wrap([Segment("Diagnostics are off (/settings diagnostics).", styles("dim"))], width)
    lines: list[Line] = []
    for problem in dict.fromkeys(each.problem for each in server.running if each.problem):
        lines += wrap([Segment(reveal(f"Stopped: {problem}"), styles("bad"))], width)
    if not server.command:
        text = "Not found in PATH. It is used once it is installed."
        return [*lines, *wrap([Segment(text, styles("dim"))], width)]
    if server.asks:
        text = f"It {server.asks}. It starts only if you allow it."
        lines += wrap([Segment(reveal(text), styles("edit"))], width)
    elif server.allowed:
        lines += wrap([Segment("You allow it in this project.", styles("text"))], width)
    lines += wrap([Segment(reveal(" ".join(server.command)), styles("dim"))], width)
    for each in server.running:
        text = f"{each.state.value} in {each.root}"
        lines += wrap([Segment(reveal(text), styles("dim"))], width)
    return lines


INTERVAL = 0.5
"""Seconds between two refreshes while the servers are shown."""


class LanguageServersScreen(ListDialog[None, Listed]):
    """Shows `servers` in their present state."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="lsp.close"),
        Binding("a", "decide(True)", "Allow", id="lsp.allow", tooltip="Allow it in this project"),
        Binding("d", "decide(False)", "Forbid", id="lsp.forbid", tooltip="Forbid it in this project"),
        Binding("r", "restart", "Restart", id="lsp.restart", tooltip="Restart the server"),
        *list_keys("lsp"),
    ]

    def __init__(self, servers: LanguageServersOnDemand) -> None:
        rows = SelectList(draw_server, attrgetter("name"), id="lsp-list")
        super().__init__("lsp", "Language servers", rows, Note(self._draw_note, id="lsp-note"))
        self._servers = servers

    async def on_mount(self) -> None:
        await self.load()
        self.set_interval(INTERVAL, self.load, name="language servers")

    def action_restart(self) -> None:
        if (server := self.rows.row) is not None and server.running:
            restart = partial(self.do, partial(self._servers.restart, server.name))
            self.run_worker(restart, group="restart-server")

    def action_decide(self, allowed: bool) -> None:
        if (server := self.rows.row) is not None and _decides(server):
            decide = partial(self._servers.decide, server.name, allowed)
            self.run_worker(partial(self.do, decide), group="decide-server")

    async def load(self) -> None:
        listed = await self._servers.listed() if self._servers.enabled else []
        self.rows.update_rows(listed)
        found = sum(bool(server.command) for server in listed)
        self.heading.state(f"{plural(found, 'server')} found" if listed else "off")
        self.show_selected()

    def choices(self) -> list[Choice]:
        server = self.rows.row
        keys: list[Choice] = []
        if server is not None and _decides(server):
            keys += [("d", "forbid", "decide(False)")] if server.allowed else [("a", "allow", "decide(True)")]
        if server is not None and server.running:
            keys.append(("r", "restart", "restart"))
        return [*keys, ("escape", "close", "close")]

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_server_note(self.rows.row, width, styles)


def _decides(server: Listed) -> bool:
    """Return whether there is something to allow, or to forbid."""
    return bool(server.command) and (bool(server.asks) or server.allowed is not None)
