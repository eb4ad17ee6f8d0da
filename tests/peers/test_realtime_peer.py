"""The Realtime peer, driven by the vendor's own client, so that it cannot drift into our mistakes."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai.types.realtime import (
    ConversationItemAdded,
    ConversationItemDeletedEvent,
    RealtimeErrorEvent,
    RealtimeServerEvent,
    ResponseDoneEvent,
    ResponseTextDeltaEvent,
    SessionCreatedEvent,
    SessionUpdatedEvent,
)
from openai.types.realtime.realtime_session_create_request import RealtimeSessionCreateRequest
from pydantic import BaseModel
from websockets.exceptions import ConnectionClosedError

from tests.peers.realtime import RealtimePeer
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

ANSWERED = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
    "rate_limits.updated",
]


@asynccontextmanager
async def connected(
    peer: RealtimePeer, key: str = "sk-test", model: str = "test-model"
) -> AsyncGenerator[AsyncRealtimeConnection, None]:
    async with (
        AsyncOpenAI(api_key=key, base_url=peer.base_url, max_retries=0) as client,
        client.realtime.connect(model=model) as connection,
    ):
        yield connection


async def set_up(connection: AsyncRealtimeConnection) -> None:
    """Take the greeting, and ask for text."""
    assert isinstance(await connection.recv(), SessionCreatedEvent)
    await connection.session.update(
        session={"type": "realtime", "output_modalities": ["text"], "instructions": "x" * 400}
    )
    assert isinstance(await connection.recv(), SessionUpdatedEvent)


async def say(connection: AsyncRealtimeConnection, text: str) -> None:
    await connection.conversation.item.create(
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    )
    for kind in ("conversation.item.added", "conversation.item.done"):
        assert (await connection.recv()).type == kind


async def until(connection: AsyncRealtimeConnection, kind: str) -> list[RealtimeServerEvent]:
    events = [await connection.recv()]
    while events[-1].type != kind:
        events.append(await connection.recv())
    return events


CAPTURED = {"obfuscation", "id", "object", "expires_at"}
"""Fields that the vendor sends, and its client's models do not name."""


def assert_typed(*events: BaseModel) -> None:
    """What the client's own models know and accept: it builds them without a check, so they are built
    again."""
    for event in events:
        type(event).model_validate(event.model_dump(by_alias=True, warnings=False))
        assert unknown_fields(event) <= CAPTURED


def unknown_fields(value: object) -> set[str]:
    if isinstance(value, list):
        return {name for each in cast("list[object]", value) for name in unknown_fields(each)}
    if not isinstance(value, BaseModel):
        return set()
    return set(value.model_extra or ()).union(*(unknown_fields(each) for _name, each in value))


async def test_an_answer_is_the_ladder_of_events_that_the_vendor_sends() -> None:
    async with RealtimePeer(["Hi there"]) as peer, connected(peer) as connection:
        await set_up(connection)
        await say(connection, "Say hi")
        await connection.response.create()
        events = await until(connection, "rate_limits.updated")
    assert [event.type for event in events] == ANSWERED
    assert "".join(each.delta for each in events if isinstance(each, ResponseTextDeltaEvent)) == "Hi there"
    assert len({event.to_dict()["event_id"] for event in events}) == len(events)
    assert_typed(*events)
    done = next(event for event in events if isinstance(event, ResponseDoneEvent)).response
    assert done.status == "completed"
    assert done.output is not None
    assert done.usage is not None
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.total_tokens) == (102, 2, 104)


async def test_settings_are_merged_and_shown_in_full() -> None:
    async with RealtimePeer() as peer, connected(peer) as connection:
        created = await connection.recv()
        assert isinstance(created, SessionCreatedEvent)
        assert isinstance(created.session, RealtimeSessionCreateRequest)
        assert created.session.output_modalities == ["audio"]
        assert created.session.instructions
        await connection.session.update(
            session={
                "type": "realtime",
                "output_modalities": ["text"],
                "audio": {"input": {"turn_detection": None}},
                "truncation": "disabled",
            }
        )
        updated = await connection.recv()
    assert_typed(created, updated)
    assert isinstance(updated, SessionUpdatedEvent)
    session = updated.session
    assert isinstance(session, RealtimeSessionCreateRequest)
    assert session.output_modalities == ["text"]
    assert session.instructions == created.session.instructions
    assert session.truncation == "disabled"
    assert session.audio is not None
    assert session.audio.input is not None
    assert session.audio.input.turn_detection is None
    assert session.audio.input.format is not None
    assert session.audio.output is not None


