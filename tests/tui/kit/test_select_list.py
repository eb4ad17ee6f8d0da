"""The list that all lists are: keys, clicks, headings and details, and a selection that stays on its row."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from cogency_tui.config.themes import load_palette
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import BAR, Heading, Kind, SelectList, list_keys
from cogency_tui.tui.theme_styles import DEFAULT, ThemeStyles, textual_theme
from tests.tui.reading import shown

Row = str | Heading
ROWS: list[Row] = [Heading("one"), "a", "b", Heading("two"), "c", "c.1", "c.2", "d"]
"""`c.1` and `c.2` are details of `c`."""


class Rows(SelectList[Row]):
    BINDINGS = list_keys("rows")

    def __init__(self) -> None:
        super().__init__(self._draw_row, str, focusable=True, id="rows")
        self.drawn = 0

    def kind_of(self, row: Row) -> Kind:
        return Kind.DETAIL if isinstance(row, str) and "." in row else super().kind_of(row)

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        self.drawn += 1
        text = row.text if isinstance(row, Heading) else row
        return Line([Segment(f"{'>' if on == 'cursor' else ' '}{text}"[:width], styles("text", on))])


class ListApp(App[None]):
    CSS = "#rows { height: 1fr; scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(textual_theme(load_palette(DEFAULT)))
        self.theme = DEFAULT
        self.heard: list[str] = []

    def compose(self) -> ComposeResult:
        yield Rows()

    def on_select_list_selected(self) -> None:
        self.heard.append("selected")

    def on_select_list_chosen(self, event: SelectList.Chosen) -> None:
        self.heard.append("chosen again" if event.again else "chosen")


@asynccontextmanager
async def listing(rows: Sequence[Row], height: int = 20) -> AsyncGenerator[tuple[Pilot[Any], Rows, ListApp]]:
    app = ListApp()
    async with app.run_test(size=(20, height)) as pilot:
        listed = app.query_one(Rows)
        listed.show(rows)
        listed.focus()
        await pilot.pause()
        yield pilot, listed, app


async def test_keys_pass_over_headings_and_details() -> None:
    async with listing(ROWS) as (pilot, listed, app):
        assert listed.row == "a"
        for key, row in [("j", "b"), ("down", "c"), ("down", "d"), ("down", "d"), ("k", "c"), ("up", "b")]:
            await pilot.press(key)
            assert listed.row == row
        for key, row in [
            ("end", "d"),
            ("home", "a"),
            ("G", "d"),
            ("g", "a"),
            ("pagedown", "d"),
            ("pageup", "a"),
        ]:
            await pilot.press(key)
            assert listed.row == row
        listed.move(3)
        assert listed.row == "d"
        listed.move(-100)
        assert listed.row == "a"
        assert "chosen" not in app.heard


async def test_the_selection_stays_on_its_row_when_others_come_and_go() -> None:
    async with listing(ROWS) as (pilot, listed, app):
        await pilot.press("down", "down")
        app.heard.clear()
        listed.update_rows(["x", *ROWS])
        assert (listed.row, listed.selected) == ("c", 5)
        listed.update_rows(["a", "b", "d"])
        assert listed.row == "d", "the row is gone: the place counts"
        listed.update_rows([])
        assert (listed.row, listed.key) == (None, None)
        listed.update_rows([Heading("one")])
        assert (listed.row, listed.key) == (None, None)
        await pilot.press("down", "up", "end", "pagedown")
        assert listed.row is None
        assert not app.heard, "only the user selects"


async def test_a_click_selects_an_entry_also_by_its_details_and_no_heading() -> None:
    async with listing(ROWS) as (pilot, listed, app):
        await pilot.click(Rows, offset=(4, 3))
        assert (listed.row, app.heard) == ("a", [])
        await pilot.click(Rows, offset=(4, 6))
        assert (listed.row, app.heard) == ("c", ["selected", "chosen"])
        await pilot.click(Rows, offset=(4, 4))
        assert app.heard[2:] == ["chosen again"]
        await pilot.click(Rows, offset=(4, 12))
        assert listed.row == "c"


async def test_the_selected_row_is_shown_with_its_heading_and_details() -> None:
    async with listing(ROWS, height=4) as (pilot, listed, _app):
        await pilot.press("down", "down")
        assert shown(listed).split() == ["two", BAR, ">c", "c.1", "c.2"]
        await pilot.press("up", "up")
        assert shown(listed).split()[:3] == ["one", BAR, ">a"]
        await pilot.resize_terminal(20, 2)
        await pilot.press("end")
        assert ">d" in shown(listed)


async def test_a_long_list_draws_what_is_in_view() -> None:
    rows = [f"row {number}" for number in range(100_000)]
    async with listing(rows, height=10) as (pilot, listed, _app):
        listed.drawn = 0
        await pilot.press("end")
        assert ">row 99999" in shown(listed)
        await pilot.press("pageup")
        assert listed.row == "row 99991"
        assert listed.drawn <= 60


async def test_an_empty_list_gives_the_reason() -> None:
    async with listing([]) as (pilot, listed, _app):
        listed.notice = "Nothing is here yet, and nothing was here before."
        listed.refresh()
        await pilot.pause()
        assert " ".join(shown(listed).split()) == listed.notice
