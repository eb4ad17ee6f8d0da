"""Events that come twice are taken once, and missing ones are noticed, over real sockets."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cogency_tui.errors import NetworkError
from tests.peers.realtime import RealtimePeer
from tests.peers.responses import ResponsesPeer
from tests.peers.server import PeerSocket
from tests.providers import test_realtime_session as realtime
from tests.providers import test_responses_session as responses

Passes = Callable[[Mapping[str, Any] | str], int]


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Passes], None]:
    """How often each event of a peer arrives."""
    send = PeerSocket.send

    def let(times: Passes) -> None:
        async def passes(self: PeerSocket, frame: Mapping[str, Any] | str, *, binary: bool = False) -> None:
            for _ in range(times(frame)):
                await send(self, frame, binary=binary)

        monkeypatch.setattr(PeerSocket, "send", passes)

    return let


async def test_events_of_a_responses_socket_that_come_twice_are_taken_once(
    passing: Callable[[Passes], None],
) -> None:
    passing(lambda _frame: 2)
    async with ResponsesPeer(["Hello there.", "And again."]) as peer, responses.session_with(peer) as session:
        first = await responses.answer(session, responses.user("Hi."))
        text = responses.text_of(first)
        second = await responses.answer(session, responses.assistant(text), responses.user("On."))
    assert (text, responses.text_of(second)) == ("Hello there.", "And again.")


async def test_missing_event_of_a_responses_socket_is_noticed(passing: Callable[[Passes], None]) -> None:
    def loses_one(frame: Mapping[str, Any] | str) -> int:
        lost = isinstance(frame, Mapping) and frame.get("sequence_number") == responses.AT_TEXT
        return 0 if lost else 1

    passing(loses_one)
    async with ResponsesPeer(["Hello there."]) as peer, responses.session_with(peer) as session:
        error, text = await responses.failure(session, responses.user("Hi."))
    assert isinstance(error, NetworkError)
    assert "lost a part" in str(error)
    assert "Hello there.".startswith(text)


async def test_numbers_that_do_not_count_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    send = PeerSocket.send

    async def all_alike(self: PeerSocket, frame: Mapping[str, Any] | str, *, binary: bool = False) -> None:
        same = frame if isinstance(frame, str) else {**frame, "sequence_number": 0}
        await send(self, same, binary=binary)

    monkeypatch.setattr(PeerSocket, "send", all_alike)
    async with ResponsesPeer(["Hello there."]) as peer, responses.session_with(peer) as session:
        chunks = await responses.answer(session, responses.user("Hi."))
    assert responses.text_of(chunks) == "Hello there."


async def test_events_of_a_realtime_socket_that_come_twice_are_taken_once(
    passing: Callable[[Passes], None],
) -> None:
    passing(lambda _frame: 2)
    async with RealtimePeer(["Hello there.", "And again."]) as peer, realtime.session_with(peer) as session:
        first = realtime.text_of(await realtime.ask(session, realtime.user("Hi.")))
        second = await realtime.ask(session, realtime.assistant(first), realtime.user("On."))
    assert (first, realtime.text_of(second)) == ("Hello there.", "And again.")
