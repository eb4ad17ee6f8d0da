"""What was sent is kept as what it was made of, for as long as the conversation and its forks are there."""

from dataclasses import replace
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.forks import Forks
from cogency_tui.store.profile import Facts
from cogency_tui.store.requests import Frame, Requests
from cogency_tui.store.store import Store

FRAME = Frame((("system prompt", "You are \ud800.\n"), ("tools", "none")), "", "xml", 30_000, 0)


async def begin(store: Store, *texts: str) -> tuple[str, list[int]]:
    """A conversation with these messages, and their numbers."""
    made = await store.create_conversation("/p", dialect="xml", provider="p", model="m")
    numbers = [
        await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": text}) for text in texts
    ]
    return made.id, numbers


async def test_a_request_reads_back_with_its_frame_which_is_kept_once(directory: Path) -> None:
    async with await Store.open(directory) as store:
        id, numbers = await begin(store, "one", "two")
        requests = Requests(store.database)
        first = await requests.add(id, 0, numbers[0], FRAME, "")
        await requests.add(id, 0, numbers[1], FRAME, "the last")
        await requests.settle(first, "resume", 42)

        found = await requests.of_conversation(id)
        assert [(each.through, each.note, each.mode, each.sent) for each in found] == [
            (numbers[0], "", "resume", 42),
            (numbers[1], "the last", "", None),
        ]
        assert {each.frame for each in found} == {FRAME}
        sql = "SELECT count(*) FROM request_frames"
        assert await store.database.read(lambda connection: connection.execute(sql).fetchone()) == (1,)


async def test_a_fork_has_the_requests_whose_answers_it_has(directory: Path) -> None:
    async with await Store.open(directory) as store:
        id, numbers = await begin(store, "one", "two", "three", "four")
        requests = Requests(store.database)
        await requests.add(id, 0, numbers[0], FRAME, "")
        await requests.add(id, numbers[0], numbers[1], FRAME, "")
        await requests.add(id, numbers[0], numbers[2], FRAME, "")
        fork = await Forks(store.database).fork(id, numbers[2])

        own = [number for number, _event in await store.numbered_events(fork.id)]
        found = await requests.of_conversation(fork.id)
        assert [(each.since, each.through) for each in found] == [(0, own[0]), (own[0], own[1])]


async def test_what_is_forgotten_of_the_person_is_not_kept_with_what_was_sent(directory: Path) -> None:
    async with await Store.open(directory) as store:
        id, numbers = await begin(store, "one")
        facts, requests = Facts(store.database), Requests(store.database)
        fact = await facts.write("who", "likes cats")
        told = replace(FRAME, system=(*FRAME.system, ("profile", "They like cats.")))
        await requests.add(id, 0, numbers[0], told, "")
        assert (await requests.of_conversation(id))[0].frame == told
        await facts.forget(fact)

        (found,) = await requests.of_conversation(id)
        assert found.frame.system == (*FRAME.system, ("profile", ""))


async def test_no_conversation_has_no_requests(directory: Path) -> None:
    async with await Store.open(directory) as store:
        with pytest.raises(StoreError, match="Conversation 'gone' not found"):
            await Requests(store.database).add("gone", 0, 1, FRAME, "")


async def test_pauses_are_from_the_last_request_of_a_turn_to_the_next_turn(directory: Path) -> None:
    async with await Store.open(directory) as store:
        id, _numbers = await begin(store)
        requests = Requests(store.database)
        assert await requests.pauses(id) == ()
        for message, sent in (
            (100.0, (101.0, 150.0)),
            (200.0, (201.0,)),
            (900.0, ()),
            (901.0, (902.0,)),
            (5000.0, ()),
        ):
            number = await store.append(id, {"type": "user", "timestamp": message, "content": "go"})
            for moment in sent:
                added = await requests.add(id, 0, number, FRAME, "")
                sql = "UPDATE requests SET timestamp = ? WHERE id = ?"
                await store.database.write(
                    lambda connection, sql=sql, row=(moment, added): connection.execute(sql, row)
                )
        assert await requests.pauses(id) == (4098.0, 700.0, 699.0, 50.0)
