"""A second batch in one answer, over HTTP in replay mode: it does not run, and the model learns that."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol import Dialect
from cogency_tui.tools.function import reads
from tests.agent.test_as_models_write import DONE, results
from tests.peers.ways import KEY, WAYS

FIRST = {"name": "mark", "args": {"step": 1}}
SECOND = {"name": "mark", "args": {"step": 2}}
BATCHES: dict[Dialect, list[str]] = {
    "xml": [f"<execute>\n[{json.dumps(call)}]\n</execute>" for call in (FIRST, SECOND)],
    "delimiter": [f"§call: {json.dumps(call)}\n§execute" for call in (FIRST, SECOND)],
}


async def marked(tmp_path: Path, dialect: Dialect, answer: str, token: int) -> tuple[list[int], list[str]]:
    """The steps that ran, and the outcomes that failed, of a turn that begins with `answer`."""
    steps: list[int] = []

    @reads
    async def mark(step: int) -> str:
        """Note a step."""
        steps.append(step)
        return "noted"

    way = WAYS["Chat Completions"]
    settings = replace(way.settings, dialect=dialect)
    async with way.peer([answer, DONE[dialect]], model=way.model, key=KEY, token=token) as peer:
        provider = way.connect(peer)
        agent = Agent(
            provider,
            project=tmp_path,
            data=tmp_path / "d",
            tools=[mark],
            settings=settings,
            permissions="auto",
        )
        async with agent:
            events = [event async for event in agent("go")]
        assert events[-1]["type"] == "end"
        assert len(peer.exchanges) == 2
        failed = [each["payload"]["outcome"] for each in results(events) if each["payload"]["error"]]
        last = peer.exchanges[1].context[-1]["content"]
        assert all(outcome.partition("\n")[0] in last for outcome in failed)
    return steps, failed


@pytest.mark.parametrize("token", [1, 4, 10_000])
@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("dialect", BATCHES)
async def test_a_second_batch_is_reported(tmp_path: Path, dialect: Dialect, between: str, token: int) -> None:
    answer = between.join(BATCHES[dialect])
    steps, failed = await marked(tmp_path, dialect, answer, token)
    assert steps == [1]
    [outcome] = failed
    assert outcome.startswith("Only the ")
    assert "of an answer" in outcome


@pytest.mark.parametrize("token", [1, 10_000])
@pytest.mark.parametrize("dialect", BATCHES)
async def test_other_text_after_a_batch_is_discarded_in_silence(
    tmp_path: Path, dialect: Dialect, token: int
) -> None:
    answer = f"{BATCHES[dialect][0]}\n\nNo <execute> and no §call: any more."
    assert await marked(tmp_path, dialect, answer, token) == ([1], [])
