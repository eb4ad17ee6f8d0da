"""The prompts of one project: the history, and drafts that survive the process.

Small files in a directory of the user's data, which no other user can read. The name of a draft's file says
who has it: a prompt of a running process, or none, if it was put aside or its process has ended. A prompt
claims one by renaming its file, so no two get it. The calls block.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

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

MOST_DRAFTS = 200
"""Drafts of a project that are stored; of more, the oldest are deleted."""

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

_HINT = "Drafts of the prompt are not saved until this is fixed."


class Draft(msgspec.Struct, frozen=True):
    """An unsent draft: the text in the prompt, and the messages that waited. `conversation` is the id of the
    one that it was written in; empty if that was never begun. `saved` is in Unix seconds."""

    written: Written
    queue: tuple[Written, ...] = ()
    conversation: str = ""
    saved: float = 0.0

    @property
    def empty(self) -> bool:
        return not self.written.text.strip() and not self.queue

    @property
    def messages(self) -> list[Written]:
        """All its texts, in the order in which they were written."""
        return [*self.queue, self.written]


class Claimed(NamedTuple):
    """A draft that this process has claimed, and its file, which is to be discarded once it is saved anew."""

    draft: Draft
    path: Path


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

    def remember(self, entry: Written) -> bool:
        """Append `entry` to the history; return False if it is too long to be stored."""
        line = _encoded(entry)
        if len(line) > LONGEST:
            return False
        try:
            self._make()
            with _private(self.directory / HISTORY, os.O_APPEND) as handle:
                fcntl.flock(handle.fileno(), fcntl.LOCK_EX)
                handle.write(line)
        except OSError as exc:
            raise self._error(exc) from exc
        return True

    def save(self, draft: Draft) -> None:
        """Store `draft` in place of this prompt's earlier one; an empty one removes it."""
        try:
            if draft.empty:
                self._own_path.unlink(missing_ok=True)
                return
            self._make()
            temporary = self._own_path.with_suffix(".new")
            temporary.unlink(missing_ok=True)
            with _private(temporary, os.O_EXCL) as handle:
                handle.write(_encoded(msgspec.structs.replace(draft, saved=time.time())))
            temporary.replace(self._own_path)
        except OSError as exc:
            raise self._error(exc) from exc

    def put_aside(self, draft: Draft) -> None:
        """Store `draft` for the next prompt that claims it, and nothing for this one."""
        self.save(draft)
        if not draft.empty:
            self._release(self._own_path)

    def claim(self, conversation: str) -> list[Claimed]:
        """Claim the drafts of a conversation, the newest first; without one, the newest draft of those that
        were written in none."""
        found = [each for each in self._free() if each.draft.conversation == conversation]
        claimed = (mine for each in found if (mine := self._claimed(each)) is not None)
        return list(claimed if conversation else islice(claimed, 1))

    def release(self, claimed: Claimed) -> None:
        """Leave a claimed draft to the next prompt that claims it."""
        self._release(claimed.path)

    def discard(self, claimed: Claimed) -> None:
        """Delete a draft whose text is stored elsewhere by now."""
        with suppress(OSError):
            claimed.path.unlink(missing_ok=True)

    def _free(self) -> list[Claimed]:
        """The drafts that no running process has, the newest first."""
        try:
            paths = [path for path in self.directory.glob("*.json") if _is_free(path) and path.is_file()]
            found = [Claimed(draft, path) for path in paths if (draft := _read(path)) is not None]
        except OSError as exc:
            raise self._error(exc) from exc
        found.sort(key=lambda each: each.draft.saved, reverse=True)
        for each in found[MOST_DRAFTS:]:
            self.discard(each)
        return found[:MOST_DRAFTS]

    def _claimed(self, free: Claimed) -> Claimed | None:
        """Claim a draft; None if another prompt was faster."""
        path = self.directory / f"draft-{_own_process()}-{secrets.token_hex(4)}.json"
        try:
            free.path.rename(path)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise self._error(exc) from exc
        return Claimed(free.draft, path)

    def _release(self, path: Path) -> None:
        try:
            path.rename(self.directory / f"unsent-{secrets.token_hex(8)}.json")
        except OSError as exc:
            raise self._error(exc) from exc

    @property
    def _own_path(self) -> Path:
        number = f"-{self._number}" if self._number else ""
        return self.directory / f"draft-{_own_process()}{number}.json"

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


def _read(path: Path) -> Draft | None:
    """The draft in a file; None if it cannot be read, or another process has just claimed it."""
    try:
        return _decoded(path.read_bytes(), Draft)
    except FileNotFoundError:
        return None


def mentioned_digests(data: Path) -> set[str]:
    """Return all digests that the prompts in the data directory `data` mention: those of images that wait to
    be sent, which a clean-up must leave. Blocks."""
    found: set[str] = set()
    for path in (data / DIRECTORY).glob("*/*"):
        with suppress(OSError):
            found |= {each.decode() for each in _DIGEST.findall(path.read_bytes())}
    return found


def _is_free(path: Path) -> bool:
    """Return whether a draft was put aside, or the process that had it has ended."""
    owner = re.match(r"draft-(\d+)-([0-9a-f]+)", path.name)
    if owner is None:
        return path.name.startswith("unsent-")
    start = start_of(int(owner[1]))
    return start is None or _process(int(owner[1]), start) != f"{owner[1]}-{owner[2]}"


def _own_process() -> str:
    return _process(os.getpid(), own_start(os.getpid()))


def _process(pid: int, start: str) -> str:
    """The name of a process in those of files: a pid alone may have been reused."""
    return f"{pid}-{hashlib.sha256(start.encode()).hexdigest()[:8]}"


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
