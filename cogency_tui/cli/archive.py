"""`cogency-tui conversations export --all` and `import`: writes all conversations, and reads them again.

Both run outside the event loop, line by line: Ctrl+C ends them at once, whatever they wait for.
"""

import asyncio
import os
import shutil
import sqlite3
import stat
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal

from cogency_tui import private_files
from cogency_tui.cli.standard_streams import standard_input, talk
from cogency_tui.config.schema import data_path
from cogency_tui.errors import UsageError, in_words
from cogency_tui.protocol.events import Event
from cogency_tui.store.archive import (
    ArchiveReader,
    ArchiveWriter,
    Outcome,
    Restorer,
    all_conversations,
    is_archive,
    numbered_lines,
)
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import FILE, open_to_read, store_error
from cogency_tui.store.events import read_page
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store, is_conversation_id

_PATIENCE = 5.0
_PAUSE = 0.5
"""Seconds between reports on the progress."""

_BLANK = 1 << 20
"""Most bytes of blank lines before the first line of a file."""


def export_archive(path: Path | None) -> int:
    """Write all conversations as JSON Lines to stdout, or into the file at `path` once they are complete;
    return 1 if something could not be read.

    Raises:
        UsageError: the file cannot be written.
    """
    with _snapshot() as connection, _target(path) as target:
        writer = ArchiveWriter(connection, Blobs(data_path() / BLOBS), talk)
        for line in writer.lines():
            target.write(line.encode() + b"\n")
    talk(f"{_counted(writer.conversations, 'conversation')} exported{f' to {path}' if path else ''}.")
    if writer.outside:
        talk(f"{_counted(writer.outside, 'edit')} outside the projects left out, as in every export.")
    if writer.secret:
        talk(f"{_counted(writer.secret, 'content')} of files with secrets left out, as in every export.")
    if writer.omitted:
        talk(f"{_counted(writer.omitted, 'problem')}, listed above.")
    return 1 if writer.omitted else 0


def export_files(directory: Path, form: Literal["md", "html"], theme: str) -> int:
    """Write each conversation, those of sub-agents too, into a file of its own in `directory`; return 1 if
    something could not be read.

    Raises:
        UsageError: a file cannot be written.
    """
    from cogency_tui.agent.export import as_markdown, as_page

    count = problems = 0
    with _written_by_user(directory):
        private_files.make_directory(directory)
    with _snapshot() as connection:
        for conversation in all_conversations(connection):
            name = conversation.id if is_conversation_id(conversation.id) else f"conversation-{count + 1}"
            events, notices = _events(connection, conversation.id)
            for notice in notices:
                talk(notice)
            problems += len(notices)
            try:
                if form == "md":
                    text = as_markdown(conversation, events)
                else:
                    text = as_page(conversation, events, theme)
            except (ValueError, KeyError, TypeError, RecursionError) as exc:
                talk(f"Conversation {conversation.id} cannot be exported: {exc}")
                problems += 1
                continue
            with _written_by_user(directory):
                file = directory / f"{name}.{form}"
                private_files.write_file(file, text.encode("utf-8", "replace"))
            count += 1
    talk(f"{_counted(count, 'conversation')} exported to {directory}.")
    if problems:
        talk(f"{_counted(problems, 'problem')}, listed above.")
    return 1 if problems else 0


def import_file(path: Path | None) -> int:
    """Store the conversations of a file, or of stdin (also `-`).

    Raises:
        UsageError: it cannot be read, or is no export.
    """
    path = None if path == Path("-") else path
    name = str(path or "stdin")
    try:
        with path.open("rb") if path else _stdin() as source:
            read, first = _first_line(source)
            if not is_archive(first):
                return _import_one(name, source, read)
            size = os.fstat(source.fileno()).st_size if path else 0
            return _import_archive(name, source, read, size)
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"{name} cannot be read: {exc}.", "Pass a JSON Lines file.") from exc


def _import_one(name: str, source: BinaryIO, read: bytes) -> int:
    from cogency_tui.cli.commands import with_recall
    from cogency_tui.cli.conversations import LARGEST, import_conversation

    text = read + source.read(max(0, LARGEST + 1 - len(read)))
    if len(text) > LARGEST:
        raise UsageError(f"{name} is too large: at most {LARGEST >> 20:,} MiB are allowed.")
    lines = text.decode().split("\n")
    del text
    return with_recall(lambda recall, _store: import_conversation(recall, name, lines))


