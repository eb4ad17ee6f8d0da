"""How quick the interface is, as a person at a terminal has it: `python -m tests.benchmarks.render [PART …]`.

The real application in a pseudo-terminal, a loopback server that streams Markdown, and a bare Textual app
beside it in the same run. Machines are noisy: the ratios are what counts.

    start    seconds to the first frame, and to the echo of a typed key
    idle     memory and processor time when nothing happens, and seconds from key to echo
    stream   the same while Markdown comes in at 2,000 and at 20,000 tokens a second
    open     conversations of 10, 1,000 and 10,000 events: seconds to their last line, and scrolling
    diff     a diff of 185,000 characters: milliseconds to its first screen, and for one in its middle
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any

from cogency_tui.protocol.events import Event
from cogency_tui.store.store import Store, new_conversation_id
from tests.benchmarks.driven import ROOT, Driven
from tests.benchmarks.stream_server import END

APPS = {"bare textual": "tests.benchmarks.bare", "cogency-tui": "cogency_tui"}
OURS = "cogency_tui"
RUNS = 9
KEYS = 60
KEY_PAUSE = 0.05
IDLE = 5.0
RATES = (2_000, 20_000)
EVENTS = (10, 1_000, 10_000)

_SCREEN = 45
"""Lines."""

_DIFF_WIDTHS = (120, 40)

_ENTER = "\r"
_PAGES = ("\x1b[5~", "\x1b[6~")
_NEXT_PANE = "\x1b[17~"
_PAINTED = b"\x1b[38;"

_ANSWER = "Answer {} has **words** and `code`.\n\n" + "- an item with some words in it\n" * 20

Rows = dict[str, dict[str, float]]

_letters = map(chr, count(0x1401))
"""Characters of one cell that are in no text of ours: each is typed once, so that its echo is its own."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(prog="cogency-tui bench render", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which: {', '.join(PARTS)} (all)")
    parser.add_argument("--seconds", type=int, default=8, help="that each answer streams (8)")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "README.md").write_text("# A project\n")
        rows = {
            part: measure(place, options.seconds)
            for part, measure in PARTS.items()
            if part in options.parts or not options.parts
        }
    if options.json:
        print(json.dumps(rows))
    else:
        for part, found in rows.items():
            _print_table(part, found)
    return 0


