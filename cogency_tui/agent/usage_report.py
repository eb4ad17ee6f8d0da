"""The usage of a period by model, tool, file, project or week: tokens, money, time, calls and hunks. Pure.

Whether a model got worse is a figure here: a share of this period beside that of the period before, each with
the number of cases, and no verdict where there are too few of them or where chance explains the difference.

A figure that a dimension cannot have is None: a request is for no tool, and a call for no file. Sub-agents
count with their own model, in the conversation that started them; conversations in the trash count, imported
ones do not, and of a fork only what it has added.
"""

import sqlite3
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from math import sqrt
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from cogency_tui.agent.edits.file_history import BY_USER, GUARD
from cogency_tui.errors import UsageError
from cogency_tui.store import usage_records as records
from cogency_tui.store.project_scope import main_projects
from cogency_tui.store.usage_records import ConversationRecord, EditRecord, Sent

Dimension: TypeAlias = Literal["model", "tool", "file", "project", "week"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

Verdict: TypeAlias = Literal["better", "worse", "no clear change", "too few"]

LEAST_CASES, LEAST_EVENTS = 20, 5
"""Cases of each period, and failures of both together, with fewer of which there is no verdict."""

_CHANCE = 1.96
"""Standard deviations that a difference must exceed: one in twenty differences by chance does."""

_BY_NO_MODEL = BY_USER | {GUARD}
_HOOK = "hook:"


def parse_dimensions(text: str) -> tuple[Dimension, ...]:
    """Parse `model,week`.

    Raises:
        UsageError: it names an unknown dimension, or one twice.
    """
    names = [name.strip() for name in text.split(",")]
    known = ", ".join(DIMENSIONS)
    for name in names:
        if name not in DIMENSIONS:
            raise UsageError(f"Cannot report usage by {name!r}.", f"Use one or more of {known}.")
        if names.count(name) > 1:
            raise UsageError(f"{name!r} is named twice.", f"Use each of {known} once.")
    return tuple(cast("list[Dimension]", names))


@dataclass(slots=True)
class Figures:
    """The figures of a group. `cost` is in USD, of the requests with a known price; `unpriced` counts the
    others. Of the `seconds` of whole cycles, `model_seconds` are those until the answers were complete, and
    `tool_seconds` those of the calls.
    """

    conversations: set[bytes] = field(default_factory=set[bytes])
    turns: int = 0
    failed_turns: int = 0
    requests: int = 0
    cycles: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    is_estimated: bool = False
    unpriced: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    calls: int = 0
    failed: int = 0
    stopped: int = 0
    malformed: int = 0
    leaked: int = 0
    edits: int = 0
    kept: int = 0
    reverted: int = 0
    edited: int = 0
    undecided: int = 0

    @property
    def conversation_count(self) -> int:
        return len(self.conversations)

    @property
    def tokens(self) -> int:
        """Tokens sent and generated."""
        return self.input + self.output

    @property
    def hunks(self) -> int:
        return self.decided + self.undecided

    @property
    def decided(self) -> int:
        """The hunks that the user has decided about."""
        return self.kept + self.reverted + self.edited

    @property
    def ran(self) -> int:
        """The calls that were neither declined nor stopped."""
        return self.calls - self.stopped

    @property
    def waiting_seconds(self) -> float:
        """Seconds of the cycles that neither the model nor a tool took: questions to the user, mostly."""
        return max(0.0, self.seconds - self.model_seconds - self.tool_seconds)

    def add(self, other: "Figures") -> None:
        """Add the figures of another group."""
        self.conversations |= other.conversations
        self.is_estimated |= other.is_estimated
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_SUMMED = tuple(name for name in Figures.__slots__ if name not in ("conversations", "is_estimated"))


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `cases`."""

    count: int
    cases: int

    @property
    def value(self) -> float | None:
        """None without cases."""
        return self.count / self.cases if self.cases else None


@dataclass(frozen=True, slots=True)
class Trend:
    """A rate of this period and of the one before; the lower it is, the better. In a share each case counts
    at most once."""

    name: str
    now: Rate
    before: Rate
    verdict: Verdict
    is_share: bool = True


@dataclass(frozen=True, slots=True)
class _Measured:
    name: str
    count: Callable[[Figures], int]
    cases: Callable[[Figures], int]
    is_share: bool = True


_MEASURED = (
    _Measured("failed calls", attrgetter("failed"), attrgetter("ran")),
    _Measured("reverted hunks", attrgetter("reverted"), attrgetter("decided")),
    _Measured(
        "malformed calls", lambda each: each.malformed + each.leaked, attrgetter("cycles"), is_share=False
    ),
)
"""What a model's success is measured by: of calls that ran, of hunks decided, of requests."""


def compare(now: Rate, before: Rate, *, is_share: bool = True) -> Verdict:
    """Compare two rates, of which the lower is better: by the two-sample test of proportions, or of counts
    where these are no shares."""
    if min(now.cases, before.cases) < LEAST_CASES:
        return "too few"
    count, cases = now.count + before.count, now.cases + before.cases
    pooled = count / cases
    variance = pooled * ((1 - pooled) if is_share else 1) * (1 / now.cases + 1 / before.cases)
    if count < LEAST_EVENTS or variance <= 0:
        return "no clear change"
    difference = (now.count / now.cases - before.count / before.cases) / sqrt(variance)
    if abs(difference) < _CHANCE:
        return "no clear change"
    return "worse" if difference > 0 else "better"


def trends_of(now: Figures, before: Figures) -> tuple[Trend, ...]:
    """Compare what a model's success is measured by; without the rates that neither period has."""
    found: list[Trend] = []
    for each in _MEASURED:
        present, past = (Rate(each.count(figures), each.cases(figures)) for figures in (now, before))
        if present.cases or past.cases:
            verdict = compare(present, past, is_share=each.is_share)
            found.append(Trend(each.name, present, past, verdict, each.is_share))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A group: its `labels` in the order of the report's dimensions. `trends` are empty where there is no
    period before. `weeks` are the tokens, or else the calls or hunks, of each week of the report."""

    labels: tuple[str, ...]
    figures: Figures
    trends: tuple[Trend, ...]
    weeks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The usage by dimensions from `since` (None for all time) up to `before`, in Unix seconds, of a project
    or of all. `week_names` name the weeks of each row, the oldest first."""

    by: tuple[Dimension, ...]
    since: float | None
    before: float
    project: str | None
    rows: tuple[UsageRow, ...]
    total: Figures
    trends: tuple[Trend, ...]
    week_names: tuple[str, ...] = ()

    @property
    def has_requests(self) -> bool:
        """True if requests belong to the groups: none is for a tool or a file."""
        return not {"tool", "file"}.intersection(self.by)

    @property
    def has_calls(self) -> bool:
        """True if calls belong to the groups."""
        return "file" not in self.by


@dataclass(frozen=True, slots=True)
class Span:
    """The period of a report, in Unix seconds, and the project that it is limited to. Without `since` it is
    all time, and there is no period before."""

    before: float
    since: float | None = None
    project: str | None = None

    @property
    def earliest(self) -> float:
        """The begin of the period before, which is as long."""
        return 0.0 if self.since is None else max(0.0, 2 * self.since - self.before)


Labels: TypeAlias = tuple[str, ...]


def report_usage(
    connection: sqlite3.Connection, by: Sequence[Dimension], span: Span, data: Path, here: str = ""
) -> UsageReport:
    """Sum up a period, worktrees with their main projects, given the data directory and the project `here`.
    Blocks while its events are read: for a thread with a connection of its own."""
    with records.text_as_bytes(connection):
        summed = _Summing(connection, tuple(by), span, data, here)
        summed.take_requests()
        summed.take_events()
        summed.take_edits()
    return summed.report()


_Key: TypeAlias = tuple[str, str, str, str, str, bool]
"""Model, tool, file, project and week, and whether it is in the period; without a tool or a file empty."""


class _Summing:
    """Sums records into groups: those of the period, and of the one before."""

    def __init__(
        self, connection: sqlite3.Connection, by: tuple[Dimension, ...], span: Span, data: Path, here: str
    ) -> None:
        self._connection = connection
        self._by = by
        self._span = span
        self._since = span.since or 0.0
        every = records.conversations(connection)
        asked = span.project
        named = {here, asked or here} - {""}
        mains = main_projects(data, [*named, *(each.project for each in every.values())])
        wanted = None if asked is None else mains[asked]
        self._known = {
            id: each if mains[each.project] == each.project else each._replace(project=mains[each.project])
            for id, each in every.items()
            if wanted in (None, mains[each.project])
        }
        self._models = _Models(connection, self._known)
        self._edits = [
            each
            for each in records.edits(connection, span.earliest, span.before)
            if each.conversation in self._known and _is_models(each)
        ]
        self._editing = {(each.caller, each.call): "" for each in self._edits}
        """The calls that have made edits, with their models."""
        self._sums: defaultdict[_Key, Figures] = defaultdict(Figures)

    def take_requests(self) -> None:
        """Add the requests, and learn which models each conversation has used."""
        models: defaultdict[bytes, set[str]] = defaultdict(set)
        since, sums, known_by_id = self._since, self._sums, self._known
        for id, moment, step in records.requests(self._connection, self._span.earliest, self._span.before):
            known = known_by_id.get(id)
            if known is None:
                continue
            is_cycle = not step.purpose
            model = known.model
            if step.model:
                model = _label_of(step.provider, step.model)
                if is_cycle:
                    models[id].add(model)
            figures = sums[model, "", "", known.project, week_of(moment), moment >= since]
            figures.conversations.add(known.root)
            figures.requests += 1
            figures.cycles += is_cycle
            figures.input += step.input
            figures.output += step.output
            figures.cached += step.cached
            if step.cost is None:
                figures.unpriced += 1
            else:
                figures.cost += step.cost
            figures.is_estimated |= step.estimated
            figures.seconds += step.duration
            figures.model_seconds += step.ttft + step.writing
            figures.malformed += step.malformed
            figures.leaked += step.leaked
        self._models.learn(models)

    def take_events(self) -> None:
        """Add the turns, the calls and the errors that ended turns."""
        active = {id for id, each in self._known.items() if each.updated >= self._span.earliest}
        among = None if len(active) == len(self._known) and self._span.project is None else active
        since, sums, known_by_id, editing = self._since, self._sums, self._known, self._editing
        model_after, model_of = self._models.after, self._models.before
        for id, number, moment, event in records.happened(
            self._connection, self._span.earliest, self._span.before, among
        ):
            known = known_by_id.get(id)
            if known is None or moment < known.begun:
                continue
            is_now, week = moment >= since, week_of(moment)
            if event is None:
                if not known.is_subagent:
                    figures = sums[model_after(id, number), "", "", known.project, week, is_now]
                    figures.conversations.add(known.root)
                    figures.turns += 1
            elif isinstance(event, records.CallRecord):
                if event.is_of_tool:
                    model = model_of(id, number)
                    if (id, event.id) in editing:
                        editing[id, event.id] = model
                    figures = sums[model, event.tool, "", known.project, week, is_now]
                    figures.conversations.add(known.root)
                    figures.calls += 1
                    figures.tool_seconds += event.duration
                    if event.is_stopped:
                        figures.stopped += 1
                    elif event.is_failed:
                        figures.failed += 1
            elif not event.payload.declined:
                sums[model_of(id, number), "", "", known.project, week, is_now].failed_turns += 1

    def take_edits(self) -> None:
        """Add the hunks of the edits, each to the model whose call has made it."""
        decided = records.hunks(self._connection, self._edits)
        has_files = "file" in self._by
        for edit in self._edits:
            model = self._editing[edit.caller, edit.call] or self._models.at(edit.caller, edit.timestamp)
            known = self._known[edit.conversation]
            is_now = edit.timestamp >= self._since
            week = week_of(edit.timestamp)
            path = edit.path if has_files else ""
            figures = self._sums[model, edit.tool, path, known.project, week, is_now]
            figures.conversations.add(known.root)
            figures.edits += 1
            for state in decided[edit.id]:
                if state == b"kept":
                    figures.kept += 1
                elif state == b"reverted":
                    figures.reverted += 1
                elif state == b"edited":
                    figures.edited += 1
                else:
                    figures.undecided += 1

    def report(self) -> UsageReport:
        """Return the groups, those with the most tokens first, or else calls, or hunks; weeks by time."""
        groups = _Groups(self._by)
        for key, figures in self._sums.items():
            groups.add(key, figures)
        weeks = groups.weeks()
        has_past = self._span.since is not None
        rows = [
            UsageRow(
                labels,
                figures,
                groups.trends(labels, figures) if has_past else (),
                tuple(groups.weekly[labels].get(week, 0) for week in weeks),
            )
            for labels, figures in groups.now.items()
        ]
        rows.sort(key=self._order)
        trends = trends_of(groups.total, groups.total_before) if has_past else ()
        return UsageReport(
            *(self._by, self._span.since, self._span.before, self._span.project, tuple(rows)),
            *(groups.total, trends, tuple(weeks)),
        )

    def _order(self, row: UsageRow) -> tuple[object, ...]:
        figures = row.figures
        weeks = tuple(
            label for dimension, label in zip(self._by, row.labels, strict=True) if dimension == "week"
        )
        others = tuple(
            label for dimension, label in zip(self._by, row.labels, strict=True) if dimension != "week"
        )
        if weeks:
            return (others, weeks) if self._by[0] != "week" else (weeks, others)
        return (-figures.tokens, -figures.calls, -figures.hunks, others)


class _Groups:
    """The groups of the period (`now`) and of the one before, by their labels."""

    def __init__(self, by: tuple[Dimension, ...]) -> None:
        self.now: defaultdict[Labels, Figures] = defaultdict(Figures)
        self.before: defaultdict[Labels, Figures] = defaultdict(Figures)
        self.total, self.total_before = Figures(), Figures()
        self.weekly: defaultdict[Labels, dict[str, int]] = defaultdict(dict)
        self._by = by

    def add(self, key: _Key, figures: Figures) -> None:
        """Add figures to their group, if they belong to one."""
        model, tool, file, project, week, is_now = key
        (self.total if is_now else self.total_before).add(figures)
        if ("tool" in self._by and not tool) or ("file" in self._by and not file):
            return
        values = {"model": model, "tool": tool, "file": file, "project": project, "week": week}
        labels = tuple(values[dimension] for dimension in self._by)
        (self.now if is_now else self.before)[labels].add(figures)
        if is_now:
            amount = figures.hunks if "file" in self._by else figures.tokens
            amount = figures.calls if "tool" in self._by and not file else amount
            weekly = self.weekly[labels]
            weekly[week] = weekly.get(week, 0) + amount

    def weeks(self) -> list[str]:
        """The weeks from the first to the last one with usage, those without any included."""
        used = {week for weekly in self.weekly.values() for week in weekly}
        if not used:
            return []
        found = [min(used)]
        while found[-1] != max(used):
            found.append(next_week(found[-1], 1))
        return found

    def trends(self, labels: Labels, now: Figures) -> tuple[Trend, ...]:
        """Compare a group with the period before; a week with the week before."""
        if "week" not in self._by:
            return trends_of(now, self.before.get(labels, Figures()))
        at = self._by.index("week")
        earlier = (*labels[:at], next_week(labels[at], -1), *labels[at + 1 :])
        return trends_of(self._whole(labels), self._whole(earlier))

    def _whole(self, labels: Labels) -> Figures:
        """The figures of a group of a week, in which the period may begin."""
        figures = Figures()
        for groups in (self.now, self.before):
            if labels in groups:
                figures.add(groups[labels])
        return figures


def _is_models(edit: EditRecord) -> bool:
    """Return whether a model made an edit, and neither the user, the engine nor a hook."""
    return edit.tool not in _BY_NO_MODEL and not edit.tool.startswith(_HOOK)


class _Models:
    """The models of conversations: by the requests of those that have used several."""

    def __init__(self, connection: sqlite3.Connection, known: dict[bytes, ConversationRecord]) -> None:
        self._connection = connection
        self._known = known
        self._only: dict[bytes, str] = {}
        self._sent: dict[bytes, list[Sent]] = {}

    def learn(self, used: dict[bytes, set[str]]) -> None:
        """Record the models that conversations have used."""
        self._only = {id: next(iter(models)) for id, models in used.items() if len(models) == 1}
        several: Collection[bytes] = [id for id, models in used.items() if len(models) > 1]
        self._sent = records.sent(self._connection, several) if several else {}

    def before(self, id: bytes, event: int) -> str:
        """The model of the last request before the event of this number."""
        return self._only.get(id) or self._of(id, lambda sent: bisect_left(sent, event, key=_THROUGH) - 1)

    def after(self, id: bytes, event: int) -> str:
        """The model of the first request that has the event of this number."""
        return self._only.get(id) or self._of(id, lambda sent: bisect_left(sent, event, key=_THROUGH))

    def at(self, id: bytes, moment: float) -> str:
        """The model of the last request up to a moment in Unix seconds."""
        return self._only.get(id) or self._of(id, lambda sent: bisect_right(sent, moment, key=_MOMENT) - 1)

    def _of(self, id: bytes, place: Callable[[list[Sent]], int]) -> str:
        sent = self._sent.get(id)
        if sent:
            return sent[min(max(0, place(sent)), len(sent) - 1)].model
        known = self._known.get(id)
        return known.model if known else "unknown"


_THROUGH: Callable[[Sent], int] = attrgetter("through")
_MOMENT: Callable[[Sent], float] = attrgetter("timestamp")

_label_of = cache(records.label_of)

_QUARTER = 900
"""Seconds: all offsets of local time are multiples of these."""


def week_of(moment: float) -> str:
    """The ISO week of local time of a moment in Unix seconds: `2026-W14`."""
    return _week_of_quarter(int(moment // _QUARTER))


@cache
def _week_of_quarter(quarter: int) -> str:
    return _week_name(datetime.fromtimestamp(quarter * _QUARTER).astimezone().date())


def _week_name(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


def next_week(week: str, weeks: int) -> str:
    """The name of the week so many `weeks` later."""
    year, _, number = week.partition("-W")
    return _week_name(date.fromisocalendar(int(year), int(number), 1) + timedelta(weeks=weeks))
