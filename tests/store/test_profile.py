"""The profile in a real database: what the person says goes before what was learned, and what is cleared is gone."""

import sqlite3
from pathlib import Path

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.store.database import FILE
from cogency_tui.store.profile import LONGEST, MOST, Fact, Facts, Kind
from cogency_tui.store.profile_material import MOST_MESSAGES, Lessons, Lot
from cogency_tui.store.store import Store


async def begun(store: Store, *texts: str) -> str:
    """A conversation in which the person said this."""
    conversation = await store.create_conversation("/p", dialect="xml", provider="p", model="m")
    for text in texts:
        await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": text})
    return conversation.id


async def lot_of(store: Store, *texts: str) -> Lot:
    lessons = Lessons(store.database)
    await lessons.add_messages(await begun(store, *texts), [(text, text) for text in texts])
    lot = await lessons.take(1)
    assert lot is not None
    return lot


def fact(text: str, kind: Kind = "misc", conversation: str = "c") -> Fact:
    return Fact(0, kind, text, conversation, 1)


async def texts(store: Store) -> list[str]:
    return [f"{each.kind}: {each.text}" for each in await Facts(store.database).facts()]


async def test_messages_are_taken_when_there_are_enough_and_by_one(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store, await Store.open(tmp_path) as other:
        lessons = Lessons(store.database)
        conversation = await begun(store, "one")
        await lessons.add_messages(conversation, [("one", "one")])
        assert await lessons.take(2) is None
        await store.append(conversation, {"type": "user", "timestamp": 1.0, "content": "two"})
        await lessons.add_messages(conversation, [("two", "tw")])
        await lessons.add_messages(conversation, [("two", "two")])
        lot = await lessons.take(2)
        assert lot is not None
        assert [(heard.text, heard.turn, heard.conversation) for heard in lot.messages] == [
            ("one", 1, conversation),
            ("tw", 2, conversation),
        ]
        assert await Lessons(other.database).take(1) is None


async def test_what_could_not_be_learned_from_waits_for_the_next_time(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        lessons = Lessons(store.database)
        await lot_of(store, "one")
        await lessons.note("it failed", failed=True)
        state = await lessons.state()
        assert (state.outcome, state.failed, state.waiting) == ("it failed", True, 1)
        assert [heard.text for heard in (await lot_of(store, "two")).messages] == ["one", "two"]


async def test_only_the_latest_messages_are_kept(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        lot = await lot_of(store, *map(str, range(MOST_MESSAGES + 5)))
        assert [heard.text for heard in lot.messages] == [
            str(number) for number in range(5, MOST_MESSAGES + 5)
        ]


async def test_what_is_in_the_trash_is_not_learned_from(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        lessons = Lessons(store.database)
        conversation = await begun(store, "one")
        await lessons.add_messages(conversation, [("one", "one")])
        await store.database.write(lambda c: c.execute("UPDATE conversations SET trashed = 1"))
        lot = await lessons.take(1)
        assert lot is not None
        assert lot.messages == []


async def test_facts_are_kept_by_kind_with_what_they_come_from(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        lot = await lot_of(store, "hello there")
        conversation = lot.messages[0].conversation
        new = [fact("Uses \ud800 tabs", "misc", conversation), fact("Called Ada", "who", conversation)]
        assert await Lessons(store.database).learn(lot, new, [], "p/m") == (2, 0)
        assert (await Lessons(store.database).state()).waiting == 0
    async with await Store.open(tmp_path) as store:
        first, second = await Facts(store.database).facts()
        assert (first.kind, first.text, first.turn, first.model) == ("who", "Called Ada", 1, "p/m")
        assert (first.title, first.edited) == ("hello there", False)
        assert second.text == "Uses \ud800 tabs"


async def test_nothing_is_learned_twice_and_what_is_wrong_is_replaced(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        lessons = Lessons(store.database)
        await lessons.learn(await lot_of(store, "a"), [fact("Called Ada"), fact("called  ada.")], [], "m")
        assert await texts(store) == ["misc: Called Ada"]
        (ada,) = await Facts(store.database).facts()
        learned = await lessons.learn(await lot_of(store, "b"), [fact("Called Bo")], [ada.id, 99], "m")
        assert learned == (1, 1)
        assert await texts(store) == ["misc: Called Bo"]


async def test_the_persons_own_words_are_neither_replaced_nor_pushed_out(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        facts, lessons = Facts(store.database), Lessons(store.database)
        await facts.write("style", "Short")
        (own,) = await facts.facts()
        assert (own.edited, own.conversation) == (True, "")
        lot = await lot_of(store, "a")
        many = [fact(f"{number:02}" + "x" * (LONGEST - 2)) for number in range(MOST // LONGEST + 2)]
        learned = await lessons.learn(lot, many, [own.id], "m")
        assert learned == (len(many), 3)
        known = await facts.facts()
        assert known[0].text == "Short"
        assert sum(len(each.text) for each in known) <= MOST
        # The oldest of what was learned went.
        assert known[1].text[:2] == "03"


async def test_what_the_person_changed_meanwhile_counts(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        facts, lessons = Facts(store.database), Lessons(store.database)
        lot = await lot_of(store, "a")
        assert await facts.clear() == 0
        assert await lessons.learn(lot, [fact("Called Ada")], [], "m") is None
        assert await texts(store) == []
        assert (await lessons.state()).waiting == 0


async def test_a_fact_is_edited_forgotten_and_put_back(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        facts = Facts(store.database)
        await Lessons(store.database).learn(
            await lot_of(store, "a"), [fact("Called Ada"), fact("Likes tea")], [], "m"
        )
        ada, tea = await facts.facts()
        await facts.write("who", "Called Ada L.", ada.id)
        changed = (await facts.facts())[0]
        assert (changed.id, changed.text, changed.edited, changed.conversation) == (
            ada.id,
            "Called Ada L.",
            True,
            "c",
        )
        await facts.forget(changed.id)
        assert await texts(store) == ["misc: Likes tea"]
        await facts.put_back(changed)
        assert await texts(store) == ["who: Called Ada L.", "misc: Likes tea"]
        with pytest.raises(UsageError, match="already"):
            await facts.put_back(changed)
        with pytest.raises(UsageError, match="already"):
            await facts.write("who", "likes TEA")
        with pytest.raises(UsageError, match="no longer in the profile"):
            await facts.write("who", "New", 99)
        with pytest.raises(UsageError, match="at most 200"):
            await facts.write("who", "x" * 201)
        await facts.write("misc", "Likes tea.", tea.id)


async def test_what_is_too_much_in_all_is_refused(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        facts = Facts(store.database)
        for number in range(MOST // LONGEST):
            await facts.write("misc", str(number) * LONGEST)
        with pytest.raises(UsageError, match="limited to 1,600"):
            await facts.write("misc", "more")


async def test_what_is_cleared_is_gone_from_the_tables(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        await Facts(store.database).write("misc", "a secret of mine")
        await Lessons(store.database).add_messages(await begun(store, "x"), [("x", "x")])
        await Lessons(store.database).note("why", failed=True)
        assert await Facts(store.database).clear() == 1
        state = await Lessons(store.database).state()
        assert (state.outcome, state.attempted, state.waiting, state.failed) == ("", 0, 0, False)
    raw = sqlite3.connect(tmp_path / FILE)
    assert raw.execute("SELECT count(*) FROM profile_facts").fetchone() == (0,)
    raw.close()


async def test_an_offer_is_made_once(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store, await Store.open(tmp_path) as other:
        assert await Lessons(store.database).claim_offer()
        assert not await Lessons(other.database).claim_offer()
        assert (await Lessons(other.database).state()).offered


async def test_rows_of_another_kind_are_left_out(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        await Facts(store.database).write("misc", "x")
        await store.database.write(lambda c: c.execute("UPDATE profile_facts SET kind = 'orders'"))
        assert await Facts(store.database).facts() == []
