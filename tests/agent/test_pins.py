"""Pinned parts, as the model receives them at the wire's end."""

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.compaction import Part
from cogency_tui.errors import ContextTooLongError, UsageError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import FILE
from cogency_tui.store.export_import import exported, imported
from cogency_tui.store.forks import Forks
from cogency_tui.store.migrations import add_figures_to_summaries, create_pins
from cogency_tui.store.pins import Pins, Place
from tests.agent.test_context_window import READ, SUMMARY, agent_of, texts
from tests.agent.test_turns import turn
from tests.peers.ways import KEY, WAYS
from tests.peers.words import words

SUMMARISED = [READ, "It says ```x = 1```.", SUMMARY]
"""A turn with a call and an answer, and its summary."""


async def number_of(agent: Agent, kind: str, id: str = "c") -> int:
    """The number of the first event of a type."""
    numbered = await (await agent.store()).numbered_events(id)
    return next(number for number, event in numbered if event["type"] == kind)


async def fates(agent: Agent, id: str = "c") -> list[list[tuple[str, str, bool]]]:
    """For each compaction, the newest first, its parts: type, fate, and whether it is pinned."""
    found = await (await agent.history(id)).compactions()
    return [[(part.event["type"], part.fate, part.pinned) for part in each.parts] for each in found]


async def test_pinned_parts_stay_verbatim_in_order_and_quoted_when_the_rest_is_summarised(
    tmp_path: Path, project: Path
) -> None:
    (project / "greet.py").write_text("x = 1  # ignore all ```` that\n")
    agent, provider = agent_of(tmp_path, project, *SUMMARISED, "Bye.")
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await turn_pins(agent, "call", "respond")
        await agent.compact("c")
        await turn(agent, "and now?", conversation_id="c")
        parts = {part.name: part.tokens for part in await (await agent.history("c")).context()}

    asked, after = texts(provider.sent[2])[-1], texts(provider.sent[3])[0]
    assert 'pinned, stay verbatim too: {"name": "read"' in asked
    kept = after[after.index("[engine] The user's messages") : after.index("[engine] The conversation")]
    assert "and parts that the user pinned, verbatim and in order" in kept
    assert "\n\n1. read it\n\n2. [pinned: your call of read, and its result]\n\n```\n{" in kept
    # What is quoted cannot end its quote.
    assert '`````\n{"tool": "read", "status": "success", "content": ' in kept
    assert "ignore all ```` that" in kept
    assert "\n\n3. [pinned: your answer]\n\n````\nIt says ```x = 1```.\n````" in kept
    assert after.endswith(SUMMARY)
    assert parts["pinned"] > 20


async def turn_pins(agent: Agent, *kinds: str) -> None:
    history = await agent.history("c")
    for kind in kinds:
        assert not await history.pin(await number_of(agent, kind))


@pytest.mark.parametrize("mode", ["replay", "resume"])
async def test_what_is_summarised_already_comes_back_with_the_next_request_and_goes_again(
    tmp_path: Path, project: Path, mode: str
) -> None:
    agent, provider = agent_of(tmp_path, project, *SUMMARISED, "One.", "Two.", "Three.", mode=mode)
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await agent.compact("c")
        await turn(agent, "one", conversation_id="c")
        history, number = await agent.history("c"), await number_of(agent, "respond")
        assert await history.pin(number)
        await turn(agent, "two", conversation_id="c")
        assert await history.unpin(number)
        await turn(agent, "three", conversation_id="c")

    # A session is opened anew with what has changed.
    seen = provider.seeds if mode == "resume" else provider.sent
    first, second, third = (texts(each)[0] for each in seen[-3:])
    assert "pinned" not in first
    assert "2. [pinned: your answer]\n\n````\nIt says" in second
    assert third == first


async def test_a_pin_of_what_is_still_in_the_context_changes_no_request(
    tmp_path: Path, project: Path
) -> None:
    agent, provider = agent_of(tmp_path, project, READ, "Read.", "Yes.", mode="resume")
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await turn_pins(agent, "call", "respond", "user")
        await turn(agent, "sure?", conversation_id="c")
        assert (await (await agent.history("c")).pinned()).parts == 3
    assert len(provider.seeds) == 1
    assert texts([*provider.seeds[0], *provider.sent[-1]])[-1] == "sure?"


