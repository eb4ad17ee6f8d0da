"""Reasoning and the labels of messages on their way through the store, over Responses in both modes."""

from dataclasses import replace
from pathlib import Path

import pytest

from cogency_tui.config.schema import DialectChoice
from tests.agent.test_native_wires import Work, turn
from tests.peers.responses import ResponsesPeer
from tests.peers.responses_events import NativeAnswer
from tests.peers.responses_params import check_params
from tests.peers.ways import KEY, WAYS

MODEL = "gpt-5.6-sol"
"""One that takes the reasoning of all turns."""
BLOCK = 'One.\n<execute>[{"name": "mark", "args": {"step": 0}}]</execute>'


@pytest.mark.parametrize("name", ["Responses", "Responses WebSocket"])
@pytest.mark.parametrize("dialect", ["native", "xml"])
async def test_reasoning_and_labels_of_all_turns_come_back(
    name: str, dialect: DialectChoice, tmp_path: Path
) -> None:
    way = replace(WAYS[name], model=MODEL)
    calls = [("mark", '{"step": 0}')] if dialect == "native" else []
    answers = [
        NativeAnswer(reasoning="Hm.", phase="commentary", calls=calls),
        NativeAnswer(reasoning="So.", phase="final_answer"),
        NativeAnswer(reasoning="Yes."),
    ]
    texts = ["One." if calls else BLOCK, "Two.", "Three."]
    work = Work(way, tmp_path)
    async with (
        ResponsesPeer(texts, faults=answers, model=MODEL, key=KEY) as peer,
        work.agent(way.connect(peer), dialect) as agent,
    ):
        await turn(agent)
        # A session that was lost is seeded from the store.
        peer.drop_connections()
        await turn(agent, "and another")
    assert work.runs == [0]
    seen = [(each["role"], each["content"]) for each in peer.exchanges[-1].context]
    assert [text for role, text in seen if role == "reasoning"] == ["Hm.", "So."]
    bodies = [request.body for request in peer.requests if request.body]
    bodies += [frame for socket in peer.sockets for frame in socket.frames]
    for body in bodies:
        check_params(body)
    written = [item for item in bodies[-1]["input"] if item.get("role") == "assistant"]
    assert [item["phase"] for item in written] == ["commentary", "final_answer"]
