"""A call that the user declines is declined everywhere: on the screen, in exports, statistics and search."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.export import Done, as_markdown, exchange
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import DEFAULT
from cogency_tui.linear.announcer import Announcer
from cogency_tui.protocol.events import Event
from cogency_tui.store.usage import statistics
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_lines import draw_call
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.pen import Pen
from cogency_tui.tui.transcript.units import Transcript
from tests.peers.scripted import ScriptedProvider

WRITE = '<execute>[{"name": "write", "args": {"file": "a.py", "content": "x"}}]</execute>'


async def declined(project: Path, words: str) -> tuple[list[Event], str, Agent]:
    """The stored events of a turn with a declined call."""

    async def ask(question: Question) -> Answer:
        return Answer(allow=False, reason=words)

    agent = Agent(
        ScriptedProvider(WRITE, "Then not."),
        project=project,
        data=project.parent / "data",
        settings=Settings(),
        ask=ask,
    )
    assert [event async for event in agent.stream("go")][-1]["type"] == "end"
    store = await agent.store()
    (conversation,) = await store.conversations(limit=2)
    return list(await store.events(conversation.id)), conversation.id, agent


async def test_a_declined_call_has_its_own_state_and_no_time(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    events, id, agent = await declined(project, "keep the word")
    (result,) = [event for event in events if event["type"] == "result"]
    payload = result["payload"]
    assert (payload["state"], payload["error"], payload.get("words")) == ("declined", True, "keep the word")
    # The model is told as before.
    assert payload["outcome"] == "The user declined: Create a.py. Their reason: keep the word"

    transcript = Transcript()
    transcript.feed(events)
    (unit,) = [unit for unit in transcript.units if isinstance(unit, CallUnit)]
    head, why = (line.text.split() for line in draw_call(unit, Pen(60, theme_styles_of(DEFAULT))))
    assert head == ["⊘", "write", "a.py", "declined"]
    assert why == ["You", "declined:", "keep", "the", "word"]

    done = [each for each in exchange(events) if isinstance(each, Done)]
    assert [(each.state, each.outcome) for each in done] == [("declined", "You declined: keep the word")]
    store = await agent.store()
    conversation = await store.conversation(id)
    assert conversation is not None
    assert "⊘ write a.py" in as_markdown(conversation, events)

    announcer = Announcer()
    said = [line for event in events for line in announcer.feed(event)]
    assert "Tool write (a.py) did not run. You declined: keep the word" in said

    found = await store.database.read(lambda connection: statistics(connection, None, None, None))
    assert [(use.tool, use.calls, use.failed, use.stopped) for use in found.tools] == [("write", 1, 0, 1)]
    await agent.close()


async def test_a_call_that_the_mode_does_not_allow_is_no_failure(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    agent = Agent(
        ScriptedProvider(WRITE, "Here is my plan."),
        project=project,
        data=tmp_path / "data",
        settings=Settings(),
        permissions="plan",
    )
    events = [event async for event in agent.stream("go")]
    (result,) = [event for event in events if event["type"] == "result" and not event.get("partial")]
    payload = result["payload"]
    assert (payload["state"], payload["error"], payload.get("mode")) == ("declined", True, "plan")
    assert payload["outcome"].startswith("Not allowed: plan mode neither changes files nor runs commands.")

    transcript = Transcript()
    transcript.feed(events)
    (unit,) = [unit for unit in transcript.units if isinstance(unit, CallUnit)]
    styles = theme_styles_of(DEFAULT)
    (line,) = draw_call(unit, Pen(60, styles))
    assert line.text.split() == ["⊘", "write", "a.py", "blocked", "by", "plan", "mode"]
    assert not [part for part in line.segments if part.style and part.style.color == styles("bad").color]
    detail = CallLayout(unit, 60, styles, 0.0)
    assert "".join(part.text for part in detail.head).startswith("write  ⊘ blocked by plan mode  ")
    texts = [detail.line(y).text.strip() for y in range(len(detail))]
    assert texts[texts.index("Sent to the model") + 1].startswith("Not allowed: plan mode neither")

    announcer = Announcer()
    said = [line for event in events for line in announcer.feed(event)]
    assert "Tool write (a.py) did not run. Blocked by plan mode." in said
    store = await agent.store()
    found = await store.database.read(lambda connection: statistics(connection, None, None, None))
    assert [(use.tool, use.calls, use.failed, use.stopped) for use in found.tools] == [("write", 1, 0, 1)]
    await agent.close()


async def test_a_no_without_a_word_is_said_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    events, _id, agent = await declined(project, "")
    transcript = Transcript()
    transcript.feed(events)
    (unit,) = [unit for unit in transcript.units if isinstance(unit, CallUnit)]
    lines = [line.text for line in draw_call(unit, Pen(60, theme_styles_of(DEFAULT)))]
    assert [line.split() for line in lines] == [["⊘", "write", "a.py", "declined"]]
    assert unit.outcome == "You declined."
    await agent.close()
