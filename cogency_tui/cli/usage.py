"""`cogency-tui usage`: reports tokens, money, time, calls and hunks by model, tool, file, project or week."""

import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.usage_report import Figures, Span, Trend, UsageReport, UsageRow, parse_dimensions
from cogency_tui.cli.recall import bar
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.store.search.query import MOMENTS, moment_of
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.usage.columns import (
    SPENT,
    SUCCESS,
    Column,
    amount_of,
    columns_of,
    describe_too_few,
    describe_trend,
    label_of,
)

ALL_TIME = "all"
PERIOD = "30d"
"""The beginning of the period, unless the user says otherwise."""

_LABEL, _PART = 36, 12
"""Cells of a row's label on a terminal, and those that each of its parts has at least."""

_ROWS = 40
"""Rows of a table that are printed."""

_FEW = 12
"""Rows up to which those with too few cases to compare are listed, too."""


def span_of(since: str, until: str | None, project: Path | None, now: float) -> Span:
    """The period from `since` (`all` for all time) until `until`, by default `now`.

    Raises:
        UsageError: one of them is no moment, or the period is empty.
    """
    before = now if until is None else _moment("--until", until, now)
    begin = None if since == ALL_TIME else _moment("--since", since, now)
    if begin is not None and begin >= before:
        raise UsageError(
            f"The period from {since} until {until or 'now'} is empty.", "--since must be earlier."
        )
    return Span(before, begin, None if project is None else str(project))


def _moment(option: str, text: str, now: float) -> float:
    found = moment_of(text, now)
    if found is None:
        raise UsageError(f"{option} {text!r} is no moment.", f"Use {MOMENTS}.")
    return found


async def print_usage(
    recall: Recall, by: str, since: str, until: str | None, project: Path | None, *, as_json: bool
) -> int:
    """Print the report of a period by the dimensions named in `by`, of `project` or of all.

    Raises:
        UsageError: a dimension or a moment is unknown.
    """
    dimensions = parse_dimensions(by)
    report = await recall.usage(dimensions, span_of(since, until, project, time.time()))
    if as_json:
        print_json(report_as_json(report))
        return 0
    if not report.rows:
        talk(f"No usage {_period(report)}{'' if project is None else '. --all includes every project'}.")
        return 0
    for line in [*_table_lines(report), "", *_chart_lines(report), *_comparison_lines(report)]:
        print_text(line)
    return 0


def describe_usage(report: UsageReport) -> list[str]:
    """The report in lines that can be read aloud: without the chart."""
    if not report.rows:
        return [f"No usage {_period(report)}."]
    return [*_table_lines(report), *_comparison_lines(report)]


def report_as_json(report: UsageReport) -> dict[str, Any]:
    """The report as a JSON object; figures that its dimensions cannot have are null."""
    return {
        "since": None if report.since is None else _iso(report.since),
        "until": _iso(report.before),
        "project": report.project,
        "by": list(report.by),
        "rows": [_row_as_json(report, row) for row in report.rows],
        "total": {
            **_figures_as_json(report.total, requests=True, calls=True),
            "trends": [_trend_as_json(trend) for trend in report.trends],
        },
    }


def _row_as_json(report: UsageReport, row: UsageRow) -> dict[str, Any]:
    return {
        **dict(zip(report.by, row.labels, strict=True)),
        **_figures_as_json(row.figures, requests=report.has_requests, calls=report.has_calls),
        "trends": [_trend_as_json(trend) for trend in row.trends],
    }


def _figures_as_json(figures: Figures, *, requests: bool, calls: bool) -> dict[str, Any]:
    of_requests = {
        "turns": figures.turns,
        "failed_turns": figures.failed_turns,
        "requests": figures.requests,
        "input_tokens": figures.input,
        "output_tokens": figures.output,
        "cached_tokens": figures.cached,
        "cost_usd": round(figures.cost, 6),
        "cost_is_estimated": figures.is_estimated,
        "unpriced_requests": figures.unpriced,
        "model_seconds": round(figures.model_seconds, 3),
        "waiting_seconds": round(figures.waiting_seconds, 3),
        "malformed_calls": figures.malformed,
        "leaked_calls": figures.leaked,
    }
    of_calls = {
        "calls": figures.calls,
        "failed_calls": figures.failed,
        "stopped_calls": figures.stopped,
        "tool_seconds": round(figures.tool_seconds, 3),
    }
    return {
        "conversations": figures.conversation_count,
        **(of_requests if requests else dict.fromkeys(of_requests)),
        **(of_calls if calls else dict.fromkeys(of_calls)),
        "edits": figures.edits,
        "hunks": figures.hunks,
        "kept_hunks": figures.kept,
        "reverted_hunks": figures.reverted,
        "edited_hunks": figures.edited,
        "undecided_hunks": figures.undecided,
    }