async def test_the_whole_context_is_billed_and_its_known_part_is_cached() -> None:
    async with RealtimePeer(["first answer", "second answer"]) as peer, connected(peer) as connection:
        await set_up(connection)
        usages: list[tuple[int | None, int | None]] = []
        for text in ("one " * 10, "two " * 10):
            await say(connection, text)
            await connection.response.create()
            done = (await until(connection, "response.done"))[-1]
            assert isinstance(done, ResponseDoneEvent)
            assert done.response.usage is not None
            assert done.response.usage.input_token_details is not None
            usages.append(
                (done.response.usage.input_tokens, done.response.usage.input_token_details.cached_tokens)
            )
            await until(connection, "rate_limits.updated")
    assert usages == [(110, 0), (123, 64)]
    assert [exchange.sent for exchange in peer.exchanges] == [110, 10]


async def test_cancelling_leaves_an_incomplete_item_that_can_be_deleted() -> None:
    async with RealtimePeer(["word " * 1000], latency=0.001) as peer, connected(peer) as connection:
        await set_up(connection)
        await say(connection, "Talk")
        await connection.response.create()
        await until(connection, "response.output_text.delta")
        await connection.response.cancel()
        events = await until(connection, "rate_limits.updated")
        done = events[-2]
        assert isinstance(done, ResponseDoneEvent)
        assert done.response.status == "cancelled"
        assert done.response.status_details is not None
        assert done.response.status_details.reason == "client_cancelled"
        assert done.response.output is not None
        [item] = done.response.output
        assert item.type == "message"
        assert item.status == "incomplete"
        assert item.id is not None
        assert_typed(*events)
        assert [each["id"] for each in peer.conversations[0].items][-1] == item.id
        await connection.conversation.item.delete(item_id=item.id)
        deleted = await connection.recv()
        assert isinstance(deleted, ConversationItemDeletedEvent)
        assert [each["role"] for each in peer.conversations[0].items] == ["user"]
    assert 0 < len(peer.exchanges[0].text) < 5000


async def test_one_response_at_a_time() -> None:
    async with RealtimePeer(["word " * 100], latency=0.001) as peer, connected(peer) as connection:
        await set_up(connection)
        await connection.response.create()
        await connection.response.create(event_id="mine")
        refused = (await until(connection, "error"))[-1]
        assert isinstance(refused, RealtimeErrorEvent)
        assert refused.error.code == "conversation_already_has_active_response"
        assert refused.error.event_id == "mine"
        done = (await until(connection, "response.done"))[-1]
        assert isinstance(done, ResponseDoneEvent)
        assert done.response.status == "completed"


async def refusals(
    connection: AsyncRealtimeConnection,
) -> AsyncGenerator[tuple[str, str | None, str | None], None]:
    wrong: Any = {"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}
    unknown: Any = {"type": "realtime", "bogus": 1}
    typeless: Any = {"instructions": "x"}
    unheard: Any = {"type": "nope"}
    sends: list[tuple[str, Any]] = [
        ("nope", connection.send(unheard)),
        ("bogus", connection.session.update(session=unknown)),
        ("typeless", connection.session.update(session=typeless)),
        ("content", connection.conversation.item.create(item=wrong)),
        ("delete", connection.conversation.item.delete(item_id="gone")),
        ("retrieve", connection.conversation.item.retrieve(item_id="gone")),
        ("truncate", connection.conversation.item.truncate(item_id="gone", audio_end_ms=0, content_index=0)),
        ("cancel", connection.response.cancel()),
    ]
    for name, send in sends:
        await send
        event = await connection.recv()
        assert isinstance(event, RealtimeErrorEvent)
        assert_typed(event)
        yield name, event.error.code, event.error.param


async def test_what_it_refuses_is_named_and_leaves_the_session_open() -> None:
    async with RealtimePeer(["Still here"]) as peer, connected(peer) as connection:
        await set_up(connection)
        assert [refusal async for refusal in refusals(connection)] == [
            ("nope", "invalid_value", "type"),
            ("bogus", "unknown_parameter", "session.bogus"),
            ("typeless", "missing_required_parameter", "session.type"),
            ("content", "invalid_value", "item.content[0].type"),
            ("delete", "item_delete_invalid_item_id", None),
            ("retrieve", "item_retrieve_invalid_item_id", None),
            ("truncate", "item_truncate_invalid_item_id", None),
            ("cancel", "response_cancel_not_active", None),
        ]
        await connection.response.create()
        assert (await until(connection, "response.done"))[-1].type == "response.done"


async def test_items_are_inserted_where_the_client_says_and_truncating_text_is_refused() -> None:
    async with RealtimePeer() as peer, connected(peer) as connection:
        await set_up(connection)
        places: Iterator[tuple[str, str | None]] = iter([("b", None), ("a", "root"), ("c", "b")])
        for name, previous in places:
            await connection.conversation.item.create(
                item={
                    "id": name,
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": name}],
                },
                **({"previous_item_id": previous} if previous else {}),
            )
        added = [await connection.recv() for _ in range(6)]
        assert [
            (event.item.id, event.previous_item_id)
            for event in added
            if isinstance(event, ConversationItemAdded) and event.item.type == "message"
        ] == [("b", None), ("a", None), ("c", "b")]
        await connection.conversation.item.retrieve(item_id="c")
        assert (await connection.recv()).type == "conversation.item.retrieved"
        await connection.conversation.item.truncate(item_id="c", audio_end_ms=0, content_index=0)
        refused = await connection.recv()
        assert isinstance(refused, RealtimeErrorEvent)
        assert "audio" in refused.error.message
    assert [item["id"] for item in peer.conversations[0].items] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        ({"key": "sk-wrong"}, "invalid_api_key", "3000 (registered) invalid_request_error.invalid_api_key"),
        ({"model": "gpt-4o"}, "invalid_model", "4000 (private use) invalid_request_error.invalid_model"),
    ],
)
async def test_a_wrong_key_or_model_is_told_after_the_upgrade(
    options: dict[str, str], code: str, reason: str
) -> None:
    async with RealtimePeer(key="sk-test") as peer, connected(peer, **options) as connection:
        event = await connection.recv()
        assert isinstance(event, RealtimeErrorEvent)
        assert event.error.code == code
        with pytest.raises(ConnectionClosedError) as caught:
            await connection.recv()
    assert reason in str(caught.value)


