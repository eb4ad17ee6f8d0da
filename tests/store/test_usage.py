"""Usage: a row a cycle, totals of what is known."""

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.store import Store, StoredConversation


async def test_nothing_recorded_is_zero(store: Store, conversation: StoredConversation) -> None:
    assert await store.usage(conversation.id) == {"input": 0, "output": 0, "duration": 0.0}


async def test_totals_sum_what_is_known(store: Store, conversation: StoredConversation) -> None:
    await store.record_usage(
        conversation.id,
        {"input": 100, "output": 20, "duration": 1.5, "cached": 64, "ttft": 0.2, "model": "tiny \ud800"},
    )
    await store.record_usage(
        conversation.id, {"input": 10, "output": 2, "duration": 0.5, "replay_input": 130, "cost": 0.25}
    )

    assert await store.usage(conversation.id) == {
        "input": 110,
        "output": 22,
        "duration": 2.0,
        "cached": 64,
        # The first row lacks it: what was sent then counts.
        "replay_input": 230,
        "cost": 0.25,
    }
    row = await store.conversation(conversation.id)
    assert row is not None
    assert (row.tokens, row.cost) == (132, 0.25)


async def test_usage_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="Conversation 'nothing' not found"):
        await store.record_usage("nothing", {"input": 1, "output": 1})
