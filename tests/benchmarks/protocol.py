"""`cogency-tui bench protocol`: how fast the parsers are here, over streams that are the same everywhere.

CPU time of this process, median of several runs. Where `cogency` 3.3.0 is installed beside, its parser
reads the same streams; it is quadratic, so these are shorter than ours.
"""

import argparse
import asyncio
import importlib
import importlib.metadata
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from typing import Any, Literal

from cogency_tui.cli.standard_streams import print_json, print_text
from cogency_tui.protocol import TEXT_DIALECTS, Dialect, create_parser

Seen = Callable[[int], None]
Drive = Callable[[Sequence[str], Seen], None]
"""Parses a stream that comes in these pieces; `Seen` is told the number of pieces that were needed,
whenever an event has come."""

Stream = Literal["text", "payload"]

SIZE = 500_000
"""Characters of a stream."""

PEER_SIZE = 16_000
RUNS = 3
GROWTH = 4
CHUNKS = {"1": 1, "4": 4, "100": 100, "whole": 0}
"""Characters in a piece; 0 is the whole stream."""

_PROSE = """The handler reads the request, checks its size against `limit`, and hands the items on. There \
are two places where this can go wrong: a negative limit (x < 0), and an empty list.

- **First**, the limit is checked too late; see `handler` in `app/server.py`.
- *Second*, nothing says what an empty answer means. <!-- worth a note -->

```python
def handler(request, *, limit=10):
    \"\"\"Return the items.\"\"\"
    if request.size > limit:
        raise ValueError("too large")
    return [item for item in request.items]
```

"""
_CODE = _PROSE.split("```")[1].removeprefix("python\n")
_HEADINGS = ("parser", "dialect", "stream", "chars", *CHUNKS, f"{GROWTH}x text", "first", "held")
_WIDTHS = (14, 9, 7, 9, 7, 7, 7, 8, 8, 7, 7)


@dataclass(frozen=True, slots=True)
class Figures:
    """One parser over one stream.

    `rate`: million characters per second of CPU time, by the characters in a chunk. `growth`: what
    four times the text takes, in chunks of 4, as a ratio. `first`: characters read when the first event
    comes; `held`: the most that are read without one, fed by the character.
    """

    parser: str
    dialect: Dialect
    stream: Stream
    chars: int
    rate: dict[str, float]
    growth: float
    first: int
    held: int


def bench_protocol(*, as_json: bool, size: int = SIZE, peer_size: int = PEER_SIZE) -> int:
    """Measure the parsers over streams of `size` characters, and a peer's over some of `peer_size`."""
    if not as_json:
        print_text(f"Million characters per second of CPU time, in chunks of {', '.join(CHUNKS)}.")
        print_text(_row(_HEADINGS))
    for figures in _measure_all(size, peer_size):
        if as_json:
            print_json(asdict(figures))
        else:
            rates = [f"{rate:.2f}" for rate in figures.rate.values()]
            cells = [figures.parser, figures.dialect, figures.stream, f"{figures.chars:,}", *rates]
            print_text(_row([*cells, f"{figures.growth:.1f}x", f"{figures.first:,}", f"{figures.held:,}"]))
    return 0


def _measure_all(size: int, peer_size: int) -> Iterator[Figures]:
    streams: tuple[Stream, ...] = ("text", "payload")
    for dialect in TEXT_DIALECTS:
        for stream in streams:
            yield _measure("cogency-tui", _ours(dialect), dialect, stream, size)
    peer = _peer()
    if peer is not None:
        for stream in streams:
            # Beside each other, over the stream that the slower one can take.
            yield _measure("cogency-tui", _ours("xml"), "xml", stream, peer_size)
            yield _measure(*peer, "xml", stream, peer_size)


