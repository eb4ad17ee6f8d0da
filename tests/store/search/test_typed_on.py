"""What a search remembers for the next one never changes what that one finds."""

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest

from cogency_tui.store.search.building import update
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import MatchPage, Order, Scope, Searcher
from cogency_tui.store.store import Store

ORDERS: tuple[Order, ...] = ("newest", "best")


def page(searcher: Searcher, *, text: str, order: Order) -> MatchPage:
    return searcher.search(parse(text), Scope(), order=order, limit=1000, now=100.0)


async def found(service: SearchService, text: str, order: Order) -> list[str]:
    answer = await service.run(partial(page, text=text, order=order))
    return [each.conversation.id for each in answer.found]


async def say(store: Store, *texts: str) -> str:
    made = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    for text in texts:
        await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": text})
    return made.id


@pytest.mark.exhaustive
@pytest.mark.parametrize(("conversations", "terms"), [(20, 2), (60, 3)])
async def test_typing_on_and_back_finds_what_a_scan_finds(
    tmp_path: Path, conversations: int, terms: int
) -> None:
    chance = random.Random(7)
    said: dict[str, list[str]] = {}
    async with await Store.open(tmp_path) as store:
        for _ in range(conversations):
            # Of few letters and long, so that texts have all grams of terms that they have not.
            texts = ["".join(chance.choices("abe n", k=chance.randint(1, 400))) for _ in range(8)]
            said[await say(store, *texts)] = texts
        await asyncio.to_thread(lambda: list(update(tmp_path)))
        service = SearchService(tmp_path)
        try:
            for _ in range(terms):
                text = chance.choice(chance.choice(list(said.values())))
                start = chance.randrange(max(1, len(text) - 9))
                term = text[start : start + 9].strip() or "a"
                lengths = [*range(1, len(term) + 1), *range(len(term) - 1, 0, -1)]
                for length in lengths:
                    part = term[:length]
                    expected = [id for id, texts in said.items() if any(part in text for text in texts)]
                    for order in ORDERS:
                        assert sorted(await found(service, f'"{part}"', order)) == sorted(expected)
        finally:
            await service.close()


async def test_what_comes_later_is_found_by_the_same_searcher(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        first = await say(store, "the retry loop", "a reentry", "nothing")
        await asyncio.to_thread(lambda: list(update(tmp_path)))
        service = SearchService(tmp_path)
        try:
            for text in ("ret", "retr", "retry", "retry l"):
                assert await found(service, text, "newest") == [first]
            second = await say(store, "another retry loop")
            for index in (False, True):
                if index:
                    await asyncio.to_thread(lambda: list(update(tmp_path)))
                for text in ("retry l", "retry", "retry loop"):
                    assert set(await found(service, text, "newest")) == {first, second}
            await asyncio.to_thread(lambda: list(update(tmp_path, rebuild=True)))
            assert set(await found(service, "retry loop", "best")) == {first, second}
        finally:
            await service.close()
