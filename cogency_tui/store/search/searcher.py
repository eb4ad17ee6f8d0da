"""Pages of answers over one connection, on one thread: candidates from the index, answers from the store.

A page begins at a key: the last conversation of the page before.
"""

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.foreign_sessions import sources_named
from cogency_tui.store.project_scope import of_project
from cogency_tui.store.search.candidates import Candidates
from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.matching import Match, Redact, admits, conditions_of, match, title_of
from cogency_tui.store.search.query import Query
from cogency_tui.store.search.ranking import closeness, score
from cogency_tui.store.search.read_snapshot import View

Order = Literal["newest", "best"]

WINDOW = 64
"""Conversations that are ranked together: the newest that match, then the next newest."""

_SHOWN = 3
_RANKED = 4
_FEW = 400
_FIRST = 32
_MOST = 512


@dataclass(frozen=True, slots=True)
class Scope:
    """The conversations to search: those of the directory `project`, or all; never the conversation
    `without`."""

    project: str | None = None
    without: str | None = None
    trashed: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a page. `above` is the last conversation before the window that is being shown, as
    (updated, id); `last` is the last one shown of it, as (score, updated, id), the score 0 in `newest`
    order."""

    above: tuple[float, str] | None
    last: tuple[float, float, str] | None


@dataclass(frozen=True, slots=True)
class MatchPage:
    """A page of matches, and where the next begins; None where this is the last."""

    found: tuple[Match, ...]
    next: Cursor | None


class Searcher:
    """Searches the store in `directory`, on one thread. `view.cancelled` is checked throughout. Documents
    match, and are hits, as `redact` shows them."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, redact: Redact | None = None) -> None:
        self.view = View(directory, connection)
        self.directory = directory
        self._redact = redact

    def search(
        self,
        query: Query,
        scope: Scope,
        *,
        order: Order,
        limit: int,
        after: Cursor | None = None,
        now: float | None = None,
    ) -> MatchPage:
        """Return at most `limit` conversations that match.

        Raises:
            CancelledError: the search was cancelled.
            sqlite3.Error: the store cannot be read.
        """
        try:
            self.view.begin()
            if order == "newest" or not query.terms:
                return self._newest(query, scope, limit, after)
            return self._best(query, scope, limit, after, time.time() if now is None else now)
        finally:
            self.view.end()

    def hits(self, query: Query, id: str, most: int) -> list[Document]:
        """Return the hits in one conversation, the oldest first; at most `most` of the newest."""
        view = self.view
        try:
            view.begin()
            conditions = conditions_of(query)
            candidates = view.candidates(conditions)
            for conversation in view.rows("WHERE id = ?", to_column(id)):
                documents = view.documents(conversation, candidates, conditions)
                if (found := match(conversation, conditions, documents, most, self._redact)) is not None:
                    return sorted(found.hits, key=lambda hit: (hit.timestamp, hit.source))
            return []
        finally:
            view.end()

    def extent(self) -> tuple[int, int]:
        """Return the number of events in the index, and in the store."""
        try:
            self.view.begin()
            return self.view.extent.events, self.view.last_event()
        finally:
            self.view.end()

    # The pages

    def _newest(self, query: Query, scope: Scope, limit: int, after: Cursor | None) -> MatchPage:
        above = after.above if after else None
        found: list[Match] = []
        for each in self._matches(query, scope, above, _SHOWN):
            if len(found) == limit:
                last = found[-1].conversation
                return MatchPage(tuple(found), Cursor((last.updated, last.id), None))
            found.append(each)
        return MatchPage(tuple(found), None)

    def _best(self, query: Query, scope: Scope, limit: int, after: Cursor | None, now: float) -> MatchPage:
        above, last = (after.above, after.last) if after else (None, None)
        found: list[Match] = []
        while True:
            window: list[tuple[tuple[float, float, str], Match]] = []
            more = False
            for each in self._matches(query, scope, above, _RANKED):
                if len(window) == WINDOW:
                    more = True
                    break
                conversation = each.conversation
                key = (score(each, query, now), conversation.updated, conversation.id)
                window.append((key, each))
            end = min((key[1:] for key, _ in window), default=None)
            left = sorted((one for one in window if last is None or one[0] < last), key=_key, reverse=True)
            room = limit - len(found)
            found += [_shown(each, query) for _, each in left[:room]]
            if len(left) > room:
                return MatchPage(tuple(found), Cursor(above, left[room - 1][0]))
            if not more or end is None:
                return MatchPage(tuple(found), None)
            above, last = end, None
            if len(found) == limit:
                return MatchPage(tuple(found), Cursor(above, None))

    def _matches(
        self, query: Query, scope: Scope, above: tuple[float, str] | None, most: int
    ) -> Iterator[Match]:
        conditions = conditions_of(query)
        candidates = self.view.candidates(conditions)
        indexed = None if self.view.tail is None else candidates
        for id in self._likely(indexed, query, scope, above):
            self.view.check()
            for conversation in self.view.rows("WHERE id = ?", to_column(id)):
                if conversation.id == scope.without:
                    continue
                if not conditions:
                    yield Match(conversation)
                    continue
                documents = self.view.documents(conversation, candidates, conditions, query.phrase)
                if (found := match(conversation, conditions, documents, most, self._redact)) is not None:
                    yield found

    def _likely(
        self, candidates: Candidates | None, query: Query, scope: Scope, above: tuple[float, str] | None
    ) -> Iterator[str]:
        """Yield the ids of conversations that may match, the last updated first, those up to `above` left
        out.

        Without `candidates` these are all.
        """
        terms = ["call IS NULL", "trashed IS NOT NULL" if scope.trashed else "trashed IS NULL"]
        values: list[object] = []
        for term, value in (
            ("updated >= ?", query.since),
            ("updated < ?", query.before),
        ):
            if value is not None:
                terms.append(term)
                values.append(value)
        if scope.project is not None:
            term, own = of_project(self.view.connection, self.directory, scope.project)
            terms.append(term)
            values += own
        for text in query.sources:
            named = sources_named(self.view.connection, text)
            terms.append(f"source IN ({', '.join('?' * len(named))})")
            values += named
        if above is not None:
            terms.append("(updated, id) < (?, ?)")
            values += [above[0], to_column(above[1])]
        always = self._unindexed(query)
        few = candidates.conversations() if candidates and len(always) <= _FEW else None
        if few is not None:
            few |= always
            terms.append(f"id IN ({', '.join('?' * len(few))})")
            values += map(to_column, few)
        order = "ORDER BY updated DESC, id DESC"
        sql = f"SELECT id FROM conversations WHERE {' AND '.join(terms)} {order}"
        rows = self.view.connection.execute(sql, values)
        size = _FIRST
        while found := rows.fetchmany(size):
            self.view.check()
            ids = [from_column(id) for (id,) in found]
            if query.asks_for_rows:
                marks = ", ".join("?" * len(found))
                chunk = self.view.rows(f"WHERE id IN ({marks})", *(id for (id,) in found))
                admitted = {each.id for each in chunk if admits(query, each)}
                ids = [id for id in ids if id in admitted]
            if candidates is not None:
                likely = candidates.confirmed(ids, self.view.check) | always
                ids = [id for id in ids if id in likely]
            yield from ids
            size = min(2 * size, _MOST)

    def _unindexed(self, query: Query) -> set[str]:
        """Return the conversations that may match outside the index, as far as known."""
        renamed = self.view.rows("WHERE renamed") if query.terms else ()
        titles = {each.id for each in renamed if any(term in title_of(each).folded for term in query.terms)}
        return titles | (self.view.tail or set())


def _key(one: tuple[tuple[float, float, str], Match]) -> tuple[float, float, str]:
    return one[0]


def _shown(found: Match, query: Query) -> Match:
    """Sort the best hits first, and drop those beyond the length of a list."""
    hits = sorted(found.hits, key=lambda hit: closeness(hit, query), reverse=True)
    return Match(found.conversation, hits[:_SHOWN], found.more or len(hits) > _SHOWN)
