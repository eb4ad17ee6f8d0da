"""A reopened conversation is drawn as it was live: its runs, and the end of each turn with its figures."""

import asyncio
from pathlib import Path
from time import time

from textual.widget import Widget

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.compaction import compaction_event
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.forks import Forks
from cogency_tui.store.store import new_conversation_id
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_unit import CallUnit, FileChange
from cogency_tui.tui.transcript.document import Document, LinePosition
from cogency_tui.tui.transcript.units import Notice, Prose, Summarized, Transcript, TurnEnd, UserMessage
from tests.peers.scripted import ScriptedProvider
from tests.tui.review.stage import agent_of, block, edit


def lines_of(transcript: Transcript) -> list[str]:
    document = Document(transcript, 80, theme_styles_of("night"), review_key="F5")
    document.measure(LinePosition(0, 0, 0), 1000)
    return [document.line(document.place(y)).text for y in range(document.height)]


async def live(agent: Agent, id: str, *queries: str) -> Transcript:
    transcript = Transcript()
    for query in queries:
        async for event in agent.stream(query, conversation_id=id, chunks=True):
            transcript.feed([event])
    transcript.close()
    return transcript


async def reopened(agent: Agent, id: str) -> Transcript:
    transcript, _total = await Bridge(agent, Widget(), int).reopen(id)
    return transcript


def ends_of(transcript: Transcript) -> list[TurnEnd]:
    return [unit for unit in transcript.units if isinstance(unit, TurnEnd)]


