"""The dialog of MCP servers: a line for each, and the selected one in full; a key restarts it."""

from functools import partial
from operator import attrgetter
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import clean, one_line, reveal
from cogency_tui.tools.mcp.server import ServerState
from cogency_tui.tools.mcp.servers import ListedServer, Servers
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 14
_MARKS = {
    ServerState.IDLE: ("◌", "dim"),
    ServerState.STARTING: ("⠋", "running"),
    ServerState.READY: ("✓", "good"),
    ServerState.FAILED: ("✗", "bad"),
    ServerState.ENDED: ("■", "edit"),
}
_LATER = {
    ServerState.ENDED: "Restarts with the next call.",
    ServerState.STARTING: "Tools become available with the next message after startup.",
}
_LAST = 6
"""Lines of a server's output that are shown."""


def draw_server(server: ListedServer, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: its state, its name, its title, and the number of its tools."""
    mark, role = _MARKS[server.state]
    tools = plural(len(server.tools), "tool") if server.tools else ""
    right = f"{tools or server.state.value:>12}"
    room = max(1, width - 2 - _NAME - 1 - cells(right))
    text = one_line(server.title or server.address)
    shown = fit(text, room)
    return Line(
        [
            Segment(f"{mark} ", styles(role, on)),
            Segment(f"{fit(server.name, _NAME):<{_NAME}} ", styles("text", on)),
            Segment(shown + " " * (room - cells(shown)), styles("dim", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def draw_server_note(server: ListedServer | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw its state and problem, its command or address, its tools, and its last output."""
    if server is None:
        text = "No MCP servers configured. Add one (command or url) under [mcp.NAME] in the configuration."
        return wrap([Segment(text, styles("dim"))], width)
    state = f"{server.state.value}: {reveal(server.problem)}" if server.problem else server.state.value
    _mark, role = _MARKS[server.state]
    lines = wrap([Segment(state, styles("text" if server.state is ServerState.READY else role))], width)
    if later := _LATER.get(server.state):
        lines += wrap([Segment(later, styles("dim"))], width)
    lines += wrap([Segment(reveal(server.address), styles("dim"))], width)
    if server.tools:
        lines += wrap([Segment(f"Tools: {', '.join(server.tools)}", styles("text"))], width)
    for left_out in server.left_out:
        lines += wrap([Segment(f"Skipped: {reveal(left_out)}", styles("edit"))], width)
    output = server.stderr.strip().splitlines()[-_LAST:]
    for line in output:
        lines += wrap([Segment(f"│ {reveal(clean(line))}", styles("dim"))], width)
    return lines


INTERVAL = 0.5
"""Seconds between two refreshes while the servers are shown."""


class ServersScreen(ListDialog[None, ListedServer]):
    """Shows `servers` in their present state."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="servers.close"),
        Binding("r", "restart", "Restart", id="servers.restart", tooltip="Restart the server"),
        *list_keys("servers", without=("pageup", "pagedown")),
        Binding("pageup", "scroll(-5)", "Page up", show=False, id="servers.page_up"),
        Binding("pagedown", "scroll(5)", "Page down", show=False, id="servers.page_down"),
    ]

    def __init__(self, servers: Servers) -> None:
        rows = SelectList(draw_server, attrgetter("name"), id="servers-list")
        super().__init__("servers", "MCP servers", rows, Note(self._draw_note, id="servers-note"))
        self._servers = servers

    async def on_mount(self) -> None:
        self._show(self._servers.listed())
        self.set_interval(INTERVAL, self.load, name="servers")

    def note_lines(self, height: int) -> int:
        """Half of the screen, for the tools of a server."""
        return height // 2 if self.rows.rows else super().note_lines(height)

    def action_scroll(self, lines: int) -> None:
        if self.note is not None:
            self.note.jump(self.note.scroll_offset.y + lines)

    def action_restart(self) -> None:
        if (server := self.rows.row) is not None:
            restart = partial(self.do, partial(self._servers.restart, server.name))
            self.run_worker(restart, group="restart-server")

    async def load(self) -> None:
        listed = self._servers.listed()
        if listed != self.rows.rows:
            self._show(listed)

    def _show(self, listed: list[ListedServer]) -> None:
        self.rows.update_rows(listed)
        answering = sum(not server.problem and bool(server.tools) for server in listed)
        self.heading.state(f"{plural(answering, 'server')} ready" if listed else "none")
        self.show_selected()

    def choices(self) -> list[Choice]:
        restart: list[Choice] = [("r", "restart", "restart")] if self.rows.rows else []
        return [*restart, ("escape", "close", "close")]

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_server_note(self.rows.row, width, styles)
