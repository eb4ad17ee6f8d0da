"""The dialog of MCP servers: a line for each, and the selected one in full; a key restarts it."""

from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.errors import CogencyError
from cogency_tui.text import clean, one_line, reveal
from cogency_tui.tools.mcp.server import State
from cogency_tui.tools.mcp.servers import Listed, Servers
from cogency_tui.tui.kit.dialogs import STYLES, Choices, Dialog, DialogBody
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.theme import Inks

_NAME = 14
_MARKS = {
    State.IDLE: ("◌", "dim"),
    State.STARTING: ("⠋", "accent"),
    State.READY: ("✓", "good"),
    State.FAILED: ("✗", "bad"),
    State.ENDED: ("■", "edit"),
}
_LATER = {
    State.ENDED: "The next call starts it again.",
    State.STARTING: "Its tools come with the first message after that.",
}
_LAST = 6
"""Lines of a server's output that are shown."""


def draw_server(server: Listed, width: int, inks: Inks, on: str) -> Line:
    """Draw one line of the list: its state, its name, its title, and the number of its tools."""
    mark, role = _MARKS[server.state]
    tools = plural(len(server.tools), "tool") if server.tools else ""
    right = f"{tools or server.state.value:>12}"
    room = max(1, width - 2 - _NAME - 1 - cells(right))
    told = one_line(server.title or server.told)
    shown = fit(told, room)
    return Line(
        [
            Segment(f"{mark} ", inks(role, on)),
            Segment(f"{fit(server.name, _NAME):<{_NAME}} ", inks("text", on)),
            Segment(shown + " " * (room - cells(shown)), inks("dim", on)),
            Segment(right, inks("dim", on)),
        ]
    )


def draw_server_note(server: Listed | None, width: int, inks: Inks) -> list[Line]:
    """Draw its state and problem, its command or address, its tools, and its last output."""
    if server is None:
        told = "No MCP server is configured. [mcp.NAME] in the configuration has its command or url."
        return wrap([Segment(told, inks("dim"))], width)
    state = f"{server.state.value}: {reveal(server.problem)}" if server.problem else server.state.value
    _mark, role = _MARKS[server.state]
    lines = wrap([Segment(state, inks("text" if server.state is State.READY else role))], width)
    if later := _LATER.get(server.state):
        lines += wrap([Segment(later, inks("dim"))], width)
    lines += wrap([Segment(reveal(server.told), inks("dim"))], width)
    if server.tools:
        lines += wrap([Segment(f"Tools: {', '.join(server.tools)}", inks("text"))], width)
    for left_out in server.left_out:
        lines += wrap([Segment(f"Not used: {reveal(left_out)}", inks("edit"))], width)
    said = server.said.strip().splitlines()[-_LAST:]
    for line in said:
        lines += wrap([Segment(f"│ {reveal(clean(line))}", inks("dim"))], width)
    return lines


OWN_STYLES = Path(__file__).parent.parent / "styles" / "servers.tcss"

LOOK = 0.5
"""Seconds between two refreshes while the servers are shown."""

_AROUND = 8
"""Lines of the dialog's title and foot, and between its parts."""


class ServerList(SelectList[Listed]):
    """Servers, one line each."""

    def draw_row(self, row: Listed, on: str) -> Line:
        return draw_server(row, self.text_width, self.inks, on)


class ServersScreen(Dialog[None]):
    """Shows `servers` in their present state."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="servers.close"),
        Binding("r", "restart", "Restart", id="servers.restart", tooltip="End it, and start it again"),
        Binding("up,k", "move(-1)", "Up", show=False, id="servers.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="servers.down"),
        Binding("pageup", "scroll(-5)", "Page up", show=False, id="servers.page_up"),
        Binding("pagedown", "scroll(5)", "Page down", show=False, id="servers.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH: ClassVar = [STYLES, OWN_STYLES]

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self._servers = servers
        self._shown: list[Listed] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="servers"):
            yield PaneTitle("MCP servers", id="servers-title")
            yield ServerList(id="servers-list")
            yield DialogBody(self._draw_note, id="servers-note")
            with Vertical(classes="dialog-foot"):
                yield Choices([])

    def on_mount(self) -> None:
        self._look()
        self.set_interval(LOOK, self._look, name="servers")

    def on_resize(self, event: events.Resize) -> None:
        """Leave space for the selected server's note below the list."""
        room = max(6, event.size.height * 86 // 100 - _AROUND)
        self._list.styles.max_height = max(3, room // 3)
        self.query_one(DialogBody).styles.max_height = room - max(3, room // 3)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def on_select_list_chosen(self) -> None:
        self._tell()

    def action_move(self, step: int) -> None:
        self._list.move(step)
        self._tell()

    def action_scroll(self, lines: int) -> None:
        note = self.query_one(DialogBody)
        note.jump(note.scroll_offset.y + lines)

    def action_restart(self) -> None:
        if (server := self._list.row) is not None:
            self.run_worker(partial(self._restart, server.name), group="restart-server")

    def action_close(self) -> None:
        self.dismiss(None)

    @property
    def _list(self) -> ServerList:
        return self.query_one(ServerList)

    async def _restart(self, name: str) -> None:
        try:
            await self._servers.restart(name)
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        self._look()

    def _look(self) -> None:
        """Refresh the servers' states."""
        listed = self._servers.listed()
        if listed != self._shown or not listed:
            self._shown = listed
            self._list.show(listed, min(self._list.selected, max(0, len(listed) - 1)))
            self._tell()

    def _tell(self) -> None:
        answering = sum(not server.problem and bool(server.tools) for server in self._shown)
        self.query_one(PaneTitle).state(f"{plural(answering, 'server')} ready" if self._shown else "none")
        restart = [("r", "restart", "restart")] if self._shown else []
        self.query_one(Choices).offer([*restart, ("escape", "close", "close")])
        self.query_one(DialogBody).redraw()

    def _draw_note(self, width: int, inks: Inks) -> list[Line]:
        return draw_server_note(self._list.row, width, inks)
