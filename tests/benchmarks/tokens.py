"""`python -m tests.benchmarks.tokens [--turns 8,16,32] [--json]`: what the modes send, counted where it arrives.

The real engine works against the loopback peers of tests/peers: 200 tokens of thinking and 100 for a call a
turn, 300 of its result; the last result is not fed back. A token is four characters of text, as the peers
count it. What opens the conversation (system prompt, environment, question) takes `OPENING` tokens: in n turns
replay sends and generates 300n² + OPENING·n, resume 600n + OPENING - 300.

The published claim (protocols.md, section 6) is about an opening of 1,500: 300n² + 1500n against 600n + 1200.
The prompt of today leaves no room in that for a question. So `sent` and `generated` are measured with
`OPENING`, and `fewer` and `fewer_sent` are what follows from them for 1,500: of each request of replay, and
once of resume, what the opening has more is taken off. That makes them smaller than what is measured.

Then one agent has `SUBAGENTS` others do a task each, with so many turns, at once: all their requests, as measured. A
session has its own context, whether or not it has a connection of its own: lanes save connections, not tokens.
"""

import argparse
import asyncio
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import AgentSettings, Mode, Settings
from cogency_tui.providers.base import Provider
from cogency_tui.tools.function import reads
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Context, Exchange, Peer, shared
from tests.peers.ways import WAYS, Way, connect_lanes

TURNS = (8, 16, 32)
OPENING, THINK, CALL, RESULT = 2400, 200, 100, 300
"""Tokens: of system prompt, environment and question together; of each turn."""

PROMPT = 1900
"""Tokens that the system prompt may take."""

CLAIMED = 1500
"""Tokens of the opening that the published claim is about."""

CHARACTERS = 4
"""Of a token."""

SUBAGENTS = 3
_SUBAGENT = "You are the sub-agent"

LM_STUDIO = Way(
    "LM Studio Responses",
    "resume",
    partial(ResponsesPeer, stores=True),
    "openai",
    WAYS["Chat Completions"].model,
    "Chat Completions",
    "chat",
    resume=True,
)
"""LM Studio's server at the address of another provider, because its own has no variable."""
BENCHED = (*WAYS.values(), LM_STUDIO)

_REPLAYED, _SESSIONS = WAYS["Responses"], WAYS["Responses WebSocket"]
DELEGATING: dict[str, tuple[Way, Callable[[Peer], Provider]]] = {
    "Responses, agents": (_REPLAYED, _REPLAYED.connect),
    "WebSocket, agents": (_SESSIONS, _SESSIONS.connect),
    "lanes, agents": (_SESSIONS, connect_lanes),
}
"""Ways in which an agent and its sub-agents work; the first is what the others are compared with."""

_WORDS = "the loop sleeps before it checks whether another attempt is left, so a test that counts them waits "


@dataclass(frozen=True, slots=True)
class Figures:
    """One way at one number of turns. Tokens, as they arrived: `sent`, `generated`, and `billed` as
    input, of which the vendor's cache would have had `cached`. `fewer` and `fewer_sent`: how many times
    less than the baseline with an opening of `CLAIMED`, sent and generated together, and sent alone. `prefix`:
    the part of all input
    after the first request that is byte for byte what was there before. `connections` that were opened;
    `runs`: calls of each tool, `seconds` a turn."""

    way: str
    mode: Mode
    turns: int
    sent: int
    generated: int
    billed: int
    cached: int
    fewer: float
    fewer_sent: float
    prefix: float
    connections: int
    runs: list[int]
    seconds: float


