"""The conversation pane: its title or the find field, the conversation, and the activity line. A file preview
may cover them."""

from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.tui.conversation.activity_line import LiveLine
from cogency_tui.tui.conversation.find_bar import FindBar, FindField
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.transcript.find import Find


class ConversationPane(Surface):
    """Composes the pane, and connects the find field with the conversation."""

    def __init__(self, conversation: Conversation, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._conversation = conversation
        self._before: Widget | None = None
        """What had the focus when the search began."""

    def compose(self) -> ComposeResult:
        yield PaneTitle("Conversation", id="conversation-title")
        yield FindBar(id="find-bar")
        yield self._conversation
        yield LiveLine(id="live-line")

    def on_mount(self) -> None:
        self.query_one(FindBar).display = False

    def cover(self, preview: Widget | None) -> None:
        """Show `preview`, a child, in place of the others; for None the others again."""
        for child in self.children:
            child.set_class((child.id == "preview") == (preview is None), "-covered")

    @property
    def is_covered(self) -> bool:
        """True while a preview is shown in place of the conversation."""
        return self._conversation.has_class("-covered")

    def begin_find(self) -> None:
        """Show and focus the find field."""
        if self._conversation.transcript.units:
            if not isinstance(self.screen.focused, FindField):
                self._before = self.screen.focused
            self._show_field(True)
            self.query_one(FindBar).begin()
            self._conversation.find.begin(self.query_one(FindBar).query_text)

    def on_conversation_find_requested(self, event: Conversation.FindRequested) -> None:
        event.stop()
        self.begin_find()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.query_one(FindBar).display:
            self._conversation.find.begin(event.value)

    def on_find_field_stepped(self, event: FindField.Stepped) -> None:
        event.stop()
        self._conversation.find.accept()
        self._conversation.find.step(event.step)

    def on_find_field_closed(self, event: FindField.Closed) -> None:
        event.stop()
        self.screen.set_focus(self._before or self._conversation)
        self._conversation.find.end()

    def on_find_found(self, event: Find.Found) -> None:
        event.stop()
        self.query_one(FindBar).show_count(event.nth, event.total)

    def on_find_ended(self, event: Find.Ended) -> None:
        event.stop()
        self._show_field(False)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if isinstance(event.widget, FindField) and not self.query_one(FindBar).query_text:
            self._conversation.find.end()

    def _show_field(self, shown: bool) -> None:
        self.query_one(FindBar).display = shown
        self.query_one(PaneTitle).set_class(shown, "-covered")
