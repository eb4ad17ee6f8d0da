"""The prompt with its completion, the queued messages, and a line about its text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.css.scalar import Scalar

from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.lines import wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.message_queue import MessageQueue, is_own_command
from cogency_tui.tui.prompt.prompt import Prompt

if TYPE_CHECKING:
    from cogency_tui.tui.kit.select_list import SelectList
    from cogency_tui.tui.prompt.completion import Completion
    from cogency_tui.tui.prompt.queue_list import QueueList

_LINES = 2
"""Most lines of an error."""

_PROMPT_SHARE = 33
"""Percent of the rows of the screen that the prompt takes at most."""


class PromptLine(Bar):
    """A line about the prompt: the error of a typed command, or that a draft is restored, in two lines where
    it is long; else what goes with the next message. Takes no space without a text."""

    SURFACE = "raised"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = ""
        self._role = "dim"
        self._reminders: dict[str, str] = {}
        self.display = False

    def show(self, text: str, role: str) -> None:
        """Show this text in place of the reminders, which return when it is empty."""
        self.text, self._role = text, role
        self._update()

    def remind(self, subject: str, text: str) -> None:
        """Show this text about a subject, an empty one no longer, while there is no text to show."""
        if text != self._reminders.get(subject, ""):
            self._reminders[subject] = text
            self._update()

    @property
    def reminder(self) -> str:
        return " · ".join(filter(None, self._reminders.values()))

    @property
    def rows(self) -> int:
        """The rows that it takes."""
        return len(self._lines()) if self.display else 0

    def _update(self) -> None:
        self.display = bool(self.text or self.reminder)
        self._fit()
        self.refresh()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Take as many rows as the text needs."""
        height = Scalar.from_number(len(self._lines()))
        if self.styles.inline.get_rule("height", None) != height:
            self.styles.height = height

    def row(self, y: int, width: int) -> Sequence[Segment]:
        lines = self._lines()
        return [Segment(lines[y], self._style)] if y < len(lines) else ()

    def _lines(self) -> list[str]:
        """The text in at most two lines; a reminder in one."""
        box = self.parent
        assert isinstance(box, Vertical)
        width = max(1, box.content_size.width)
        text = one_line(self.text or self.reminder)
        lines = [line.text for line in wrap([Segment(text)], width)] if self.text else [text]
        rest = " ".join(lines[_LINES - 1 :])
        return [fit(line, width) for line in (*lines[: _LINES - 1], *([rest] if rest else []))]

    @property
    def _style(self) -> Style:
        return self.theme_styles(self._role if self.text else "dim", self.SURFACE)


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
        self._list: QueueList | None = None
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

        self._completion, self._list = Completion(id="completion"), QueueList(id="queue")
        await self.mount(self._completion, self._list, before="#prompt")
        self.query_one(Prompt).complete_with(self._completion)

    def fit(self, rows: int) -> None:
        """Share `rows`, the most that the box may take, between the prompt and the queue, which shrinks
        first: to one row, and to none where there is only one for both."""
        prompt = self.query_one(Prompt)
        rows -= self.styles.margin.height + self.gutter.height + self.query_one(PromptLine).rows
        most = min(rows, max(1, self.screen.size.height * _PROMPT_SHARE // 100))
        wanted = max(1, min(prompt.wrapped_document.height, most))
        left = max(0, min(rows - 1, max(1, rows - wanted)))
        queued = self._list.fit(left) if self._list is not None else 0
        limit = Scalar.from_number(max(1, min(most, rows - queued)))
        # Assigning even the present value triggers a new layout.
        if prompt.styles.inline.get_rule("max_height", None) != limit:
            prompt.styles.max_height = limit

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

    def remind_of_comments(self, count: int) -> None:
        """Show that so many comments of the review go with the next message."""
        verb = "goes" if count == 1 else "go"
        text = f"{plural(count, 'review comment')} {verb} with your next message" if count else ""
        self.query_one(PromptLine).remind("comments", text)

    def remind_of_images(self, text: str) -> None:
        """Show which images go with the message, or why none does."""
        self.query_one(PromptLine).remind("images", text)

    def _show_line(self, text: str, role: str) -> None:
        self._described = self.query_one(Prompt).text
        self.query_one(PromptLine).show(text, role)
        self.set_class(role == "bad" and bool(text), "-error")

    def show_queue(self) -> None:
        """Show the queue in its present state."""
        if self._list is not None:
            self._list.show(self._queue)

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

    def on_prompt_refused(self, event: Prompt.Refused) -> None:
        event.stop()
        self.complain(event.reason)

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
