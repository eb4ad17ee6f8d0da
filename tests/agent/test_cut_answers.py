"""An answer that is cut at any frame, over every wire and mode: each announced call has one result."""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.protocol.events import ENGINE_RESULTS
from tests.agent.test_every_wire import Work
from tests.peers.server import Context, Fault
from tests.peers.ways import KEY, WAYS

pytestmark = pytest.mark.exhaustive

CALLS = [{"name": "mark", "args": {"step": step}} for step in range(2)]
ANSWER = f"Now.\n\n<execute>\n{json.dumps(CALLS)}\n</execute>"
TOKEN = 12
FRAMES = len(ANSWER) // TOKEN + 6
"""At least as many frames as an answer has, whatever its wire puts around the text."""

OVERLOADED = {"type": "error", "error": {"type": "server_error", "code": 500, "message": "Overloaded."}}

def faults_at(frame: int) -> dict[str, Fault]:
    """The ways in which an answer ends too soon, after so many frames."""
    return {
        "dropped": Fault(drop="within", after=frame),
        "failed": Fault(frame=json.dumps(OVERLOADED), after=frame),
        "too long": Fault(deltas=[ANSWER[: frame * TOKEN]], finish="length"),
    }


def model(context: Context) -> str:
    """Makes both calls until it is shown a result of each."""
    seen = sum(message["content"].count(" done") for message in context if message["role"] == "user")
    return ANSWER if seen < len(CALLS) else "Both."


def check(events: Sequence[Mapping[str, Any]]) -> None:
    """Each announced call has one result, and all other results are the engine's own."""
    announced = {event["id"] for event in events if event["type"] == "call"}
    results = [event for event in events if event["type"] == "result" and not event.get("partial")]
    answered = Counter(event["id"] for event in results if event["id"] in announced)
    assert answered == dict.fromkeys(announced, 1)
    assert {event["tool"] for event in results if event["id"] not in announced} <= ENGINE_RESULTS
    assert events[-1]["type"] == "end"


@pytest.mark.parametrize("name", WAYS)
async def test_answer_cut_at_any_frame_leaves_no_call_without_its_result(name: str, tmp_path: Path) -> None:
    # Each wire is cut at every other frame by one fault after the other; each frame meets each fault on a wire.
    hows = [*faults_at(0)]
    first = [*WAYS].index(name)
    work = Work(WAYS[name], tmp_path)
    async with (
        work.way.peer(model, model=work.way.model, key=KEY, token=TOKEN) as peer,
        work.agent(work.way.connect(peer)) as agent,
    ):
        for frame in range(first % 2, FRAMES, 2):
            peer.faults.append(faults_at(frame)[hows[(first + frame) % len(hows)]])
            work.runs.clear()
            check([event async for event in agent.stream("task", conversation_id=str(frame))])
            assert not peer.faults
            assert sorted(set(work.runs)) == work.runs


async def test_lines_of_a_run_whose_answer_is_cut_have_a_result_for_each_call(tmp_path: Path) -> None:
    way = WAYS["Responses WebSocket"]
    frames = len(ANSWER) // TOKEN
    faults = [Fault(drop="within", after=frames)]
    async with way.peer(model, model=way.model, key=KEY, token=TOKEN, faults=faults) as peer:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cogency_tui", "run", "task", "--json", "--chunks", "--mode", way.mode),
            *("--provider", way.provider, "--model", way.model),
            cwd=tmp_path,
            env={**os.environ, **way.environ(peer), "COGENCY_DATA": str(tmp_path / "data")},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _errors = await process.communicate()
    events = [json.loads(line) for line in output.splitlines()]
    assert any(event["type"] == "call" for event in events)
    check(events)