def _import_archive(name: str, source: BinaryIO, read: bytes, size: int) -> int:
    """Store the conversations of an archive, each at once or not at all; return 1 if one was refused."""
    counts: Counter[str] = Counter()
    progress = _Progress(counts, size)
    with asyncio.Runner() as runner:
        store = runner.run(Store.open(data_path()))
        directory = store.database.path.parent
        blobs = Blobs(directory / BLOBS)
        restorer = Restorer(blobs, Presence(directory))
        reader = ArchiveReader(progress.watched(numbered_lines(source, read)), blobs, directory)
        try:
            for block in reader.blocks():
                try:
                    outcome = runner.run(store.database.write(partial(restorer.restore, block)))
                    _count(counts, outcome)
                except UsageError as exc:
                    counts["refused"] += 1
                    progress.clear()
                    talk(f"{name}: {exc}")
                restorer.release()
        except UsageError as exc:
            raise UsageError(f"{name}: {exc}", exc.hint) from exc
        finally:
            progress.clear()
            talk(_summary(counts))
            runner.run(store.report(talk))
            # A transaction that an interrupt has left behind ends first.
            runner.run(store.close())
            restorer.close()
    is_whole = _is_whole(name, reader)
    return 0 if is_whole and not counts["refused"] else 1


def _is_whole(name: str, reader: ArchiveReader) -> bool:
    """Return whether a file has all the conversations that it began with, and report if not."""
    if reader.announced is None:
        talk(f"{name}: its end is missing. What was imported stays; import the whole file to continue.")
    elif reader.announced != reader.found:
        talk(f"{name}: {reader.announced:,} conversations were exported, and it has {reader.found:,}.")
    return reader.announced == reader.found


def _count(counts: Counter[str], outcome: Outcome) -> None:
    counts[outcome.state] += 1
    counts["renamed"] += outcome.renamed


def _summary(counts: Counter[str]) -> str:
    renamed = f" ({counts['renamed']:,} under a new id)" if counts["renamed"] else ""
    parts = [f"{_counted(counts['imported'], 'conversation')} imported{renamed}"]
    for state, words in (("continued", "continued"), ("here", "already here"), ("refused", "refused")):
        if counts[state]:
            parts.append(f"{counts[state]:,} {words}")
    return f"{in_words(parts)}."


class _Progress:
    """Reports the progress of an import on a terminal, in one line that is replaced."""

    def __init__(self, counts: Counter[str], size: int) -> None:
        self._counts = counts
        self._size = size
        self._done = 0
        self._due = time.monotonic() + _PAUSE
        self._shown = ""

    def watched(self, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines, and report from time to time."""
        is_terminal = sys.stderr.isatty()
        for number, line in lines:
            self._done += len(line or b"")
            if is_terminal and time.monotonic() >= self._due:
                self._due = time.monotonic() + _PAUSE
                share = f"{min(99, 100 * self._done // self._size)}%  " if self._size else ""
                self.clear()
                shown = f"{share}line {number:,}  {_summary(self._counts)}"
                self._shown = shown[: shutil.get_terminal_size().columns - 1]
                talk(self._shown, end="\r")
            yield number, line

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            talk(" " * len(self._shown), end="\r")
            self._shown = ""


@contextmanager
def _snapshot() -> Generator[sqlite3.Connection]:
    """Open the store for reading, as it is now.

    Raises:
        StoreError: it cannot be read.
    """

    async def prepare() -> None:
        # The connection below changes nothing: a store of an earlier version is converted here.
        async with await Store.open(data_path()) as store:
            await store.report(talk)

    asyncio.run(prepare())
    path = data_path() / FILE
    try:
        with closing(open_to_read(path, _PATIENCE)) as connection:
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as exc:
        raise store_error(exc, path) from exc


@contextmanager
def _target(path: Path | None) -> Generator[BinaryIO]:
    """Open stdout, or a new file that takes the place of the one at `path` at the end.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        stdout: BinaryIO | None = getattr(sys.stdout, "buffer", None)
        if stdout is None:
            raise UsageError("stdout cannot be written.", "Pass --output FILE.")
        sys.stdout.flush()
        yield stdout
        stdout.flush()
        return
    with _written_by_user(path):
        path = path.resolve()
        if path.is_dir():
            raise UsageError(f"{path} is a directory.", "Pass a file: --output conversations.jsonl")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                yield file
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(handle)
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def _written_by_user(path: Path) -> Generator[None]:
    """Convert errors of a path that the user has named."""
    try:
        yield
    except OSError as exc:
        raise UsageError(f"{exc.filename or path} cannot be written: {exc.strerror}.") from exc


def _stdin() -> BinaryIO:
    stream = standard_input()
    buffer: BinaryIO | None = getattr(stream, "buffer", None)
    return BytesIO(stream.read().encode()) if buffer is None else buffer


def _first_line(source: BinaryIO) -> tuple[bytes, bytes]:
    """Read the first line of a file that is not blank; return all that was read, and the line."""
    read = line = b""
    while len(read) <= _BLANK and (line := source.readline(_BLANK)):
        read += line
        if not line.isspace():
            break
    return read, line


def _events(connection: sqlite3.Connection, id: str) -> tuple[list[Event], list[str]]:
    """Return the events of a conversation, and a notice for each that cannot be read."""
    events: list[Event] = []
    notices: list[str] = []
    through: int | None = 0
    try:
        while through is not None:
            found, problems, through = read_page(connection, id, through)
            events += (event for _, event in found)
            notices += problems
    except sqlite3.DatabaseError as exc:
        notices.append(f"Conversation {id} cannot be read to its end: {exc}.")
    return events, notices


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
