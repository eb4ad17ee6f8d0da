"""The plan in the app: its checklist in the conversation, its progress in the status line, and the way back."""

from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot

from cogency_tui.store.store import new_conversation_id
from cogency_tui.tui.status.status_bar import StatusBar
from tests.peers.scripted import ScriptedProvider
from tests.tui.conversation.test_reopened import lines_of, live, reopened
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    opened,
    prompt_of,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.review.stage import agent_of, block
from tests.tui.scripted import ScriptedAgent, Step, call, metric, plan, respond, result, user

FIRST = plan("p1", "▸ Read the loop", "○ Move the check", "○ Test it")
SECOND = plan("p2", "✓ Read the loop", "▸ Move the check", "○ Test it")
DONE = plan("p3", "✓ Read the loop", "✓ Move the check", "✓ Test it")
LONG = " ".join(
    ["a step that is longer than a narrow window has cells for it, so that it takes two lines"] * 2
)


def script(*updates: Sequence[Step], text: str = "So far.") -> list[Step]:
    return [user("go"), *(each for update in updates for each in update), respond(text)]


async def test_the_status_line_has_the_progress_until_the_plan_is_done(project: Path) -> None:
    agent = ScriptedAgent(project, script(FIRST, SECOND), script(DONE))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        assert "plan" not in shown(status_of(pilot))
        await send(pilot, "go")
        await until(pilot, lambda: "plan 1/3" in shown(status_of(pilot)))
        at = shown(status_of(pilot)).index("plan 1/3")
        await pilot.hover(StatusBar, offset=(at, 0))
        tooltip = "The agent's plan. Click to go to it\n✓ Read the loop\n▸ Move the check\n○ Test it"
        await until(pilot, lambda: str(status_of(pilot).tooltip) == tooltip)
        await finished(pilot)
        await send(pilot, "on")
        await until(pilot, lambda: "plan" not in shown(status_of(pilot)))


async def test_a_click_on_the_progress_goes_to_the_checklist(project: Path) -> None:
    many = [each for number in range(40) for each in plan(f"q{number}", "✓ Read", "▸ Write")]
    agent = ScriptedAgent(project, [*script(FIRST, many), respond("word\n\n" * 80, "r2")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "plan 1/2" in shown(status_of(pilot)))
        assert "▸ Write" not in shown(conversation_of(pilot))
        await pilot.click(StatusBar, offset=(shown(status_of(pilot)).index("plan 1/2"), 0))
        await until(pilot, lambda: "▸ Write" in shown(conversation_of(pilot)))
        cursor = conversation_of(pilot).cursor.place
        assert cursor is not None
        assert (
            conversation_of(pilot).document.lines_of(cursor.unit, cursor.block)[0].text.strip()
            == "≡ plan 1/2"
        )
        await pilot.press("slash")
        await until(pilot, lambda: prompt_of(pilot).text == "/")


async def test_a_new_conversation_has_no_plan(project: Path) -> None:
    agent = ScriptedAgent(project, script(FIRST))
    async with app_over(agent).run_test(size=(120, 30), notifications=True) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "plan 0/3" in shown(status_of(pilot)))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "plan" not in shown(pilot.app.screen.query_one(StatusBar)))
        await send(pilot, "/todos")
        await until(pilot, lambda: "The agent has made no plan here." in told(pilot))


async def test_a_cancelled_step_is_shown_and_counted_apart(project: Path) -> None:
    update = plan("p1", "✓ Read the loop", "– Move the check", "– Test it")
    agent = ScriptedAgent(project, script(update))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "✓ plan 1/1, 2 cancelled" in shown(conversation_of(pilot)))
        assert "– Move the check" in shown(conversation_of(pilot))


async def test_enter_is_offered_only_where_it_shows_more_of_a_plan(project: Path) -> None:
    steps = [f"○ Step {at}" for at in range(14)]
    agent = ScriptedAgent(project, [user("go"), *FIRST], [user("on"), *plan("p2", *steps)])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        document = conversation_of(pilot).document
        first = document.transcript.plan_update
        assert first is not None
        assert not document.is_expandable(document.shown_by(first))
        await send(pilot, "on")
        await finished(pilot)
        second = document.transcript.plan_update
        assert second is not None
        assert second > first
        assert document.is_expandable(document.shown_by(first))
        assert document.is_expandable(document.shown_by(second))


async def test_an_update_in_place_while_the_conversation_follows_its_end(project: Path) -> None:
    async def paused(agent: ScriptedAgent) -> None:
        await agent.gate.wait()

    agent = ScriptedAgent(project, [user("go"), *FIRST, call("a", "shell", command="true"), paused, *SECOND])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "▸ Read the loop" in shown(conversation_of(pilot)))
        agent.gate.set()
        await until(pilot, lambda: "✓ Read the loop" in shown(conversation_of(pilot)))
        assert shown(conversation_of(pilot)).count("Read the loop") == 1
        await finished(pilot)


async def test_a_reopened_conversation_has_the_same_checklist(project: Path) -> None:
    todo = [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]
    replies = (
        block("plan", steps=["Read", "Write"]),
        block("TodoWrite", todos=todo),
        "So far.",
        block("plan", steps=[{"text": "Read", "state": "done"}, {"text": "Write", "state": "done"}]),
        "Done.",
    )
    agent, id = agent_of(project, ScriptedProvider(*replies)), new_conversation_id()
    try:
        seen = await live(agent, id, "do it", "go on")
        again = await reopened(agent, id)
    finally:
        await agent.close()
    assert lines_of(again) == lines_of(seen)
    assert (
        list(again.plan) == list(seen.plan) == [{"text": each, "state": "done"} for each in ("Read", "Write")]
    )
    assert [line.strip() for line in lines_of(again) if "plan" in line] == [
        "≡ plan 1/2 · Write",
        "✓ plan 2/2",
    ]


async def test_how_a_plan_looks(project: Path) -> None:
    steps = [f"{'✓' if at < 4 else '▸' if at == 4 else '○'} Step {at}" for at in range(14)]
    agent = ScriptedAgent(
        project,
        [user("Fix the loop", 0), *FIRST, respond("I looked.", "r0")],
        [
            user("Go on", 1),
            *plan("p4", *steps[:4], f"▸ {LONG}", *steps[5:]),
            call("a", "read", file="src/app.py"),
            result("a", "read", "20 lines", "1\tx"),
            respond("Half way.", "r1"),
            metric({"input": 1_000, "context": 30_000}, {"input": 4_000, "output": 300, "cost": 0.02}),
        ],
    )

    async def prepare(pilot: Pilot[object]) -> None:
        await opened(pilot)
        for text in ("Fix the loop", "Go on"):
            await send(pilot, text)
            await finished(pilot)
        await until(pilot, lambda: "plan 4/14" in shown(status_of(pilot)))
        await until(pilot, lambda: main_of(pilot).focused)

    await check_looks("plan", lambda: app_over(agent), prepare)
