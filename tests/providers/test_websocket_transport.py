"""The socket layer over real sockets: what closes, refuses, hangs or talks nonsense."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    NetworkError,
    OverloadedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.websocket_transport import Socket, socket_url
from tests.cases import cases
from tests.peers.server import Peer, PeerSocket, Request

QUICK = Timeouts(connect=2, first_byte=4, idle=3)
IMPATIENT = Timeouts(connect=0.2)


class EchoPeer(Peer):
    """Does what the test says with a socket; by default it sends back what comes."""

    def __init__(self, act: "Callable[[PeerSocket], Awaitable[Any]] | None" = None, **options: Any) -> None:
        super().__init__(**options)
        self._act = act

    def refuse(self, request: Request) -> tuple[int, str] | None:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, '{"error": {"message": "Incorrect API key provided: sk-wrong"}}'
        return None

    async def converse(self, socket: PeerSocket) -> None:
        if self._act is not None:
            await self._act(socket)
            return
        while (frame := await socket.receive()) is not None:
            await socket.send(frame, binary="binary" in frame)


async def open_to(peer: Peer, key: str = "") -> Socket:
    endpoint = Endpoint("mine", peer.base_url, "m", "MINE_KEY" if key else "", key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return await Socket.open(endpoint, "Echo", socket_url(peer.base_url, "/echo"), headers, QUICK)


async def failure_of(peer: Peer, key: str = "") -> ProviderError:
    async def talk() -> None:
        socket = await open_to(peer, key)
        try:
            await socket.receive(first=True)
        finally:
            await socket.close()

    async with peer:
        with pytest.raises(ProviderError) as caught:
            await talk()
    assert caught.value.hint
    return caught.value


@cases(
    ("base", "options", "url"),
    [
        ("http://127.0.0.1:4010/v1", {}, "ws://127.0.0.1:4010/v1/responses"),
        ("https://api.example/v1/", {}, "wss://api.example/v1/responses"),
        ("https://api.example/v1", {"query": "model=m"}, "wss://api.example/v1/responses?model=m"),
        ("https://api.example/v1", {"whole_path": True}, "wss://api.example/responses"),
    ],
)
def test_the_address_follows_from_the_base_url(base: str, options: dict[str, Any], url: str) -> None:
    assert socket_url(base, "/responses", **options) == url


async def test_objects_travel_both_ways_and_the_key_with_the_upgrade() -> None:
    async with EchoPeer(key="sk-1") as peer:
        socket = await open_to(peer, "sk-1")
        await socket.send({"a": "ünïcode"})
        assert await socket.receive() == {"a": "ünïcode"}
        await socket.send({"binary": 1})
        assert await socket.receive() == {"binary": 1}
        assert socket.is_open
        await socket.close()
        assert not socket.is_open
    assert peer.requests[0].path == "/echo"
    assert peer.requests[0].headers["user-agent"] == "cogency-tui"


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 1013])
async def test_a_session_that_is_closed_can_be_had_again(code: int) -> None:
    error = await failure_of(EchoPeer(lambda socket: socket.close(code, "deploy")))
    assert isinstance(error, SessionLostError)
    assert error.retryable
    assert f"({code}: deploy)" in str(error)


@pytest.mark.parametrize("code", [1003, 1007, 1008, 4000])
async def test_a_session_closed_for_what_was_sent_is_refused(code: int) -> None:
    error = await failure_of(EchoPeer(lambda socket: socket.close(code, "TEXT is not supported")))
    assert isinstance(error, SessionRefusedError)
    assert not error.retryable
    assert "TEXT is not supported" in str(error)


async def test_a_connection_that_breaks_is_a_session_lost() -> None:
    async def breaks(socket: PeerSocket) -> None:
        socket.abort()

    assert isinstance(await failure_of(EchoPeer(breaks)), SessionLostError)


@pytest.mark.parametrize("status", [404, 426, 301, 200])
async def test_where_there_is_no_socket_it_is_refused(status: int) -> None:
    error = await failure_of(EchoPeer(upgrades=[status]))
    assert isinstance(error, SessionRefusedError)
    assert f"HTTP {status}" in str(error)


async def test_other_refusals_are_those_of_http() -> None:
    assert isinstance(await failure_of(EchoPeer(upgrades=[503])), OverloadedError)
    error = await failure_of(EchoPeer(key="sk-right"), "sk-wrong")
    assert isinstance(error, AuthenticationError)
    assert "sk-wrong" not in error.advice


@pytest.mark.exhaustive
async def test_silence_ends_in_a_time_out() -> None:
    async def hangs(socket: PeerSocket) -> None:
        await socket.closed.wait()

    error = await failure_of(EchoPeer(hangs))
    assert isinstance(error, ProviderTimeoutError)
    assert "for 4 s" in str(error)


@pytest.mark.exhaustive
async def test_a_connection_that_is_never_upgraded_ends_in_a_time_out() -> None:
    left = asyncio.Event()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(never, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ProviderTimeoutError):
            await Socket.open(Endpoint("mine", url, "m"), "Echo", socket_url(url, "/"), {}, IMPATIENT)
        await left.wait()


@pytest.mark.parametrize("text", ["not json", "[1]", ""])
async def test_what_is_no_object_is_an_error_that_shows_it(text: str) -> None:
    async def babble(socket: PeerSocket) -> None:
        await socket.send(text)
        await socket.closed.wait()

    error = await failure_of(EchoPeer(babble))
    assert isinstance(error, ProviderProtocolError)
    assert text in str(error)


async def test_nobody_listens() -> None:
    async with EchoPeer() as peer:
        url = peer.base_url
    with pytest.raises(NetworkError, match="Nothing is listening"):
        await Socket.open(Endpoint("mine", url, "m"), "Echo", socket_url(url, "/"), {}, QUICK)


async def test_sending_on_a_session_that_is_gone() -> None:
    async with EchoPeer() as peer:
        socket = await open_to(peer)
        peer.drop_connections()
        with pytest.raises(SessionLostError):
            await socket.receive()
        assert not socket.is_open
        with pytest.raises(SessionLostError):
            await socket.send({})