def sized(text: str, tokens: int, before: str = "", after: str = "") -> str:
    """`text` repeated or cut so that it takes `tokens` with what is around it."""
    length = tokens * CHARACTERS - len(before) - len(after)
    assert length > 0
    return before + (text * (length // len(text) + 1))[:length] + after


def reply(turn: int) -> str:
    """What the model writes in one turn, counted from 0."""
    think = sized(f"In step {turn} " + _WORDS, THINK, "<think>", "</think>\n\n")
    head = f'<execute>\n[{{"name": "probe", "args": {{"step": {turn}, "note": "'
    return think + sized(f"note {turn}: " + _WORDS, CALL, head, '"}}]\n</execute>')


def result(turn: int) -> str:
    """What the tool gives in one turn, so that it takes `RESULT` tokens as the model reads it."""
    head, tail = '<results>\n[{"tool": "probe", "status": "success", "content": "', '"}]\n</results>'
    return sized(f"result {turn}: " + _WORDS, RESULT, head, tail)[len(head) : -len(tail)]


async def run(way: Way, turns: int, project: Path) -> tuple[Peer, list[int], float]:
    """One turn of the engine with so many calls; the peer, how often each call ran, and the seconds."""
    runs = [0] * turns

    @reads
    async def probe(step: int, note: str) -> str:
        """Look at one step. `note` is free text."""
        runs[step] += 1
        return result(step)

    def answer(context: Context) -> str:
        done = sum(message["role"] == "assistant" for message in context)
        return reply(done) if done < turns else "Done."

    system, environment = await _before_the_question(project, probe)
    question = sized(_WORDS, OPENING - system, environment).removeprefix(environment)
    async with way.peer(answer, token=16, model=way.model) as peer:
        with tempfile.TemporaryDirectory() as data:
            agent = _agent(way.connect(peer), way.settings, project, data, probe, turns + 1)
            started = time.perf_counter()
            async with agent:
                events = [event async for event in agent(question)]
            seconds = time.perf_counter() - started
    if events[-1]["type"] != "end" or not all(runs):
        raise RuntimeError(f"{way.name}: the turn did not end well: {events[-2:]}")
    return peer, runs, seconds / turns


def _agent(
    provider: Provider, settings: Settings, project: Path, data: str, probe: Any, cycles: int
) -> Agent:
    settings = replace(settings, max_iterations=cycles, compact_at=0)
    return Agent(provider, project=project, data=data, tools=[probe], permissions="auto", settings=settings)


async def delegate(
    way: Way, connect: Callable[[Peer], Provider], turns: int, project: Path
) -> tuple[Peer, list[int], float]:
    """One turn in which sub-agents have so many calls each, as `run`."""
    runs = [0] * turns

    @reads
    async def probe(step: int, note: str) -> str:
        """Look at one step. `note` is free text."""
        runs[step] += 1
        return result(step)

    def answer(context: Context) -> str:
        done = sum(message["role"] == "assistant" for message in context)
        if _SUBAGENT in context[0]["content"]:
            return reply(done) if done < turns else "Done."
        return "Done." if done else _delegation()

    worker = AgentSettings(tools=["probe"], max_iterations=turns + 1)
    settings = replace(way.settings, agents={"worker": worker})
    async with way.peer(answer, token=16, model=way.model) as peer:
        with tempfile.TemporaryDirectory() as data:
            agent = _agent(connect(peer), settings, project, data, probe, turns + 1)
            started = time.perf_counter()
            async with agent:
                events = [event async for event in agent("Have the workers look.")]
            seconds = time.perf_counter() - started
    if events[-1]["type"] != "end" or min(runs) < SUBAGENTS:
        raise RuntimeError(f"{way.name}: the sub-agents did not do their work: {events[-2:]}")
    return peer, runs, seconds / turns


def _delegation() -> str:
    calls = [
        {"name": "agent", "args": {"name": "worker", "task": f"Look at part {number}."}}
        for number in range(SUBAGENTS)
    ]
    return f"<execute>\n{json.dumps(calls)}\n</execute>"


async def _before_the_question(project: Path, probe: Any) -> tuple[int, str]:
    """The tokens of the system prompt, and what stands before the question; both are the same for all."""
    way = WAYS["Chat Completions"]
    with tempfile.TemporaryDirectory() as data:
        async with way.peer(["Done."]) as peer:
            agent = _agent(way.connect(peer), way.settings, project, data, probe, 2)
            async for _event in agent("Hello."):
                pass
    system, first = (message["content"] for message in peer.exchanges[0].context)
    # Rounded up, so that with the question it is no more than `OPENING`.
    taken = -(-len(system) // CHARACTERS)
    if taken > PROMPT:
        raise RuntimeError(f"the system prompt takes {taken:,} of {PROMPT:,}")
    return taken, first.removesuffix("Hello.")


def claimed(tokens: int, mode: Mode, turns: int) -> int:
    """What `tokens` that were sent would have been with an opening of `CLAIMED`."""
    return tokens - (turns if mode == "replay" else 1) * (OPENING - CLAIMED)


def figures(
    way: Way, turns: int, peer: Peer, runs: list[int], seconds: float, baseline: Figures | None
) -> Figures:
    """The figures of a run, without the request that brought the closing answer."""
    found = _measured(way.name, way.mode, turns, peer, [peer.exchanges[:turns]], runs, seconds)
    if baseline is None:
        return found
    ours, theirs = claimed(found.sent, way.mode, turns), claimed(baseline.sent, baseline.mode, turns)
    return dataclasses.replace(
        found, fewer=(theirs + baseline.generated) / (ours + found.generated), fewer_sent=theirs / ours
    )


def delegation_figures(
    name: str, mode: Mode, turns: int, peer: Peer, runs: list[int], seconds: float, baseline: Figures | None
) -> Figures:
    """The figures of an agent and its sub-agents, with all of their requests."""
    tasks = sorted({_task(exchange) for exchange in peer.exchanges})
    conversations = [[each for each in peer.exchanges if _task(each) == task] for task in tasks]
    found = _measured(name, mode, turns, peer, conversations, runs, seconds)
    if baseline is None:
        return found
    return dataclasses.replace(
        found,
        fewer=(baseline.sent + baseline.generated) / (found.sent + found.generated),
        fewer_sent=baseline.sent / found.sent,
    )


def _task(exchange: Exchange) -> str:
    return exchange.context[1]["content"]


def _measured(
    name: str,
    mode: Mode,
    turns: int,
    peer: Peer,
    conversations: Sequence[Sequence[Exchange]],
    runs: list[int],
    seconds: float,
) -> Figures:
    """The figures without a comparison; of each conversation its exchanges in order."""
    exchanges = [exchange for each in conversations for exchange in each]
    known = [
        shared(after.context, [*before.context, {"role": "assistant", "content": before.text}])
        for each in conversations
        for before, after in pairwise(each)
    ]
    later = sum(exchange.input for each in conversations for exchange in each[1:]) * CHARACTERS
    return Figures(
        name,
        mode,
        turns,
        sent=sum(exchange.sent for exchange in exchanges),
        generated=sum(-(-len(exchange.text) // CHARACTERS) for exchange in exchanges),
        billed=sum(exchange.input for exchange in exchanges),
        cached=sum(exchange.cached for exchange in exchanges),
        fewer=1.0,
        fewer_sent=1.0,
        prefix=sum(known) / later if later else 1.0,
        connections=peer.connections,
        runs=runs,
        seconds=seconds,
    )


async def measure(turns: Sequence[int], report: Callable[[Figures], None]) -> None:
    """Run every way at every number of turns, telling each as it is there."""
    with tempfile.TemporaryDirectory() as directory:
        for number in turns:
            baselines: dict[str, Figures] = {}
            for way in BENCHED:
                peer, runs, seconds = await run(way, number, Path(directory))
                found = figures(way, number, peer, runs, seconds, baselines.get(way.other))
                baselines[way.name] = found
                report(found)
        for number in turns:
            baseline: Figures | None = None
            for name, (way, connect) in DELEGATING.items():
                peer, runs, seconds = await delegate(way, connect, number, Path(directory))
                found = delegation_figures(name, way.mode, number, peer, runs, seconds, baseline)
                baseline = baseline or found
                report(found)


_HEADINGS = ("turns", "wire", "mode", "sent", "generated", "together", "fewer", "billed", "cached", "fresh", "prefix", "connections", "ms/turn", "runs")  # fmt: skip
_WIDTHS = (5, 20, 6, 9, 9, 9, 6, 9, 8, 7, 6, 11, 7, 5)


def row(cells: Sequence[str]) -> str:
    """One line of the table."""
    aligned = [
        cell.ljust(width) if 0 < number < 3 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def cells(found: Figures) -> list[str]:
    """One run as a line of the table."""
    times = sorted(set(found.runs))
    return [
        *(str(found.turns), found.way, found.mode, f"{found.sent:,}", f"{found.generated:,}"),
        *(f"{found.sent + found.generated:,}", f"{found.fewer:.1f}x" if found.mode == "resume" else ""),
        *(f"{found.billed:,}", f"{found.cached:,}", f"{found.billed - found.cached:,}"),
        *(f"{found.prefix:.0%}", str(found.connections), f"{found.seconds * 1000:.1f}"),
        f"{len(found.runs)}x{times[0]}" if len(times) == 1 else str(times),
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the table, or with `--json` an object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", default=",".join(map(str, TURNS)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    turns = [int(number) for number in options.turns.split(",")]

    def as_json(found: Figures) -> None:
        print(json.dumps(asdict(found)))

    def as_row(found: Figures) -> None:
        print(row(cells(found)))

    if not options.json:
        print("Tokens, four characters each, counted by the peer from what arrived.")
        print(f"The opening takes {OPENING:,}; fewer is what follows for the {CLAIMED:,} of the claim:")
        print("sent and generated, against the same vendor's replay. billed: as input, without caching;")
        print(
            "fresh: what is left of it with the vendor's cache. prefix: input after the first request that is"
        )
        print("byte for byte what was there before.")
        print(f"Rows of agents: one and its {SUBAGENTS} sub-agents, which take the turns; fewer as measured.")
        print(row(_HEADINGS))
    asyncio.run(measure(turns, as_json if options.json else as_row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
