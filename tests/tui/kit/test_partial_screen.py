"""What is drawn of a screen when a part of it changes."""

import asyncio

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.tui.kit.dialogs import AnsweringScreen
from cogency_tui.tui.kit.partial_screen import PartialScreen
from tests.tui.driving import PATIENCE, until


class Field(Widget):
    """Shows its name and a number, and records the regions that are drawn."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.can_focus = True
        self.number = 0
        self.drawn: list[Region] = []

    def render_lines(self, crop: Region) -> list[Strip]:
        assert self.screen
        self.drawn.append(crop)
        shown = Strip([Segment(f"{self.id} {self.number}")]).extend_cell_length(self.size.width)
        return [shown.crop(crop.x, crop.right)] * crop.height


class Fields(PartialScreen[None]):
    CSS = "Field { height: 6; width: 1fr; } #deep { height: 30; } VerticalScroll { height: 8; }"

    def compose(self) -> ComposeResult:
        yield Field("head")
        with Horizontal():
            yield Field("left")
            yield Field("right")
        with VerticalScroll():
            yield Field("deep")


class Over(ModalScreen[None], AnsweringScreen[None]):
    """A dialog through which the screen below is seen."""


class Form(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Fields())


async def opened(pilot: Pilot[None]) -> dict[str, Field]:
    await until(pilot, lambda: len(pilot.app.screen.query(Field)) == 4)
    await until(pilot, lambda: all(each.drawn for each in pilot.app.screen.query(Field)))
    # What the mounting and the size still ask for is drawn.
    await pilot.pause()
    return {str(each.id): each for each in pilot.app.screen.query(Field)}


async def test_only_the_widgets_and_rows_that_a_change_touches_are_drawn() -> None:
    async with Form().run_test(size=(40, 30)) as pilot:
        fields = await opened(pilot)
        for field in fields.values():
            field.drawn.clear()
        fields["right"].refresh(Region(0, 2, 20, 1))
        await until(pilot, lambda: bool(fields["right"].drawn))
        assert fields["right"].drawn == [Region(0, 2, 20, 1)]
        assert [field.drawn for name, field in fields.items() if name != "right"] == [[], [], []]


async def test_a_partial_update_shows_what_a_complete_one_would() -> None:
    async with Form().run_test(size=(40, 30)) as pilot:
        fields = await opened(pilot)
        compositor = pilot.app.screen._compositor  # pyright: ignore[reportPrivateUsage]
        pilot.app.screen.query_one(VerticalScroll).scroll_to(y=3, animate=False)
        await pilot.pause()
        for changed in (["head"], ["left", "deep"], ["right"], ["head", "deep"]):
            for name in changed:
                fields[name].number += 1
                fields[name].refresh()
            compositor.update_widgets({fields[name] for name in changed})
            update = compositor.render_partial_update()
            assert update is not None
            complete = compositor.render_strips()
            for y, left, right in update.spans:
                drawn = [strip for x, strip in update.chops[y].items() if strip and left <= x < right]
                assert Strip.join(drawn).text == complete[y].text[left:right]


async def test_what_a_key_changes_in_the_focused_widget_does_not_wait_for_the_next_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 3600.0)
    async with Form().run_test(size=(40, 30)) as pilot:
        fields = await opened(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, Fields)
        left, right = fields["left"], fields["right"]
        left.focus()
        await pilot.pause()
        left.drawn.clear()
        right.drawn.clear()

        # `pilot.pause` would draw.
        screen.draw_soon()
        right.refresh()
        await asyncio.sleep(0.02)
        assert not right.drawn, "it may be the next piece of an answer"
        async with asyncio.timeout(PATIENCE):
            while not left.drawn:
                screen.draw_soon()
                left.refresh()
                await asyncio.sleep(0.001)
        assert right.drawn


async def test_a_widget_that_is_removed_below_a_dialog_is_not_drawn_again() -> None:
    async with Form().run_test(size=(40, 30)) as pilot:
        fields = await opened(pilot)
        await pilot.app.push_screen(Over())
        await pilot.pause()
        await fields["left"].remove()
        pilot.app.screen.refresh()
        await pilot.pause()
        assert pilot.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
