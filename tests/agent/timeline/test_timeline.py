"""The timeline: what it tells of a point is what was really sent, written and paid by then."""

import json
import sqlite3
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.prompt import LAST_CYCLE
from cogency_tui.agent.review.model import Target
from cogency_tui.agent.timeline.model import Past, PastFile
from cogency_tui.agent.timeline.timeline import NOT_SENT, REBUILT, Timeline
from cogency_tui.errors import UsageError
from cogency_tui.protocol.messages import Message, images_in
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.forks import Forks
from tests.agent.conftest import MakeAgent
from tests.peers.scripted import ScriptedProvider
from tests.pictures import picture


def block(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


def write(file: str, content: str) -> str:
    return block("write", file=file, content=content)


async def say(agent: Agent, *queries: str, id: str = "c") -> None:
    for query in queries:
        _ = [event async for event in agent.stream(query, conversation_id=id, chunks=False)]


async def sent_at(timeline: Timeline, past: Past) -> list[list[Message]]:
    """What each cycle was sent, by the first point that belongs to it, the model's own."""
    found: dict[int, list[Message]] = {}
    for index, point in enumerate(past.points):
        asked = past.asked_at(index)
        if asked is not None and point.event["type"] != "user":
            found[id(asked)] = [*(await timeline.exchange(past, index)).messages]
    return [*found.values()]


def place(past: Past, kind: str, nth: int = 0) -> int:
    """The index of the nth point of this kind."""
    return [index for index, point in enumerate(past.points) if point.event["type"] == kind][nth]


@pytest.mark.parametrize("dialect", ["xml", "action"])
async def test_the_messages_of_each_cycle_are_those_that_were_sent(
    make_agent: MakeAgent, project: Path, dialect: Any
) -> None:
    call = {"name": "read", "parameters": {"file": "greet.py"}}
    action = f'<thought>Hm.</thought><action type="tool" mode="sync" id="a">{json.dumps(call)}</action>'
    replies = (
        ("<think>Hm.</think>" + block("read", file="greet.py"), block("find", content="hello"), "It greets.")
        if dialect == "xml"
        else (action + " and ", action, "<response>It greets.</response>")
    )
    model = ScriptedProvider(*replies, "Bye.")
    async with make_agent(llm=model, mode="replay", dialect=dialect) as agent:
        await say(agent, "what does it do?")
        # The instructions are others in the next turn: what was sent before stays what it was.
        (project / "AGENTS.md").write_text("Be brief.\n")
        await say(agent, "thanks")
        timeline = agent.timeline("c")
        past = await timeline.read()

        assert await sent_at(timeline, past) == model.sent
        assert [(each.turn, each.cycle) for each in past.asked] == [(1, 1), (1, 2), (1, 3), (2, 1)]
        last = await timeline.exchange(past, len(past.points) - 1)
        assert "Be brief." in last.messages[0]["content"]
        assert (last.fresh, last.remarks) == (0, ())
        said = await timeline.exchange(past, place(past, "user", 1))
        assert said.messages == last.messages


async def test_the_images_of_a_message_are_those_that_were_sent(make_agent: MakeAgent, project: Path) -> None:
    (project / "shot.png").write_bytes(picture())
    model = ScriptedProvider("Red.", resumes=False)
    model.facts = ModelFacts(context_size=8000, images=True)
    async with make_agent(llm=model, mode="replay") as agent:
        await say(agent, "see @shot.png")
        timeline = agent.timeline("c")
        assert await sent_at(timeline, await timeline.read()) == model.sent
    assert len(list(images_in(model.sent[0]))) == 1


async def test_what_was_added_to_the_last_request_of_a_turn_is_there(make_agent: MakeAgent) -> None:
    model = ScriptedProvider(block("read", file="greet.py"), "That is all.")
    async with make_agent(llm=model, mode="replay", max_iterations=2) as agent:
        await say(agent, "what does it do?")
        timeline = agent.timeline("c")
        past = await timeline.read()

        assert model.sent[1][-1]["content"].endswith(LAST_CYCLE)
        assert await sent_at(timeline, past) == model.sent


async def test_a_summary_is_in_the_requests_that_had_it_as_it_was_then(make_agent: MakeAgent) -> None:
    model = ScriptedProvider("One.", "They counted to one.", "Two.", "Three.")
    async with make_agent(llm=model, mode="replay") as agent:
        await say(agent, "count")
        await agent.compact("c")
        await say(agent, "go on")
        await (await agent.history("c")).edit_summary("They can count.")
        await say(agent, "and on")
        timeline = agent.timeline("c")
        past = await timeline.read()

        first, _summarising, *later = model.sent
        assert await sent_at(timeline, past) == [first, *later]
        assert "They counted to one." in later[0][1]["content"]
        assert "They can count." in later[1][1]["content"]


async def test_of_a_session_it_is_told_what_was_sent_of_it(make_agent: MakeAgent) -> None:
    model = ScriptedProvider(block("read", file="greet.py"), "It greets.", "Bye.")
    async with make_agent(llm=model, mode="resume") as agent:
        await say(agent, "what does it do?", "thanks")
        timeline = agent.timeline("c")
        past = await timeline.read()
        exchanges = [
            await timeline.exchange(past, index)
            for index in (place(past, "call"), place(past, "respond"), place(past, "respond", 1))
        ]

        assert [exchange.fresh for exchange in exchanges] == [0, 3, 5]
        assert exchanges[0].messages == [*model.seeds[0], *model.sent[0]]
        assert exchanges[1].messages[3:] == model.sent[1]
        assert exchanges[2].messages[5:] == model.sent[2]


async def test_a_fork_knows_what_was_sent_before_and_after_it(make_agent: MakeAgent) -> None:
    model = ScriptedProvider(block("read", file="greet.py"), "It greets.", "Other.", "Bye.")
    async with make_agent(llm=model, mode="replay") as agent:
        await say(agent, "what does it do?", "and else?")
        store = await agent.store()
        before = await agent.timeline("c").read()
        through = before.points[place(before, "respond")].number
        fork = await Forks(store.database).fork("c", through)
        await say(agent, "bye", id=fork.id)
        timeline = agent.timeline(fork.id)
        past = await timeline.read()

        assert await sent_at(timeline, past) == [*model.sent[:2], model.sent[3]]
        assert past.shared == 4
        spent = past.spent_at(len(past.points) - 1)
        assert (len(spent.own), len(spent.inherited)) == (1, 2)
        assert len(past.spent_at(place(past, "call")).inherited) == 1


async def test_a_fork_knows_what_the_user_did_to_files_before_it(make_agent: MakeAgent) -> None:
    async with make_agent(write("a.txt", "one\ntwo\n"), "Done.", "And on.") as agent:
        await say(agent, "go")
        review = agent.review("c")
        (file,) = (await review.overview()).groups[0].files
        await review.edit(Target(1, "a.txt", (file.hunks[0].id,)), "three\n")
        store = await agent.store()
        before = await agent.timeline("c").read()
        fork = await Forks(store.database).fork("c", before.points[-1].number)
        await say(agent, "on", id=fork.id)
        timeline = agent.timeline(fork.id)
        past = await timeline.read()

        (found, still) = (await files_of(timeline, past, len(past.points) - 1))["a.txt"]
        assert (await timeline.content(found), still) == (b"three\n", True)


async def test_a_fork_restores_what_it_has_from_its_origin_and_leaves_the_rest(
    make_agent: MakeAgent, project: Path
) -> None:
    replies = (write("a.txt", "one\n"), "Done.", write("b.txt", "b\n"), "Done.")
    async with make_agent(*replies) as agent:
        await say(agent, "go")
        store = await agent.store()
        through = (await agent.timeline("c").read()).points[-1].number
        fork = await Forks(store.database).fork("c", through)
        await say(agent, "on")
        timeline = agent.timeline(fork.id)
        past = await timeline.read()
        plan = await timeline.restore(past, 0)
        assert [each.change.path for each in plan.changes] == ["a.txt"]
        await timeline.apply(plan)
        assert not (project / "a.txt").exists()
        assert (project / "b.txt").exists()
        # The original's files are the same ones.
        then = (await files_of(agent.timeline("c"), await agent.timeline("c").read(), 0))["a.txt"]
        assert then[1] is True


async def test_what_was_not_recorded_is_rebuilt_and_said_so(make_agent: MakeAgent) -> None:
    model = ScriptedProvider(block("read", file="greet.py"), "It greets.")
    async with make_agent(llm=model, mode="replay") as agent:
        await say(agent, "what does it do?")
        store = await agent.store()
        await store.database.write(lambda connection: connection.execute("DELETE FROM requests"))
        timeline = agent.timeline("c")
        past = await timeline.read()

        assert await sent_at(timeline, past) == model.sent
        assert (await timeline.exchange(past, place(past, "call"))).remarks == (REBUILT,)


async def test_what_is_still_to_be_sent_is_what_would_be(make_agent: MakeAgent) -> None:
    async with make_agent("Hello.") as agent:
        await say(agent, "hi")
        store = await agent.store()
        await store.append("c", {"type": "user", "timestamp": 9e9, "content": "and?"})
        timeline = agent.timeline("c")
        past = await timeline.read()
        exchange = await timeline.exchange(past, len(past.points) - 1)

        assert exchange.remarks == (NOT_SENT,)
        assert exchange.messages[-1] == {"role": "user", "content": "and?"}


async def test_files_are_as_they_were_with_what_became_of_them(make_agent: MakeAgent, project: Path) -> None:
    replies = (
        write("a.txt", "one\n"),
        block("edit", file="greet.py", old="hello", new="servus"),
        "Done.",
        block("shell", command="mv a.txt b.txt"),
        "Moved.",
    )
    async with make_agent(*replies) as agent:
        await say(agent, "go", "on")
        (project / "greet.py").write_text('print("moin")\n')
        (project / "b.txt").write_text("one\ntwo\n")
        timeline = agent.timeline("c")
        past = await timeline.read()

        first = await files_of(timeline, past, place(past, "result", 0))
        assert {path: still for path, (_file, still) in first.items()} == {"a.txt": False, "greet.py": False}
        created, untouched = first["a.txt"][0], first["greet.py"][0]
        assert (created.change is not None, untouched.change) == (True, None)
        assert await timeline.content(created) == b"one\n"
        assert await timeline.content(untouched) == b'print("hello")\n'
        assert created.path_today == "b.txt"
        assert "+two" in await timeline.difference(created)

        second = await files_of(timeline, past, place(past, "result", 1))
        difference = await timeline.difference(second["greet.py"][0])
        assert '-print("servus")\n+print("moin")\n' in difference

        nothing = await files_of(timeline, past, 0)
        assert nothing["a.txt"][0].then.kind == "absent"
        with pytest.raises(UsageError, match="was not there"):
            await timeline.content(nothing["a.txt"][0])

        last = await files_of(timeline, past, len(past.points) - 1)
        assert {path: still for path, (_file, still) in last.items()} == {"b.txt": False, "greet.py": False}


async def test_files_are_restored_to_a_point_and_that_can_be_undone(
    make_agent: MakeAgent, project: Path
) -> None:
    change = block("edit", file="a.txt", old="one", new="two")
    replies = (write("a.txt", "one\n"), change, "Done.", write("b.txt", "b\n"), "Done.")
    async with make_agent(*replies) as agent:
        await say(agent, "go", "on")
        timeline = agent.timeline("c")
        past = await timeline.read()

        plan = await timeline.restore(past, place(past, "result", 0))
        assert (project / "a.txt").read_text() == "two\n"
        assert sorted(each.change.path for each in plan.changes) == ["a.txt", "b.txt"]
        await timeline.apply(plan)
        assert (project / "a.txt").read_text() == "one\n"
        assert not (project / "b.txt").exists()

        undo = await agent.undo("c")
        await undo.apply(await undo.redo())
        assert (project / "a.txt").read_text() == "two\n"
        assert (project / "b.txt").read_text() == "b\n"
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore(await timeline.read(), len(past.points) - 1)


async def test_a_restore_to_before_an_undo_is_no_other_undo_of_that_turn(
    make_agent: MakeAgent, project: Path
) -> None:
    async with make_agent(write("a.txt", "one\n"), "Done.") as agent:
        await say(agent, "go")
        undo = await agent.undo("c")
        await undo.apply(await undo.of_turn())
        timeline = agent.timeline("c")
        past = await timeline.read()
        plan = await timeline.restore(past, place(past, "result", 0))
        await timeline.apply(plan.overwriting or plan)
        assert (project / "a.txt").read_text() == "one\n"
        undos = (await agent.review("c").changed_lines()).undos
        assert [each.turn for each in undos] == [1, 0]


async def test_a_file_that_only_the_user_has_changed_since_is_restored_by_overwriting_it(
    make_agent: MakeAgent, project: Path
) -> None:
    async with make_agent(write("a.txt", "one\n"), "Done.") as agent:
        await say(agent, "go")
        (project / "a.txt").write_text("one\nmine\n")
        timeline = agent.timeline("c")
        past = await timeline.read()
        end = len(past.points) - 1
        assert (await files_of(timeline, past, end))["a.txt"][1] is False

        plan = await timeline.restore(past, end)
        assert not plan.changes
        (file,) = plan.deviations
        assert (file.path, str(file.lost), file.is_restorable) == ("a.txt", "+1 −0", True)
        assert plan.overwriting is not None
        await timeline.apply(plan.overwriting)
        assert (project / "a.txt").read_text() == "one\n"
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore(await timeline.read(), end)

        await timeline.apply(await timeline.redo())
        assert (project / "a.txt").read_text() == "one\nmine\n"
        # What the user overwrote is no change of the agent's.
        undo = await agent.undo("c")
        await undo.apply((await undo.of_turn()).overwriting or await undo.of_turn())
        assert not (project / "a.txt").exists()


async def test_the_files_beside_one_in_conflict_are_restored_and_that_one_on_demand(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "a.txt").write_text("one\n")
    (project / "c.txt").write_text("".join(f"{line}\n" for line in range(20)))
    edits = [
        block("edit", file="a.txt", old="one", new="two"),
        write("b.txt", "b\n"),
        block("edit", file="c.txt", old="10", new="ten"),
    ]
    async with make_agent(*edits, "Done.") as agent:
        await say(agent, "go")
        (project / "a.txt").write_text("mine\n")
        (project / "c.txt").write_text((project / "c.txt").read_text() + "end\n")
        timeline = agent.timeline("c")
        past = await timeline.read()
        plan = await timeline.restore(past, 0)
        found = {each.path: (str(each.lost), each.is_restorable) for each in plan.deviations}
        assert found == {"a.txt": ("+1 −1", True), "c.txt": ("+1 −0", True)}

        await timeline.apply(plan.unobstructed)
        assert (project / "a.txt").read_text() == "mine\n"
        assert not (project / "b.txt").exists()
        assert (
            (project / "c.txt")
            .read_text()
            .endswith("\n10\n" + "".join(f"{line}\n" for line in range(11, 20)) + "end\n")
        )

        await timeline.apply(await timeline.redo())
        past = await timeline.read()
        overwriting = (await timeline.restore(past, 0)).overwriting
        assert overwriting is not None
        await timeline.apply(overwriting)
        assert (project / "a.txt").read_text() == "one\n"
        assert not (project / "c.txt").read_text().endswith("end\n")
        await timeline.apply(await timeline.redo())
        assert (project / "a.txt").read_text() == "mine\n"
        assert (project / "c.txt").read_text().endswith("end\n")


async def test_back_to_a_message_changes_of_the_user_stay_unless_they_are_in_conflict(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "c.txt").write_text("".join(f"{line}\n" for line in range(20)))
    change = block("edit", file="c.txt", old="10", new="ten")
    async with make_agent(change, "Done.", "And on.") as agent:
        await say(agent, "go", "on")
        (project / "c.txt").write_text((project / "c.txt").read_text() + "end\n")
        timeline = agent.timeline("c")
        past = await timeline.read()
        plan = await timeline.restore_before(past, 0)
        assert (len(plan.changes), plan.deviations, plan.overwriting) == (1, (), None)
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore_before(past, place(past, "user", 1))


async def test_a_version_that_was_not_saved_is_named_and_not_offered(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "a.txt").write_text("one\n")
    change = block("edit", file="a.txt", old="one", new="two")
    async with make_agent(change, write("b.txt", "b\n"), "Done.") as agent:
        await say(agent, "go")
        store = await agent.store()
        await store.database.write(
            lambda connection: connection.execute("UPDATE edits SET before_kept = 0 WHERE path = 'a.txt'")
        )
        timeline = agent.timeline("c")
        past = await timeline.read()
        plan = await timeline.restore(past, 0)
        (file,) = plan.deviations
        assert (file.path, file.is_restorable) == ("a.txt", False)
        assert "was not saved" in file.reason
        await timeline.apply(plan.unobstructed)
        assert (project / "a.txt").read_text() == "two\n"
        assert not (project / "b.txt").exists()


async def test_a_renamed_file_is_restored_under_its_name_then(make_agent: MakeAgent, project: Path) -> None:
    (project / "a.txt").write_text("one\n" * 9)
    async with make_agent(block("shell", command="mv a.txt b.txt"), "Done.") as agent:
        await say(agent, "go")
        (project / "b.txt").write_text("mine\n" + "one\n" * 9)
        timeline = agent.timeline("c")
        past = await timeline.read()
        plan = await timeline.restore(past, 0)
        assert [each.path for each in plan.deviations] == ["a.txt"]
        assert plan.overwriting is not None
        await timeline.apply(plan.overwriting)
        assert (project / "a.txt").read_text() == "one\n" * 9
        assert not (project / "b.txt").exists()
        await timeline.apply(await timeline.redo())
        assert (project / "b.txt").read_text() == "mine\n" + "one\n" * 9
        assert not (project / "a.txt").exists()


async def test_files_go_back_to_a_message_with_what_was_reverted_before_it(
    make_agent: MakeAgent, project: Path
) -> None:
    async with make_agent(write("a.txt", "one\n"), "Done.", "And on.", "And on.") as agent:
        await say(agent, "go", "on")
        undo = await agent.undo("c")
        await undo.apply(await undo.of_turn())
        await say(agent, "and on")
        timeline = agent.timeline("c")
        past = await timeline.read()

        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore_before(past, place(past, "user", 2))
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore(past, place(past, "user", 2))
        (planned,) = (await timeline.restore_before(past, place(past, "user", 1))).changes
        assert planned.change.kind == "created"
        with pytest.raises(UsageError, match="Files already match this point"):
            await timeline.restore_before(past, place(past, "user", 0))

        await undo.apply(await undo.redo())
        past = await timeline.read()
        (planned,) = (await timeline.restore_before(past, place(past, "user", 2))).changes
        assert planned.change.kind == "deleted"


async def test_files_go_back_to_a_message_that_was_not_answered(make_agent: MakeAgent, project: Path) -> None:
    async with make_agent(write("a.txt", "one\n"), "Done.") as agent:
        await say(agent, "go")
        store = await agent.store()
        await store.append("c", {"type": "user", "timestamp": time(), "content": "and?"})
        undo = await agent.undo("c")
        await undo.apply(await undo.of_turn())
        timeline = agent.timeline("c")
        past = await timeline.read()

        await timeline.apply(await timeline.restore_before(past, place(past, "user", 1)))
        assert (project / "a.txt").read_text() == "one\n"


async def test_figures_grow_with_the_cycles(make_agent: MakeAgent) -> None:
    async with make_agent(block("read", file="greet.py"), "It greets.", "Bye.") as agent:
        await say(agent, "what does it do?", "thanks")
        past = await agent.timeline("c").read()
        counts = [len(past.spent_at(index).own) for index in range(len(past.points))]

        assert [point.event["type"] for point in past.points] == [
            *("user", "call", "result", "respond"),
            *("user", "respond"),
        ]
        assert counts == [0, 1, 1, 2, 2, 3]
        assert past.spent_at(0).step is None
        step = past.spent_at(3).step
        assert step is not None
        assert step.get("mode") == "resume"


async def test_an_empty_conversation_has_no_timeline(make_agent: MakeAgent) -> None:
    async with make_agent() as agent:
        with pytest.raises(UsageError, match="has no messages yet"):
            await agent.timeline("none").read()


def _set_source(connection: sqlite3.Connection, source: str) -> None:
    connection.execute("UPDATE conversations SET source = ?", (source,))


async def files_of(timeline: Timeline, past: Past, index: int) -> dict[str, tuple[PastFile, bool | None]]:
    return {file.path: (file, still) for file, still in await timeline.files(past, index)}


async def test_the_mode_of_a_file_is_not_compared_in_an_imported_conversation(
    make_agent: MakeAgent, project: Path
) -> None:
    async with make_agent(llm=ScriptedProvider(write("a.py", "1\n"), "Done.")) as agent:
        await say(agent, "write it")
        (project / "a.py").chmod(0o600)
        timeline, store = agent.timeline("c"), await agent.store()
        found: list[tuple[bool | None, str]] = []
        for source in ("", "vibe"):
            await store.database.write(partial(_set_source, source=source))
            past = await timeline.read()
            file, still = (await files_of(timeline, past, len(past.points) - 1))["a.py"]
            found.append((still, await timeline.difference(file)))
        assert found == [(False, "The mode of a.py changes from 644 to 600.\n"), (True, "")]
