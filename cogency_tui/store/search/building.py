"""The builder of the index, which adds new rows of the store in steps."""

import os
import secrets
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cogency_tui.file_lock import file_lock
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import DAMAGE_CODES, FILE, primary_code, store_error
from cogency_tui.store.search import documents
from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.folding import PAD, fold, key, probes_of
from cogency_tui.store.search.index_file import (
    BLOBS,
    DAMAGE,
    FACT,
    INDEX,
    LOCK,
    SCHEMA,
    TABLES,
    VERSION,
    Extent,
    discard,
    extent_of,
    group_of,
    identity_of,
    is_damage,
    root_of,
    seal,
    unseal,
)
from cogency_tui.store.search.postings import SHIFT, WIDTH, decode, encode, numbers_of
from cogency_tui.store.sqlite_connection import connect

_STEP_TEXT = 12_000_000
_STEP_ROWS = 40_000
_READ = 500
_SLICE = 1536
"""Characters from which on a slice is closed."""

_EDIT_OWNER = "SELECT conversation FROM edits WHERE id = ?"


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of the index: events in it, and events in the store."""

    done: int
    total: int


def update(
    directory: Path, *, rebuild: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[IndexProgress]:
    """Update the index in `directory` in steps; do nothing while another process does so.

    With `rebuild` it is built from scratch. It can be interrupted between two steps, and continued later.
    Blocks.

    Raises:
        StoreError: the store cannot be read, or the index not written; the message names which.
    """
    try:
        with file_lock(directory / LOCK) as alone:
            if not alone:
                return
            try:
                yield from _update(directory, rebuild, stopped)
                return
            except DAMAGE as exc:
                if not is_damage(exc):
                    raise
            # Nothing is lost with it: the store has all of it.
            discard(directory)
            yield from _update(directory, False, stopped)
    except (OSError, sqlite3.Error) as exc:
        # A newly built index is whole: the store is damaged.
        damaged = isinstance(exc, sqlite3.Error) and primary_code(exc) in DAMAGE_CODES
        raise store_error(exc, directory / (FILE if damaged else INDEX)) from exc


def _update(directory: Path, rebuild: bool, stopped: Callable[[], bool]) -> Iterator[IndexProgress]:
    path = directory / INDEX
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = connect(path, timeout=10)
    try:
        # Before anything is in it: texts of some thousand bytes fill large pages better.
        connection.execute("PRAGMA page_size = 16384")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("ATTACH ? AS store", (str(directory / FILE),))
        builder = _Builder(connection, Blobs(directory / BLOBS))
        builder.begin(rebuild=rebuild)
        while not stopped():
            progress = builder.step(stopped)
            if progress is None:
                break
            yield progress
        connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


class _Builder:
    """Steps of indexing over a connection to the index, with the store attached."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs
        self._extent = Extent()
        self._members: dict[str, int] = {}
        self._roots: dict[str, str] = {}

    def begin(self, *, rebuild: bool) -> None:
        """Create what is missing, and empty an index that does not fit the store."""
        connection = self._connection
        identity = identity_of(connection, "store")
        extent = extent_of(connection, "main", identity)
        last = connection.execute("SELECT coalesce(max(seq), 0) FROM store.events").fetchone()[0]
        if extent.made and extent.events <= last and not rebuild:
            self._extent = extent
            return
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for table in TABLES:
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in SCHEMA.split(";")[:-1]:
                connection.execute(statement)
            self._extent = Extent(made=secrets.token_hex(8))
            self._record(self._extent, identity)

    def step(self, stopped: Callable[[], bool]) -> IndexProgress | None:
        """Index the next rows of the store; None when there are none."""
        connection = self._connection
        gathering = _Gathering(self._next_slice())
        events, edits = self._extent.events, self._extent.edits
        rows = 0
        for schema_rows in _chunks(documents.read_events, connection, events):
            for row in schema_rows:
                if (document := documents.of_event(row)) is not None:
                    gathering.add(self._root(document.conversation), document)
            events = schema_rows[-1][0]
            rows += len(schema_rows)
            if rows >= _STEP_ROWS or gathering.size >= _STEP_TEXT or stopped():
                break
        for schema_rows in _chunks(documents.read_edits, connection, edits):
            for row in schema_rows:
                if (document := documents.of_edit(row, self._blobs)) is not None:
                    gathering.add(self._owner(row[0]), document)
            edits = schema_rows[-1][0]
            rows += len(schema_rows)
            if gathering.size >= 2 * _STEP_TEXT or stopped():
                break
        if not rows:
            return None
        gathering.close()
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            self._write(gathering)
            self._extent = replace(self._extent, events=events, edits=edits)
            self._record(self._extent, identity_of(connection, "store"))
        total = connection.execute("SELECT coalesce(max(seq), 0) FROM store.events").fetchone()[0]
        return IndexProgress(events, total)

    def _record(self, extent: Extent, identity: str) -> None:
        values = {"version": VERSION, "identity": identity} | asdict(extent)
        rows = [(name, str(value)) for name, value in values.items()]
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", rows)

    def _next_slice(self) -> int:
        return self._connection.execute("SELECT coalesce(max(number) + 1, 0) FROM slices").fetchone()[0]

    def _root(self, conversation: str) -> str:
        if conversation not in self._roots:
            if len(self._roots) > 50_000:
                self._roots.clear()
            self._roots[conversation] = root_of(self._connection, conversation)
        return self._roots[conversation]

    def _owner(self, edit: int) -> str:
        return from_column(self._connection.execute(_EDIT_OWNER, (edit,)).fetchone()[0])

    def _member(self, id: str) -> int:
        """Return the number of a user's conversation, which is assigned on first use."""
        if id not in self._members:
            if len(self._members) > 50_000:
                self._members.clear()
            connection = self._connection
            connection.execute("INSERT OR IGNORE INTO members (id) VALUES (?)", (to_column(id),))
            row = connection.execute("SELECT number FROM members WHERE id = ?", (to_column(id),)).fetchone()
            self._members[id] = row[0]
        return self._members[id]

    def _write(self, gathering: "_Gathering") -> None:
        connection = self._connection
        connection.executemany(
            "INSERT INTO slices VALUES (?, ?, ?)",
            [(number, self._member(root), seal(sources)) for number, root, sources, _ in gathering.slices],
        )
        connection.executemany(
            "INSERT INTO texts VALUES (?, ?)",
            [(number, seal(text)) for number, _, _, text in gathering.slices],
        )
        for block, found in gathering.blocks.items():
            row = connection.execute("SELECT members FROM blocks WHERE block = ?", (block,)).fetchone()
            members = array("I", unseal(row[0]) if row else b"")
            members.extend(map(self._member, found.roots))
            connection.execute(
                "INSERT OR REPLACE INTO blocks VALUES (?, ?)", (block, seal(members.tobytes()))
            )
            connection.executemany(
                "INSERT OR REPLACE INTO postings VALUES (?, ?, ?)",
                self._postings(block, found, begun=row is not None),
            )

    def _postings(self, block: int, found: "_Block", *, begun: bool) -> Iterator[tuple[int, bytes, bytes]]:
        keyed = sorted(
            [(key("".join(gram)), numbers) for gram, numbers in found.grams.items()]
            + [*found.facts.items(), *_grouped(found.probes)]
        )
        earlier: dict[bytes, bytes] = {}
        if begun:
            sql = "SELECT bits FROM postings WHERE block = ? AND gram = ?"
            for gram, _ in keyed:
                if row := self._connection.execute(sql, (block, gram)).fetchone():
                    earlier[gram] = row[0]
        for gram, numbers in keyed:
            if gram in earlier:
                numbers = [*numbers_of(decode(earlier[gram])), *numbers]
            yield block, gram, encode(numbers)


