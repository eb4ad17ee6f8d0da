"""Pending notices about the store, which the user has not seen yet: a line of JSON each, in a file beside
the database.

A notice stays through any number of openings, by any command, until it is shown.
"""

import json
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from cogency_tui.file_lock import file_lock

FILE = "notices.jsonl"
LOCK = "notices.lock"
_PATIENCE = 5.0


def pending(directory: Path) -> list[str]:
    """Return the pending notices, oldest first."""
    path = directory / FILE
    try:
        # Reading a FIFO in its place would block for ever.
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    except OSError:
        return []
    found: list[str] = []
    for line in lines:
        with suppress(ValueError):
            found.append(str(json.loads(line)))
    return found


def add(directory: Path, notice: str) -> None:
    """Store a notice, as far as the disk permits, even where a command has removed the directory."""
    if not directory.is_dir():
        with suppress(OSError):
            directory.mkdir(mode=0o700, parents=True)
    with suppress(OSError), file_lock(directory / LOCK, _PATIENCE):
        if notice not in (found := pending(directory)):
            _write(directory, [*found, notice])


def acknowledge(directory: Path, seen: Collection[str]) -> None:
    """Remove the notices that were `seen`."""
    if not set(pending(directory)).intersection(seen):
        return
    with suppress(OSError), file_lock(directory / LOCK, _PATIENCE):
        _write(directory, [notice for notice in pending(directory) if notice not in seen])


def report(directory: Path, show: Callable[[str], object]) -> None:
    """Show pending notices, and remove them."""
    if found := pending(directory):
        for notice in found:
            show(notice)
        acknowledge(directory, found)


def _write(directory: Path, notices: list[str]) -> None:
    path = directory / FILE
    if not notices:
        path.unlink(missing_ok=True)
        return
    temporary = path.with_name(f"{FILE}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(notice)}\n" for notice in notices)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
