"""What a period or a project came to: conversations, tokens, cost, tools and files, summed from the rows.

Blocks for as long as reading every result of the period takes: for the search's thread, not the store's.
"""

import sqlite3
from dataclasses import dataclass

from cogency_tui.store.text import from_column, to_column

_DAY = "date(u.timestamp, 'unixepoch', 'localtime')"
_SCOPE = "(:project IS NULL OR c.project = :project) AND c.trashed IS NULL"
_PERIOD = "{}.timestamp >= coalesce(:since, 0) AND {}.timestamp < coalesce(:before, 9e99)"
_CONVERSATIONS = (
    "SELECT count(DISTINCT e.conversation_id), count(*) FROM events e JOIN conversations c"
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
    "SELECT tool, count(*), sum(failed), total(duration) FROM (SELECT json_extract(e.body, '$.tool') AS tool,"
    " json_extract(e.body, '$.payload.error') AS failed, json_extract(e.body, '$.duration') AS duration"
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
    """Tokens and USD under a label: a day (`2026-05-01`, local) or a model. Unknown figures count nothing."""

    label: str
    input: int
    output: int
    cached: int
    cost: float


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How often a tool ran, how often it failed, and for how many seconds."""

    tool: str
    calls: int
    failed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums over a period. `days` the earliest first, `models` by tokens sent, `tools` by calls, `files` the
    twenty changed most often, with how often."""

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
    connection: sqlite3.Connection, project: str | None, since: float | None, before: float | None
) -> Statistics:
    """The sums for the directory `project`, or all, between two moments in Unix seconds."""
    values = {"project": None if project is None else to_column(project), "since": since, "before": before}
    conversations, turns = connection.execute(_CONVERSATIONS, values).fetchone()
    days = connection.execute(_USAGE.format(_DAY, "label"), values)
    spent = tuple(Spending(*row) for row in days)
    models = connection.execute(_USAGE.format(_MODEL, "sum(u.input) DESC, label"), values)
    by_model = tuple(Spending(from_column(row[0]), *row[1:]) for row in models)
    tools = tuple(
        ToolUse(from_column(tool or "unknown"), calls, failed or 0, seconds)
        for tool, calls, failed, seconds in connection.execute(_TOOLS, values)
    )
    files = tuple((from_column(path), count) for path, count in connection.execute(_FILES, values))
    return Statistics(conversations, turns, spent, by_model, tools, files)
