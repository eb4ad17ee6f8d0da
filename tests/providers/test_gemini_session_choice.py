"""Which of Gemini's sessions is opened: Live where the model writes text there, Interactions otherwise."""

import pytest

from cogency_tui.errors import AuthenticationError, SessionRefusedError
from cogency_tui.providers.base import CallDelta
from cogency_tui.providers.gemini_session_choice import gemini_sessions
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.models import ModelFacts
from tests.peers.gemini import GeminiPeer
from tests.peers.gemini_acts import Call
from tests.peers.gemini_live import LiveManners
from tests.peers.server import Fault
from tests.providers.gemini_native import TOOLS
from tests.providers.gemini_talk import QUICK, SYSTEM, Talk, contexts, endpoint_of, said, user


def opener_of(peer: GeminiPeer, *, live: bool) -> Opener:
    async def wait(_seconds: float) -> None:
        return

    return gemini_sessions(
        endpoint_of(peer), QUICK, facts=ModelFacts(live_text=live), wait=wait, jitter=lambda: 0.0
    )


async def test_a_model_that_is_not_known_to_write_over_live_has_interactions() -> None:
    async with GeminiPeer() as peer:
        talk = Talk(await opener_of(peer, live=False)([SYSTEM]))
        assert await talk.ask(user("Hi.")) == "Hello."
        assert not talk.notices
        await talk.close()
    assert not peer.sockets
    assert [request.path for request in peer.requests] == ["/v1beta/interactions"]


async def test_a_model_that_writes_over_live_stays_there() -> None:
    async with GeminiPeer(["One.", "Two."]) as peer:
        talk = Talk(await opener_of(peer, live=True)([SYSTEM]))
        assert await talk.ask(user("1?")) == "One."
        assert await talk.ask(said("One."), user("2?")) == "Two."
        assert talk.session.reusable
        assert not talk.notices
        await talk.close()
    assert len(peer.requests) == 1


async def test_native_calls_are_made_over_interactions() -> None:
    async with GeminiPeer(["One."], acts=[[Call("list", {}, "ab12")]]) as peer:
        talk = Talk(await opener_of(peer, live=True)([SYSTEM], TOOLS))
        await talk.ask(user("1?"))
        assert CallDelta(0, "ab12", "list") in talk.chunks
        assert not talk.notices
        await talk.close()
    assert not peer.sockets


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("code", [1007, 1011])
async def test_a_live_session_that_is_refused_becomes_one_of_interactions(code: int, late: bool) -> None:
    live = LiveManners(refuses_text=code, late=late)
    async with GeminiPeer(["One.", "Two."], live=live) as peer:
        opener = opener_of(peer, live=True)
        talk = Talk(await opener([SYSTEM, user("Before."), said("Yes.")]))
        assert await talk.ask(user("1?")) == "One."
        [notice] = talk.notices
        assert str(code) in notice
        assert "Interactions" in notice
        assert await talk.ask(said("One."), user("2?")) == "Two."
        assert not talk.notices
        await talk.close()
        # It is remembered.
        again = Talk(await opener([SYSTEM]))
        await again.ask(user("3?"))
        assert not again.notices
        await again.close()
    assert len(peer.sockets) == 1
    assert contexts(peer) == [
        ["Before.", "Yes.", "1?"],
        ["Before.", "Yes.", "1?", "One.", "2?"],
        ["3?"],
    ]


async def test_where_neither_is_to_be_had_the_session_is_refused() -> None:
    async with GeminiPeer(upgrades=[404], always=Fault(status=404, body="<html>No</html>")) as peer:
        talk = Talk(await opener_of(peer, live=True)([SYSTEM]))
        with pytest.raises(SessionRefusedError, match="has no Interactions"):
            await talk.ask(user("Hi."))
        await talk.close()


async def test_a_session_that_breaks_after_its_first_answer_does_not_fall_back() -> None:
    faults = [None, Fault(status=1007, body="Request contains an invalid argument.")]
    async with GeminiPeer(["One."], faults=faults) as peer:
        talk = Talk(await opener_of(peer, live=True)([SYSTEM]))
        await talk.ask(user("1?"))
        with pytest.raises(SessionRefusedError):
            await talk.ask(said("One."), user("2?"))
        await talk.close()
    assert len(peer.requests) == 1


async def test_a_wrong_key_is_no_reason_to_fall_back() -> None:
    async with GeminiPeer(key="another") as peer:
        with pytest.raises(AuthenticationError):
            await opener_of(peer, live=True)([SYSTEM])
    assert len(peer.requests) == 1
