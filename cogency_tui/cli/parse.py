"""`cogency-tui parse`: turns wire text into events, one JSON object a line, to show what a model's text
means.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from cogency_tui.cli.standard_streams import print_json, standard_input
from cogency_tui.errors import UsageError
from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import Event

_CHUNK = 4096


def parse_file(path: Path | None, dialect: Dialect, *, size: int | None, chunks: bool) -> int:
    """Parse a file, or stdin, in pieces of `size` characters; print units, or with `chunks` deltas.

    Raises:
        UsageError: the file cannot be read.
    """
    if path is None:
        _print_events(standard_input(), dialect, size or _CHUNK, chunks=chunks)
        return 0
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            _print_events(file, dialect, size or _CHUNK, chunks=chunks)
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}.") from exc
    return 0


def _print_events(file: TextIO, dialect: Dialect, size: int, *, chunks: bool) -> None:
    accumulator = Accumulator()
    for event in _parse(file, dialect, size):
        if chunks:
            print_json(event)
        else:
            for unit in accumulator.add(event):
                print_json(unit)
    if not chunks:
        for unit in accumulator.close():
            print_json(unit)


def _parse(file: TextIO, dialect: Dialect, size: int) -> Iterator[Event]:
    parser = create_parser(dialect)
    while not parser.finished and (text := file.read(size)):
        yield from parser.feed(text)
    yield from parser.close()
