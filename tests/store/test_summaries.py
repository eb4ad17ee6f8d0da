"""Summaries in a real database."""

from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.store import Store
from cogency_tui.store.summaries import Summaries


async def test_the_last_summary_counts_and_can_be_edited(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        conversation = await store.create_conversation("/p", dialect="xml", provider="p", model="m")
        summaries = Summaries(store.database)
        assert await summaries.latest(conversation.id) is None
        await summaries.add(conversation.id, 3, "first", "p/m")
        await summaries.add(conversation.id, 7, "second \ud800", "p/m")
        latest = await summaries.latest(conversation.id)
        assert latest is not None
        assert (latest.through, latest.text, latest.model, latest.edited) == (
            7,
            "second \ud800",
            "p/m",
            False,
        )
        await summaries.edit(latest.id, "mine")
    async with await Store.open(tmp_path) as store:
        latest = await Summaries(store.database).latest(conversation.id)
        assert latest is not None
        assert (latest.text, latest.edited) == ("mine", True)


async def test_a_summary_of_no_conversation_is_refused(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        with pytest.raises(StoreError, match="Conversation 'gone' not found"):
            await Summaries(store.database).add("gone", 1, "x", "p/m")


async def test_events_after_a_number(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        conversation = await store.create_conversation("/p", dialect="xml", provider="p", model="m")
        numbers = [
            await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": str(n)})
            for n in range(3)
        ]
        rest = await store.numbered_events(conversation.id, numbers[0])
        assert [number for number, _event in rest] == numbers[1:]
