"""What readers are expected to make of fixtures, whole and as they grow.

The sessions that a program wrote are in `fixtures/PROGRAM-VERSION/`, and what a reader makes of them is in
`expected/PROGRAM-VERSION.txt`; `COGENCY_LOOKS=write` writes that anew.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cogency_tui.agent.importers.session import Reader, Session, SessionFile
from tests.agent.importers.reading import FIXTURES

_EXPECTED = Path(__file__).parent / "expected"
_WRITE = os.environ.get("COGENCY_LOOKS") == "write"


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
