"""The panes: their widths by key and by mouse, one alone, and all of it kept for the project."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.config.schema import data_path
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.main.panes import Layout, LayoutFile
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    files_of,
    finished,
    header_of,
    main_of,
    prompt_of,
    send,
    status_of,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, respond, result

SIZE = (160, 45)
ALL = Layout(files=True, calls=True)


def app_in(project: Path) -> CogencyApp:
    """The app with all panes requested."""
    file = LayoutFile(project)
    if file.load() == Layout():
        file.save(ALL)
    return app_over(ScriptedAgent(project))


def widths(pilot: Pilot[Any]) -> list[int]:
    """How wide files, conversation and tool calls are; 0 for what is not shown."""
    panes = [main_of(pilot).query_one(f"#{id}") for id in ("files", "middle", "calls")]
    return [pane.outer_size.width if pane.display else 0 for pane in panes]


@pytest.mark.exhaustive
async def test_the_edge_of_a_pane_goes_where_the_arrow_shows_and_leaves_room_for_the_others(
    project: Path,
) -> None:
    async with app_in(project).run_test(size=(200, 16)) as pilot:

        async def press(*keys: str) -> list[int]:
            await pilot.press(*keys)
            await pilot.pause()
            return widths(pilot)

        files, middle, calls = widths(pilot)
        assert await press("alt+left") == [files, middle - 4, calls + 4]
        files_of(pilot).focus()
        assert await press("alt+right", "alt+right") == [files + 8, middle - 12, calls + 4]
        assert await press("alt+left", "alt+left") == [files, middle - 4, calls + 4]
        prompt_of(pilot).focus()
        narrowest = await press(*["alt+left"] * 20)
        assert narrowest[:2] == [16, 80]
        assert await press("alt+left") == narrowest
        widest = await press(*["alt+right"] * 30)
        assert widest[2] == 16
        assert sum(widest) == 200 - 4
        assert await press("alt+right") == widest
        files_of(pilot).focus()
        narrowest = await press(*["alt+right"] * 30)
        assert narrowest[1:] == [80, 16]
        await pilot.resize_terminal(194, 16)
        await pilot.pause()
        assert widths(pilot)[1:] == [80, 16], "the files give way"


@pytest.mark.parametrize(
    ("width", "least"), [(80, 40), (100, 40), (120, 40), (148, 80), (160, 80), (220, 80)]
)
@pytest.mark.parametrize("layout", [Layout(files=True), ALL, Layout(True, True, 900, 900)])
async def test_the_conversation_keeps_its_minimum_however_wide_the_panes_are_made(
    project: Path, layout: Layout, width: int, least: int
) -> None:
    LayoutFile(project).save(layout)
    async with app_over(ScriptedAgent(project)).run_test(size=(width, 16)) as pilot:
        await pilot.pause()
        if not files_of(pilot).is_on_screen:
            await pilot.press("f3")
        files_of(pilot).focus()
        await pilot.press(*["alt+right"] * 30)
        await pilot.pause()
        assert widths(pilot)[1] >= least
        if calls_of(pilot).is_on_screen:
            calls_of(pilot).focus()
            await pilot.press(*["alt+left"] * 30)
            await pilot.pause()
            assert widths(pilot)[1] >= least


@pytest.mark.exhaustive
async def test_a_pane_alone_and_all_of_them_again(project: Path) -> None:
    async with app_in(project).run_test(size=SIZE) as pilot:
        before = widths(pilot)
        await pilot.press("f8")
        await pilot.pause()
        assert widths(pilot) == [0, SIZE[0] - 2, 0]

        # The focus goes through what is shown.
        places: list[object] = []
        for _ in range(2):
            await pilot.press("f6")
            places.append(pilot.app.focused)
        assert places == [conversation_of(pilot), prompt_of(pilot)]

        await pilot.press("f8")
        await pilot.pause()
        assert widths(pilot) == before
        calls_of(pilot).focus()
        await pilot.press("f8")
        await pilot.pause()
        assert widths(pilot) == [0, 0, SIZE[0] - 2]
        assert prompt_of(pilot).display
        await pilot.press("f3")
        await pilot.pause()
        assert widths(pilot) == before, "what is asked for by name is shown beside the others"


@pytest.mark.exhaustive
async def test_a_gap_can_be_dragged_and_it_stays_so_in_this_project_and_in_no_other(
    project: Path, tmp_path: Path
) -> None:
    async with app_in(project).run_test(size=SIZE) as pilot:
        before = widths(pilot)
        await pilot.mouse_down("#files-splitter")
        await pilot.hover("#files-splitter", offset=(6, 10))
        # It is where it was dragged to already.
        await pilot.mouse_up("#files-splitter", offset=(0, 10))
        await pilot.pause()
        assert widths(pilot) == [before[0] + 6, 80, before[2] - 6], "the tool calls give way"
        await pilot.mouse_down("#calls-splitter")
        await pilot.mouse_up("#calls-splitter", offset=(5, 10))
        await pilot.pause()
        assert widths(pilot)[2] == before[2] - 11
        wide = widths(pilot)
        saved = LayoutFile(project).load()
        assert (saved.files_width, saved.calls_width) == (wide[0], wide[2]), "where it was dropped is kept"
        await pilot.press("f4")
        await pilot.pause()
        assert widths(pilot)[2] == 0
    async with app_in(project).run_test(size=SIZE) as pilot:
        assert widths(pilot)[0] == wide[0]
        assert widths(pilot)[2] == 0, "what is hidden stays hidden"
        await pilot.press("f4")
        await pilot.pause()
        assert widths(pilot) == wide
    other = tmp_path / "other"
    other.mkdir()
    async with app_in(other).run_test(size=SIZE) as pilot:
        assert widths(pilot) == before


async def test_what_a_narrow_screen_shows_for_a_moment_is_not_kept(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(79, 24)) as pilot:
        await pilot.press("f4")
        await pilot.press("f4")
    assert LayoutFile(project).load() == Layout()


@pytest.mark.parametrize(
    ("width", "before", "after"),
    [
        (80, [0, 78, 0], [0, 78, 0]),
        (100, [0, 98, 0], [0, 98, 0]),
        (120, [28, 89, 0], [28, 89, 0]),
        (160, [28, 129, 0], [28, 80, 48]),
        (200, [28, 169, 0], [28, 108, 60]),
    ],
)
async def test_a_pane_opens_by_itself_only_beside_a_wide_conversation(
    project: Path, width: int, before: list[int], after: list[int]
) -> None:
    turn = [call("c1", "read", file="README.md"), result("c1", "read"), respond("ok")]
    async with app_over(ScriptedAgent(project, turn)).run_test(size=(width, 30)) as pilot:
        assert widths(pilot) == before
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: widths(pilot) == after)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: widths(pilot) == before)
        for key, place in (("f3", 0), ("f4", 2)):
            shown = bool(widths(pilot)[place])
            await pilot.press(key)
            await until(pilot, lambda place=place, shown=shown: bool(widths(pilot)[place]) is not shown)


async def test_tool_calls_that_the_user_closed_stay_closed(project: Path) -> None:
    turn = [call("c1", "read", file="README.md"), result("c1", "read"), respond("ok")]
    async with app_over(ScriptedAgent(project, turn)).run_test(size=SIZE) as pilot:
        await pilot.press("f4", "f4")
        await send(pilot, "go")
        await finished(pilot)
        await pilot.pause()
        assert widths(pilot)[2] == 0


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_frame_takes_few_rows_of_a_small_screen(project: Path, size: tuple[int, int]) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=size) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await pilot.pause()
        assert prompt_of(pilot).size.height == 1
        assert size[1] - conversation_of(pilot).size.height - 1 <= (5 if size[1] == 24 else 3)
        assert header_of(pilot).region.y == 0
        assert status_of(pilot).region.bottom == size[1]


def test_a_layout_that_cannot_be_read_is_the_usual_one(project: Path) -> None:
    file = LayoutFile(project)
    file.save(Layout(files=False, calls_width=60))
    assert file.load() == Layout(files=False, calls_width=60)
    (kept,) = (data_path() / "layouts").iterdir()
    for text in ("", "{", '{"files_width": -3}', '{"files": "no"}', "[]", "\x00"):
        kept.write_text(text)
        assert file.load() == Layout()


async def test_a_pane_that_covers_the_conversation_has_the_focus_until_it_is_closed(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 16)) as pilot:
        for key, pane in (("f3", files_of(pilot)), ("f4", calls_of(pilot))):
            assert prompt_of(pilot).has_focus
            await pilot.press(key)
            await until(pilot, lambda pane=pane: pane.has_focus)
            await pilot.press(key)
            await until(pilot, lambda: prompt_of(pilot).has_focus)
        await pilot.resize_terminal(100, 30)
        await pilot.press("f3")
        await pilot.pause()
        assert widths(pilot)[0]
        assert prompt_of(pilot).has_focus, "beside the conversation it takes nothing"
