"""Several conversations at a time: each goes on while another is shown, and is found again as it was left."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Permissions, Settings
from cogency_tui.errors import ProviderError, RateLimitError
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.conversation.turns_dialog import TurnsScreen
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.recall.rename_export_dialogs import RenameScreen
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.status.status_bar import Background
from cogency_tui.tui.switcher.rows import OpenConversation
from cogency_tui.tui.switcher.screen import SwitcherScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    at_work,
    conversation_of,
    header_of,
    live_line_of,
    main_of,
    prompt_of,
    question_of,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.review.stage import write


def agent_over(project: Path, *replies: str, permissions: Permissions = "ask") -> Agent:
    provider = ScriptedProvider(*replies, size=10_000)
    data = project.parent / "data"
    return Agent(
        provider, project=project, data=data, permissions=permissions, settings=Settings(titles=False)
    )


async def begin_beside(pilot: Pilot[Any]) -> MainScreen:
    """Begin a conversation while the shown one works; return the screen of that one."""
    left = main_of(pilot)
    await pilot.press("ctrl+n")
    await until(pilot, lambda: main_of(pilot) is not left and not conversation_of(pilot).transcript.units)
    await opened(pilot)
    return left


async def opened(pilot: Pilot[Any]) -> None:
    """Return when the shown screen takes all input."""
    app = pilot.app
    assert isinstance(app, CogencyApp)
    await until(pilot, lambda: app.is_open)


async def hang(pilot: Pilot[Any], text: str) -> MainScreen:
    """Send a message whose answer begins and never ends."""
    await send(pilot, text)
    await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
    return main_of(pilot)


def list_of(pilot: Pilot[Any]) -> SelectList[OpenConversation]:
    screen = pilot.app.screen
    assert isinstance(screen, SwitcherScreen)
    return screen.rows


def rows_of(pilot: Pilot[Any]) -> Sequence[OpenConversation]:
    return list_of(pilot).rows


async def press_in_switcher(pilot: Pilot[Any], *keys: str) -> None:
    """Open the switcher, and press these keys once it has its rows."""
    await pilot.press("f9")
    await until(pilot, lambda: isinstance(pilot.app.screen, SwitcherScreen) and rows_of(pilot))
    await pilot.press(*keys)


async def test_a_conversation_that_works_goes_on_while_another_begins_and_ends(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>", "two")
    async with at_work(agent) as pilot:
        await hang(pilot, "first")
        first = await begin_beside(pilot)
        await until(pilot, lambda: status_of(pilot).background == Background(working=1))
        assert "1 running" in shown(status_of(pilot))
        await send(pilot, "second")
        await until(
            pilot, lambda: "two" in shown(conversation_of(pilot)) and not main_of(pilot).bridge.working
        )
        assert first.bridge.working
        prompt_of(pilot).replace_text("a draft")

        await pilot.press("f9")
        await until(pilot, lambda: [row.condition for row in rows_of(pilot)] == ["working", "idle"])
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot) is first)
        assert "one" in shown(conversation_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not first.bridge.working)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is not first)
        assert prompt_of(pilot).text == "a draft"
        store = await agent.store()
        assert [each.turns for each in await store.conversations(limit=9)] == [1, 1]


async def test_the_heading_has_the_number_by_which_the_switcher_lists_a_conversation(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "one <<hang>>")) as pilot:
        assert "open" not in shown(header_of(pilot))
        await hang(pilot, "first")
        await begin_beside(pilot)
        await until(pilot, lambda: "2 of 2 open" in shown(header_of(pilot)))
        await hang(pilot, "second")
        await begin_beside(pilot)
        await until(pilot, lambda: "3 of 3 open" in shown(header_of(pilot)))
        await press_in_switcher(pilot, "home")
        await until(pilot, lambda: [row.number for row in rows_of(pilot)] == [1, 2, 3])
        lines = shown(list_of(pilot)).splitlines()
        assert [line.split()[:2] for line in lines[:3]] == [["1", "first"], ["2", "second"], ["3", "●"]]
        await pilot.press("enter")
        # The third was blank, and is gone.
        await until(pilot, lambda: "1 of 2 open" in shown(header_of(pilot)))
        assert "F9 switch" in shown(main_of(pilot).query_one(Footer))


async def test_a_digit_goes_to_the_conversation_of_that_number(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        second = await hang(pilot, "second")
        await press_in_switcher(pilot, "9")
        assert isinstance(pilot.app.screen, SwitcherScreen), "there are two"
        await pilot.press("1")
        await until(pilot, lambda: main_of(pilot) is first and pilot.app.screen is first)
        await press_in_switcher(pilot, "2")
        await until(pilot, lambda: main_of(pilot) is second and pilot.app.screen is second)


async def test_a_conversation_that_waits_for_another_attempt_says_so(project: Path) -> None:
    provider = ScriptedProvider(RateLimitError("Slow down.", retry_after=60), size=10_000)
    settings = Settings(titles=False)
    agent = Agent(provider, project=project, data=project.parent / "data", mode="resume", settings=settings)
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: "Retrying in" in shown(live_line_of(pilot)))
        await pilot.press("f9")
        await until(pilot, lambda: "⠋ retrying in 5" in shown(list_of(pilot)))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not main_of(pilot).bridge.working)


async def test_keys_typed_right_after_ctrl_n_are_in_the_new_prompt(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        await hang(pilot, "first")
        await pilot.press("ctrl+n", "n", "e", "w")
        await until(pilot, lambda: prompt_of(pilot).text == "new")


@pytest.mark.parametrize("way", [["ctrl+n"], ["f9", "enter"]], ids="+".join)
async def test_one_begins_at_the_prompt_of_a_conversation_left_from_a_pane(
    project: Path, way: list[str]
) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        prompt_of(pilot).replace_text("a draft")
        conversation_of(pilot).focus()
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        conversation_of(pilot).focus()
        await pilot.press(*way)
        await until(pilot, lambda: main_of(pilot) is not first)
        await opened(pilot)
        before = prompt_of(pilot).text
        await pilot.press(*"next")
        await until(pilot, lambda: prompt_of(pilot).text == before + "next")


async def test_ctrl_c_twice_asks_while_another_conversation_works(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        await pilot.press("ctrl+c", "ctrl+c")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert first.bridge.working


async def test_a_question_in_the_background_is_reported_and_waits_docked(project: Path) -> None:
    release = "two"
    agent = agent_over(project, "one <<hang>>", write("a.py", "1\n"), release)
    async with at_work(agent) as pilot:
        await hang(pilot, "first")
        first = await begin_beside(pilot)
        await send(pilot, "second")
        second = main_of(pilot)
        await until(pilot, lambda: question_of(pilot))
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await until(pilot, lambda: "1 waiting" in shown(status_of(pilot)))
        assert question_of(pilot) is None

        await pilot.press("shift+f9")
        await until(pilot, lambda: main_of(pilot) is second)
        assert (project / "a.py").exists() is False
        await answer(pilot, "y")
        await until(pilot, lambda: not second.bridge.working)
        assert (project / "a.py").exists()
        assert first.bridge.working


async def test_a_conversation_with_a_message_queued_at_its_question_still_waits(project: Path) -> None:
    agent = agent_over(project, write("a.py", "1\n"), "done", "two")
    async with at_work(agent, (80, 24)) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: question_of(pilot))
        first = main_of(pilot)
        prompt_of(pilot).focus()
        await pilot.press(*"queued", "enter")
        await until(pilot, lambda: len(first.bridge.queue) == 1)
        await begin_beside(pilot)
        await until(pilot, lambda: "1 waiting" in shown(status_of(pilot)))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        assert "“first” is waiting for you." in shown(pilot.app.screen.query_one("#confirmation-body"))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await press_in_switcher(pilot)
        await until(pilot, lambda: "? waiting for you" in shown(list_of(pilot)))
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await pilot.press("f6")
        await answer(pilot, "y")
        await until(pilot, lambda: not first.bridge.working and first.state == "idle")
        assert (project / "a.py").exists()


async def test_a_question_that_comes_up_in_the_background_names_the_conversation(project: Path) -> None:
    provider = ScriptedProvider("one <<hang>>", size=10_000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings(titles=False))
    async with at_work(agent) as pilot:
        await hang(pilot, "first")
        provider_two = ScriptedProvider("slow", write("b.py", "1\n"), "done", size=10_000)
        first = await begin_beside(pilot)
        main_of(pilot).agent.provider = provider_two
        await send(pilot, "second")
        await until(pilot, lambda: "slow" in shown(conversation_of(pilot)))
        second = main_of(pilot)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        second.send(Written("more"))
        await until(pilot, lambda: "“second” is waiting: Create b.py" in told(pilot))
        assert not (project / "b.py").exists()

        await pilot.press("shift+f9")
        await until(pilot, lambda: main_of(pilot) is second and question_of(pilot))
        await press_in_switcher(pilot, "escape")
        await until(pilot, lambda: main_of(pilot) is second and question_of(pilot))
        await answer(pilot, "y")
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await until(pilot, lambda: status_of(pilot).background.done or not second.bridge.working)


async def test_a_conversation_is_never_open_twice(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "two")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        await send(pilot, "second")
        await until(
            pilot, lambda: "two" in shown(conversation_of(pilot)) and not main_of(pilot).bridge.working
        )
        second = main_of(pilot)
        await second.run_action(f"command('resume', {first.bridge.conversation_id!r})")
        await until(pilot, lambda: main_of(pilot) is first)
        await first.run_action(f"command('resume', {second.bridge.conversation_id!r})")
        await until(pilot, lambda: main_of(pilot) is second)


async def test_opening_a_past_conversation_leaves_the_running_one_running(project: Path) -> None:
    async with at_work(agent_over(project, "zero", "one <<hang>>")) as pilot:
        await send(pilot, "past")
        await until(
            pilot, lambda: "zero" in shown(conversation_of(pilot)) and not main_of(pilot).bridge.working
        )
        past = main_of(pilot).bridge.conversation_id
        await pilot.press("ctrl+n")
        first = await hang(pilot, "first")
        await first.run_action(f"command('resume', {past!r})")
        await until(pilot, lambda: main_of(pilot) is not first and "zero" in shown(conversation_of(pilot)))
        assert first.bridge.working


async def test_an_empty_conversation_that_is_left_is_closed(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        await hang(pilot, "first")
        first = await begin_beside(pilot)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await pilot.press("f9")
        await until(pilot, lambda: [row.title for row in rows_of(pilot)] == ["first"])


async def test_closing_a_running_conversation_asks_and_interrupts_only_that_one(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>", "one too <<hang>>")
    async with at_work(agent) as pilot:
        await hang(pilot, "first")
        first = await begin_beside(pilot)
        second = await hang(pilot, "second")
        await press_in_switcher(pilot, "x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("n")
        await until(pilot, lambda: len(rows_of(pilot)) == 2)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: len(rows_of(pilot)) == 1 and not first.is_attached)
        assert second.bridge.working
        store = await agent.store()
        assert first.bridge.conversation_id is not None
        assert (await store.events(first.bridge.conversation_id))[0]["type"] == "user"
        await pilot.press("escape")
        await second.run_action(f"command('resume', {first.bridge.conversation_id!r})")
        await until(pilot, lambda: main_of(pilot) is not second and "first" in shown(conversation_of(pilot)))


async def test_the_shown_conversation_can_be_closed(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "two")) as pilot:
        await hang(pilot, "first")
        first = await begin_beside(pilot)
        await send(pilot, "second")
        await until(
            pilot, lambda: "two" in shown(conversation_of(pilot)) and not main_of(pilot).bridge.working
        )
        second = main_of(pilot)
        prompt_of(pilot).replace_text("unsent")
        await press_in_switcher(pilot, "down", "x")
        await until(pilot, lambda: main_of(pilot) is first and not second.is_attached)
        assert first.bridge.working


async def test_a_widening_in_one_widens_no_other(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        await hang(pilot, "first")
        main_of(pilot).agent.permissions = "auto"
        first = await begin_beside(pilot)
        assert main_of(pilot).agent.permissions == "ask"
        assert first.agent.permissions == "auto"


async def test_quitting_names_what_runs(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "one too <<hang>>"), size=(100, 30)) as pilot:
        await hang(pilot, "first")
        await begin_beside(pilot)
        await hang(pilot, "second")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        text = shown(pilot.app.screen.query_one("#confirmation-body"))
        assert "2 conversations are in progress" in text
        assert "“first”" in text
        assert "“second”" in text
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Confirmation))
        await pilot.press("ctrl+q", "y")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_drafts_of_all_prompts_are_stored(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>")
    async with at_work(agent) as pilot:
        first = await hang(pilot, "first")
        prompt_of(pilot).replace_text("draft of the first")
        await begin_beside(pilot)
        prompt_of(pilot).replace_text("draft of the second")
        directory = next((agent.data / "prompts").iterdir())
        drafts = lambda: sorted(path.read_text() for path in directory.glob("draft-*.json"))  # noqa: E731
        await until(pilot, lambda: len(drafts()) == 2)
        assert "draft of the first" in "".join(drafts())
        assert "draft of the second" in "".join(drafts())
        assert first.bridge.working


async def test_what_is_open_over_a_conversation_stays_open_and_has_the_present_theme(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        prompt_of(pilot).replace_text("not blank")
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        recall = pilot.app.screen
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is not first)
        await pilot.press("ctrl+r")
        await until(
            pilot, lambda: isinstance(pilot.app.screen, RecallScreen) and pilot.app.screen is not recall
        )
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.app.run_action("set_theme('day')")
        surface = first.query_one("#middle").styles.background
        await until(pilot, lambda: first.query_one("#middle").styles.background != surface)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: pilot.app.screen is recall)


async def test_a_dialog_opens_over_the_conversation_that_asks_for_it(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        second = main_of(pilot)
        first.call_next(first.run_action, "command('retry')")
        first.call_next(first.run_action, "command('turns')")
        app = pilot.app
        assert isinstance(app, CogencyApp)
        await until(pilot, lambda: isinstance(first.top, TurnsScreen))
        assert app.screen is second
        app.conversations.go_to(first)
        await until(pilot, lambda: isinstance(app.screen, TurnsScreen))


async def test_a_turn_that_fails_in_the_background_is_reported(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>")
    async with at_work(agent) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        second = main_of(pilot)
        second.agent.provider = ScriptedProvider("two", *[ProviderError("It is down.")] * 9, size=10_000)
        await send(pilot, "second")
        await until(pilot, lambda: "two" in shown(conversation_of(pilot)) and not second.bridge.working)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        second.send(Written("again"))
        await until(pilot, lambda: status_of(pilot).background == Background(failed=1))
        await until(pilot, lambda: told(pilot) == "“second” failed.")
        await pilot.press("shift+f9")
        await until(pilot, lambda: main_of(pilot) is second)
        await press_in_switcher(pilot, "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        await until(pilot, lambda: status_of(pilot).background == Background())
        await pilot.press("f9")
        await until(pilot, lambda: [row.condition for row in rows_of(pilot)] == ["working", "failed"])


async def test_a_conversation_that_ends_unseen_is_marked_until_it_is_seen(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>", "two")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        prompt_of(pilot).replace_text("not blank")
        first.bridge.interrupt()
        await until(pilot, lambda: status_of(pilot).background == Background(done=1))
        await until(pilot, lambda: told(pilot) == "“first” is done.")
        await pilot.press("shift+f9")
        await until(pilot, lambda: main_of(pilot) is first)
        await pilot.press("f9")
        await until(pilot, lambda: [row.condition for row in rows_of(pilot)] == ["idle", "idle"])


@pytest.mark.parametrize("size", [(100, 28), (80, 24), (60, 16)])
async def test_the_key_to_go_to_a_conversation_that_waits_stays_on_a_narrow_line(
    project: Path, size: tuple[int, int]
) -> None:
    agent = agent_over(project, "one <<hang>>", write("a.py", "1\n"))
    async with at_work(agent, size) as pilot:
        await hang(pilot, "first")
        await begin_beside(pilot)
        await send(pilot, "second")
        await until(pilot, lambda: question_of(pilot))
        await begin_beside(pilot)
        main_of(pilot).agent.provider = ScriptedProvider("one <<hang>>", size=10_000)
        await hang(pilot, "third")
        await until(pilot, lambda: " 1 waiting  1 running " in shown(status_of(pilot)))
        await until(pilot, lambda: "F9 switch" in shown(status_of(pilot)))


@pytest.mark.parametrize("size", [(160, 45), (100, 30), (80, 24), (60, 16)])
async def test_the_badge_and_the_rows_fit(project: Path, size: tuple[int, int]) -> None:
    async with at_work(agent_over(project, "one <<hang>>"), size=size) as pilot:
        await hang(pilot, "the first of all conversations, with a title that is long")
        await begin_beside(pilot)
        await until(pilot, lambda: "1 running" in shown(status_of(pilot)))
        await pilot.press("f9")
        await until(pilot, lambda: len(rows_of(pilot)) == 2)
        screen = pilot.app.screen
        assert isinstance(screen, SwitcherScreen)
        await until(pilot, lambda: "working" in shown(screen.rows))
        lines = shown(screen.rows).splitlines()
        assert lines[0].strip().startswith("1   the first of all")
        assert lines[1].strip().startswith("2 ● New conversation")


async def test_a_conversation_renamed_from_another_shows_its_new_title(project: Path) -> None:
    async with at_work(agent_over(project, "one <<hang>>")) as pilot:
        first = await hang(pilot, "first")
        await begin_beside(pilot)
        prompt_of(pilot).replace_text("not blank")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        await until(pilot, lambda: "first" in shown(pilot.app.screen.query_one("#recall-list")))
        await pilot.press("down", "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))
        await pilot.press("ctrl+a", "ctrl+k", *"other", "enter")
        await until(pilot, lambda: first.title_shown == "other")
