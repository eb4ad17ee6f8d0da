"""What holds for every wire protocol alike, over real sockets, against a peer that behaves and one that does not."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from msgspec import structs

from cogency_tui.errors import (
    AuthenticationError,
    ModelNotFoundError,
    NetworkError,
    ProviderProtocolError,
    SessionRefusedError,
)
from cogency_tui.providers.base import ReasoningDelta, TextDelta, Usage
from tests.peers.server import Context, Fault
from tests.providers.asked import (
    ANTHROPIC,
    BLOCK,
    GEMINI,
    KEY,
    MESSAGES,
    PATIENCE,
    RESPONSES,
    VENDORS,
    Asked,
    Vendor,
    until,
)

every_wire = pytest.mark.parametrize("vendor", VENDORS, ids=str)


@every_wire
async def test_an_answer_streams_with_the_usage_that_is_reported(vendor: Vendor) -> None:
    async with vendor.peer(["Hello there."], key=KEY) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.texts == ["Hell", "o th", "ere."]
    usage = structs.replace(asked.usage, model="", tier="")
    assert usage == Usage(peer.exchanges[0].input, 3, 0, cache_written=vendor.cache_written)


@every_wire
async def test_a_connection_is_used_again(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogency_tui.providers.http_provider.DRAIN", PATIENCE)
    async with vendor.peer() as peer:
        asked = await vendor.ask(peer, times=3)
    assert asked.text == "Hello."
    assert (len(peer.requests), peer.connections) == (3, 1)


@every_wire
async def test_many_streams_share_one_provider(vendor: Vendor) -> None:
    def echo(messages: Context) -> str:
        return messages[-1]["content"]

    async with vendor.peer(echo) as peer:
        provider = vendor.provider(peer)
        asked = [Asked() for _ in range(8)]
        await asyncio.gather(
            *(
                each.read(provider.stream([{"role": "user", "content": f"number {index}"}]))
                for index, each in enumerate(asked)
            )
        )
        await provider.close()
    assert [each.text for each in asked] == [f"number {index}" for index in range(8)]


# Where an answer ends.


@every_wire
async def test_a_natural_end_is_left_as_it_is(vendor: Vendor) -> None:
    async with vendor.peer(["All done."]) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.text == "All done."


@every_wire
async def test_the_model_alone_decides_where_its_answer_ends(vendor: Vendor) -> None:
    text = f"{BLOCK} and what follows <end>\n§execute\n§end"
    async with vendor.peer([text]) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.text == text
    assert not asked.usage.estimated
    assert peer.stop_fields == set()


@every_wire
async def test_an_answer_that_was_cut_at_a_limit_is_kept(vendor: Vendor) -> None:
    async with vendor.peer(["Hello there."], always=Fault(finish=vendor.limit)) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.text == "Hello there."


# What an answer is made of.


@every_wire
async def test_reasoning_comes_beside_the_text_and_before_it(vendor: Vendor) -> None:
    async with vendor.peer(["Hi."], always=Fault(reasoning="Let me think")) as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.chunks[0], ReasoningDelta)
    assert asked.reasoning == "Let me think"
    assert [type(chunk) for chunk in asked.chunks[-2:]] == [TextDelta, Usage]
    assert asked.text == "Hi."


@pytest.mark.parametrize("fault", [Fault(one_byte=True), Fault(comments=True), Fault(no_usage=True)])
@every_wire
async def test_bytes_may_come_in_any_pieces(vendor: Vendor, fault: Fault) -> None:
    async with vendor.peer(["Hellö 😀."], always=fault) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert asked.usage.estimated is fault.no_usage


@every_wire
async def test_missing_usage_is_estimated(vendor: Vendor) -> None:
    async with vendor.peer(["12345678"], always=Fault(no_usage=True)) as peer:
        asked = await vendor.ask(peer)
    assert asked.usage == Usage(peer.exchanges[0].input, 2, estimated=True)


@every_wire
async def test_halves_of_characters_are_joined_and_lone_ones_replaced(vendor: Vendor) -> None:
    async with vendor.peer(always=Fault(deltas=["a\ud83d", "\ude00", "\udc00b\ud800"])) as peer:
        asked = await vendor.ask(peer)
    assert asked.text == "a😀\ufffdb\ufffd"


@every_wire
@pytest.mark.parametrize("body", ["x", "data: x\n", "data: x\r\n"])
async def test_an_event_without_an_end_is_cut_off(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr("cogency_tui.providers.http_transport.LONGEST_EVENT", 100_000)
    endless = Fault(body=body * (1_000_000 // len(body)), content_type="text/event-stream")
    async with vendor.peer(always=endless) as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.error, ProviderProtocolError)
    assert "without completing an event" in str(asked.error)


@every_wire
async def test_a_compressed_answer_is_refused(vendor: Vendor) -> None:
    packed = Fault(status=200, headers={"content-encoding": "gzip"}, body="x")
    async with vendor.peer(always=packed) as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.error, ProviderProtocolError)
    assert "sent a compressed response (gzip)" in str(asked.error)


@every_wire
async def test_a_failure_counts_though_its_text_is_compressed(vendor: Vendor) -> None:
    packed = Fault(status=401, headers={"content-encoding": "gzip"}, body="x")
    async with vendor.peer(always=packed) as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.error, AuthenticationError)


# Leaving early.


@every_wire
async def test_closing_early_closes_the_response(vendor: Vendor) -> None:
    async with vendor.peer(["word " * 10_000], latency=0.001) as peer:
        provider = vendor.provider(peer)
        async with aclosing(provider.stream(MESSAGES)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), PATIENCE)
        await provider.close()
    assert len(peer.requests) == 1


@every_wire
async def test_cancelling_closes_the_response(vendor: Vendor) -> None:
    async with vendor.peer(always=Fault(hang="within", after=vendor.opening + 1)) as peer:
        asked = Asked()
        provider = vendor.provider(peer, asked)
        task = asyncio.create_task(asked.read(provider.stream(MESSAGES)))
        await until(lambda: asked.text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), PATIENCE)
        await provider.close()
    assert len(peer.requests) == 1


# Keys, models, addresses and sessions.


@pytest.mark.parametrize(
    ("key", "words"),
    [("", "is not set"), ("sk-\nx", "that an API key cannot have"), ("sk-ü", "that an API key cannot have")],
)
@every_wire
async def test_a_missing_or_damaged_key_is_reported_before_anything_is_sent(
    vendor: Vendor, key: str, words: str
) -> None:
    async with vendor.peer() as peer:
        provider = vendor.provider(peer, key=key)
        with pytest.raises(AuthenticationError, match=rf"{vendor.key_env} .*{words}") as caught:
            await Asked().read(provider.stream(MESSAGES))
        await provider.close()
    assert not key or key not in caught.value.advice
    assert not peer.requests
    assert not peer.connections


@every_wire
async def test_an_endpoint_that_needs_no_key_is_sent_none(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        asked = await replace(vendor, key_env="").ask(peer, key="")
    assert asked.text == "Hello."
    [request] = peer.requests
    assert not {"authorization", "x-api-key", "x-goog-api-key"} & request.headers.keys()


@every_wire
async def test_a_wrong_key_is_refused_by_the_vendor_without_showing_it(vendor: Vendor) -> None:
    async with vendor.peer(key="another") as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.error, AuthenticationError)
    assert f"Set {vendor.key_env} to a valid key" in asked.error.hint
    assert KEY not in asked.error.advice
    assert [KEY in request.path for request in peer.requests] == [False]


# Servers of Chat Completions may take any name; what they say otherwise is in `test_wire_failures`.
@pytest.mark.parametrize("vendor", [RESPONSES, ANTHROPIC, GEMINI], ids=str)
async def test_a_model_that_is_not_there_is_named_with_what_to_do(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        asked = await vendor.ask(peer, model="best-nope")
    assert isinstance(asked.error, ModelNotFoundError)
    assert "best-nope" in str(asked.error)
    assert "--model" in asked.error.hint


@every_wire
async def test_models_are_listed(vendor: Vendor) -> None:
    async with vendor.peer(model="best-1", key=KEY) as peer:
        provider = vendor.provider(peer)
        assert [each.name for each in await provider.models()] == ["best-1"]
        await provider.close()
    assert [request.method for request in peer.requests] == ["GET"]


@every_wire
async def test_a_server_that_is_not_running_is_reported_at_once(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        asked = Asked()
        provider = replace(vendor, key_env="").provider(peer, asked, key="")
    with pytest.raises(NetworkError, match="Nothing is listening on 127") as caught:
        await asked.read(provider.stream(MESSAGES))
    assert f"Start the {vendor.name}" in caught.value.hint
    assert not asked.waits
    await provider.close()


@every_wire
async def test_loopback_is_reached_directly_whatever_the_proxy(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with vendor.peer() as peer:
        asked = await vendor.ask(peer)
    assert asked.text == "Hello."


@every_wire
async def test_there_are_no_sessions_where_none_are_given(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        provider = vendor.provider(peer)
        assert not provider.resumes
        with pytest.raises(SessionRefusedError, match=f"uses {vendor.label}, which has no sessions"):
            await provider.connect(MESSAGES)
        await provider.close()
    assert not peer.requests
