"""The prompts of one project: the history, and drafts that survive the process.

Small files in a directory of the user's data, which no other user can read. A draft is stored under the
process that writes it, and its prompt, so that none touches another's; it is an orphan when that process has
ended. The calls block.
"""

import fcntl
import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from cogency_tui import private_files
from cogency_tui.errors import StoreError
from cogency_tui.process_identity import own_start, start_of
from cogency_tui.store.prompt_text import Written

Kind = TypeVar("Kind")

DIRECTORY = "prompts"
HISTORY = "history.jsonl"

MOST = 1000
"""Entries of a history that are stored; the file may have twice as many before it is cut."""

LONGEST = 256 << 10
"""Most bytes of a stored entry; a longer one is remembered while the program runs."""

_MOST_DRAFTS = 50
_HINT = "Drafts of the prompt are not saved until this is fixed."


class Draft(msgspec.Struct, frozen=True):
    """An unsent draft: the text in the prompt, and the messages that waited. `saved` is in Unix seconds.
    `prompt` is the number of the prompt in its process."""

    written: Written
    queue: tuple[Written, ...] = ()
    conversation: str = ""
    saved: float = 0.0
    pid: int = 0
    started: str = ""
    prompt: int = 0

    @property
    def empty(self) -> bool:
        return not self.written.text.strip() and not self.queue


class Prompts:
    """The prompts of the directory `project`, in the data directory `data`; `number` is that of the prompt
    in this process whose draft is saved. All methods raise `StoreError`."""

    def __init__(self, data: Path, project: Path, number: int = 0) -> None:
        self._number = number
        key = hashlib.sha256(os.fsencode(project)).hexdigest()[:16]
        self.directory = data / DIRECTORY / key

    def history(self) -> list[Written]:
        """Return the history, the oldest entry first; lines that cannot be read are left out."""
        try:
            lines = (self.directory / HISTORY).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise self._error(exc) from exc
        if len(lines) > 2 * MOST:
            self._cut()
        entries = (_decoded(line, Written) for line in lines[-MOST:])
        return [entry for entry in entries if entry is not None]

    def remember(self, entry: Written) -> None:
        """Append `entry` to the history."""
        line = _encoded(entry)
        if len(line) > LONGEST:
            return
        try:
            self._make()
            with _private(self.directory / HISTORY, os.O_APPEND) as handle:
                fcntl.flock(handle.fileno(), fcntl.LOCK_EX)
                handle.write(line)
        except OSError as exc:
            raise self._error(exc) from exc

    def save(self, draft: Draft) -> None:
        """Store `draft` in place of this prompt's earlier one; an empty one removes it."""
        pid = os.getpid()
        path = self._path(pid, own_start(pid), self._number)
        try:
            if draft.empty:
                path.unlink(missing_ok=True)
                return
            self._make()
            stamped = msgspec.structs.replace(
                draft, saved=time.time(), pid=pid, started=own_start(pid), prompt=self._number
            )
            temporary = path.with_suffix(".new")
            temporary.unlink(missing_ok=True)
            with _private(temporary, os.O_EXCL) as handle:
                handle.write(_encoded(stamped))
            temporary.replace(path)
        except OSError as exc:
            raise self._error(exc) from exc

    def orphans(self) -> list[Draft]:
        """Return the drafts of processes that have ended, the newest first."""
        try:
            found = [path for path in self.directory.glob("draft-*.json") if path.is_file()]
            drafts = [draft for path in found if (draft := _decoded(path.read_bytes(), Draft)) is not None]
        except OSError as exc:
            raise self._error(exc) from exc
        gone = [draft for draft in drafts if start_of(draft.pid) != draft.started]
        gone.sort(key=lambda draft: draft.saved, reverse=True)
        for draft in gone[_MOST_DRAFTS:]:
            self.discard(draft)
        return gone[:_MOST_DRAFTS]

    def discard(self, draft: Draft) -> None:
        """Delete a draft, whose text is now stored elsewhere."""
        with suppress(OSError):
            self._path(draft.pid, draft.started, draft.prompt).unlink(missing_ok=True)

    def _path(self, pid: int, started: str, number: int) -> Path:
        process = f"{pid}-{hashlib.sha256(started.encode()).hexdigest()[:8]}"
        return self.directory / f"draft-{process}{f'-{number}' if number else ''}.json"

    def _make(self) -> None:
        private_files.make_directory(self.directory)

    def _cut(self) -> None:
        """Drop all but the last entries, unless another process is adding one."""
        path = self.directory / HISTORY
        with _private(path, os.O_APPEND) as held:
            fcntl.flock(held.fileno(), fcntl.LOCK_EX)
            lines = path.read_bytes().splitlines(keepends=True)
            os.ftruncate(held.fileno(), 0)
            held.write(b"".join(lines[-MOST:]))

    def _error(self, exc: OSError) -> StoreError:
        return StoreError(f"{exc.filename or self.directory} cannot be used: {exc.strerror}.", _HINT)


def _private(path: Path, flags: int) -> BinaryIO:
    """Open a file for writing that no other user can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
    return os.fdopen(handle, "wb")


def _encoded(value: Written | Draft) -> bytes:
    # ASCII: a lone surrogate is not valid UTF-8, and no reason to lose a text.
    return json.dumps(msgspec.to_builtins(value)).encode("ascii") + b"\n"


def _decoded(line: bytes, kind: type[Kind]) -> Kind | None:
    try:
        return msgspec.convert(json.loads(line), kind)
    except (ValueError, RecursionError):
        return None