class _Block:
    """The new part of one block: the conversations of its new slices, and the slices with each gram."""

    def __init__(self) -> None:
        self.roots: list[str] = []
        self.grams: dict[tuple[str, ...], list[int]] = {}
        self.facts: dict[bytes, list[int]] = {}
        self.probes: dict[str, list[int]] = {}


class _Gathering:
    """Collects documents into slices, which are numbered from `first` on."""

    def __init__(self, first: int) -> None:
        self.slices: list[tuple[int, str, bytes, bytes]] = []
        self.blocks: dict[int, _Block] = {}
        self.size = 0
        self._next = first
        self._open: dict[str, list[Document]] = {}
        self._lengths: dict[str, int] = {}

    def add(self, root: str, document: Document) -> None:
        """Add a document of the conversation `root` to its slice."""
        self._open.setdefault(root, []).append(document)
        self.size += len(document.text) + 1
        length = self._lengths.get(root, 0) + len(document.text)
        self._lengths[root] = length
        if length >= _SLICE:
            self._close(root)

    def close(self) -> None:
        """Close the slices that are still open."""
        for root in list(self._open):
            self._close(root)

    def _close(self, root: str) -> None:
        gathered = self._open.pop(root)
        del self._lengths[root]
        number = self._next
        self._next += 1
        text = PAD.join(each.folded for each in gathered) + PAD
        sources = array("q", [each.source for each in gathered])
        self.slices.append((number, root, sources.tobytes(), key(text)))
        block = self.blocks.setdefault(number >> SHIFT, _Block())
        block.roots.append(root)
        position = number & (WIDTH - 1)
        for gram in set(zip(text, text[1:], text[2:], strict=False)):
            block.grams.setdefault(gram, []).append(position)
        for probe in probes_of(text):
            block.probes.setdefault(probe, []).append(position)
        for fact in {fact for each in gathered for fact in _facts(each)}:
            block.facts.setdefault(fact, []).append(position)


def _grouped(probes: dict[str, list[int]]) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the slices with each group of probes."""
    groups: dict[bytes, set[int]] = {}
    for probe, numbers in probes.items():
        groups.setdefault(group_of(probe), set()).update(numbers)
    return ((group, sorted(numbers)) for group, numbers in groups.items())


def _facts(document: Document) -> Iterator[bytes]:
    if document.kind == "call" and document.tool:
        yield FACT + b"t" + key(fold(document.tool))
    if document.failed:
        yield FACT + b"e"


def _chunks(
    read: Callable[[sqlite3.Connection, int, int], list[tuple[Any, ...]]],
    connection: sqlite3.Connection,
    after: int,
) -> Iterator[list[tuple[Any, ...]]]:
    while rows := read(connection, after, _READ):
        yield rows
        after = rows[-1][0]
