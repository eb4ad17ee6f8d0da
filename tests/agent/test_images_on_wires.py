"""Turns with images over every wire protocol and mode: the vendor's peer receives each image, in its own form, and
refuses what the vendor refuses."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from cogency_tui.config.schema import DialectChoice
from cogency_tui.protocol.events import Event
from cogency_tui.providers import configured_providers
from cogency_tui.providers.endpoint import Endpoint
from tests.agent.test_every_wire import modes
from tests.agent.test_native_wires import NATIVE, Say, Work, peer_of, problems, turn
from tests.peers.server import Fault, Peer
from tests.peers.ways import KEY, WAYS
from tests.pictures import picture

SENT, READ = picture("PNG", (9, 9)), picture("PNG", (12, 5))
SEEING = [name for name in WAYS if name not in ("Realtime", "Gemini Live")]
RESUMING = [name for name in NATIVE if WAYS[name].mode == "resume"]


@pytest.fixture
def work(name: str, tmp_path: Path) -> Work:
    work = Work(WAYS[name], tmp_path)
    (tmp_path / "project/sent.png").write_bytes(SENT)
    (tmp_path / "project/read.png").write_bytes(READ)
    return work


def received(peer: Peer) -> list[str]:
    """All that has arrived, in order, as text."""
    bodies = [json.dumps(request.body) for request in peer.requests]
    return [*bodies, *(json.dumps(frame) for socket in peer.sockets for frame in socket.frames)]


def count_of(image: bytes, texts: Sequence[str]) -> int:
    return sum(text.count(base64.b64encode(image).decode()) for text in texts)


def script_of(dialect: DialectChoice) -> list[Say]:
    """A model that reads the second image, and answers two turns."""
    text = '<execute>[{"name": "read", "args": {"file": "read.png"}}]</execute>'
    first = Say("Let me see.", file="read.png") if dialect == "native" else Say(text)
    return [first, Say("Both are red."), Say("Still red.")]


async def see(work: Work, peer: Peer, dialect: DialectChoice) -> list[Event]:
    async with work.agent(work.way.connect(peer), dialect) as agent:
        return [*await turn(agent, "compare @sent.png with read.png"), *await turn(agent, "sure?")]


@pytest.mark.parametrize("dialect", ["xml", "native"])
@pytest.mark.parametrize("name", SEEING)
async def test_images_of_messages_and_results_arrive_in_every_mode(
    work: Work, dialect: DialectChoice
) -> None:
    async with peer_of(work.way, *script_of(dialect)) as peer:
        events = await see(work, peer, dialect)
        arrived = received(peer)
    assert problems(events) == []
    assert modes(events) == {work.way.mode}
    if work.way.mode == "replay":
        # A request has the whole history.
        assert count_of(SENT, arrived[-1:]) == count_of(READ, arrived[-1:]) == 1
    else:
        assert count_of(SENT, arrived) == count_of(READ, arrived) == 1


@pytest.mark.parametrize("name", ["Responses", "Responses WebSocket"])
async def test_images_of_results_arrive_in_these_at_openai(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nests(_endpoint: Endpoint) -> bool:
        return True

    monkeypatch.setattr(configured_providers, "nests_images", nests)
    async with peer_of(work.way, *script_of("native")) as peer:
        events = await see(work, peer, "native")
        arrived = received(peer)
    assert problems(events) == []
    outputs = [item for text in arrived for item in json.loads(text).get("input", ()) if "output" in item]
    assert outputs
    assert all(count_of(READ, [json.dumps(output)]) == 1 for output in outputs)


@pytest.mark.parametrize("name", RESUMING)
async def test_a_session_that_was_lost_is_seeded_with_the_images(work: Work) -> None:
    async with (
        peer_of(work.way, *script_of("native")) as peer,
        work.agent(work.way.connect(peer)) as agent,
    ):
        events = await turn(agent, "compare @sent.png with read.png")
        peer.drop_connections()
        events += await turn(agent, "sure?")
    assert [each for each in problems(events) if "session" not in each.lower()] == []
    if peer.sockets:
        last = [json.dumps(frame) for frame in peer.sockets[-1].frames]
        assert count_of(SENT, last) == count_of(READ, last) == 1


@pytest.mark.parametrize("name", [name for name in WAYS if name not in SEEING])
async def test_where_a_wire_has_no_images_they_are_described(work: Work) -> None:
    async with work.way.peer(["Thanks."], model=work.way.model, key=KEY) as peer:
        async with work.agent(work.way.connect(peer), "xml") as agent:
            events = await turn(agent, "see @sent.png")
        context = peer.exchanges[-1].context
    assert count_of(SENT, received(peer)) == 0
    assert "[image sent.png 9×9" in "".join(message["content"] for message in context)
    assert events[-1]["type"] == "end"


@pytest.mark.parametrize("name", ["Responses WebSocket"])
async def test_a_session_that_refuses_images_gives_way_to_requests_without_them(work: Work) -> None:
    body = json.dumps({"error": {"message": "Image input is not supported.", "code": "invalid_value"}})
    faults = [Fault(status=400, body=body)] * 2
    async with work.way.peer(["Thanks."], model=work.way.model, key=KEY, faults=faults) as peer:
        async with work.agent(work.way.connect(peer), "xml") as agent:
            agent.mode = "auto"
            events = await turn(agent, "see @sent.png")
        context = peer.exchanges[-1].context
    assert any("is sent no images from now on" in notice for notice in problems(events))
    assert "[image sent.png 9×9]" in context[-1]["content"]
    assert (modes(events), events[-1]["type"]) == ({"replay"}, "end")
