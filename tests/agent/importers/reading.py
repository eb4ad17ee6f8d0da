"""What the tests of readers have in common: fixtures in the program's own layout, read whole, line by line and
damaged."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.session import Reader, Session, SessionFile

FIXTURES = Path(__file__).parent / "fixtures"
_AGO = 1_600_000_000


def copy_fixture(name: str, to: Path) -> None:
    """Copy what the program wrote, as if it was long ago."""
    shutil.copytree(FIXTURES / name, to)
    for path in to.rglob("*"):
        os.utime(path, (_AGO, _AGO))


def read(reader: Reader, path: Path, *, running: bool = False) -> Session:
    """Read the session in a file; `running` is one that was changed just now."""
    os.utime(path, None if running else (_AGO, _AGO))
    found = reader.read(SessionFile(path, ""))
    return found or Session("")


def shown(session: Session) -> list[tuple[str, str, str]]:
    """The events as kinds, keys and contents; that of a result begins with its state."""
    return [(each.event["type"], each.key, _content(cast("Any", each.event))) for each in session.events]


def _content(event: dict[str, Any]) -> str:
    if event["type"] != "result":
        return event["content"]
    payload = event["payload"]
    assert payload["error"] == (payload["state"] != "done")
    assert payload["outcome"]
    return f"{payload['state']}: {payload['content']}"


def prefixes(path: Path) -> Iterator[None]:
    """Rewrite a file with one more of its lines each time, in the middle of which it ends at first."""
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        path.write_bytes(b"".join(lines[:number]) + line[: len(line) // 2])
        yield
        path.write_bytes(b"".join(lines[: number + 1]))
        yield


def damaged(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Rewrite a file with one line of it damaged each time; yield the record that it was, and the damage."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        record = json.loads(line)
        for damage in ("{", "[]", "null", "7", "NaN", *_of_wrong_types(record)):
            path.write_text("\n".join([*lines[:number], damage, *lines[number + 1 :]]) + "\n")
            yield record, damage


def _of_wrong_types(record: dict[str, Any]) -> Iterator[str]:
    """The record with values of other types: all of them, each level by itself, and each value by itself."""
    wrong: list[Any] = [7, None, [7], {"type": 7}, "\ud800\x00", 1 << 70, float("nan"), True, [[]], [{}]]
    for value in wrong:
        yield json.dumps(dict.fromkeys(record, value))
        yield json.dumps({key: found if key == "type" else value for key, found in record.items()})
    for path in _paths(record):
        changed = json.loads(json.dumps(record))
        at = changed
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = wrong[len(str(path)) % len(wrong)]
        yield json.dumps(changed)


def _paths(value: Any) -> Iterator[list[Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [*cast("dict[str, Any]", value).items()]
    elif isinstance(value, list):
        items = [*enumerate(cast("list[Any]", value))]
    for key, each in items:
        yield [key]
        for path in _paths(each):
            yield [key, *path]
