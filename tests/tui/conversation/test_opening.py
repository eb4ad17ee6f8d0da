"""Opening a long conversation: its events are read in pages, and those that were shown are forgotten."""

import tracemalloc
from pathlib import Path

import pytest
from textual.widget import Widget

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event
from cogency_tui.store import events
from cogency_tui.store.store import Store
from cogency_tui.tui.bridge import Bridge
from tests.tui.scripted import call, respond, result, think, user

FEW, MANY = 100, 400
"""Turns of five events: five pages, and twenty."""

SLACK = 2.0


def turn_of(turn: int) -> list[Event]:
    content = "line of code\n" * 200
    return [
        user(f"question {turn}"),
        think("I had better look. " * 20, f"t{turn}"),
        call(f"c{turn}", "write", file="a.py", content=content),
        result(f"c{turn}", "write", content=content),
        respond("That is done. " * 50, f"r{turn}"),
    ]


async def fill(store: Store, id: str, turns: int) -> None:
    """Store a conversation of so many turns."""
    await store.create_conversation("/p", dialect="xml", provider="offline", model="m", id=id)
    past = [event for turn in range(turns) for event in turn_of(turn)]
    await store.database.write(
        lambda connection: [events.append(connection, id, event) for event in past] and None
    )


async def open_long(bridge: Bridge, id: str, turns: int) -> int:
    """Bytes that opening a conversation takes beside what is left of it."""
    tracemalloc.start()
    try:
        transcript, _total = await bridge.reopen(id)
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert transcript.turns == turns
    return peak - left


@pytest.mark.exhaustive
async def test_what_opening_takes_does_not_grow_with_the_conversation(project: Path) -> None:
    async with Agent("offline", project=project, data=project.parent / "data") as agent:
        store, bridge = await agent.store(), Bridge(agent, Widget(), int)
        await fill(store, "few", FEW)
        await fill(store, "many", MANY)
        few, many = await open_long(bridge, "few", FEW), await open_long(bridge, "many", MANY)
    assert many <= SLACK * few


@pytest.mark.parametrize("estimated", [False, True])
async def test_a_total_is_estimated_where_one_of_its_cycles_was(project: Path, *, estimated: bool) -> None:
    async with Agent("offline", project=project, data=project.parent / "data") as agent:
        store, bridge = await agent.store(), Bridge(agent, Widget(), int)
        await fill(store, "c", 1)
        await store.record_usage("c", {"input": 1, "output": 2, "duration": 0.5})
        if estimated:
            await store.record_usage("c", {"input": 1, "output": 2, "estimated": True})
        _transcript, total = await bridge.reopen("c")
    assert total.get("estimated", False) == estimated
