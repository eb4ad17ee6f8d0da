"""The embedded provider as an endpoint: both modes, usage, pace, early close."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from cogency_tui.errors import ConfigError, ProviderError
from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, Provider, ProviderSession, TextDelta, Usage
from cogency_tui.providers.offline.message_reader import read_calls
from cogency_tui.providers.offline.provider import DELAY, OfflineProvider, OfflineSession, offline_delay
from tests.cases import cases
from tests.providers.project import Project, converse, results, system

HISTORY: list[Message] = [system(), {"role": "user", "content": "list the files"}]


async def collect(chunks: AsyncIterator[Chunk]) -> tuple[str, list[Usage]]:
    text, usages = "", list[Usage]()
    async for chunk in chunks:
        if isinstance(chunk, TextDelta):
            assert chunk.text
            text += chunk.text
        elif isinstance(chunk, Usage):
            usages.append(chunk)
    return text, usages


def test_it_keeps_to_the_contracts() -> None:
    provider: Provider = OfflineProvider(0)
    session: ProviderSession = OfflineSession(HISTORY, 0)
    assert (provider.name, provider.model, provider.facts.context_size) == ("offline", "offline-1", 32_000)
    assert provider.resumes
    assert session.reusable


async def test_it_writes_small_deltas_with_usage_before_the_last() -> None:
    chunks = [chunk async for chunk in OfflineProvider(0).stream(HISTORY)]
    deltas = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert max(map(len, deltas)) < 20
    assert len(deltas) > 10
    assert isinstance(chunks[-2], Usage)
    assert isinstance(chunks[-1], TextDelta)


async def test_stream_counts_all_messages_as_input() -> None:
    text, [usage] = await collect(OfflineProvider(0).stream(HISTORY))
    characters = sum(len(message["content"]) for message in HISTORY)
    assert usage == Usage(-(-characters // 4), -(-len(text) // 4), estimated=True)


async def test_a_session_counts_its_context_once_and_then_what_is_new() -> None:
    session = await OfflineProvider(0).connect(HISTORY[:1])
    await session.send(HISTORY[1:])
    _text, [first] = await collect(session.receive())
    new = results("xml", [{"tool": "list", "status": "success", "content": "a.py  1 B"}])
    await session.send([new])
    text, [second] = await collect(session.receive())
    assert first.input == -(-sum(len(message["content"]) for message in HISTORY) // 4)
    assert second.input == -(-len(new["content"]) // 4)
    assert "a.py" in text


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
async def test_replay_and_resume_write_the_same_text(dialect: Dialect) -> None:
    project = Project({"a.py": "import os\nx = 1\n"}, {"ls": (0, "a.py")})
    requests = [
        "read a.py then replace 'x' with 'y' in it",
        "undo then run ls",
        "what can you do",
        "read b.py",
    ]
    history = converse(project, *requests, dialect=dialect)
    provider = OfflineProvider(0)
    session = await provider.connect(history[:1])
    for index, message in enumerate(history[1:], 1):
        if message["role"] == "user":
            await session.send([message])
            resumed, _usage = await collect(session.receive())
            replayed, _usage = await collect(provider.stream(history[: index + 1]))
            assert resumed == replayed == history[index + 1]["content"]


async def test_a_session_can_be_used_again_after_an_early_close() -> None:
    session = await OfflineProvider(0).connect(HISTORY)
    received: list[Chunk] = []
    async with aclosing(session.receive()) as chunks:
        async for chunk in chunks:
            received.append(chunk)
            if len(received) == 3:
                break
    assert session.reusable
    await session.send([{"role": "user", "content": "who are you"}])
    text, [usage] = await collect(session.receive())
    assert "offline-1" in text
    assert usage.input == 3


async def test_stopping_at_the_boundary_keeps_the_whole_batch_and_its_usage() -> None:
    session = await OfflineProvider(0).connect(HISTORY)
    seen, text = list[Chunk](), ""
    async with aclosing(session.receive()) as chunks:
        async for chunk in chunks:
            seen.append(chunk)
            text += chunk.text if isinstance(chunk, TextDelta) else ""
            if text.endswith("</execute>"):
                break
    assert any(isinstance(chunk, Usage) for chunk in seen)
    assert read_calls(text, "xml")
    await session.send([results("xml", [{"tool": "list", "status": "success", "content": "b.py  2 B"}])])
    assert "b.py" in (await collect(session.receive()))[0]


async def test_a_closed_session_refuses() -> None:
    session = await OfflineProvider(0).connect(HISTORY)
    await session.close()
    assert not session.reusable
    with pytest.raises(ProviderError, match="closed"):
        await session.send(HISTORY)
    with pytest.raises(ProviderError, match="closed"):
        await collect(session.receive())


async def test_the_delay_paces_the_tokens() -> None:
    begun = time.perf_counter()
    chunks = [chunk async for chunk in OfflineProvider(0.002).stream(HISTORY)]
    assert time.perf_counter() - begun >= 0.002 * (len(chunks) - 3)


def test_the_delay_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offline_delay({}) == DELAY
    assert offline_delay({"COGENCY_OFFLINE_DELAY": "0"}) == 0
    assert offline_delay({"COGENCY_OFFLINE_DELAY": " 0.5 "}) == 0.5
    monkeypatch.setenv("COGENCY_OFFLINE_DELAY", "soon")
    with pytest.raises(ConfigError, match="soon"):
        OfflineProvider()


@cases("value", ["-1", "nan", "inf", "x"])
def test_a_delay_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="COGENCY_OFFLINE_DELAY"):
        offline_delay({"COGENCY_OFFLINE_DELAY": value})


def texts(messages: Sequence[Message]) -> list[str]:
    return [message["content"] for message in messages if message["role"] == "assistant"]


def test_the_same_messages_give_the_same_text() -> None:
    files = {"a.py": "x = 1\n"}
    first, second = (texts(converse(Project(dict(files)), "replace 'x' with 'y' in a.py")) for _ in range(2))
    assert first == second