def _trend_as_json(trend: Trend) -> dict[str, Any]:
    return {
        "figure": trend.name.replace(" ", "_"),
        "count": trend.now.count,
        "cases": trend.now.cases,
        "count_before": trend.before.count,
        "cases_before": trend.before.cases,
        "verdict": trend.verdict,
    }


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().isoformat(timespec="seconds")


def _period(report: UsageReport) -> str:
    until = f"until {_minute(report.before)}"
    return until if report.since is None else f"from {_minute(report.since)} {until}"


def _minute(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def _table_lines(report: UsageReport) -> list[str]:
    """The project and the period, and the tables."""
    where = "all projects" if report.project is None else one_line(report.project)
    lines = [f"Usage in {where} {_period(report)}", ""]
    names = ", ".join(report.by)
    if report.has_requests:
        lines += [f"Spent by {names}", *_table(report, columns_of(report, SPENT)), ""]
        lines += [f"Success by {names}", *_table(report, columns_of(report, SUCCESS))]
    else:
        lines += _table(report, columns_of(report, (*SPENT, *SUCCESS)))
    return lines


def _chart_lines(report: UsageReport) -> list[str]:
    amount = amount_of(report)
    return [f"{amount.heading.capitalize()} by {', '.join(report.by)}", *_chart(report, amount)]


def _comparison_lines(report: UsageReport) -> list[str]:
    if report.since is None:
        return []
    before = "the week before" if "week" in report.by else "the period before"
    return ["", f"Compared with {before}", *_comparisons(report)]


def _table(report: UsageReport, columns: Sequence[Column]) -> list[str]:
    shown = report.rows[:_ROWS]
    cells_of = [[column.text(row.figures) for column in columns] for row in shown]
    cells_of.append([column.text(report.total) for column in columns])
    labels = [*_labels(report), "total"]
    table = [["", *(column.heading for column in columns)]]
    table += [[label, *row] for label, row in zip(labels, cells_of, strict=True)]
    widths = [max(cells(row[at]) for row in table) for at in range(len(columns) + 1)]
    lines = [
        _padded(row[0], widths[0])
        + "".join(
            f"  {_padded(cell, width, right=True)}" for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        for row in table
    ]
    if left := len(report.rows) - len(shown):
        lines.insert(-1, f"… {left:,} more: --json has them all")
    return lines


def _labels(report: UsageReport) -> list[str]:
    """The labels of the rows; in a pipe whole."""
    labels = [[one_line(label) for label in row.labels] for row in report.rows[:_ROWS]]
    if sys.stdout.isatty():
        labels = [_shortened(each, report.by) for each in labels]
    return [label_of(each) for each in labels]


def _shortened(labels: Sequence[str], by: Sequence[str]) -> list[str]:
    """The parts of a label, the longest of them shortened as far as their row needs."""
    room = max(_LABEL - 3 * (len(labels) - 1), _PART * len(labels))
    most = max(map(cells, labels))
    while sum(min(cells(label), most) for label in labels) > room:
        most -= 1
    return [
        fit_path(label, most) if name in ("file", "project") else fit(label, most)
        for name, label in zip(by, labels, strict=True)
    ]


def _padded(text: str, width: int, *, right: bool = False) -> str:
    room = " " * (width - cells(text))
    return room + text if right else text + room


def _chart(report: UsageReport, amount: Column) -> list[str]:
    labels = _labels(report)
    values = [int(amount.value(row.figures)) for row in report.rows[:_ROWS]]
    width = max(map(cells, labels))
    most = max(values)
    return [
        f"{_padded(label, width)}  {bar(value, most)} {amount.text(row.figures)}"
        for label, value, row in zip(labels, values, report.rows, strict=False)
    ]


def _comparisons(report: UsageReport) -> list[str]:
    """The trends of each row; of many rows only those that can be compared."""
    rows = [
        *zip(_labels(report), (row.trends for row in report.rows), strict=False),
        ("total", report.trends),
    ]
    if len(rows) > _FEW:
        rows = [row for row in rows if _comparable(row[1])]
    if not any(_comparable(trends) for _label, trends in rows):
        return ["Too few cases to compare."]
    width = max((cells(label) for label, _ in rows), default=0)
    lines: list[str] = []
    for label, trends in rows:
        shown = label
        for trend in _comparable(trends):
            lines.append(f"{_padded(shown, width)}  {trend.name:<15}  {describe_trend(trend)}")
            shown = ""
        if few := describe_too_few(trends):
            lines.append(f"{_padded(shown, width)}  {few}")
    return lines


def _comparable(trends: Sequence[Trend]) -> list[Trend]:
    return [trend for trend in trends if trend.verdict != "too few"]
