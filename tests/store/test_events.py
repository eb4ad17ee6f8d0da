"""Events: what is appended comes back, in order, whatever it holds and whoever writes beside."""

import sqlite3
import time
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import PERSISTED, ErrorPayload, Event
from cogency_tui.store import events
from cogency_tui.store.database import FILE
from cogency_tui.store.store import Store, StoredConversation
from tests.store.conftest import Spawn

surrogates = st.characters(categories=["Cs"])
any_text = st.text(st.characters() | surrogates | st.just("\0"))
any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)
times = st.floats(min_value=0, max_value=4e9)
payloads = st.fixed_dictionaries(
    {
        **{"outcome": any_text, "content": any_json, "error": st.booleans()},
        "state": st.sampled_from(["done", "failed", "skipped", "interrupted"]),
    }
)
commands = st.fixed_dictionaries(
    {
        **{"command": any_text, "outcome": any_text, "output": any_text, "duration": times},
        "state": st.sampled_from(["done", "failed", "interrupted"]),
    }
)
bodies: list[dict[str, st.SearchStrategy[Any]]] = [
    {"type": st.just("user"), "content": any_text},
    {"type": st.just("user"), "content": any_text, "ran": commands},
    {"type": st.sampled_from(["think", "respond", "call"]), "id": any_text, "content": any_text},
    {"type": st.sampled_from(["think", "respond"]), "id": any_text, "content": any_text}
    | {"interrupted": st.booleans()},
    {"type": st.just("result"), "id": any_text, "tool": any_text, "duration": times, "payload": payloads},
]
persisted: st.SearchStrategy[Any] = st.one_of(
    [st.fixed_dictionaries({"timestamp": times} | body) for body in bodies]
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(persisted, max_size=5))
async def test_every_persisted_event_comes_back_as_it_was(store: Store, written: list[Any]) -> None:
    made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")

    numbers = [await store.append(made.id, event) for event in written]

    assert await store.events(made.id) == written
    assert numbers == sorted(set(numbers))
    assert store.notices == []


@pytest.mark.parametrize(
    ("outcome", "error", "state"),
    [
        ("done", False, "done"),
        ("Interrupted is what it said", False, "done"),
        ("no such file", True, "failed"),
        ("interrupted", True, "interrupted"),
        ('Skipped: it depends on "a", which failed', True, "skipped"),
    ],
)
async def test_a_result_that_an_earlier_version_stored_has_a_state(
    store: Store, conversation: StoredConversation, outcome: str, error: bool, state: str
) -> None:
    payload = {"outcome": outcome, "content": None, "error": error}
    stored: Any = {
        **{"type": "result", "timestamp": 1.0, "id": "c", "tool": "t", "duration": 0.0},
        "payload": payload,
    }
    await store.append(conversation.id, stored)

    assert await store.events(conversation.id) == [{**stored, "payload": {**payload, "state": state}}]
    assert events.checked({**stored, "payload": {**payload}}) == {
        **stored,
        "payload": {**payload, "state": state},
    }


def test_there_is_a_shape_for_each_persisted_type() -> None:
    assert {kind for kind in PERSISTED if _is_stored(kind)} == PERSISTED


def _is_stored(kind: str) -> bool:
    try:
        events.check_persisted(cast("Event", {"type": kind}))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "event",
    [
        *({"type": kind, "timestamp": 1.0} for kind in ("execute", "end", "metric", "interrupt")),
        {"type": "error", "timestamp": 1.0, "payload": {"error": "A call cannot be read."}},
        {"type": "call", "timestamp": 1.0, "id": "c", "content": "{", "partial": True},
        {"type": "result", "timestamp": 1.0, "id": "c", "tool": "t", "duration": 0.0, "partial": True},
    ],
)
async def test_events_of_the_moment_are_refused(
    store: Store, conversation: StoredConversation, event: Event
) -> None:
    with pytest.raises(ValueError, match="Only complete events"):
        await store.append(conversation.id, event)

    assert await store.events(conversation.id) == []


async def test_the_error_that_ends_a_turn_is_stored(store: Store, conversation: StoredConversation) -> None:
    payload: ErrorPayload = {"error": "No connection.", "hint": "Start the server.", "failure": "network"}
    event: Event = {"type": "error", "timestamp": 1.0, "payload": payload}
    await store.append(conversation.id, event)

    assert await store.events(conversation.id) == [event]
    assert events.checked(event) == event


async def test_an_event_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="Conversation 'nothing' not found"):
        await store.append("nothing", {"type": "user", "timestamp": 1.0, "content": "x"})


async def test_conversations_keep_apart_and_what_a_newer_program_added_stays(store: Store) -> None:
    one = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    two = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    added = cast("Event", {"type": "user", "timestamp": 1, "content": "x", "mood": ["new"]})
    await store.append(one.id, added)
    await store.append(two.id, {"type": "user", "timestamp": 2.0, "content": "y"})

    assert await store.events(one.id) == [added]
    assert await store.events(two.id) == [{"type": "user", "timestamp": 2.0, "content": "y"}]
    assert await store.events("nothing") == []


