"""The prompt with its completion, the queued messages, and a line about its text."""

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical

from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.lines import fit
from cogency_tui.tui.message_queue import MessageQueue, is_own_command
from cogency_tui.tui.prompt.prompt import Prompt

if TYPE_CHECKING:
    from cogency_tui.tui.kit.select_list import SelectList
    from cogency_tui.tui.prompt.completion import Completion
    from cogency_tui.tui.prompt.queue_list import QueueList


class PromptLine(Bar):
    """One line about the prompt: the error of a typed command, or that a draft is restored; takes no space
    without a text."""

    SURFACE = "raised"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = ""
        self._role = "dim"
        self.display = False

    def show(self, text: str, role: str) -> None:
        """Show this text; hide the line if it is empty."""
        self.text, self._role = text, role
        self.display = bool(text)
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        return [Segment(fit(one_line(self.text), width), self.theme_styles(self._role, self.SURFACE))]


class PromptBox(Vertical):
    """Composes the prompt; `fill` adds its completion and the list of the `queue`, which is the bridge's.

    Clicks on these go to the prompt, which has the keys.
    """

    def __init__(
        self, queue: MessageQueue, permissions: Permissions = "ask", *, id: str | None = None
    ) -> None:
        super().__init__(id=id, classes=f"-{permissions}")
        self._queue = queue
        self._completion: Completion | None = None
        self._empty = True
        self._described = ""
        """The text of the prompt that the line below is about."""

    def compose(self) -> ComposeResult:
        yield Prompt(self._queue, id="prompt")
        yield PromptLine(id="prompt-error")

    async def fill(self) -> None:
        """Mount the completion and the list of the queue."""
        from cogency_tui.tui.prompt.completion import Completion
        from cogency_tui.tui.prompt.queue_list import QueueList

        self._completion = Completion(id="completion")
        await self.mount(self._completion, QueueList(id="queue"), before="#prompt")
        self.query_one(Prompt).complete_with(self._completion)

    def show_permissions(self, permissions: Permissions) -> None:
        """Tint the bar at the left by the permission mode."""
        for mode in PERMISSIONS:
            self.set_class(mode == permissions, f"-{mode}")

    def complain(self, error: str) -> None:
        """Show the error of a typed command until the prompt changes."""
        self._show_line(error, "bad")

    def announce(self, text: str) -> None:
        """Show this text about the prompt until the prompt changes."""
        self._show_line(text, "dim")

    def _show_line(self, text: str, role: str) -> None:
        self._described = self.query_one(Prompt).text
        self.query_one(PromptLine).show(text, role)
        self.set_class(role == "bad" and bool(text), "-error")

    def show_queue(self) -> None:
        """Show the queue in its present state."""
        from cogency_tui.tui.prompt.queue_list import QueueList

        self.query_one(QueueList).show(self._queue)

    def on_resize(self) -> None:
        if self._completion is not None:
            self._completion.refit()

    def on_text_area_changed(self) -> None:
        """Mark a shell command by the bar beside it, too, and offer the keys for the new text."""
        text = self.query_one(Prompt).text
        self.set_class(is_own_command(text), "-command")
        if (empty := not text.strip()) != self._empty:
            self._empty = empty
            self.refresh_bindings()
        if self.query_one(PromptLine).text and text != self._described:
            self._show_line("", "dim")

    def on_select_list_chosen(self, event: "SelectList.Chosen") -> None:
        event.stop()
        prompt = self.query_one(Prompt)
        prompt.focus()
        prompt.action_take()

    def on_queue_list_pressed(self, event: "QueueList.Pressed") -> None:
        event.stop()
        match event.what:
            case "up":
                self._queue.move(event.place, -1)
            case "down":
                self._queue.move(event.place, 1)
            case "remove" if self._queue.held == event.place:
                self.query_one(Prompt).action_remove_queued()
            case "remove":
                self.query_one(Prompt).note(self._queue.messages[event.place])
                self._queue.remove(event.place)
            case _:
                self.query_one(Prompt).focus()
                self.query_one(Prompt).edit_queued(event.place)
