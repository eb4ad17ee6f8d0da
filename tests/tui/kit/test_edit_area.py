"""The area for editing text."""

from textual.app import App, ComposeResult

from cogency_tui.tui.kit.edit_area import EditArea


class OneArea(App[None]):
    CSS = "EditArea { height: auto; max-height: 5; }"

    def compose(self) -> ComposeResult:
        yield EditArea(compact=True)


async def test_the_line_that_is_being_written_is_in_view() -> None:
    async with OneArea().run_test(size=(40, 12)) as pilot:
        area = pilot.app.query_one(EditArea)
        for number in range(1, 12):
            await pilot.press("a", "enter")
            await pilot.pause()
            bottom = area.scroll_offset.y + area.content_size.height
            assert area.scroll_offset.y <= area.cursor_location[0] < bottom, number
