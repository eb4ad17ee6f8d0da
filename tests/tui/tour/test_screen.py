"""`--tour`: from the first step to the last on the real offline model, and as a new user's shell starts it."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui import temporary_files
from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.tour.screen import FILES, LAST, STEPS, TourBar, TourScreen
from cogency_tui.tui.undo.screen import UndoScreen
from tests.tui.driving import (
    answer,
    app_over,
    asked,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    shown,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.pty import Terminal
from tests.tui.scripted import ScriptedAgent

pytestmark = pytest.mark.exhaustive


def bar(pilot: Pilot[Any]) -> TourBar:
    return main_of(pilot).query_one(TourBar)


async def take_step(pilot: Pilot[Any]) -> None:
    """Send what is suggested."""
    prompt = STEPS[bar(pilot).step].prompt
    await pilot.press("f7")
    await until(pilot, lambda: prompt_of(pilot).text == prompt)
    await pilot.press("enter")


async def allow(pilot: Pilot[Any]) -> None:
    await answer(pilot, "y")


async def test_it_shows_a_read_a_command_an_edit_the_review_undo_and_recall(project: Path) -> None:
    for name, text in FILES.items():
        (project / name).write_text(text)
    prices = project / "prices.py"
    agent = Agent("offline", project=project, data=project.parent / "data")
    app = app_over(agent, screen=TourScreen)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        assert "Tour 1/7" in shown(bar(pilot))
        assert "F7" in shown(bar(pilot))
        await take_step(pilot)
        await until(pilot, lambda: bar(pilot).step == 1)

        await take_step(pilot)
        await asked(pilot)
        assert "F7" not in shown(bar(pilot)), "its prompt is sent already"
        await pilot.press("f7")
        await pilot.pause()
        assert not prompt_of(pilot).text
        await allow(pilot)
        await until(pilot, lambda: bar(pilot).step == 2)
        assert "F7" in shown(bar(pilot))
        await until(pilot, lambda: "FAILED" in shown(conversation_of(pilot)))

        await take_step(pilot)
        await allow(pilot)
        await until(pilot, lambda: bar(pilot).step == 3)
        assert "price * (1 - discount)" in prices.read_text()

        await take_step(pilot)
        await allow(pilot)
        await until(pilot, lambda: bar(pilot).step == 4)
        await finished(pilot)
        await until(pilot, lambda: "OK" in shown(conversation_of(pilot)))

        await take_step(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await take_step(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
        await pilot.press("y")
        await until(pilot, lambda: prices.read_text() == FILES["prices.py"])
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await take_step(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert "Tour complete" in shown(bar(pilot))
        await pilot.press("f7")

        main = main_of(pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(main, TourScreen) and main.keeps_project)
    await agent.close()


async def test_what_one_writes_instead_does_not_go_on_and_a_step_can_be_skipped(project: Path) -> None:
    for name, text in FILES.items():
        (project / name).write_text(text)
    agent = Agent("offline", project=project, data=project.parent / "data")
    async with app_over(agent, screen=TourScreen).run_test(size=(80, 24)) as pilot:
        prompt_of(pilot).replace_text("hello")
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id)
        await finished(pilot)
        assert bar(pilot).step == 0
        await pilot.press("shift+f7")
        await until(pilot, lambda: bar(pilot).step == 1)

        # One that is skipped before its answer is one step.
        await take_step(pilot)
        await asked(pilot)
        await main_of(pilot).run_action("tour_skip")
        await allow(pilot)
        await finished(pilot)
        await pilot.pause()
        assert bar(pilot).step == 2

        await pilot.press(*["shift+f7"] * 7)
        await until(pilot, lambda: bar(pilot).step == len(STEPS))
    await agent.close()


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 16), (40, 24)])
async def test_each_step_is_shown_whole_with_its_key(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project), screen=TourScreen).run_test(size=size) as pilot:
        for number, step in enumerate(STEPS):
            await until(pilot, lambda number=number: f"Tour {number + 1}/7" in shown(bar(pilot)))
            await until(pilot, lambda step=step: f"{step.shows} F7" in " ".join(shown(bar(pilot)).split()))
            await pilot.press("shift+f7")
        await until(pilot, lambda: LAST in " ".join(shown(bar(pilot)).split()))


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_first_page_shows_its_keys(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project), screen=TourScreen).run_test(size=size) as pilot:
        await until(pilot, lambda: "A short tour" in shown(conversation_of(pilot)))
        for keys in ("F7  ", "Shift+F7 ", "Ctrl+Q "):
            assert keys in shown(conversation_of(pilot))


@pytest.mark.parametrize(("size", "theme"), [((100, 30), "night"), ((80, 24), "day")])
async def test_looks(project: Path, size: tuple[int, int], theme: str) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "A short tour" in shown(conversation_of(pilot)))

    def make() -> CogencyApp:
        return app_over(ScriptedAgent(project), screen=TourScreen)

    await check_looks("tour", make, prepare, sizes=[size], themes=[theme])


@pytest.mark.pty
@pytest.mark.parametrize("keeps", [False, True])
def test_a_new_user_is_left_with_nothing_but_what_they_keep(
    tmp_path: Path, sealed_home: Path, keeps: bool
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    # A theme that is not there is no obstacle.
    themes = tmp_path / "config" / "themes"
    themes.mkdir(parents=True)
    (themes / "gone.toml").symlink_to(tmp_path / "nowhere")
    environ = {"TMPDIR": str(scratch)}
    if not keeps:
        environ["COGENCY_CONFIG"] = str(themes.with_name("config.toml"))
    with Terminal(
        "--tour", cwd=tmp_path, data=tmp_path / "data", columns=80, rows=24, environ=environ
    ) as terminal:
        terminal.wait_for("Tour 1/7")
        terminal.send("\x11")
        terminal.wait_for("Keep the scratch project")
        terminal.send("y" if keeps else "n")
        assert terminal.process.wait(60) == 0
        if keeps:
            terminal.wait_for("The scratch project is in")
    # Any program that starts later removes the remains of killed ones.
    temporary_files.sweep(scratch)
    left = [path.name for path in scratch.glob("cogency-tour*/shop/*")]
    assert sorted(left) == (sorted(FILES) if keeps else [])
    assert len(list(scratch.glob("cogency-*"))) == keeps
    if keeps:
        (kept,) = scratch.glob("cogency-tour*/shop")
        assert f"The scratch project is in {kept}." in terminal.text.replace("\n", "")
    assert not (sealed_home / ".config").exists()
    assert not (tmp_path / "data").exists()
