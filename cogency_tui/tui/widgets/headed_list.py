"""A list whose rows stand below headings, which are passed over."""

from typing import TypeVar

from cogency_tui.tui.heading import Heading
from cogency_tui.tui.widgets.select_list import SelectList

Row = TypeVar("Row")


class HeadedList(SelectList[Row]):
    """One line a row, some of which are a `Heading`; none of these is ever selected."""

    def move(self, step: int) -> None:
        last = len(self._rows) - 1
        target = max(0, min(self.selected + step, last))
        onward = range(target, last + 1) if step > 0 else range(target, -1, -1)
        stop = next((at for at in onward if not isinstance(self._rows[at], Heading)), self.selected)
        super().move(stop - self.selected)
