"""This program's own writes to the user's configuration, so that they are not attributed to a command.

Invariant: a process records its own latest writes with the contents of the file. It learns of those of
others from a log, and accepts an entry only while the entry's process runs, runs this program, and was not
started by the reader: a command may write the log, but cannot be another window. An entry in the name of a
window that is open at that moment is accepted. The calls block.
"""

import json
import os
import stat
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from cogency_tui.process_identity import command_line, is_below, own_start, start_of

_MOST = 32
"""Writes that are remembered, and that the log holds at least."""

_LONGEST_LOG = 1 << 16
_LONGEST = 1 << 20
_PROGRAM = b"cogency"


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a file; `data` is None in another process's entry."""

    digest: str
    size: int
    mode: int
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """A write of the file at `path`, done `at` this nanosecond of Unix time; None represents a missing
    file.
    """

    path: str
    at: int
    before: Held | None
    after: Held | None


_OWN: deque[Write] = deque(maxlen=_MOST)


@contextmanager
def noted(path: Path, log: Path) -> Generator[None]:
    """Record what the block writes to `path`, and add it to the log. No other process of ours writes either
    file meanwhile.
    """
    before = _held(path)
    try:
        yield
    finally:
        after = _held(path)
        if after != before:
            write = Write(str(path), time.time_ns(), before, after)
            _OWN.append(write)
            with suppress(OSError):
                # The change itself is made; other processes may have to ask about it.
                _add(log, write)


def writes(path: Path, log: Path, since: int) -> list[Write]:
    """The writes of a file by processes of this program, from a moment on, oldest first."""
    found = [*_OWN, *_of_others(log)]
    return sorted((each for each in found if each.path == str(path) and each.at >= since), key=_moment)


def _moment(write: Write) -> int:
    return write.at


def _held(path: Path) -> Held | None:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(_LONGEST + 1)
    except OSError:
        return None
    return Held(sha256(data).hexdigest(), len(data), stat.S_IMODE(status.st_mode), data)


def _add(log: Path, write: Write) -> None:
    entry = {"pid": os.getpid(), "start": own_start(os.getpid()), "path": write.path, "at": write.at}
    entry |= {"before": _encoded(write.before), "after": _encoded(write.after)}
    with log.open("r+b") as file:
        lines = file.read(_LONGEST_LOG).splitlines()[-_MOST:]
        file.seek(0)
        file.write(b"".join(line + b"\n" for line in (*lines, json.dumps(entry).encode())))
        file.truncate()


def _encoded(held: Held | None) -> dict[str, Any] | None:
    return None if held is None else {key: value for key, value in asdict(held).items() if key != "data"}


def _of_others(log: Path) -> Iterator[Write]:
    try:
        with log.open("rb") as file:
            lines = file.read(_LONGEST_LOG).splitlines()
    except OSError:
        return
    believed: dict[tuple[int, str], bool] = {}
    for line in lines:
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            entry = cast("dict[str, Any]", json.loads(line))
            process = int(entry["pid"]), str(entry["start"])
            write = Write(
                str(entry["path"]), int(entry["at"]), _decoded(entry["before"]), _decoded(entry["after"])
            )
            if believed.setdefault(process, _is_another(*process)):
                yield write


def _decoded(held: dict[str, Any] | None) -> Held | None:
    return None if held is None else Held(str(held["digest"]), int(held["size"]), int(held["mode"]))


def _is_another(pid: int, start: str) -> bool:
    """Return whether it is a running process of this program that this one did not start."""
    return (
        pid != os.getpid()
        and start_of(pid) == start
        and _PROGRAM in command_line(pid)
        and not is_below(pid, os.getpid())
    )
