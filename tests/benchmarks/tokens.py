"""`python -m tests.benchmarks.tokens [--turns 8,16,32] [--json]`: what the modes send, counted where it arrives.

The real engine works against the loopback peers of tests/peers: 200 tokens of thinking and 100 for a call a
turn, 300 of its result; the last result is not fed back. A token is four characters of text, as the peers
count it. What opens the conversation (system prompt, environment, question) takes `OPENING` tokens: in n turns
replay sends and generates 300n² + OPENING·n, resume 600n + OPENING - 300.

The published claim (protocols.md, section 6) is about an opening of 1,500: 300n² + 1500n against 600n + 1200.
The prompt of today leaves no room in that for a question. So `sent` and `generated` are measured with
`OPENING`, and `fewer` and `fewer_sent` are what follows from them for 1,500: of each request of replay, and
once of resume, what the opening has more is taken off. That makes them smaller than what is measured.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Mode
from cogency_tui.tools.function import reads
from tests.peers.server import Context, Peer, shared
from tests.peers.ways import WAYS, Way

TURNS = (8, 16, 32)
OPENING, THINK, CALL, RESULT = 2400, 200, 100, 300
"""Tokens: of system prompt, environment and question together; of each turn."""

PROMPT = 1900
"""Tokens that the system prompt may take."""

CLAIMED = 1500
"""Tokens of the opening that the published claim is about."""

CHARACTERS = 4
"""Of a token."""

_WORDS = "the loop sleeps before it checks whether another attempt is left, so a test that counts them waits "


@dataclass(frozen=True, slots=True)
class Figures:
    """One way at one number of turns. Tokens, as they arrived: `sent`, `generated`, and `billed` as
    input, of which the vendor's cache would have had `cached`. `fewer` and `fewer_sent`: how many times
    less than the baseline with an opening of `CLAIMED`, sent and generated together, and sent alone. `prefix`:
    the part of all input
    after the first request that is byte for byte what was there before. `runs`: calls of each tool,
    `seconds` a turn."""

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
            agent = _agent(way, peer, project, data, probe, turns + 1)
            started = time.perf_counter()
            async with agent:
                events = [event async for event in agent(question)]
            seconds = time.perf_counter() - started
    if events[-1]["type"] != "end":
        raise RuntimeError(f"{way.name}: the turn did not end well: {events[-1]}")
    return peer, runs, seconds / turns


def _agent(way: Way, peer: Peer, project: Path, data: str, probe: Any, cycles: int) -> Agent:
    settings = replace(way.settings, max_iterations=cycles, compact_at=0)
    return Agent(
        way.connect(peer), project=project, data=data, tools=[probe], permissions="auto", settings=settings
    )


async def _before_the_question(project: Path, probe: Any) -> tuple[int, str]:
    """The tokens of the system prompt, and what stands before the question; both are the same for all."""
    way = WAYS["Chat Completions"]
    with tempfile.TemporaryDirectory() as data:
        async with way.peer(["Done."]) as peer:
            async for _event in _agent(way, peer, project, data, probe, 2)("Hello."):
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
    exchanges = peer.exchanges[:turns]
    sent = sum(exchange.sent for exchange in exchanges)
    generated = sum(-(-len(exchange.text) // CHARACTERS) for exchange in exchanges)
    known = [
        shared(after.context, [*before.context, {"role": "assistant", "content": before.text}])
        for before, after in pairwise(exchanges)
    ]
    later = sum(exchange.input for exchange in exchanges[1:]) * CHARACTERS
    ours = claimed(sent, way.mode, turns)
    theirs = claimed(baseline.sent, baseline.mode, turns) if baseline else ours
    return Figures(
        way.name,
        way.mode,
        turns,
        sent,
        generated,
        sum(exchange.input for exchange in exchanges),
        sum(exchange.cached for exchange in exchanges),
        (theirs + baseline.generated) / (ours + generated) if baseline else 1.0,
        theirs / ours,
        sum(known) / later if later else 1.0,
        runs,
        seconds,
    )


async def measure(turns: Sequence[int], report: Callable[[Figures], None]) -> None:
    """Run every way at every number of turns, telling each as it is there."""
    with tempfile.TemporaryDirectory() as directory:
        for number in turns:
            baselines: dict[str, Figures] = {}
            for way in WAYS.values():
                peer, runs, seconds = await run(way, number, Path(directory))
                found = figures(way, number, peer, runs, seconds, baselines.get(way.other))
                baselines[way.name] = found
                report(found)


_HEADINGS = ("turns", "wire", "mode", "sent", "generated", "together", "fewer", "billed", "cached", "fresh", "prefix", "ms/turn", "runs")  # fmt: skip
_WIDTHS = (5, 20, 6, 8, 9, 8, 6, 8, 8, 7, 6, 7, 5)


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
        *(f"{found.prefix:.0%}", f"{found.seconds * 1000:.1f}"),
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
        print(row(_HEADINGS))
    asyncio.run(measure(turns, as_json if options.json else as_row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
