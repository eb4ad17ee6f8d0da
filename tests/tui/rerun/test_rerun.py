"""`/rerun`: a turn runs again as another open conversation, and the two are compared."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.recall.recall import Branch, Check, Comparison
from cogency_tui.agent.rerun import Rerun, RerunChoice, rerunning
from cogency_tui.errors import UsageError
from cogency_tui.store.edit_records import Kind
from cogency_tui.store.store import StoredConversation
from cogency_tui.store.trash import Trash
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.kit.dialogs import Choices, Confirmation
from cogency_tui.tui.main.open_conversations import open_conversations_of
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.recall.branch_comparison import ComparisonScreen
from cogency_tui.tui.rerun.dialog import LineDialog, LineField, RerunScreen
from cogency_tui.tui.switcher.screen import SwitcherScreen
from cogency_tui.tui.timeline.screen import TimelineScreen
from tests.tui.driving import (
    app_over,
    at_work,
    finished,
    header_of,
    main_of,
    opened,
    prompt_of,
    seen,
    send,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.looks import check_looks


def agent_in(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data", permissions="auto")


def listed(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#rerun-list"))


def compared(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#comparison-body"))


def on(pilot: Pilot[Any], screen: type[Any]) -> Callable[[], bool]:
    return lambda: isinstance(pilot.app.screen, screen)


@pytest.mark.exhaustive
async def test_a_turn_runs_again_beside_its_conversation_and_is_discarded(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    agent = agent_in(project)
    async with at_work(agent, (160, 45)) as pilot:
        await send(pilot, "replace 'one' with 'two' in notes.txt")
        await finished(pilot)
        assert (project / "notes.txt").read_text() == "two\n"
        await send(pilot, "/timeline")
        await until(pilot, on(pilot, TimelineScreen))
        await until(pilot, lambda: "replace" in shown(pilot.app.screen.query_one("#timeline-then")))
        await pilot.press("a")
        await until(pilot, on(pilot, RerunScreen))
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, on(pilot, LineDialog))
        await type_text(pilot, "cat notes.txt")
        await pilot.press("enter")
        await until(pilot, on(pilot, RerunScreen))
        await until(pilot, lambda: "cat notes.txt" in listed(pilot))
        await pilot.press("r")
        await until(pilot, on(pilot, ComparisonScreen))
        await until(pilot, lambda: "original" in compared(pilot))
        text = compared(pilot)
        assert text.count("offline/offline-1") == 2
        assert text.count("~ notes.txt") == 2
        assert text.count("✓ cat notes.txt: exit 0") == 2
        conversations = open_conversations_of(pilot.app)
        assert len(conversations.screens) == 2
        copy = conversations.shown.agent.project
        assert copy != project
        assert (copy / "notes.txt").read_text() == "two\n"
        await pilot.press("escape")
        await send(pilot, "/rerun")
        await until(pilot, on(pilot, ComparisonScreen))
        await pilot.press("d")
        await until(pilot, on(pilot, Confirmation))
        await pilot.press("n")
        await until(pilot, on(pilot, ComparisonScreen))
        assert copy.exists()
        await pilot.press("d")
        await until(pilot, on(pilot, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: not copy.exists())
        await until(pilot, lambda: len(conversations.screens) == 1)
        assert conversations.shown.agent is agent
        assert len(await Trash((await agent.store()).database).listed(limit=5)) == 1


async def begin_rerun(pilot: Pilot[Any]) -> None:
    await send(pilot, "say hello")
    await finished(pilot)
    await send(pilot, "/rerun")
    await until(pilot, on(pilot, RerunScreen))
    await pilot.press("r")
    await until(pilot, lambda: len(open_conversations_of(pilot.app).screens) == 2)


async def test_a_rerun_that_ends_takes_no_keys_from_the_user(project: Path) -> None:
    agent = agent_in(project)
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        gate = asyncio.Event()
        compare = Rerun.compare

        async def held(rerun: Rerun) -> Comparison:
            await gate.wait()
            return await compare(rerun)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Rerun, "compare", held)
            await begin_rerun(pilot)
            await until(pilot, lambda: main_of(pilot).bridge.conversation_id)
            again = main_of(pilot)
            await type_text(pilot, "half a wor")
            await finished(pilot)
            gate.set()
            await until(pilot, lambda: told(pilot).endswith("Rerun finished: /rerun shows the comparison."))
        assert pilot.app.screen is again
        assert prompt_of(pilot).text == "half a wor"
        prompt_of(pilot).replace_text("")
        await send(pilot, "/rerun")
        await until(pilot, on(pilot, ComparisonScreen))


async def finished_rerun(pilot: Pilot[Any]) -> Path:
    """Run a turn that edits a file again; return the scratch copy."""
    await opened(pilot)
    await send(pilot, "replace 'one' with 'two' in notes.txt")
    await finished(pilot)
    await send(pilot, "/rerun")
    await until(pilot, on(pilot, RerunScreen))
    await pilot.press("r")
    await until(pilot, on(pilot, ComparisonScreen))
    await pilot.press("escape")
    await until(pilot, on(pilot, MainScreen))
    return main_of(pilot).agent.project


async def test_a_conversation_begun_in_a_rerun_works_in_the_project(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        copy = await finished_rerun(pilot)
        assert copy != project
        await pilot.press("ctrl+n")
        await until(pilot, lambda: main_of(pilot).agent.project == project)
        await opened(pilot)
        await send(pilot, "replace 'two' with 'three' in notes.txt")
        await until(pilot, lambda: (project / "notes.txt").read_text() == "three\n")
        await finished(pilot)
        assert (copy / "notes.txt").read_text() == "two\n"
        assert len(open_conversations_of(pilot.app).screens) == 3


async def test_a_rerun_says_what_it_is_and_compares_its_first_turn_alone(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    async with at_work(agent_in(project)) as pilot:
        await finished_rerun(pilot)
        assert "rerun of turn 1 · scratch copy" in shown(header_of(pilot))
        await pilot.press("f9")
        await until(pilot, on(pilot, SwitcherScreen))
        await until(pilot, lambda: seen(pilot).count(" · rerun") == 1)
        await pilot.press("escape")
        await send(pilot, "replace 'two' with 'three' in notes.txt")
        await until(pilot, lambda: (main_of(pilot).agent.project / "notes.txt").read_text() == "three\n")
        await finished(pilot)
        await until(
            pilot,
            lambda: all(each.is_finished for each in pilot.app.workers if each.group == "rerun-compare"),
        )
        assert isinstance(pilot.app.screen, MainScreen)
        await send(pilot, "/rerun")
        await until(pilot, on(pilot, ComparisonScreen))
        await until(pilot, lambda: "original" in compared(pilot))
        assert "three" not in compared(pilot)


async def test_an_interrupted_rerun_is_shown_as_one(project: Path) -> None:
    agent = agent_in(project)
    past = [event async for event in agent.stream("say hello", conversation_id="c")]
    assert past
    choice = RerunChoice(provider="offline")
    async with rerunning(agent, "c", 1, choice) as again:
        async for event in again.stream(chunks=True):
            if event["type"] == "user":
                again.interrupt()
        found = await again.compare()
    assert (found.left.interrupted, found.right.interrupted) == (False, True)
    await agent.close()


async def test_a_fork_of_a_rerun_and_a_conversation_opened_in_it_work_in_the_project(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    agent = agent_in(project)
    past = [event async for event in agent.stream("say hello", conversation_id="past")]
    assert past
    async with at_work(agent) as pilot:
        copy = await finished_rerun(pilot)
        rerun = main_of(pilot)
        await send(pilot, "/fork")
        await until(pilot, lambda: main_of(pilot) is not rerun)
        await until(
            pilot,
            lambda: told(pilot).endswith(f", in {project.name}. What the rerun changed is only in its copy."),
        )
        fork = main_of(pilot)
        assert fork.agent.project == project
        assert fork.bridge.conversation_id is not None
        stored = await (await agent.store()).conversation(fork.bridge.conversation_id)
        assert stored is not None
        assert stored.project == str(project)
        await send(pilot, "say hello")
        await finished(pilot)
        *_, said, _answer = await (await agent.store()).events(stored.id)
        assert said["type"] == "user"
        block = said.get("environment", "")
        assert f"\nProject directory: {project}\n" in block
        assert f"continues in {project}. What was changed in the scratch copy {copy} is not in" in block
        open_conversations_of(pilot.app).go_to(rerun)
        await pilot.press("escape")
        await rerun.action_command("resume", "past")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id == "past")
        assert main_of(pilot).agent.project == project
        assert rerun.bridge.conversation_id not in (None, "past")
        assert copy.exists()


async def test_a_fork_of_a_rerun_offers_no_review_of_what_is_only_in_the_copy(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    agent = agent_in(project)
    async with at_work(agent, (140, 40)) as pilot:
        await finished_rerun(pilot)
        rerun = main_of(pilot)
        await until(pilot, lambda: "1 file +1 −1" in seen(pilot) and seen(pilot).count("F5 review") == 2)
        await send(pilot, "/fork")
        await until(pilot, lambda: main_of(pilot) is not rerun)
        await opened(pilot)
        await until(pilot, lambda: "1 file +1 −1, in the rerun" in seen(pilot))
        assert "✎ notes.txt  +1 −1" in seen(pilot)
        await until(pilot, lambda: "review" not in seen(pilot))
        conversation = pilot.app.screen.query_one(Conversation)
        pilot.app.screen.set_focus(conversation)
        for unit in range(len(conversation.transcript.units)):
            conversation.go_to_top(unit)
            assert not conversation.check_action("review", ())
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        timeline = agent.timeline(id)
        past = await timeline.read()
        assert await timeline.files(past, len(past.points) - 1) == []
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore(past, 0)
        pilot.app.screen.set_focus(prompt_of(pilot))
        await send(pilot, "replace 'two' with 'three' in notes.txt")
        await until(pilot, lambda: (project / "notes.txt").read_text() == "three\n")
        await finished(pilot)
        await until(pilot, lambda: seen(pilot).count("F5 review") == 2)
        assert "1 file +1 −1, in the rerun" in seen(pilot)


async def test_a_rerun_whose_program_ended_is_in_the_trash_and_can_only_be_read(project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    agent = agent_in(project)
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "replace 'one' with 'two' in notes.txt")
        await finished(pilot)
        await send(pilot, "/rerun")
        await until(pilot, on(pilot, RerunScreen))
        await pilot.press("r")
        await until(pilot, on(pilot, ComparisonScreen))
        rerun = open_conversations_of(pilot.app).shown.bridge.conversation_id
    await agent.close()
    assert rerun is not None
    other = agent_in(project)
    async with app_over(other, conversation_id=rerun).run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: told(pilot).startswith("The files of this rerun are gone"))
        trash = Trash((await other.store()).database)
        assert [each.id for each in await trash.listed(limit=5)] == [rerun]
        assert (await other.review(rerun).overview()).groups == ()
        await send(pilot, "go on")
        await until(pilot, lambda: "its conversation can only be read" in seen(pilot))
        assert [each.id for each in await trash.listed(limit=5)] == [rerun]
    await other.close()


@pytest.mark.exhaustive
async def test_the_dialog_returns_what_the_user_has_changed(project: Path) -> None:
    agent = agent_in(project)
    answers: list[RerunChoice | None] = []
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await pilot.app.push_screen(RerunScreen(agent, 2), answers.append)
        await until(pilot, lambda: "offline/offline-1" in listed(pilot))
        await pilot.press("enter")
        await until(pilot, on(pilot, PickerScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "use" in shown(pilot.app.screen.query_one(Choices)))
        assert "save" not in shown(pilot.app.screen.query_one(Choices))
        await pilot.press("ctrl+e", "ctrl+s")
        await until(pilot, lambda: "effort none" in shown(pilot.app.screen.query_one(Choices)))
        await pilot.press("enter")
        await until(pilot, on(pilot, RerunScreen))
        await until(pilot, lambda: "none" in listed(pilot))
        await pilot.press("down", "enter")
        await until(pilot, on(pilot, ChoiceDialog))
        await pilot.press("end", "enter")
        await until(pilot, lambda: "max" in listed(pilot))
        await pilot.press("down", "enter")
        await until(pilot, on(pilot, ChoiceDialog))
        await pilot.press("end", "enter")
        await until(pilot, on(pilot, RerunScreen))
        await pilot.press("end", "enter")
        await until(pilot, on(pilot, LineDialog))
        await type_text(pilot, "x")
        await pilot.press("enter")
        await until(pilot, on(pilot, RerunScreen))
        await pilot.press("enter")
        await until(pilot, on(pilot, LineDialog))
        pilot.app.screen.query_one(LineField).value = "0.5"
        await pilot.press("enter")
        await until(pilot, lambda: "$0.50" in listed(pilot))
        await pilot.press("r")
        await until(pilot, lambda: answers)
    (choice,) = answers
    assert choice is not None
    assert (choice.provider, choice.model, choice.effort, choice.max_cost) == (
        "offline",
        "offline-1",
        "max",
        0.5,
    )
    assert choice.dialect is not None


async def test_a_turn_that_is_not_there_is_reported(project: Path) -> None:
    agent = agent_in(project)
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await send(pilot, "/rerun")
        await until(pilot, lambda: "This conversation is empty" in told(pilot))
        await send(pilot, "say hello")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id)
        await finished(pilot)
        await send(pilot, "/rerun 7")
        await until(pilot, lambda: "no turn 7. Its turns are 1 to 1." in told(pilot))


def comparison() -> Comparison:
    conversation = StoredConversation(
        "1", "/shop", "Cache the cart", "xml", "openai", "gpt", 0, 0, 3, 0, 0, None
    )
    diff = "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,3 @@\n import time\n-total = 0\n+total = sum(prices)\n+cached = True\n"
    failed = Check("pytest -q", passed=False, outcome="exit 1", output="F.\n1 failed, 1 passed")
    passed = Check("pytest -q", passed=True, outcome="exit 0", output="..\n2 passed")
    changed: tuple[tuple[str, Kind], ...] = (("cart.py", "changed"),)
    left = Branch(
        *(conversation, ("Cache it",), ("I cached the total.",), changed, 12_400, 0.31),
        *(42.0, 6, 2, (diff,), failed, "openai/gpt"),
    )
    right = Branch(
        *(conversation, ("Cache it",), ("The total is cached now, and tested.",), (), 9_800, 0.12),
        *(30.5, 4, 0, (), passed, "anthropic/claude"),
    )
    return Comparison(7, left, right)


@pytest.mark.exhaustive
async def test_the_comparison_looks(project: Path) -> None:
    agent = agent_in(project)

    async def prepare(pilot: Pilot[Any]) -> None:
        screen = ComparisonScreen(comparison(), "Turn 3 again", ("original", "again"))
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: "original" in compared(pilot))

    await check_looks("rerun-comparison", lambda: app_over(agent), prepare)


@pytest.mark.exhaustive
async def test_the_dialog_looks(project: Path) -> None:
    agent = agent_in(project)

    async def prepare(pilot: Pilot[Any]) -> None:
        await pilot.app.push_screen(RerunScreen(agent, 3))
        await until(pilot, lambda: "offline/offline-1" in listed(pilot))

    await check_looks("rerun-dialog", lambda: app_over(agent), prepare)
