"""Usage of conversations: a row for each cycle, the totals of a conversation, and statistics of a period or
a project.

Figures that a provider did not report stay unknown; they are never summed as zero into a total that would
then look known.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import NamedTuple, cast

from cogency_tui.protocol.events import Measure
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.events import BEGINS_TURN, encode, missing

SUMMED = ("input", "output", "duration", "cached", "billed_input", "replay_input", "cost")

_INSERT = (
    f"INSERT INTO usage (conversation_id, timestamp, body, {', '.join(SUMMED)})"
    f" VALUES (?, ?, ?{', ?' * len(SUMMED)})"
)
_INSTEAD = {"billed_input": "coalesce(billed_input, input)", "replay_input": "coalesce(replay_input, input)"}
"""Substitutes for a missing figure: where only the sent tokens are known, they are used."""

_SUMS = (f"count({figure}), coalesce(sum({_INSTEAD.get(figure, figure)}), 0)" for figure in SUMMED)
_TOTAL = f"SELECT max(id), {', '.join(_SUMS)} FROM usage WHERE conversation_id = ? AND id > ?"
_THERE = "SELECT 1 FROM usage WHERE conversation_id = ? AND id = ?"


def record(
    connection: sqlite3.Connection, conversation_id: str, step: Measure, at: float | None = None
) -> None:
    """Add the measure of one cycle, which ended `at` a time in Unix seconds, by default now.

    Raises:
        StoreError: there is no such conversation.
    """
    key = to_column(conversation_id)
    tokens = step.get("input", 0) + step.get("output", 0)
    updated = connection.execute(
        "UPDATE conversations SET tokens = tokens + ?, cost = cost + ? WHERE id = ?",
        (tokens, step.get("cost", 0.0), key),
    )
    if updated.rowcount != 1:
        raise missing(conversation_id)
    figures = (step.get(figure) for figure in SUMMED)
    connection.execute(_INSERT, (key, max(time.time(), 0.0) if at is None else at, encode(step), *figures))


class Total(NamedTuple):
    """The sums over a conversation's cycles up to the row `through`; `known` counts the cycles with each
    figure."""

    through: int = 0
    known: tuple[int, ...] = (0,) * len(SUMMED)
    sums: tuple[float, ...] = (0,) * len(SUMMED)

    @property
    def measure(self) -> Measure:
        """`input`, `output` and `duration` always, the others where known."""
        known = {
            figure: value for figure, count, value in zip(SUMMED, self.known, self.sums, strict=True) if count
        }
        return cast("Measure", {"input": 0, "output": 0, "duration": 0.0} | known)


NOTHING = Total()


def total(connection: sqlite3.Connection, conversation_id: str, before: Total = NOTHING) -> Total:
    """Sum all cycles; `before` is an earlier total, so that only new rows are read."""
    key = to_column(conversation_id)
    if not connection.execute(_THERE, (key, before.through)).fetchone():
        before = NOTHING
    ((through, *row),) = connection.execute(_TOTAL, (key, before.through))
    if through is None:
        return before
    known = tuple(map(add, before.known, row[::2]))
    return Total(through, known, tuple(map(add, before.sums, row[1::2])))


def measures(connection: sqlite3.Connection, conversation_id: str) -> list[tuple[float, Measure]]:
    """Return the figures of each cycle, summary and question, the oldest first, each with the Unix time of
    its recording."""
    sql = "SELECT timestamp, body FROM usage WHERE conversation_id = ? ORDER BY id"
    rows = connection.execute(sql, (to_column(conversation_id),))
    return [(moment, cast("Measure", json.loads(from_column(body)))) for moment, body in rows]


def is_estimated(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Return whether the figures of any cycle are an estimate."""
    sql = "SELECT 1 FROM usage WHERE conversation_id = ? AND instr(body, '\"estimated\":true') LIMIT 1"
    return connection.execute(sql, (to_column(conversation_id),)).fetchone() is not None


class Spent(NamedTuple):
    """USD, and the tokens of those requests whose price is not known."""

    dollars: float
    tokens: int


_SPENT = (
    "SELECT total(cost), coalesce(sum(iif(cost IS NULL, coalesce(input, 0) + coalesce(output, 0), 0)), 0)"
    " FROM usage WHERE timestamp >= ?"
)
_OWN = " AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = usage.conversation_id AND c.imported)"
_FAMILY = (
    " AND conversation_id IN (WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT conversations.id"
    " FROM conversations JOIN family ON parent = family.id WHERE call IS NOT NULL) SELECT id FROM family)"
)


def spent(connection: sqlite3.Connection, moment: float, conversation_id: str | None = None) -> Spent:
    """Sum the spending since a time in Unix seconds, of one conversation with its sub-agents or of all
    that took place here."""
    if conversation_id is None:
        return Spent(*connection.execute(_SPENT + _OWN, (moment,)).fetchone())
    values = (moment, to_column(conversation_id))
    return Spent(*connection.execute(_SPENT + _FAMILY, values).fetchone())


def since(connection: sqlite3.Connection, conversation_id: str, moment: float) -> tuple[int, float]:
    """Return tokens and USD, as far as known, of the cycles since a time in Unix seconds."""
    sql = (
        "SELECT coalesce(sum(coalesce(input, 0) + coalesce(output, 0)), 0), total(cost) FROM usage"
        " WHERE conversation_id = ? AND timestamp >= ?"
    )
    return connection.execute(sql, (to_column(conversation_id), moment)).fetchone()