async def test_pins_outlive_the_program_and_are_in_forks_and_exports_that_have_their_events(
    tmp_path: Path, project: Path
) -> None:
    agent, _provider = agent_of(tmp_path, project, *SUMMARISED)
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await turn_pins(agent, "call", "respond")
        await agent.compact("c")
    agent, provider = agent_of(tmp_path, project, "In the fork.", "Here.", "Imported.")
    async with agent:
        store = await agent.store()
        first = await number_of(agent, "user")
        bare = await Forks(store.database).fork("c", first)
        assert await Pins(store.database).parts(bare.id) == []
        fork = await Forks(store.database).fork("c")
        blobs = Blobs(tmp_path / "blobs")
        lines = await store.database.read(lambda each: [*map(json.dumps, exported(each, "c", blobs))])
        copy = await store.database.write(partial(imported, lines=lines, blobs=blobs))
        for id in (fork.id, "c", copy):
            await turn(agent, "go on", conversation_id=id)
            assert await Pins(store.database).places(id) == await Pins(store.database).places("c")
            [compaction] = await (await agent.history(id)).compactions()
            assert compaction.summary.tokens_before > 1_000
            assert compaction.summary.tokens_after > 1_000
    kept = [texts(sent)[0] for sent in provider.sent]
    assert len(kept) == 3
    assert len(set(kept)) == 1
    assert "[pinned: your answer]" in kept[0]


async def test_pins_have_a_share_of_the_context_and_say_so(tmp_path: Path, project: Path) -> None:
    long = "word " * 4_000
    agent, provider = agent_of(tmp_path, project, long, "Short.", SUMMARY, "Bye.", size=32_000)
    async with agent:
        await turn(agent, "go", conversation_id="c")
        await turn(agent, "and again", conversation_id="c")
        history = await agent.history("c")
        store = await agent.store()
        numbers = [number for number, event in await store.numbered_events("c") if event["type"] == "respond"]
        await history.pin(numbers[0])
        # Another model has less room: what was pinned is cut, and nothing more is.
        provider.facts = provider.facts.__class__(context_size=10_000)
        with pytest.raises(
            UsageError, match=r"about [\d,]+ tokens; [\d,]+ at most \(20% of the context\)"
        ) as no:
            await history.pin(numbers[1])
        assert "Unpin another part first." in no.value.advice
        assert (await history.pinned()).parts == 1
        await agent.compact("c")
        [compaction] = await history.compactions()
        omitted = [part.omitted for part in compaction.parts]
        await turn(agent, "now", conversation_id="c")
        await history.unpin(numbers[0])
        with pytest.raises(UsageError) as no:
            await history.pin(numbers[0])
        assert "This part is too long to pin." in no.value.advice
    assert [each > 10_000 for each in omitted] == [False, True, False, False]
    assert "characters omitted" in texts(provider.sent[-1])[0]
    assert len(texts(provider.sent[-1])[0]) < 10_000


async def test_an_event_that_is_not_stored_cannot_be_pinned(tmp_path: Path, project: Path) -> None:
    agent, _provider = agent_of(tmp_path, project, "Hello.")
    async with agent:
        await turn(agent, "hi", conversation_id="c")
        with pytest.raises(UsageError, match="not stored"):
            await (await agent.history("c")).pin(99_999)
        pins = Pins((await agent.store()).database)
        assert await pins.event_at("c", Place(nth=2)) is None
        assert await pins.event_at("c", Place(nth=1)) == await number_of(agent, "user")


async def test_without_the_users_messages_only_pinned_ones_stay(tmp_path: Path, project: Path) -> None:
    agent, provider = agent_of(
        tmp_path, project, "Hello.", "Yes.", SUMMARY, "Bye.", compact_keeps_messages=False
    )
    async with agent:
        await turn(agent, "call me Ada", conversation_id="c")
        await turn(agent, "and be brief", conversation_id="c")
        await turn_pins(agent, "user")
        await agent.compact("c")
        assert await fates(agent) == [
            [
                ("user", "verbatim", True),
                ("respond", "summarized", False),
                ("user", "summarized", False),
                ("respond", "summarized", False),
            ]
        ]
        await turn(agent, "now", conversation_id="c")
    kept = texts(provider.sent[-1])[0]
    assert "The parts before this point that the user pinned" in kept
    assert "\n\n1. call me Ada\n\n[engine]" in kept
    assert "be brief" not in kept


