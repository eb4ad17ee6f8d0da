"""A consistent view of store and index for one search, and the documents in it.

Rows that the index lacks (all, or those appended since) are read and compared, so that an answer is the
same with and without an index.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.search.candidates import Candidates, Members
from cogency_tui.store.search.documents import Document, all_of, read_documents
from cogency_tui.store.search.folding import PAD, key
from cogency_tui.store.search.index_file import (
    BLOBS,
    INDEX,
    Extent,
    attached,
    extent_of,
    identity_of,
    root_of,
    text_of_slice,
    unseal,
)
from cogency_tui.store.search.matching import Condition, title_of
from cogency_tui.store.store import COLUMNS, StoredConversation, conversation_of

_TAIL = 4000
"""Events outside the index above which every conversation is assumed to have some."""

_CACHED = 4_000_000
"""Characters of documents that are cached: consecutive searches read the same ones."""

_STEPS = 20_000
"""Steps of SQLite's machine, about a millisecond, between two checks whether the search was cancelled."""

_SLICES = (
    "SELECT number, sources FROM recall.slices"
    " WHERE member = (SELECT number FROM recall.members WHERE id = ?) ORDER BY number DESC"
)


class CancelledError(Exception):
    """The search was cancelled."""


class View:
    """The data of a search, between `begin` and `end`. `tail` has the conversations with content outside
    the index; it is None where that may be any."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.cancelled: Callable[[], bool] = lambda: False
        self.tail: set[str] | None = set()
        self.extent = Extent()
        self._directory = directory
        self._blobs = Blobs(directory / BLOBS)
        self._identity = identity_of(connection)
        self._members = Members()
        self._attached: tuple[int, int] | None = None
        self._distrusted: tuple[int, int] | None = None
        self._cache: dict[int, Document] = {}
        self._cached = 0
        self._stops = True
        # Interrupting the connection would also stop the statements after this search.
        connection.set_progress_handler(self._is_stopped, _STEPS)

    def _is_stopped(self) -> bool:
        return self._stops and self.cancelled()

    def begin(self) -> None:
        """Begin a transaction on the present state, and read the extent of the index."""
        self._attach()
        self.connection.execute("BEGIN")
        extent = extent_of(self.connection, "recall", self._identity) if self._attached else Extent()
        if extent.made != self.extent.made:
            self._members.forget()
        self.extent = extent
        if self.last_event() - extent.events > _TAIL:
            self.tail = None
            return
        newer = self.connection.execute(
            "SELECT DISTINCT conversation_id FROM events WHERE seq > ? UNION SELECT conversation FROM edits"
            " WHERE id > ?",
            (extent.events, extent.edits),
        ).fetchall()
        self.tail = {root_of(self.connection, from_column(id)) for (id,) in newer}

    @property
    def has_index(self) -> bool:
        """True if there is an index that is not distrusted."""
        return self._index() not in (None, self._distrusted)

    def distrust(self) -> None:
        """Continue without the present index."""
        self._distrusted = self._index()

    def trust(self) -> None:
        """Use the next index that is there."""
        self._distrusted = None

    def end(self) -> None:
        """End the transaction, if `begin` came that far, even of a cancelled search."""
        if self.connection.in_transaction:
            self._stops = False
            try:
                self.connection.execute("ROLLBACK")
            finally:
                self._stops = True

    def last_event(self) -> int:
        """Return the number of the last event."""
        return self.connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0]

    def candidates(self, conditions: Sequence[Condition]) -> Candidates | None:
        """Return the candidates for these conditions by the index; None without conditions or an index."""
        if not conditions or not self.extent.made:
            return None
        self._members.refresh(self.connection)
        return Candidates(self.connection, self._members, conditions)

    def rows(self, clauses: str, *values: object) -> Iterator[StoredConversation]:
        """Yield the conversations that SQL clauses select, read lazily."""
        sql = f"SELECT {COLUMNS} FROM conversations {clauses}"
        return map(conversation_of, self.connection.execute(sql, values))

    def documents(
        self,
        conversation: StoredConversation,
        candidates: Candidates | None,
        conditions: Sequence[Condition],
        phrase: str = "",
    ) -> Iterator[Document]:
        """Yield the documents of a conversation that may match: those outside the index, then those of the
        slices that meet most conditions; of a slice those with the `phrase` first."""
        if conversation.renamed:
            yield title_of(conversation)
        if candidates is None:
            for id in self._with_agents(conversation.id):
                yield from self._checked(all_of(self.connection, id, self._blobs))
            return
        newer: list[int] = []
        if self.tail is None or conversation.id in self.tail:
            newer = self._newer(conversation.id)
            yield from self._read(newer)
        slices = self._slices(conversation.id, candidates)
        first: list[tuple[int, int, bytes, list[int]]] = []
        unmet = set(range(len(conditions)))
        for met, number, sources in slices:
            first.append((len(met), number, sources, met))
            unmet.difference_update(met)
            if not unmet:
                break
        if unmet and not newer and not conversation.renamed:
            return
        rest = ((len(met), number, sources, met) for met, number, sources in slices)
        for _, number, sources, met in chain(sorted(first, reverse=True), rest):
            texts = [conditions[each].text for each in met]
            yield from self._read(self._within(number, sources, texts, phrase))

    def check(self) -> None:
        """Raise if the search was cancelled.

        Raises:
            CancelledError: it was.
        """
        if self.cancelled():
            raise CancelledError

    def _slices(self, id: str, candidates: Candidates) -> Iterator[tuple[list[int], int, bytes]]:
        """Yield the slices of a conversation, the newest first, that meet conditions, with these."""
        for number, sources in self.connection.execute(_SLICES, (to_column(id),)):
            self.check()
            if met := candidates.met(number):
                yield met, number, sources

    def _within(self, slice: int, sources: bytes, texts: Sequence[str], phrase: str) -> list[int]:
        """Return the sources of a slice whose documents have one of these texts, and perhaps more: those with
        the `phrase`, if any, and then the others, the newest first."""
        found = array("q", unseal(sources))[::-1].tolist()
        if len(found) == 1 or not all(text and "\x00" not in text for text in texts):
            return found
        parts = text_of_slice(self.connection, slice).split(key(PAD))[-2::-1]
        # Documents may contain padding characters. Where they contain no pair of them, each has its part.
        if len(parts) != len(found):
            return found
        keys = [key(text) for text in texts]
        having = [
            (source, part)
            for source, part in zip(found, parts, strict=True)
            if any(each in part for each in keys)
        ]
        if phrase:
            whole = key(phrase)
            having.sort(key=lambda each: whole not in each[1])
        return [source for source, _part in having]

    def _newer(self, id: str) -> list[int]:
        """Return the sources of a conversation that are not in the index, the newest first."""
        found: list[int] = []
        events = "SELECT seq FROM events WHERE conversation_id = ? AND seq > ?"
        for each in self._with_agents(id):
            rows = self.connection.execute(events, (to_column(each), self.extent.events))
            found += [row[0] for row in rows]
        edits = "SELECT -id FROM edits WHERE conversation = ? AND id > ?"
        rows = self.connection.execute(edits, (to_column(id), self.extent.edits)).fetchall()
        return sorted(found, reverse=True) + [row[0] for row in rows]

    def _with_agents(self, id: str) -> Iterator[str]:
        """Yield a conversation and those of its sub-agents, at any depth."""
        yield id
        below = "SELECT id FROM conversations WHERE parent = ? AND call IS NOT NULL ORDER BY created DESC"
        for (child,) in self.connection.execute(below, (to_column(id),)).fetchall():
            yield from self._with_agents(from_column(child))

    def _read(self, sources: Sequence[int]) -> Iterator[Document]:
        for source in sources:
            self.check()
            if (known := self._cache.get(source)) is not None:
                yield known
                continue
            for document in read_documents(self.connection, [source], self._blobs):
                if self._cached > _CACHED:
                    self._cache.clear()
                    self._cached = 0
                self._cache[source] = document
                self._cached += len(document.text)
                yield document

    def _checked(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.check()
            yield document

    def _attach(self) -> None:
        """Use the present index: it may be new, or have been replaced."""
        here = self._index() if self.has_index else None
        if here == self._attached:
            return
        self._members.forget()
        if self._attached:
            self._attached = None
            self.connection.execute("DETACH recall")
        self._attached = here if here and attached(self.connection, self._directory) else None

    def _index(self) -> tuple[int, int] | None:
        """Return the identity of the file in the place of the index."""
        try:
            status = (self._directory / INDEX).stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
