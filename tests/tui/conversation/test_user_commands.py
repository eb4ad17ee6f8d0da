"""`!command` in the prompt: run at once, shown as a card, the same when the conversation is read again."""

from pathlib import Path

import pytest
from textual import events

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.export import facts
from cogency_tui.protocol.events import CallState
from cogency_tui.store.forks import Forks
from cogency_tui.store.reviews import Reviews
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.document import Document, LinePosition
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.driving import (
    app_over,
    at_work,
    calls_of,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    type_text,
    until,
)
from tests.tui.reading import fed
from tests.tui.scripted import ScriptedAgent, paused, respond, user, user_command

NIGHT = theme_styles_of("night")


@pytest.fixture
def agent(project: Path, tmp_path: Path) -> Agent:
    return Agent("offline", project=project, data=tmp_path / "data")


def test_a_card_says_everything_once() -> None:
    def card(command: str, outcome: str, output: str = "") -> list[str]:
        state: CallState = "done" if outcome == "exit 0" else "failed"
        document = Document(fed([user_command(command, outcome, output, state=state)]), 60, NIGHT)
        document.measure(LinePosition(0, 0, 0), 100)
        lines = [document.line(document.place(y)).text for y in range(document.height)]
        return [" ".join(line.split()) for line in lines if line.strip()]

    assert card("false", "exit 1") == ["✗ ! false · exit 1 failed 100 ms"]
    assert card("true", "exit 0") == ["✓ ! true · exit 0 100 ms"]
    assert card("ls", "exit 0", "a.py") == ["✓ ! ls · exit 0 100 ms", "a.py"]
    # What the line has no room for is below it.
    long = "echo " + "long " * 20
    first, *below = card(long, "exit 1", "x")
    assert first.endswith("… failed 100 ms")
    assert below[0] == "exit 1"
    assert " ".join(below[1:-1]).replace(" ↪", "").startswith(f"$ {long.strip()}")
    assert below[-1] == "x"
    assert card("ls\nfalse", "exit 1")[1:] == ["$ ls", "false"]


@pytest.mark.exhaustive
async def test_it_runs_without_a_question_and_looks_the_same_read_from_the_store(agent: Agent) -> None:
    async with at_work(agent, (160, 40)) as pilot:
        await send(pilot, "!echo one; exit 3")
        await until(pilot, lambda: "echo one" in shown(calls_of(pilot)))
        await finished(pilot)
        assert pilot.app.screen is main_of(pilot)
        live = shown(conversation_of(pilot))
        assert "echo one" in live
        assert "exit 3" in live
        conversation = main_of(pilot).bridge.conversation_id
    again = Agent("offline", project=agent.project, data=agent.data)
    async with app_over(again, conversation_id=conversation).run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "echo one" in shown(conversation_of(pilot)))
        assert shown(conversation_of(pilot)) == live

        await send(pilot, "!echo begun; sleep 60")
        await until(pilot, lambda: main_of(pilot).bridge.working)
        await until(pilot, lambda: "running" in shown(calls_of(pilot)))
        await pilot.press("escape")
        await finished(pilot)
        assert "interrupted" in shown(conversation_of(pilot)), "Escape stops it"
    await again.close()


@pytest.mark.exhaustive
async def test_a_command_with_hidden_characters_is_shown_before_it_is_run(
    agent: Agent, project: Path
) -> None:
    async with at_work(agent) as pilot:
        prompt_of(pilot).insert("!")
        pilot.app.post_message(events.Paste("touch a\u200bb\x1b[2J"))
        await until(pilot, lambda: "touch" in prompt_of(pilot).text)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        assert "touch a⟨U+200B⟩b" in shown(pilot.app.screen.query_one("#confirmation-body"))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: prompt_of(pilot).text == "!touch a\u200bb")
        assert not (project / "a\u200bb").exists()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: (project / "a\u200bb").exists())
        await finished(pilot)


async def test_the_bar_beside_the_prompt_marks_it_and_it_waits_while_the_agent_works(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        box = main_of(pilot).query_one("#prompt-box")
        await type_text(pilot, "!l")
        await until(pilot, lambda: box.has_class("-command"))
        await pilot.press("backspace", "backspace")
        await until(pilot, lambda: not box.has_class("-command"))

        await send(pilot, "go")
        await send(pilot, "!make")
        assert [message.text for message in main_of(pilot).bridge.queue.messages] == ["!make"]
        await pilot.press("escape")
        await finished(pilot)
        assert prompt_of(pilot).text == "!make"


@pytest.mark.parametrize(
    ("outcome", "state", "duration"),
    [
        ("exit 0 after 1.5 s", "done", 1.5),
        ("exit 2 after 0.1 s", "failed", 0.1),
        ("interrupted after 3.0 s", "interrupted", 3.0),
        ("could not be run", "failed", 0.0),
    ],
)
def test_how_it_ended_is_told_apart(outcome: str, state: CallState, duration: float) -> None:
    transcript = Transcript()
    event = user_command("make", outcome, "out", state=state, duration=duration)
    transcript.feed([event, user("what now?")])
    call = transcript.call(0)
    assert (call.state, call.duration, call.args, call.body()) == (
        state,
        duration,
        {"command": "make"},
        "out",
    )
    assert (transcript.turns, transcript.title) == (1, "what now?")


@pytest.mark.exhaustive
async def test_every_place_counts_the_same_turns(agent: Agent) -> None:
    async with at_work(agent, (160, 40)) as pilot:
        for text in ("list the files", "!echo one", "list the files again"):
            await send(pilot, text)
            await finished(pilot)
        title = pilot.app.screen.query_one("#conversation-title", PaneTitle)
        assert "2 turns" in shown(title)
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        store = await agent.store()
        listed = await store.conversation(id)
        assert listed is not None
        assert ("Length", "2 turns") in facts(listed)
        past = await agent.timeline(id).read()
        assert (past.turns, [point.turn for point in past.points][-1]) == (2, 2)
        assert (await agent.recall.statistics()).turns == 2
        assert (await Forks(store.database).fork(id)).turns == 2
        assert await Reviews(store.database).prompts(id) == ["list the files", "list the files again"]
