"""The field of a list that is filtered as one types."""

from textual import events
from textual.widgets import Input

from cogency_tui.tui.widgets.in_order import act_in_order


class FilterField(Input):
    """An input for the beginning of something; Enter opens what the screen has selected by it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="Type to filter", id=id)
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)