def _measure(parser: str, drive: Drive, dialect: Dialect, stream: Stream, size: int) -> Figures:
    text = wire(dialect, stream, size)
    rate = {
        name: len(text) / _seconds(drive, _cut(text, length or len(text))) / 1e6
        for name, length in CHUNKS.items()
    }
    short = wire(dialect, stream, size // GROWTH)
    # In turns, so that whatever else the machine does weighs on both.
    growth = statistics.median(
        _seconds(drive, _cut(text, 4), runs=1) / _seconds(drive, _cut(short, 4), runs=1) for _ in range(RUNS)
    )
    sample = short[: min(len(short), 20_000)]
    first, held = _delays(drive, sample)
    return Figures(parser, dialect, stream, len(text), rate, growth, first, held)


def _seconds(drive: Drive, parts: Sequence[str], *, runs: int = RUNS) -> float:
    """CPU seconds for these pieces, never none: the clock may be coarser than a short run."""

    def once() -> float:
        rounds, spent, start = 0, 0.0, time.process_time()
        while spent < 0.002:
            drive(parts, _unseen)
            rounds += 1
            spent = time.process_time() - start
        return spent / rounds

    return statistics.median(once() for _ in range(runs))


def _delays(drive: Drive, text: str) -> tuple[int, int]:
    """Characters read when the first event comes, and the most between one and the next."""
    seen: list[int] = []
    drive(list(text), seen.append)
    stops = [0, *seen, len(text)]
    gaps = [stop - start for start, stop in pairwise(stops)]
    return (seen[0] if seen else len(text)), max(gaps)


def _unseen(_parts: int) -> None:
    pass


def _cut(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def _row(cells: Sequence[str]) -> str:
    aligned = [
        cell.ljust(width) if number < 3 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return " ".join(aligned).rstrip()


# The streams.


def wire(dialect: Dialect, stream: Stream, size: int) -> str:
    """About `size` characters as a model writes them: thinking and an answer, or one large `write`."""
    if stream == "text":
        thought, answer = _repeat(_PROSE, size // 4), _repeat(_PROSE, size - size // 4)
        return {
            "xml": f"<think>{thought}</think>\n\n{answer}",
            "delimiter": f"§think: {thought}\n§respond: {answer}",
            "action": f"<thought>{thought}</thought>\n<response>{answer}</response>",
        }[dialect]
    args = {"file": "app/server.py", "content": _repeat(_CODE, size)}
    body = json.dumps({"name": "write", "parameters" if dialect == "action" else "args": args})
    return {
        "xml": f"Writing it now.\n\n<execute>\n[{body}]\n</execute>",
        "delimiter": f"§respond: Writing it now.\n§call: {body}\n§execute",
        "action": f'Writing it now.\n\n<action id="write">{body}</action>',
    }[dialect]


def _repeat(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


# The parsers.


def _ours(dialect: Dialect) -> Drive:
    def drive(parts: Sequence[str], seen: Seen) -> None:
        parser = create_parser(dialect)
        number = 0
        for number, part in enumerate(parts, 1):
            if parser.feed(part):
                seen(number)
        if parser.close():
            seen(number)

    return drive


def _peer() -> tuple[str, Drive] | None:
    """The parser of `cogency` 3.3.0 and what to call it, where it is installed."""
    try:
        version = importlib.metadata.version("cogency")
        parse: Any = importlib.import_module("cogency.core.parser").parse_tokens
    except (ImportError, AttributeError):
        return None

    async def read(parts: Sequence[str], seen: Seen) -> None:
        read = count(1)
        number = 0

        async def tokens() -> AsyncGenerator[str, None]:
            nonlocal number
            for part in parts:
                number = next(read)
                yield part

        async for _ in parse(tokens()):
            seen(number)

    def drive(parts: Sequence[str], seen: Seen) -> None:
        asyncio.run(read(parts, seen))

    return f"cogency {version}", drive


def main(arguments: Sequence[str]) -> int:
    """Print the table, or with `--json` the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    return bench_protocol(as_json=parser.parse_args(arguments).json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
