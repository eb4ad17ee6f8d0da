"""The area for editing text."""

from textual.app import App, ComposeResult

from cogency_tui.tui.kit.edit_area import EditArea


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