async def test_each_compaction_lists_its_parts_with_their_fates(tmp_path: Path, project: Path) -> None:
    (project / "greet.py").write_text("x = 1\n" * 4_000)
    replies = [f"<think>hm</think>{READ}", *SUMMARISED[1:], "Two.", "Another summary."]
    agent, _provider = agent_of(tmp_path, project, *replies)
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await agent.compact("c")
        await turn(agent, "more", conversation_id="c")
        await agent.compact("c")
    agent, _provider = agent_of(tmp_path, project)
    async with agent:
        assert await fates(agent) == [
            [("user", "verbatim", False), ("respond", "summarized", False)],
            [
                ("user", "verbatim", False),
                ("think", "summarized", False),
                ("call", "summarized", False),
                ("respond", "summarized", False),
            ],
        ]
        newest, oldest = await (await agent.history("c")).compactions()
        assert newest.summary.text == "Another summary."
        assert newest.summary.tokens_before > newest.summary.tokens_after
        call = parts_by_type(oldest.parts)["call"]
        assert call.tokens > 5_000
        assert call.omitted == 0


def parts_by_type(parts: Any) -> dict[str, Part]:
    return {part.event["type"]: part for part in parts}


async def test_what_the_request_for_the_summary_left_out_was_dropped(tmp_path: Path, project: Path) -> None:
    (project / "greet.py").write_text("x = 1\n" * 4_000)
    replies = ["One.", "Two.", READ, "Three.", ContextTooLongError("Too long."), SUMMARY]
    agent, provider = agent_of(tmp_path, project, *replies, history_window=4)
    async with agent:
        for query in ("first", "second", "third"):
            await turn(agent, query, conversation_id="c")
        plan = await (await agent.history("c")).plan()
        await agent.compact("c")
        [found] = await fates(agent)
        [compaction] = await (await agent.history("c")).compactions()
    assert "One." not in str(provider.sent[-1])
    dropped = [kind for kind, fate, _pinned in found if fate == "dropped"]
    assert dropped == ["respond", "respond"]
    assert [kind for kind, fate, _pinned in found if fate == "verbatim"] == ["user"] * 3
    assert parts_by_type(compaction.parts)["call"].omitted > 20_000
    assert [each.fate for each in plan.parts] == [fate for _kind, fate, _pinned in found]


async def test_the_plan_is_what_compacting_then_does(tmp_path: Path, project: Path) -> None:
    agent, _provider = agent_of(tmp_path, project, READ, "Read. " * 2_000, SUMMARY)
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await turn_pins(agent, "call")
        history = await agent.history("c")
        plan = await history.plan()
        assert [(part.event["type"], part.fate) for part in plan.parts] == [
            ("user", "verbatim"),
            ("call", "verbatim"),
            ("respond", "summarized"),
        ]
        done = await agent.compact("c")
        assert plan.before == pytest.approx(done["before"], rel=0.05)
        assert plan.after < plan.before
        [compaction] = await history.compactions()
        assert [each.fate for each in compaction.parts] == [each.fate for each in plan.parts]
        with pytest.raises(UsageError, match="nothing to summarize"):
            await history.plan()


# A Realtime model answers in sessions alone, and therefore writes no summary.
@pytest.mark.parametrize("name", [name for name in WAYS if name != "Realtime"])
async def test_what_is_pinned_arrives_verbatim_over_every_wire(
    tmp_path: Path, project: Path, name: str
) -> None:
    way = WAYS[name]
    (project / "greet.py").write_text("hello = '```'\n")
    peer = way.peer([*SUMMARISED, "Bye.", "And bye."], model=way.model, key=KEY)
    async with peer:
        agent = Agent(
            way.connect(peer),
            project=project,
            data=tmp_path / "data",
            settings=way.settings,
            permissions="auto",
        )
        async with agent:
            await turn(agent, "read it", conversation_id="c")
            await turn_pins(agent, "call", "respond")
            await agent.compact("c")
            await turn(agent, "and now?", conversation_id="c")
            await turn(agent, "and then?", conversation_id="c")

    for exchange in peer.exchanges[-2:]:
        [kept] = [each for each in map(text_in, exchange.context) if "the user pinned" in each]
        assert "\n\n1. read it\n\n2. [pinned: your call of read, and its result]\n\n```\n{" in kept
        assert '\n````\n{"tool": "read", "status": "success", "content": ' in kept
        assert "hello = '```'" in kept
        assert "\n\n3. [pinned: your answer]\n\n````\nIt says ```x = 1```.\n````" in kept
    assert peer.exchanges[-1].text == "And bye."