class Used(NamedTuple):
    """Tokens sent and generated, USD as far as known, and the seconds of the cycles of the conversation
    itself."""

    tokens: int
    dollars: float
    seconds: float


def between(connection: sqlite3.Connection, conversation_id: str, since: float, before: float) -> Used:
    """Sum the usage of a conversation with its sub-agents between two times in Unix seconds."""
    sql = (
        "SELECT coalesce(sum(coalesce(input, 0) + coalesce(output, 0)), 0), total(cost),"
        " total(iif(conversation_id = ?, duration, 0)) FROM usage WHERE timestamp >= ? AND timestamp < ?"
    )
    key = to_column(conversation_id)
    return Used(*connection.execute(sql + _FAMILY, (key, since, before, key)).fetchone())


_DAY = "date(u.timestamp, 'unixepoch', 'localtime')"
_SCOPE = (
    "(:project IS NULL OR c.project = :project OR (c.project > :above AND c.project < :below))"
    " AND c.trashed IS NULL"
)
_PERIOD = "{}.timestamp >= coalesce(:since, 0) AND {}.timestamp < coalesce(:before, 9e99)"
_CONVERSATIONS = (
    f"SELECT count(DISTINCT e.conversation_id), count(*) FILTER (WHERE {BEGINS_TURN})"
    " FROM events e JOIN conversations c"
    f" ON c.id = e.conversation_id WHERE e.type = 'user' AND c.call IS NULL AND {_SCOPE}"
    f" AND {_PERIOD.format('e', 'e')}"
)
_USED = "coalesce(sum(u.input), 0), coalesce(sum(u.output), 0), coalesce(sum(u.cached), 0), total(u.cost)"
_USAGE = (
    f"SELECT {{}} AS label, {_USED} FROM usage u JOIN conversations c ON c.id = u.conversation_id"
    f" WHERE {_SCOPE} AND {_PERIOD.format('u', 'u')} GROUP BY label ORDER BY {{}}"
)
_MODEL = "coalesce(iif(json_valid(u.body), json_extract(u.body, '$.model'), NULL), c.model)"
_TOOLS = (
    "SELECT tool, count(*), sum(error AND NOT not_run AND state = 'failed'),"
    " sum(not_run OR state IN ('declined', 'interrupted')), total(duration)"
    " FROM (SELECT json_extract(e.body, '$.tool') AS tool, json_extract(e.body, '$.payload.error') AS error,"
    # Events of older versions have no state.
    " coalesce(json_extract(e.body, '$.payload.state'), 'failed') AS state,"
    " coalesce(json_extract(e.body, '$.payload.not_run'), 0) AS not_run,"
    " json_extract(e.body, '$.duration') AS duration"
    " FROM events e JOIN conversations c ON c.id = e.conversation_id"
    f" WHERE e.type = 'result' AND {_SCOPE} AND {_PERIOD.format('e', 'e')} AND json_valid(e.body))"
    " GROUP BY tool ORDER BY count(*) DESC, tool"
)
_FILES = (
    "SELECT e.path, count(*) FROM edits e JOIN conversations c ON c.id = e.conversation"
    f" WHERE e.kind != 'snapshot' AND {_SCOPE} AND {_PERIOD.format('e', 'e')}"
    " GROUP BY e.project, e.path ORDER BY count(*) DESC, e.path LIMIT 20"
)


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and USD under a label: a day (`2026-05-01`, local) or a model. Unknown figures count as
    nothing."""

    label: str
    input: int
    output: int
    cached: int
    cost: float


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The calls of a tool, its failures, those that the user declined or stopped, and its seconds."""

    tool: str
    calls: int
    failed: int
    stopped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums over a period. `days` are sorted by date, `models` by tokens sent, `tools` by calls; `files` are
    the twenty changed most often, with their number of changes."""

    conversations: int
    turns: int
    days: tuple[Spending, ...]
    models: tuple[Spending, ...]
    tools: tuple[ToolUse, ...]
    files: tuple[tuple[str, int], ...]

    @property
    def total(self) -> Spending:
        days = self.days
        return Spending(
            "total",
            sum(day.input for day in days),
            sum(day.output for day in days),
            sum(day.cached for day in days),
            sum(day.cost for day in days),
        )


def statistics(
    connection: sqlite3.Connection, scope: Sequence[str] | None, since: float | None, before: float | None
) -> Statistics:
    """Sum over a project of this scope (see `project_scope.scope_of`), or all, between two times in Unix
    seconds. Blocks while every result of the period is read: for the search's thread, not the store's."""
    project, above, below = (None, None, None) if scope is None else map(to_column, scope)
    values = {"project": project, "above": above, "below": below, "since": since, "before": before}
    conversations, turns = connection.execute(_CONVERSATIONS, values).fetchone()
    days = connection.execute(_USAGE.format(_DAY, "label"), values)
    spent = tuple(Spending(*row) for row in days)
    models = connection.execute(_USAGE.format(_MODEL, "sum(u.input) DESC, label"), values)
    by_model = tuple(Spending(from_column(row[0]), *row[1:]) for row in models)
    tools = tuple(
        ToolUse(from_column(tool or "unknown"), calls, failed or 0, stopped or 0, seconds)
        for tool, calls, failed, stopped, seconds in connection.execute(_TOOLS, values)
    )
    files = tuple((from_column(path), count) for path, count in connection.execute(_FILES, values))
    return Statistics(conversations, turns, spent, by_model, tools, files)
