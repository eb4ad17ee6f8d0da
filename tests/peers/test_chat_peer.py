"""The Chat Completions peer, driven by the vendor's own client."""

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.peers.chat import ChatPeer
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

KEY = "sk-peer"


def client_of(peer: ChatPeer, key: str = KEY) -> AsyncOpenAI:
    return AsyncOpenAI(api_key=key, base_url=peer.base_url, max_retries=0)


async def test_the_vendors_client_reads_an_answer_with_its_usage() -> None:
    async with ChatPeer(["One two three"], key=KEY) as peer, client_of(peer) as client:
        stream = await client.chat.completions.create(
            model="test-model",
            messages=[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Count."}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == "One two three"
    assert choices[0].delta.role == "assistant"
    assert choices[-1].finish_reason == "stop"
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    last = chunks[-1]
    assert last.choices == []
    assert last.usage is not None
    [exchange] = peer.exchanges
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (exchange.input, exchange.output)
    assert last.usage.prompt_tokens_details is not None
    assert last.usage.prompt_tokens_details.cached_tokens == exchange.cached


async def test_the_vendors_client_lists_models() -> None:
    async with ChatPeer(key=KEY, model="m") as peer, client_of(peer) as client:
        assert [model.id async for model in client.models.list()] == ["m"]


@pytest.mark.parametrize(
    ("options", "key", "kind"),
    [
        ({}, "sk-wrong", openai.AuthenticationError),
        ({"refuses": ["stream_options"]}, KEY, openai.BadRequestError),
        (
            {"faults": [Fault(status=429, headers={"retry-after": "3"}, body="{}")]},
            KEY,
            openai.RateLimitError,
        ),
        ({"faults": [Fault(status=503, body="{}")]}, KEY, openai.InternalServerError),
        ({"faults": [Fault(drop="before")]}, KEY, openai.APIConnectionError),
    ],
)
async def test_the_vendors_client_knows_the_errors(
    options: Any, key: str, kind: type[openai.APIError]
) -> None:
    async with ChatPeer(key=KEY, **options) as peer, client_of(peer, key) as client:
        with pytest.raises(kind) as caught:
            await client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "x"}],
                stream=True,
                stream_options={"include_usage": True},
            )
    if isinstance(caught.value, openai.AuthenticationError):
        assert caught.value.code == "invalid_api_key"
    if isinstance(caught.value, openai.BadRequestError):
        assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "stream_options")


async def test_the_vendors_client_reports_an_error_in_mid_stream() -> None:
    frame = '{"error": {"message": "Overloaded", "type": "server_error", "code": null, "param": null}}'
    async with ChatPeer(key=KEY, faults=[Fault(frame=frame, after=2)]) as peer, client_of(peer) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True
        )
        with pytest.raises(openai.APIError, match="Overloaded"):
            _chunks = [chunk async for chunk in stream]
