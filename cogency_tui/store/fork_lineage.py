"""The lineage of a fork, and the edits and figures in its history.

Files are not forked: a conversation and its forks change the same ones. So an edit is one, wherever it is
listed, and so is the decision about it. A fork has the edits of the calls that it begins with, and every
conversation has the reverts of its edits, no matter which of the family made them. Figures stay with the
conversation that paid for them.
"""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter

from cogency_tui.protocol.events import Measure
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.usage import measures

FAMILY = """
    WITH RECURSIVE above (id, parent, call) AS (
        SELECT id, parent, call FROM conversations WHERE id = ?
        UNION
        SELECT c.id, c.parent, c.call FROM conversations c JOIN above ON c.id = above.parent
        WHERE above.call IS NULL
    ), family (id) AS (
        SELECT id FROM above
        UNION
        SELECT c.id FROM conversations c JOIN family ON c.parent = family.id WHERE c.call IS NULL
    )
"""
"""Names `family`: a conversation, those that it was forked from, and all forks of these."""

_PARENT = "SELECT parent, forked_at, created FROM conversations WHERE id = ? AND call IS NULL"
_SUBAGENTS = """
    WITH RECURSIVE below (id, call) AS (
        SELECT id, call FROM conversations WHERE parent = ? AND call IS NOT NULL
        UNION
        SELECT c.id, below.call FROM conversations c JOIN below ON c.parent = below.id
        WHERE c.call IS NOT NULL
    )
    SELECT id, call FROM below
"""
_REVERTS = f"WHERE conversation IN ({FAMILY} SELECT id FROM family) AND undoes != '[]' ORDER BY id"
_NEXT = "SELECT timestamp FROM events WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT 1"
_UNITS = "SELECT DISTINCT unit FROM events WHERE conversation_id = ? AND unit IS NOT NULL AND seq {} ?"

Select = Callable[[sqlite3.Connection, str, tuple[object, ...]], Iterable[Edit]]
"""Reads the edits that a WHERE clause with these values selects."""


@dataclass(frozen=True, slots=True)
class _Ancestor:
    """A conversation of a fork's lineage, and the last event that the next one has of it: its number, and
    the moment of the fork. None for the conversation itself.
    """

    id: str
    through: int | None = None
    until: float = 0.0


def history_of(connection: sqlite3.Connection, id: str, select: Select) -> list[Edit]:
    """Return the edits in the history of a conversation, oldest first."""
    made: list[tuple[Edit, str]] = []
    for ancestor in _ancestors(connection, id):
        made += _made_in(connection, ancestor.id, select)
        if ancestor.through is not None:
            made = _inherited(connection, ancestor, ancestor.through, made)
    found = {edit.id: edit for edit, _call in made}
    for edit in select(connection, _REVERTS, (to_column(id),)):
        # A revert comes after what it reverts, so that is known by then.
        if any(undone.edit in found for undone in edit.undoes):
            found[edit.id] = edit
    return [found[number] for number in sorted(found)]


def inherited_measures(connection: sqlite3.Connection, id: str) -> list[tuple[float, Measure]]:
    """Return the figures of the events that a fork begins with, as `usage.measures`."""
    found: list[tuple[float, Measure]] = []
    until = float("inf")
    for ancestor in reversed(_ancestors(connection, id)[:-1]):
        key = to_column(ancestor.id)
        row = connection.execute(_NEXT, (key, ancestor.through)).fetchone()
        until = min(until, ancestor.until, row[0] if row else until)
        found += [each for each in measures(connection, ancestor.id) if each[0] < until]
    return sorted(found, key=itemgetter(0))


def _made_in(connection: sqlite3.Connection, id: str, select: Select) -> list[tuple[Edit, str]]:
    """The edits made in a conversation, each with its call there: that of the sub-agent if one made it."""
    key = to_column(id)
    below = connection.execute(_SUBAGENTS, (key,))
    calls = {from_column(child): from_column(call) for child, call in below}
    made = select(connection, "WHERE conversation = ? OR caller = ?", (key, key))
    return [(edit, calls.get(edit.origin.caller, edit.call)) for edit in made]


def _inherited(
    connection: sqlite3.Connection, ancestor: _Ancestor, through: int, made: list[tuple[Edit, str]]
) -> list[tuple[Edit, str]]:
    """The edits of calls that had ended where a fork begins, and that were made before it was created."""
    ended = _ended(connection, to_column(ancestor.id), through)
    return [(edit, call) for edit, call in made if call in ended and edit.timestamp <= ancestor.until]


def _ancestors(connection: sqlite3.Connection, id: str) -> list[_Ancestor]:
    """The lineage of a conversation, which comes last. One without `forked_at` has nothing to inherit."""
    found = [_Ancestor(id)]
    while (row := connection.execute(_PARENT, (to_column(found[-1].id),)).fetchone()) and row[0] is not None:
        parent = from_column(row[0])
        if any(each.id == parent for each in found):
            break
        found.append(_Ancestor(parent, row[1] or 0, row[2]))
    return found[::-1]


def _ended(connection: sqlite3.Connection, key: str | bytes, through: int) -> set[str]:
    """The calls all of whose events are up to a number."""
    units = [
        {from_column(unit) for (unit,) in connection.execute(_UNITS.format(sign), (key, through))}
        for sign in ("<=", ">")
    ]
    return units[0] - units[1]
