"""A turn costs what is new in it, however many were before: 40 turns, counted and not timed."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Mode
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk
from cogency_tui.providers.models import ModelFacts
from tests.counting import Count, calls_counted, count_store_steps
from tests.peers.scripted import ScriptedProvider

pytestmark = pytest.mark.exhaustive

TURNS = 40
EARLY, LATE = (9, 10, 11), (TURNS - 2, TURNS - 1, TURNS)
SLACK = 1.1
"""Over thirty turns."""


class Worker(ScriptedProvider):
    """Reads a file and writes another in each turn, then answers; remembers nothing of what it was sent."""

    facts = ModelFacts(context_size=12_000)

    def __init__(self) -> None:
        super().__init__(size=200)
        self._turn = 0

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        asked = messages[-1]["content"]
        if asked.startswith("<results>"):
            self._replies = ["That is done. " * 40]
        elif "Write a summary" in asked:
            self._replies = ["All went well."]
        else:
            self._turn += 1
            write = {"file": f"new{self._turn}.py", "content": f"x = {self._turn}\n"}
            calls = [{"name": "read", "args": {"file": "a.py"}}, {"name": "write", "args": write}]
            self._replies = [f"<think>Hm.</think><execute>{json.dumps(calls)}</execute>"]
        self.sent.clear()
        async for chunk in super().answer(messages):
            yield chunk
        self.seeds.clear()


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_a_turn_costs_what_is_new_in_it(
    mode: Mode, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text("x = 1\n" * 20)
    steps = count_store_steps(monkeypatch)
    stored: dict[int, int] = {}
    called: dict[int, int] = {}
    async with Agent(
        Worker(), mode=mode, permissions="auto", project=project, data=tmp_path / "data"
    ) as agent:
        review = agent.review("c")
        for turn in range(1, TURNS + 1):
            before = steps.count
            with calls_counted() if turn in EARLY + LATE else nullcontext(Count()) as calls:
                async for _event in agent.stream(f"go {turn}", conversation_id="c"):
                    pass
                await review.lines_of_last_turn()
            stored[turn], called[turn] = steps.count - before, calls.count

    for counts in (stored, called):
        assert min(counts[turn] for turn in LATE) <= SLACK * min(counts[turn] for turn in EARLY)
