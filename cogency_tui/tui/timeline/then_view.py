"""The conversation as it was at a point, drawn by what draws conversations."""

from collections.abc import Callable, Iterable
from time import time

from cogency_tui.tui.timeline.panes import Read
from cogency_tui.tui.widgets.unit_view import UnitView


class ThenView(Read, UnitView):
    """Stands at the end: at what had just happened."""

    BINDING_GROUP_TITLE = "In the conversation"

    def __init__(self, *, clock: Callable[[], float] = time, id: str | None = None) -> None:
        super().__init__(lambda _width: [], clock=clock, id=id)

    def move(self, count: int, touched: Iterable[int]) -> None:
        """The transcript has `count` units now, of which those `touched` are others."""
        self.document.cut(count)
        for index in sorted(touched):
            self.document.touch(index)
        self.set_following(True)
        self.settle()
        self.refresh()
