"""What the tests of all readers do with a session, and with a file of records that grows or is damaged.

The sessions that a program wrote are in `fixtures/PROGRAM-VERSION/`, and what a reader makes of them is in
`expected/PROGRAM-VERSION.txt`; `COGENCY_LOOKS=write` writes that anew.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.session import Reader, Session, SessionFile

FIXTURES = Path(__file__).parent / "fixtures"
_EXPECTED = Path(__file__).parent / "expected"
_WRITE = os.environ.get("COGENCY_LOOKS") == "write"

_DAMAGES = ("{", "[]", "null", "9" * 5_000, '{"a":' * 100_000, "\udcff\x00", '{"type": "of next year"}')
_WRONG: tuple[Any, ...] = (None, [[]], {"type": 1}, "\ud800\x00", float("nan"), 10**400)


def assert_expected(name: str, reader: Reader, home: Path | None = None) -> None:
    """Compare all that a reader finds in a fixture, or in a `home` made from it, with what is expected."""
    found = "".join(f"{line}\n" for line in _report(home or FIXTURES / name, reader))
    path = _EXPECTED / f"{name}.txt"
    if _WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")


def files_of(reader: Reader, home: Path, **environment: str) -> dict[str, SessionFile]:
    """The files that a reader finds, by their paths below `home`."""
    return {file.path.relative_to(home).as_posix(): file for file in reader.files(home, environment)}


def read_prefixes(path: Path, read: Callable[[], Session | None]) -> Iterator[Session | None]:
    """Read a file as it grows line by line, with a half of the next one."""
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate([*lines, b""]):
        for part in (b"", line[: len(line) // 2]):
            path.write_bytes(b"".join(lines[:number]) + part)
            yield read()


def assert_only_grows(sessions: Iterable[Session | None]) -> None:
    """Check that each session begins with all that the one before it had.

    The results that close the calls of an interrupted session don't count.
    """
    before: list[str] = []
    for session in sessions:
        events = session.events if session else []
        now = [f"{each.key} {json.dumps(each.event, sort_keys=True)}" for each in events]
        while (
            now and events[len(now) - 1].event["type"] == "result" and _is_closing(events[len(now) - 1].event)
        ):
            now.pop()
        assert now[: len(before)] == before
        before = now
    assert before


def read_damaged(path: Path, read: Callable[[], Session | None]) -> Iterator[tuple[str, Session | None]]:
    """Read a file with each of its lines in turn replaced by something else."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines):
        for damage in (*_DAMAGES, *_wrong(line)):
            changed = "".join([*lines[:number], damage + "\n", *lines[number + 1 :]])
            path.write_bytes(changed.encode("utf-8", "surrogateescape"))
            yield damage, read()
    path.write_text("".join(lines), "utf-8")


def _report(home: Path, reader: Reader) -> Iterator[str]:
    for file in sorted(reader.files(home, {}), key=lambda file: (file.path, file.id)):
        yield f"== {file.path.relative_to(home).as_posix()} ({file.project})"
        session = reader.read(file)
        if session is None:
            yield "none"
            continue
        for field in ("id", "project", "title", "model", "provider", "branch", "parent", "call"):
            if value := getattr(session, field):
                yield f"{field}: {value}"
        yield from (f"unknown: {each}" for each in session.unknown)
        for each in session.events:
            event: Any = each.event
            marks = " ".join(name for name in ("summary",) if event.get(name))
            cycle = f" [{event['cycle']}]" if "cycle" in event else ""
            about = f"{event['timestamp']:.3f} {event['type']} {each.key}{cycle} {marks}".rstrip()
            yield f"{about}: {_shown(event.get('content', event.get('payload')))}"
            if "ran" in event:
                yield f"  ran: {_shown(event['ran'])}"
            if event.get("duration"):
                yield f"  {event['duration']} s"
        yield from (
            f"{each.timestamp:.3f} usage {each.key}: {_shown(each.measure)}" for each in session.usage
        )
        for edit in session.edits:
            yield f"{edit.timestamp:.3f} edit {edit.call} {edit.path}: {edit.before!r} -> {edit.after!r}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x1b", "\\x1b")


def _is_closing(event: Any) -> bool:
    return event["payload"]["state"] == "interrupted" and event["payload"]["content"] == ""


def _wrong(line: str) -> Iterator[str]:
    """Yield a record with all its values, or those in it, of other types."""
    record = json.loads(line)
    for wrong in _WRONG:
        yield from (json.dumps(_replaced(record, wrong, depth)) for depth in range(4))


def _replaced(value: Any, wrong: Any, depth: int) -> Any:
    """Replace all values at this depth, but for those that name a type."""
    if not isinstance(value, dict):
        return value if depth else wrong
    given = cast("dict[str, Any]", value)
    named = {name: each for name, each in given.items() if name in ("type", "role")}
    if depth == 0:
        return {**dict.fromkeys(given, wrong), **named}
    return {**{name: _replaced(each, wrong, depth - 1) for name, each in given.items()}, **named}