def _print_table(part: str, rows: Rows) -> None:
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    widths = [max(12, len(column) + 2) for column in columns]
    print(f"{part:22}" + "".join(column.rjust(width) for column, width in zip(columns, widths, strict=True)))
    for name, row in rows.items():
        cells = [f"{row[column]:.3g}" if column in row else "" for column in columns]
        print(f"{name:22}" + "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
    print()


@contextmanager
def _started(app: str, place: Path, *arguments: str, **environ: str) -> Generator[Driven]:
    """The app, painted and ready for keys."""
    with Driven(app, *arguments, cwd=place, data=place / "data", environ=environ) as driven:
        driven.expect(_PAINTED)
        driven.when()
        driven.echo(next(_letters))
        yield driven


def measure_start(place: Path, _seconds: int) -> Rows:
    """Medians over `RUNS` starts of each app in turn."""
    painted: dict[str, list[float]] = {name: [] for name in APPS}
    ready: dict[str, list[float]] = {name: [] for name in APPS}
    for run in range(RUNS + 1):
        for name, module in APPS.items():
            with Driven(module, cwd=place, data=place / "data") as driven:
                driven.expect(_PAINTED)
                first = driven.when()
                key = next(_letters)
                driven.expect(key.encode())
                driven.send(key)
                second = driven.when()
            if run:
                painted[name].append(first - driven.started)
                ready[name].append(second - driven.started)
    rows: Rows = {
        name: {"first s": statistics.median(painted[name]), "ready s": statistics.median(ready[name])}
        for name in APPS
    }
    return rows | {"ours to bare": _ratio(rows)}


def measure_idle(place: Path, _seconds: int) -> Rows:
    """Memory, processor time in percent of one core, and keys, of each app after a quiet second."""
    rows: Rows = {}
    for name, module in APPS.items():
        with _started(module, place) as driven:
            driven.settle(1.0)
            before, began = driven.cpu, time.monotonic()
            time.sleep(IDLE)
            used = (driven.cpu - before) / (time.monotonic() - began)
            rss = driven.rss
            keys = _type(driven, lambda: True)
        rows[name] = {"rss MB": rss, "cpu %": 100 * used} | keys
    return rows | {"ours to bare": _ratio(rows)}


def measure_stream(place: Path, seconds: int) -> Rows:
    """An answer of `seconds` at each rate, keys typed meanwhile. `late`: seconds from the server's last
    byte to its text on the screen."""
    rows: Rows = {}
    for rate in RATES:
        tokens = rate * seconds
        with _server(rate) as server, _at_server(server, place) as driven:
            driven.settle()
            cpu, rss = driven.cpu, driven.rss
            over = driven.send(f" {tokens} tokens{_ENTER}") + seconds - 0.5
            time.sleep(0.3)
            keys = _type(driven, lambda over=over: time.monotonic() < over)
            driven.expect(END.encode())
            shown = driven.when()
            sent = float(server.readline())
            driven.settle()
            rows[f"{rate:,} tokens/s"] = keys | {
                "late s": max(0.0, shown - sent),
                "cpu s/10k": (driven.cpu - cpu) * 10_000 / tokens,
                "rss MB": driven.rss,
                "growth MB": driven.rss - rss,
                "peak MB": driven.peak,
            }
    return rows


@contextmanager
def _server(rate: int) -> Generator[IO[str]]:
    """What a server at this rate prints."""
    command = [sys.executable, "-m", "tests.benchmarks.stream_server", str(rate)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert server.stdout is not None
    try:
        yield server.stdout
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@contextmanager
def _at_server(server: IO[str], place: Path) -> Generator[Driven]:
    config = place / "config.toml"
    url = f"http://127.0.0.1:{int(server.readline())}/v1"
    # The server would answer the request for a title with as many tokens.
    config.write_text(f'titles = false\n[providers.local]\nbase_url = "{url}"\nmodel = "m"\n')
    arguments = ("--provider", "local", "--mode", "replay")
    with _started(OURS, place, *arguments, COGENCY_CONFIG=str(config)) as driven:
        yield driven


def measure_open(place: Path, _seconds: int) -> Rows:
    """The start with a conversation to its last line, memory then, and milliseconds for a page up or down."""
    stored = asyncio.run(_store(place))
    rows: Rows = {}
    for events, conversation_id in stored.items():
        opened: list[float] = []
        pages: list[float] = []
        rss = 0.0
        for _ in range(3):
            with Driven(OURS, "--resume", conversation_id, cwd=place, data=place / "data") as driven:
                driven.expect(END.encode())
                opened.append(driven.when() - driven.started)
                driven.settle()
                driven.send(_NEXT_PANE * 2)
                driven.settle(0.2)
                for key in _PAGES * 10:
                    driven.expect(b"\x1b[")
                    pages.append(-driven.send(key) + driven.when())
                    driven.settle(0.05)
                rss = driven.rss
        rows[f"{events:,} events"] = {
            "to last line s": statistics.median(opened),
            "page ms": 1000 * statistics.median(pages),
            "page p95 ms": 1000 * _p95(pages),
            "rss MB": rss,
        }
    first, *_, last = rows.values()
    return rows | {"most to fewest": {name: last[name] / first[name] for name in first}}


async def _store(place: Path) -> dict[int, str]:
    """A conversation of each length; their ids."""
    store = await Store.open(place / "data")
    stored: dict[int, str] = {}
    for events in EVENTS:
        stored[events] = conversation_id = new_conversation_id()
        await store.create_conversation(
            str(place), dialect="xml", provider="offline", model="offline-1", id=conversation_id
        )
        for number in range(events // 2):
            last = number == events // 2 - 1
            said: list[Event] = [
                {"type": "user", "timestamp": time.time(), "content": f"Question {number}?"},
                {
                    "type": "respond",
                    "timestamp": time.time(),
                    "id": f"r{number}",
                    "content": END if last else _ANSWER.format(number),
                },
            ]
            for event in said:
                await store.append(conversation_id, event)
    await store.close()
    return stored


def measure_diff(_place: Path, _seconds: int) -> Rows:
    """The layout of a long diff, by its width: to open it, and to draw a screen that was not drawn yet."""
    from cogency_tui.tui.kit.diff import DiffLayout
    from cogency_tui.tui.theme_styles import theme_styles_of

    styles, text = theme_styles_of("night"), _long_diff()
    # The lexer is imported and built once in a program.
    DiffLayout(text, 80, styles).line(0)
    rows: Rows = {}
    for width in _DIFF_WIDTHS:
        opened, first, middle = list[float](), list[float](), list[float]()
        for run in range(RUNS):
            begun = time.perf_counter()
            layout = DiffLayout(text, width, styles)
            opened.append(time.perf_counter() - begun)
            middle_line = len(layout) // 2 + run * _SCREEN
            for taken, top in ((first, run * _SCREEN), (middle, middle_line)):
                begun = time.perf_counter()
                for y in range(top, top + _SCREEN):
                    layout.line(y)
                taken.append(time.perf_counter() - begun)
        named = (("open ms", opened), ("first screen ms", first), ("other screen ms", middle))
        rows[f"{width} cells"] = {name: 1000 * statistics.median(taken) for name, taken in named}
    return rows


def _long_diff() -> str:
    old = "".join(f"-    value_{number} = compute({number})\n" for number in range(2750))
    new = "".join(f"+    value_{number} = computed({number})  # x\n" for number in range(2750))
    return f"--- a/a.py\n+++ b/a.py\n@@ -1,2750 +1,2750 @@\n{old}{new}"


def _type(driven: Driven, go_on: Callable[[], object]) -> dict[str, float]:
    """Key latencies in milliseconds, over at most `KEYS` keys."""
    taken: list[float] = []
    while len(taken) < KEYS and go_on():
        taken.append(1000 * driven.echo(next(_letters)))
        time.sleep(KEY_PAUSE)
    return {"key ms": statistics.median(taken), "key p95 ms": _p95(taken)}


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _ratio(rows: Rows) -> dict[str, float]:
    bare, ours = (rows[name] for name in APPS)
    return {name: ours[name] / bare[name] for name in ours if bare[name]}


PARTS: dict[str, Any] = {
    "diff": measure_diff,
    "start": measure_start,
    "idle": measure_idle,
    "stream": measure_stream,
    "open": measure_open,
}


if __name__ == "__main__":
    sys.exit(main())
