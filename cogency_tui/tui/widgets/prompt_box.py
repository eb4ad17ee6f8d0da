"""The prompt with what belongs to it: what is offered while one types, and the messages that wait.

It leads clicks on those to the prompt, which has the keys.
"""

from textual.app import ComposeResult
from textual.containers import Vertical

from cogency_tui.tui.message_queue import MessageQueue, is_own_command
from cogency_tui.tui.widgets.completion import Completion
from cogency_tui.tui.widgets.prompt import Prompt
from cogency_tui.tui.widgets.queue_list import QueueList
from cogency_tui.tui.widgets.select_list import SelectList


class PromptBox(Vertical):
    """Composes them over `queue`, which is the bridge's."""

    def __init__(self, queue: MessageQueue, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._queue = queue
        self._completion = Completion(id="completion")

    def compose(self) -> ComposeResult:
        yield self._completion
        yield QueueList(id="queue")
        yield Prompt(self._completion, self._queue, id="prompt")

    def show_queue(self) -> None:
        """Show the queue as it is now."""
        self.query_one(QueueList).show(self._queue)

    def on_resize(self) -> None:
        self._completion.refit()

    def on_text_area_changed(self) -> None:
        """A command of the shell is told from a message by the bar beside it, too."""
        self.set_class(is_own_command(self.query_one(Prompt).text), "-command")

    def on_select_list_chosen(self, event: SelectList.Chosen) -> None:
        event.stop()
        prompt = self.query_one(Prompt)
        prompt.focus()
        prompt.action_take()

    def on_queue_list_pressed(self, event: QueueList.Pressed) -> None:
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
