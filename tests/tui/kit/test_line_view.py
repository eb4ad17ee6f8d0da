"""The base of every pane."""

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Vertical

from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line
from tests.tui.driving import until


class Ruler(LineView):
    """Shows the width that its last `Resize` told."""

    told = 0

    def on_resize(self) -> None:
        self.told = self.size.width

    def line_at(self, y: int) -> Line | None:
        return Line([Segment(str(self.told))])


class Covered(App[None]):
    """A ruler in a container that is hidden at first."""

    CSS = "Vertical { display: none; }"

    def compose(self) -> ComposeResult:
        yield Ruler(id="first")
        with Vertical():
            yield Ruler(id="second")


async def test_a_size_that_was_read_before_the_layout_is_told_nevertheless() -> None:
    app = Covered()
    async with app.run_test() as pilot:
        first, second = app.query_one("#first", Ruler), app.query_one("#second", Ruler)
        await until(pilot, lambda: first.told == 80)
        # Textual tells a size if its map of the screen has another. Here the size is read with a refresh of
        # that map due, which a refresh of a widget beside the map causes.
        app.query_one(Vertical).display = True
        app.screen._compositor._full_map_invalidated = True  # pyright: ignore[reportPrivateUsage]
        assert second.size.width == 80
        await until(pilot, lambda: second.told == 80)
