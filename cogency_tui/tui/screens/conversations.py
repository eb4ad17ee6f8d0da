"""The list of past conversations: the newest first, filtered as one types, Enter goes on with one."""

from collections.abc import Callable
from datetime import datetime
from time import time
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from cogency_tui.text import one_line
from cogency_tui.tui.drawing.figures import dollars, plural, tokens
from cogency_tui.tui.drawing.lines import Line, cells, fit
from cogency_tui.tui.screens.dialogs import STYLES
from cogency_tui.tui.widgets.line_view import LineView
from cogency_tui.tui.widgets.pane_title import PaneTitle

if TYPE_CHECKING:
    from cogency_tui.store.conversations import Conversation

_DAY = 86_400


def when(updated: float, now: float) -> str:
    """`14:05` today, `Tue 14:05` this week, `12 Mar` this year, else `12 Mar 2024`."""
    then, today = datetime.fromtimestamp(updated).astimezone(), datetime.fromtimestamp(now).astimezone()
    if then.date() == today.date():
        return f"{then:%H:%M}"
    if now - updated < 6 * _DAY:
        return f"{then:%a %H:%M}"
    return f"{then.day} {then:%b}" if then.year == today.year else f"{then.day} {then:%b %Y}"


class ConversationList(LineView):
    """Conversations, one line each."""

    ALLOW_SELECT = False

    class Chosen(Message):
        """A conversation was clicked."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self._clock = clock
        self._conversations: list[Conversation] = []
        self.selected = 0

    @property
    def conversation(self) -> "Conversation | None":
        return self._conversations[self.selected] if self._conversations else None

    def show(self, conversations: "list[Conversation]") -> None:
        """Show `conversations`, the first one selected."""
        self._conversations = conversations
        self.selected = 0
        self.resize_column(len(conversations))
        self.jump(0)
        self.refresh()

    def move(self, step: int) -> None:
        """Select another one."""
        if self._conversations:
            self.selected = max(0, min(self.selected + step, len(self._conversations) - 1))
            self.reveal(self.selected)
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        row = self.scroll_offset.y + event.y
        if row < len(self._conversations):
            self.move(row - self.selected)
            self.post_message(self.Chosen())

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self.selected and self._conversations else "surface"

    def line_at(self, y: int) -> Line | None:
        if y >= len(self._conversations):
            return None
        conversation, on = self._conversations[y], self.surface_at(y)
        facts = [plural(conversation.turns, "turn").rjust(9)]
        if self.text_width >= 66:
            # The store sums costs that are known: nothing is known of one that has none.
            cost = dollars(conversation.cost) if conversation.cost else ""
            facts += [tokens(conversation.tokens).rjust(6), cost.rjust(7)]
        facts.append(when(conversation.updated, self._clock()).rjust(11))
        right = "  ".join(["", *facts])
        room = self.text_width - cells(right)
        title = fit(one_line(conversation.title) or "untitled", room)
        return Line(
            [
                Segment(title + " " * (room - cells(title)), self.inks("text", on)),
                Segment(right, self.inks("dim", on)),
            ]
        )


class ConversationsScreen(ModalScreen["str | None"]):
    """Lists `conversations`; returns the id of the one to go on with."""

    CSS_PATH = STYLES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+r", "close", "Close", id="conversations.close"),
        Binding("enter", "open", "Go on with it", id="conversations.open", priority=True),
        Binding("up", "move(-1)", "Up", show=False, id="conversations.up", priority=True),
        Binding("down", "move(1)", "Down", show=False, id="conversations.down", priority=True),
        Binding("pageup", "move(-10)", "Page up", show=False, id="conversations.page_up", priority=True),
        Binding("pagedown", "move(10)", "Page down", show=False, id="conversations.page_down", priority=True),
    ]

    def __init__(self, conversations: "list[Conversation]", *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._conversations = conversations
        self._clock = clock

    def compose(self) -> ComposeResult:
        with Vertical(id="conversations"):
            yield PaneTitle("Conversations", id="conversations-title")
            yield Input(placeholder="Type to filter", id="conversations-filter")
            yield ConversationList(self._clock, id="conversations-list")

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        self._show("")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value)

    def on_conversation_list_chosen(self) -> None:
        self.action_open()

    def action_move(self, step: int) -> None:
        self.query_one(ConversationList).move(step)

    def action_open(self) -> None:
        conversation = self.query_one(ConversationList).conversation
        if conversation is not None:
            self.dismiss(conversation.id)

    def action_close(self) -> None:
        self.dismiss(None)

    def _show(self, text: str) -> None:
        words = text.casefold().split()
        shown = [each for each in self._conversations if all(word in each.title.casefold() for word in words)]
        self.query_one(ConversationList).show(shown)
        total = len(self._conversations)
        fact = (
            "none in this project yet"
            if not total
            else "none match"
            if not shown
            else f"{len(shown)} of {total}"
        )
        self.query_one(PaneTitle).state(fact)
