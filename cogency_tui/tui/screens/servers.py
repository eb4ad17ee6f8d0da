"""The MCP servers: how they stand, what they have said, and started again with a key."""

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.errors import CogencyError
from cogency_tui.tools.mcp.servers import Listed, Servers
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.drawing.servers import draw_server, draw_server_note
from cogency_tui.tui.screens.answering import Dialog
from cogency_tui.tui.screens.dialogs import STYLES, Choices, DialogBody
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.pane_title import PaneTitle
from cogency_tui.tui.widgets.select_list import SelectList

OWN_STYLES = Path(__file__).parent.parent / "styles" / "servers.tcss"

LOOK = 0.5
"""Seconds between two looks at them while they are shown."""

_AROUND = 8
"""Lines of the dialog's title and foot, and between its parts."""


class ServerList(SelectList[Listed]):
    """One line for each."""

    def draw_row(self, row: Listed, on: str) -> Line:
        return draw_server(row, self.text_width, self.inks, on)


class ServersScreen(Dialog[None]):
    """Shows `servers` as they stand."""

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
        """Leave room for what is told of one below the list."""
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
        """See how they stand now."""
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