async def test_the_end_of_each_turn_has_its_own_figures(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    replies = (
        block("read", file="a.py"),
        block("list", path="."),
        edit("a.py", "x = 1", "x = 2"),
        "Done.",
        "You are welcome.",
    )
    agent, id = agent_of(project, ScriptedProvider(*replies)), new_conversation_id()
    try:
        seen = await live(agent, id, "change it", "thanks")
        again = await reopened(agent, id)
    finally:
        await agent.close()

    assert lines_of(again) == lines_of(seen)
    first, second = ends_of(again)
    assert first.changes() == [FileChange("a.py", 1, 1)]
    assert first.seconds > 0
    assert first.sent > second.sent > 0
    assert any("tokens · 1 file +1 −1" in line and line.endswith("F5 review") for line in lines_of(again))
    assert any("Read 1 file, listed 1 directory ▸" in line for line in lines_of(again))


async def test_a_fork_has_the_figures_of_the_turns_that_it_begins_with(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    replies = (block("read", file="a.py"), "It is one.", "You are welcome.", "Bye.", "And bye.")
    agent, id = agent_of(project, ScriptedProvider(*replies)), new_conversation_id()
    try:
        await live(agent, id, "what is it?", "thanks", "bye")
        store = await agent.store()
        forks, messages = Forks(store.database), await store.numbered_events(id)
        last = next(number for number, event in reversed(messages) if event["type"] == "user")
        fork = await forks.fork(id, last - 1)
        of_fork = await forks.fork(fork.id)
        await live(agent, of_fork.id, "and bye")
        origin, again = ends_of(await reopened(agent, id)), ends_of(await reopened(agent, of_fork.id))
        total = await (await agent.store()).usage(of_fork.id)
    finally:
        await agent.close()

    assert again[:2] == origin[:2]
    assert all(end.seconds > 0 for end in again)
    assert len(again) == 3
    assert total.get("output") == again[2].written, "a fork begins at zero"


async def test_an_interrupted_turn_says_so_once(project: Path) -> None:
    provider = ScriptedProvider("Half an answer <<hang>>", size=100)
    agent, id = agent_of(project, provider), new_conversation_id()
    try:
        running = asyncio.create_task(live(agent, id, "go"))
        await provider.hanging.wait()
        agent.interrupt(id)
        seen = await running
        again = await reopened(agent, id)
    finally:
        await agent.close()

    assert lines_of(again) == lines_of(seen)
    (mark,) = (line for line in lines_of(again) if "nterrupted" in line)
    assert mark.startswith("■ Interrupted · ")


async def test_a_turn_interrupted_before_its_answer_says_so_wherever_it_is_opened(project: Path) -> None:
    provider = ScriptedProvider("Hello.", "<<hang>>", "Bye.")
    agent, id = agent_of(project, provider), new_conversation_id()
    try:
        await live(agent, id, "hi")
        running = asyncio.create_task(live(agent, id, "again"))
        await provider.hanging.wait()
        agent.interrupt(id)
        seen = await running
        store = await agent.store()
        fork = await Forks(store.database).fork(id)
        again, forked = await reopened(agent, id), await reopened(agent, fork.id)
        await live(agent, fork.id, "bye")
        went_on = await reopened(agent, fork.id)
    finally:
        await agent.close()

    assert [end.interrupted for end in ends_of(seen)] == [True]
    assert [end.interrupted for end in ends_of(again)] == [False, True]
    assert seen.unfinished is not None, "it can be retried"
    assert again.unfinished is not None, "it can be retried"
    assert [end.interrupted for end in ends_of(forked)] == [False, True]
    assert went_on.unfinished is None
    assert [end.interrupted for end in ends_of(went_on)] == [False, True, False]


async def test_an_interrupted_call_and_a_fork_within_a_turn_are_no_failures(project: Path) -> None:
    sleep, again = block("shell", command="sleep 60"), block("list", path=".")
    provider = ScriptedProvider(again, sleep)
    agent, id = agent_of(project, provider), new_conversation_id()
    agent.permissions = "auto"
    try:
        async for event in agent.stream("go", conversation_id=id):
            if event["type"] == "execute" and len(provider.sent) == 2:
                agent.interrupt(id)
        store = await agent.store()
        interrupted = await reopened(agent, id)
        listed = next(
            number for number, event in await store.numbered_events(id) if event["type"] == "result"
        )
        fork = await Forks(store.database).fork(id, listed)
        forked = await reopened(agent, fork.id)
    finally:
        await agent.close()

    assert isinstance(interrupted.units[-1], TurnEnd)
    assert interrupted.unfinished is None
    assert isinstance(forked.units[1], CallUnit)
    assert forked.unfinished is None


async def test_each_summary_has_its_line_where_it_was_made(project: Path) -> None:
    provider = ScriptedProvider("Hello.", "They greeted.", "Bye.", "They parted.")
    agent, id = agent_of(project, provider), new_conversation_id()
    try:
        seen = await live(agent, id, "hi")
        seen.feed([compaction_event(await agent.compact(id), time())])
        await agent.run_command("true", EventQueue(), conversation_id=id)
        seen.feed((await (await agent.store()).events(id))[-1:])
        async for event in agent.stream("bye", conversation_id=id, chunks=True):
            seen.feed([event])
        seen.feed([compaction_event(await agent.compact(id), time())])
        again = await reopened(agent, id)
    finally:
        await agent.close()

    assert [each for each in again.units if isinstance(each, Summarized)] == [
        each for each in seen.units if isinstance(each, Summarized)
    ]
    kinds = [type(each).__name__ for each in again.units]
    ended = ["UserMessage", "Prose", "TurnEnd", "Summarized"]
    assert kinds == [*ended, "CallUnit", *ended]
    assert kinds == [type(each).__name__ for each in seen.units]


async def test_a_summary_within_a_turn_stays_between_its_calls(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n" * 400)
    read = block("read", file="a.py")
    provider = ScriptedProvider(read, read, "Read.", read, "Read again.", "Done.")
    provider.facts = ModelFacts(context_size=3_700)
    agent, id = agent_of(project, provider), new_conversation_id()
    try:
        seen = await live(agent, id, "read it thrice")
        again = await reopened(agent, id)
    finally:
        await agent.close()

    # That it begins is a notice, which is not stored.
    kinds = [type(each) for each in seen.units if not isinstance(each, Notice)]
    assert kinds == [UserMessage, CallUnit, CallUnit, Summarized, CallUnit, Summarized, Prose, TurnEnd]
    assert [type(each) for each in again.units] == kinds
    assert [each for each in again.units if isinstance(each, Summarized)] == [
        each for each in seen.units if isinstance(each, Summarized)
    ]


async def test_a_turn_in_which_the_program_ended_is_told_from_an_interrupted_one(project: Path) -> None:
    agent, id = agent_of(project, ScriptedProvider("Whole.")), new_conversation_id()
    try:
        await live(agent, id, "hi")
        store = await agent.store()
        await store.append(id, {"type": "user", "timestamp": time(), "content": "again"})
        await store.append_draft(id, "r", "respond", "Half an ans")
        # As in a program that was killed.
        await store.database.write(
            lambda connection: connection.execute("UPDATE drafts SET started = started - 1")
        )
        again, once_more = await reopened(agent, id), await reopened(agent, id)
        await live(agent, id, "go on")
        went_on = await reopened(agent, id)
    finally:
        await agent.close()

    for transcript in (again, once_more):
        assert [line.strip() for line in lines_of(transcript)[-2:]] == [
            "■ Cut off: the program ended",
            "Enter retry",
        ]
    assert sum("the program ended" in line for line in lines_of(went_on)) == 1
    assert not any("Interrupted" in line for line in lines_of(went_on))


async def test_a_turn_whose_call_has_no_result_was_cut_off(project: Path) -> None:
    agent, id = agent_of(project, ScriptedProvider("Whole.")), new_conversation_id()
    try:
        await live(agent, id, "hi")
        store = await agent.store()
        await store.append(id, {"type": "user", "timestamp": time(), "content": "again"})
        content = '{"name": "read", "args": {"file": "a"}}'
        await store.append(id, {"type": "call", "timestamp": time(), "id": "c", "content": content})
        again = await reopened(agent, id)
    finally:
        await agent.close()

    assert any(line.strip() == "■ Cut off: the program ended" for line in lines_of(again))
    assert again.unfinished is not None, "it can be retried"
