"""Between the first frame, which shows the prompt alone, and the complete screen."""

from pathlib import Path

import pytest
from textual import events

from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import Draft
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.prompt.completion import Completion
from tests.tui.driving import main_of, prompt_of, until
from tests.tui.prompt.test_writing import prompts_of, saved
from tests.tui.scripted import ScriptedAgent, respond

PARTS = ("#header", "#files", "#middle", "#calls", "#prompt", "#status-bar", "#footer")


class Opening(CogencyApp):
    """Stays at the first frame until it is told to open."""

    def __init__(self, agent: ScriptedAgent) -> None:
        super().__init__(agent)  # pyright: ignore[reportArgumentType]

    async def _begin(self) -> None:
        pass

    def open(self) -> None:
        self.screen_stack[0].call_later(super()._begin)


@pytest.mark.exhaustive
async def test_text_is_taken_at_once_and_all_other_keys_in_their_order_later(project: Path) -> None:
    app = Opening(ScriptedAgent(project))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = main_of(pilot)
        await pilot.press("a", "b")
        app.post_message(events.Paste("c"))
        await until(pilot, lambda: prompt_of(pilot).text == "abc")
        await pilot.press("f3", "d", "backspace", "e", "f1", "f")
        assert prompt_of(pilot).text == "abc"
        assert screen.query_one("#files").display
        assert app.screen is screen

        app.open()
        await until(pilot, lambda: app.is_open and app.screen is not screen)
        assert prompt_of(pilot).text == "abce"
        assert not screen.query_one("#files").display


@pytest.mark.exhaustive
async def test_a_message_that_is_sent_before_it_is_open_is_sent(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    app = Opening(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h", "i", "enter", "x")
        app.open()
        await until(pilot, lambda: agent.asked == ["hi"])
        await until(pilot, lambda: prompt_of(pilot).text == "x")


@pytest.mark.exhaustive
async def test_completions_are_offered_for_text_from_before_which_is_saved_as_a_draft(project: Path) -> None:
    agent = ScriptedAgent(project)
    app = Opening(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("at", "r")
        app.open()
        await until(pilot, lambda: main_of(pilot).query_one(Completion).display)
        await until(pilot, lambda: [draft.written.text for draft in saved(agent)] == ["@r"])


@pytest.mark.exhaustive
async def test_text_typed_already_stays_and_the_draft_waits_for_the_next_conversation(project: Path) -> None:
    agent = ScriptedAgent(project)
    prompts_of(agent).put_aside(Draft(Written("from before")))
    prompts_of(agent).remember(Written("the history"))
    app = Opening(agent)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("n", "e", "w")
        app.open()
        await until(pilot, lambda: prompt_of(pilot).entries == [Written("the history")])
        await until(pilot, lambda: {draft.written.text for draft in saved(agent)} == {"new", "from before"})
        assert prompt_of(pilot).text == "new"


async def test_text_typed_before_it_is_open_outlives_the_program(project: Path) -> None:
    for opening in (False, True):
        agent = ScriptedAgent(project)
        app = Opening(agent)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("n", "e", "w")
            if opening:
                app.open()
            app.exit()
        (claimed,) = prompts_of(agent).claim("")
        assert claimed.draft.written.text == "new"


async def test_nothing_moves_when_it_opens(project: Path) -> None:
    for size in ((160, 45), (100, 30), (60, 16)):
        app = Opening(ScriptedAgent(project))
        async with app.run_test(size=size) as pilot:
            screen = main_of(pilot)
            before = {part: screen.query_one(part).region for part in PARTS}
            assert before["#middle"] or before["#files"]
            app.open()
            await until(pilot, lambda app=app: app.is_open)
            await pilot.pause()
            assert {part: screen.query_one(part).region for part in PARTS} == before


async def test_it_can_be_left_before_it_is_open(project: Path) -> None:
    for opening in (False, True):
        app = Opening(ScriptedAgent(project))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("a", "f1", "b")
            if opening:
                app.open()
            app.exit(return_code=3)
        assert app.return_code == 3
