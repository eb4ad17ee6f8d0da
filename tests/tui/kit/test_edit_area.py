"""The area for editing text."""

from textual.app import App, ComposeResult

from cogency_tui.tui.kit.edit_area import EditArea
from tests.tui.driving import until


class OneArea(App[None]):
    CSS = "EditArea { height: auto; max-height: 5; }"

    def compose(self) -> ComposeResult:
        yield EditArea(compact=True)


def shows_cursor(area: EditArea) -> bool:
    top = area.scroll_offset.y
    return top <= area.cursor_location[0] < top + area.content_size.height


async def test_the_line_that_is_being_written_is_in_view() -> None:
    async with OneArea().run_test(size=(40, 12)) as pilot:
        area = pilot.app.query_one(EditArea)
        for _line in range(11):
            await pilot.press("a", "enter")
            await pilot.pause()
            assert shows_cursor(area)


async def test_the_cursor_stays_in_view_when_the_area_becomes_small() -> None:
    async with OneArea().run_test(size=(40, 12)) as pilot:
        area = pilot.app.query_one(EditArea)
        area.styles.max_height = 12
        area.load_text("\n" * 10)
        area.move_cursor((10, 0))
        await pilot.pause()
        await pilot.resize_terminal(40, 4)
        await until(pilot, lambda: area.content_size.height == 4)
        await until(pilot, lambda: shows_cursor(area))