def text_in(message: dict[str, str]) -> str:
    return words(message["content"])


async def test_a_store_from_before_pins_goes_on(tmp_path: Path, project: Path) -> None:
    agent, _provider = agent_of(tmp_path, project, *SUMMARISED)
    async with agent:
        await turn(agent, "read it", conversation_id="c")
        await agent.compact("c")
    make_old(tmp_path / "data" / FILE)

    agent, provider = agent_of(tmp_path, project, "Bye.", "Bye.")
    async with agent:
        await turn(agent, "and now?", conversation_id="c")
        history = await agent.history("c")
        [(summary, messages)] = await history.covered()
        assert (messages, summary.tokens_before, summary.tokens_after, summary.unread) == (3, 0, 0, 0)
        assert await fates(agent) == [
            [("user", "verbatim", False), ("call", "summarized", False), ("respond", "summarized", False)]
        ]
        assert await history.pin(await number_of(agent, "respond"))
        await turn(agent, "and then?", conversation_id="c")
    before, after = (texts(sent)[0] for sent in provider.sent)
    assert "pinned" not in before
    assert before.endswith(SUMMARY)
    assert "2. [pinned: your answer]" in after


def make_old(path: Path) -> None:
    """Make the store as it was before there were pins and figures of summaries."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TABLE pins")
        for name in ("tokens_before", "tokens_after", "unread", "result_limit"):
            raw.execute(f"ALTER TABLE summaries DROP COLUMN {name}")
        steps = [(step.__name__,) for step in (add_figures_to_summaries, create_pins)]
        raw.executemany("DELETE FROM migrations WHERE name = ?", steps)


async def test_a_fork_has_the_summaries_and_pins_of_its_place(tmp_path: Path, project: Path) -> None:
    replies = ["One.", "First summary.", "Two.", "Second summary.", "Three.", "Other."]
    agent, provider = agent_of(tmp_path, project, *replies)
    async with agent:
        store = await agent.store()
        history = await agent.history("c")
        for query in ("one", "two"):
            await turn(agent, query, conversation_id="c")
            await history.pin((await store.numbered_events("c"))[-1][0])
            await agent.compact("c")
        await turn(agent, "three", conversation_id="c")
        second = [number for number, event in await store.numbered_events("c") if event["type"] == "user"][1]
        fork = await Forks(store.database).fork("c", second - 1)
        await turn(agent, "else", conversation_id=fork.id)

        assert await fates(agent, fork.id) == [[("user", "verbatim", False), ("respond", "verbatim", True)]]
        assert len(await fates(agent)) == 2
    whole, forked = (texts(sent)[0] for sent in provider.sent[-2:])
    assert "````" not in whole
    assert "1. one\n\n2. [pinned: your answer]\n\n```\nOne.\n```\n\n3. two\n\n4. [pinned" in whole
    assert whole.endswith("Second summary.")
    assert "1. one\n\n2. [pinned: your answer]\n\n```\nOne.\n```\n\n[engine]" in forked
    assert forked.endswith("First summary.")


async def test_the_timeline_shows_each_request_with_the_pins_that_it_had(
    tmp_path: Path, project: Path
) -> None:
    agent, provider = agent_of(tmp_path, project, "One.", SUMMARY, "Two.", "Three.", "Four.")
    async with agent:
        await turn(agent, "one", conversation_id="c")
        await agent.compact("c")
        history, number = await agent.history("c"), await number_of(agent, "respond")
        await turn(agent, "two", conversation_id="c")
        await history.pin(number)
        await turn(agent, "three", conversation_id="c")
        await history.unpin(number)
        await turn(agent, "four", conversation_id="c")
        timeline = agent.timeline("c")
        past = await timeline.read()
        answers = [at for at, point in enumerate(past.points) if point.event["type"] == "respond"]
        shown = [(await timeline.exchange(past, at)).messages for at in answers]
    sent = [provider.sent[0], *provider.sent[2:]]
    assert shown == sent
    assert ["pinned" in texts(each)[0] for each in sent] == [False, False, True, False]
