"""The results of recall: immutable values, and their construction from matches."""

from dataclasses import dataclass

from cogency_tui.protocol.events import Event
from cogency_tui.store.column_text import to_column
from cogency_tui.store.foreign_sessions import name_of_source
from cogency_tui.store.open_locks import Mark
from cogency_tui.store.search.documents import Document, Kind
from cogency_tui.store.search.matching import Match
from cogency_tui.store.search.query import Query
from cogency_tui.store.search.searcher import Cursor, Searcher
from cogency_tui.store.search.snippets import Marks, snippet
from cogency_tui.store.store import StoredConversation

_FILES = "SELECT count(DISTINCT path) FROM edits WHERE conversation = ? AND kind != 'snapshot'"
_FORKS = "SELECT count(*) FROM conversations WHERE parent = ? AND call IS NULL AND trashed IS NULL"
_CALL = (
    "SELECT e.seq FROM edits d JOIN events e ON e.conversation_id = d.caller AND e.unit = d.call"
    " WHERE d.id = ? ORDER BY e.seq LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One match.

    `event` is the number of the event to scroll to (for an edit, its call's; 0 for a title), in the
    conversation `within`: that of the match, or of a sub-agent of it. `text` is a snippet on one line,
    untrusted like all text; `marks` are the matching ranges in it, as (first, behind the last). `timestamp`
    in Unix seconds.
    """

    event: int
    within: str
    kind: Kind
    tool: str
    timestamp: float
    text: str
    marks: Marks


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation on a page: its first hits, best first, and whether there are `more`; the number of
    files it changed and of its forks, and the process that has it open. `source` is the name of the agent,
    machine or person that it was imported from; `shared_as` the name of its project in a team's database.
    """

    conversation: StoredConversation
    hits: tuple[Hit, ...]
    more: bool
    files: int
    forks: int
    live: Mark | None
    source: str = ""
    shared_as: str = ""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """`problems` are invalid filters; `terms` are the search terms, folded."""

    listed: tuple[ListedConversation, ...]
    next: Cursor | None
    terms: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """Events around a place, with their numbers; whether there are others before and behind."""

    events: tuple[tuple[int, Event], ...]
    before: bool
    behind: bool


@dataclass(frozen=True, slots=True)
class Indexed:
    """The indexed part of the store, in events. The rest is searched as well, more slowly."""

    done: int
    total: int


def listed(searcher: Searcher, match: Match, query: Query, live: Mark | None) -> ListedConversation:
    """A match as a page shows it."""
    key = to_column(match.conversation.id)
    connection = searcher.view.connection
    return ListedConversation(
        match.conversation,
        tuple(hit_of(searcher, hit, query) for hit in match.hits),
        match.more,
        connection.execute(_FILES, (key,)).fetchone()[0],
        connection.execute(_FORKS, (key,)).fetchone()[0],
        live,
        name_of_source(connection, source) if (source := match.conversation.source) else "",
    )


def hit_of(searcher: Searcher, found: Document, query: Query) -> Hit:
    """A matching document of the store as a hit."""
    event = max(found.source, 0)
    if found.source < 0:
        row = searcher.view.connection.execute(_CALL, (-found.source,)).fetchone()
        event = row[0] if row else 0
    return as_hit(found, query, event)


def as_hit(found: Document, query: Query, event: int) -> Hit:
    """A matching document as a hit at this event."""
    text, marks = snippet(found, query.terms or query.errors or query.files)
    return Hit(event, found.conversation, found.kind, found.tool, found.timestamp, text, marks)
