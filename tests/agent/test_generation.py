"""An answer as it is read beside everything else."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from cogency_tui.agent import generation
from cogency_tui.agent.generation import Generation
from cogency_tui.errors import ProviderProtocolError
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta


@pytest.mark.parametrize("kind", [TextDelta, ReasoningDelta])
async def test_an_answer_without_an_end_breaks_off_and_keeps_what_came(
    monkeypatch: pytest.MonkeyPatch, kind: type[TextDelta | ReasoningDelta]
) -> None:
    monkeypatch.setattr(generation, "LONGEST", 1000)
    sent = 0

    async def endless() -> AsyncGenerator[Chunk, None]:
        nonlocal sent
        while True:
            sent += 1
            yield kind("x" * 100)

    news = asyncio.Event()
    answer = Generation(endless(), news.set)
    taken: list[Chunk] = []

    async def take_all() -> None:
        while True:
            await news.wait()
            news.clear()
            while chunks := answer.take():
                taken.extend(chunks)

    with pytest.raises(ProviderProtocolError, match="does not end"):
        await take_all()
    assert taken == [kind("x" * 100)] * 10
    assert sent == 11