async def test_a_row_that_cannot_be_read_costs_only_itself(
    store: Store, conversation: StoredConversation, directory: Path
) -> None:
    planted: list[tuple[str, str | bytes]] = [
        ("user", '{"type": "user", "timestamp": 1.0, "content": "cut'),
        ("user", "[]"),
        ("user", '{"type": "user"}'),
        ("user", '{"type": "respond", "timestamp": 1.0, "id": "r", "content": ""}'),
        ("think", '{"type": "think", "timestamp": 1.0, "id": "t", "content": 7}'),
        ("wish", '{"type": "wish", "timestamp": 1.0}'),
        ("user", "[" * 100_000),
        ("user", b"\xff\xfe\x00"),
    ]
    good: list[Event] = []
    for number, row in enumerate(planted):
        good.append({"type": "user", "timestamp": float(number), "content": str(number)})
        await store.append(conversation.id, good[-1])
        with sqlite3.connect(directory / FILE) as raw:
            raw.execute(
                "INSERT INTO events (conversation_id, type, timestamp, body) VALUES (?, ?, 1, ?)",
                (conversation.id, *row),
            )
        raw.close()

    assert await store.events(conversation.id) == good
    assert await store.events(conversation.id) == good
    assert len(store.notices) == len(planted)
    assert all(f"conversation {conversation.id} cannot be read" in notice for notice in store.notices)


async def test_bytes_that_are_no_unicode_are_replaced_not_lost(
    store: Store, conversation: StoredConversation, directory: Path
) -> None:
    with sqlite3.connect(directory / FILE) as raw:
        body = b'{"type": "user", "timestamp": 1.0, "content": "caf\xe9"}'
        raw.execute(
            "INSERT INTO events (conversation_id, type, timestamp, body)"
            " VALUES (?, 'user', 1, CAST(? AS TEXT))",
            (conversation.id, body),
        )
        raw.execute("UPDATE conversations SET title = CAST(? AS TEXT), model = ?", (b"caf\xe9", b"\xe9"))
    raw.close()

    assert await store.events(conversation.id) == [{"type": "user", "timestamp": 1.0, "content": "caf�"}]
    (listed,) = await store.conversations(limit=5)
    assert (listed.title, listed.model) == ("caf�", "�")


@pytest.mark.exhaustive
async def test_writers_in_several_processes_lose_nothing(
    store: Store, conversation: StoredConversation, spawn: Spawn
) -> None:
    children = [spawn("append", conversation.id, name, "150") for name in ("a", "b")]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    own = [f"own {number}" for number in range(150)]
    for content in own:
        await store.append(conversation.id, {"type": "user", "timestamp": time.time(), "content": content})
    for child in children:
        child.communicate()
        assert child.returncode == 0

    contents = [event["content"] for event in await store.events(conversation.id) if event["type"] == "user"]
    assert len(contents) == 450
    for name in ("a", "b", "own"):
        wanted = [f"{name} {number}" for number in range(150)]
        assert [content for content in contents if content.startswith(f"{name} ")] == wanted
    row = await store.conversation(conversation.id)
    assert row is not None
    assert row.turns == 450


@pytest.mark.exhaustive
async def test_what_was_acknowledged_outlives_a_killed_process(
    store: Store, conversation: StoredConversation, spawn: Spawn
) -> None:
    child = spawn("append", conversation.id, "a", "1000000")
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    for _ in range(200):
        child.stdout.readline()
    child.kill()
    acknowledged = 200 + child.stdout.read().count("\n")
    child.wait()

    stored = await store.events(conversation.id)
    # One more may have been committed and not yet said.
    assert len(stored) in (acknowledged, acknowledged + 1)
    row = await store.conversation(conversation.id)
    assert row is not None
    assert row.turns == len(stored)
    check = await store.database.read(
        lambda connection: connection.execute("PRAGMA integrity_check").fetchone()
    )
    assert check == ("ok",)


async def test_pages_hold_every_event_once_and_no_more_than_a_page_of_them(
    store: Store, conversation: StoredConversation
) -> None:
    small: list[Any] = [{"type": "user", "timestamp": 1.0, "content": f"{n}"} for n in range(250)]
    large: list[Any] = [{"type": "user", "timestamp": 1.0, "content": "x" * (700 << 10)} for _ in range(3)]
    written = small + large
    numbers = [await store.append(conversation.id, event) for event in written]
    pages = [page async for page in store.event_pages(conversation.id)]
    assert [each for page in pages for each in page] == [*zip(numbers, written, strict=True)]
    assert [len(page) for page in pages] == [100, 100, 52, 1]
    after = [page async for page in store.event_pages(conversation.id, numbers[-2])]
    assert after == [[(numbers[-1], written[-1])]]


async def test_a_page_without_an_event_that_can_be_read_is_not_the_last(
    store: Store, conversation: StoredConversation
) -> None:
    for n in range(201):
        await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": f"{n}"})
    await store.database.write(
        lambda raw: raw.execute("UPDATE events SET body = '{' WHERE seq < (SELECT max(seq) FROM events)")
    )
    assert [event["content"] for event in await store.events(conversation.id) if event["type"] == "user"] == [
        "200"
    ]
    assert len(store.notices) == 200
