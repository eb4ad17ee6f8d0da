"""Events that come twice are taken once, over real sockets."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cogency_tui.providers.gemini_live import live_sessions
from tests.peers.gemini import GeminiPeer
from tests.peers.realtime import RealtimePeer
from tests.peers.responses import ResponsesPeer
from tests.peers.server import PeerSocket
from tests.providers import test_openai_realtime as realtime
from tests.providers import test_openai_responses_session as responses
from tests.providers.gemini_talk import KEY, QUICK, SYSTEM, Talk, endpoint_of, said, user

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


def _all_alike(_number: int) -> int:
    return 0


def _starts_again(number: int) -> int:
    return number % 5


def _stands_still(number: int) -> int:
    return min(number, 2)


@pytest.mark.parametrize("numbered", [_all_alike, _starts_again, _stands_still])
async def test_numbers_that_do_not_count_are_not_looked_at(
    numbered: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    send = PeerSocket.send

    async def renumbers(self: PeerSocket, frame: Mapping[str, Any] | str, *, binary: bool = False) -> None:
        if isinstance(frame, Mapping) and "sequence_number" in frame:
            frame = {**frame, "sequence_number": numbered(frame["sequence_number"])}
        await send(self, frame, binary=binary)

    monkeypatch.setattr(PeerSocket, "send", renumbers)
    text = "Hello there, hello there, hello there."
    async with ResponsesPeer([text]) as peer, responses.session_with(peer) as session:
        chunks = await responses.answer(session, responses.user("Hi."))
    assert responses.text_of(chunks) == text


async def test_events_of_a_realtime_socket_that_come_twice_are_taken_once(
    passing: Callable[[Passes], None],
) -> None:
    passing(lambda _frame: 2)
    async with RealtimePeer(["Hello there.", "And again."]) as peer, realtime.session_with(peer) as session:
        first = realtime.text_of(await realtime.ask(session, realtime.user("Hi.")))
        second = await realtime.ask(session, realtime.assistant(first), realtime.user("On."))
    assert (first, realtime.text_of(second)) == ("Hello there.", "And again.")


async def test_end_of_an_answer_over_live_that_comes_again_does_not_end_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = PeerSocket.send
    ends: list[Mapping[str, Any]] = []

    async def repeats_late(self: PeerSocket, frame: Mapping[str, Any] | str, *, binary: bool = False) -> None:
        content: Mapping[str, Any] = frame.get("serverContent", {}) if isinstance(frame, Mapping) else {}
        if "modelTurn" in content and ends:
            await send(self, ends.pop(), binary=binary)
        await send(self, frame, binary=binary)
        if "turnComplete" in content and isinstance(frame, Mapping):
            ends.append(frame)

    monkeypatch.setattr(PeerSocket, "send", repeats_late)
    async with GeminiPeer(["Hello there.", "And again."], key=KEY) as peer:
        talk = Talk(await live_sessions(endpoint_of(peer), QUICK)([SYSTEM]))
        first = await talk.ask(user("Hi."))
        second = await talk.ask(said(first), user("On."))
        await talk.close()
    assert (first, second) == ("Hello there.", "And again.")
    assert len(ends) == 1