async def test_a_session_expires_with_an_error_and_a_close() -> None:
    async with RealtimePeer(["One.", "Two."], most_responses=1) as peer, connected(peer) as connection:
        await set_up(connection)
        await connection.response.create()
        await until(connection, "rate_limits.updated")
        await connection.response.create()
        events = [event async for event in connection]
    assert [event.error.code for event in events if isinstance(event, RealtimeErrorEvent)] == [
        "session_expired"
    ]


async def test_a_session_expires_with_time_even_in_mid_answer() -> None:
    async with (
        RealtimePeer(["word " * 10_000], expires_after=0.5, latency=0.01) as peer,
        connected(peer) as connection,
    ):
        await set_up(connection)
        await connection.response.create()
        kinds = [event.type async for event in connection]
    assert "error" in kinds
    assert "response.done" not in kinds


FAILED = '{"type": "server_error", "code": "server_error", "message": "Sorry about that!"}'


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (Fault(body=FAILED), "failed", None),
        (Fault(finish="max_output_tokens"), "incomplete", "max_output_tokens"),
        (Fault(finish="content_filter"), "incomplete", "content_filter"),
        (Fault(finish="turn_detected"), "cancelled", "turn_detected"),
        (Fault(deltas=[]), "completed", None),
    ],
)
async def test_how_a_response_ends(fault: Fault, status: str, reason: str | None) -> None:
    async with RealtimePeer(["Half of it"], faults=[fault]) as peer, connected(peer) as connection:
        await set_up(connection)
        await connection.response.create()
        events = await until(connection, "rate_limits.updated")
    assert_typed(*events)
    done = events[-2]
    assert isinstance(done, ResponseDoneEvent)
    assert done.response.status == status
    details = done.response.status_details
    assert (details.reason if details else None) == reason


async def test_a_context_that_is_too_long_fails_unless_the_oldest_may_go() -> None:
    async with RealtimePeer(["Yes."], limit=110) as peer, connected(peer) as connection:
        await set_up(connection)
        await say(connection, "old " * 10)
        await say(connection, "new " * 5)
        await connection.response.create()
        assert (await until(connection, "rate_limits.updated"))[-2].type == "response.done"
        assert [message["content"][:3] for message in peer.exchanges[0].context] == ["xxx", "new"]
        await connection.session.update(session={"type": "realtime", "truncation": "disabled"})
        await connection.response.create()
        done = (await until(connection, "response.done"))[-1]
    assert isinstance(done, ResponseDoneEvent)
    assert done.response.status == "failed"
    assert len(peer.exchanges) == 1


async def test_a_session_left_at_audio_gets_no_text() -> None:
    async with RealtimePeer(["Spoken"]) as peer, connected(peer) as connection:
        await connection.response.create()
        kinds = [event.type for event in await until(connection, "response.done")]
    assert "response.output_audio_transcript.delta" in kinds
    assert "response.output_text.delta" not in kinds


async def test_there_is_nothing_at_other_addresses() -> None:
    async with RealtimePeer() as peer:
        peer.prefix = "/v2"
        with pytest.raises(Exception, match="404"):
            async with connected(peer):
                pass
