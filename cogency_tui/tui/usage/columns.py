"""The columns of a usage report, and its trends in words: the same on the screen and on the command line."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from cogency_tui.agent.usage_report import Figures, Rate, Trend, UsageReport
from cogency_tui.tui.kit.number_format import dollars, duration, percent, tokens

Needs: TypeAlias = Literal["requests", "calls", ""]
"""The records that must belong to the groups of a report, so that it has the column."""

_HOUR = 3600


class Column(NamedTuple):
    """A column: its heading, its figure in words, and the number to sort by."""

    heading: str
    text: Callable[[Figures], str]
    value: Callable[[Figures], float]
    needs: Needs = ""


def describe_cost(figures: Figures) -> str:
    """The cost in USD: `~` marks an estimate, `+` a sum without the requests whose price is unknown."""
    if not figures.requests or figures.unpriced == figures.requests:
        return "–"
    mark = "~" if figures.is_estimated else ""
    return f"{mark}{dollars(figures.cost)}{'+' if figures.unpriced else ''}"


def describe_time(seconds: float) -> str:
    """`2.1 s`, `1 min 39 s`, `11 h 55 min`."""
    if not seconds:
        return "–"
    hours, rest = divmod(round(seconds), _HOUR)
    return f"{hours} h {rest // 60:02} min" if hours else duration(seconds)


def _of_share(count: int, cases: int) -> str:
    return f"{count:,} ({percent(count / cases)})" if count and cases else f"{count:,}"


def _counted(heading: str, name: str, needs: Needs = "") -> Column:
    number: Callable[[Figures], int] = attrgetter(name)

    def text(figures: Figures) -> str:
        return f"{number(figures):,}"

    return Column(heading, text, number, needs)


def _in_tokens(heading: str, name: str) -> Column:
    number: Callable[[Figures], int] = attrgetter(name)

    def text(figures: Figures) -> str:
        return tokens(number(figures))

    return Column(heading, text, number, "requests")


def _timed(heading: str, name: str, needs: Needs) -> Column:
    number: Callable[[Figures], float] = attrgetter(name)

    def text(figures: Figures) -> str:
        return describe_time(number(figures))

    return Column(heading, text, number, needs)


def _failed(figures: Figures) -> str:
    return _of_share(figures.failed, figures.calls)


def _reverted(figures: Figures) -> str:
    return _of_share(figures.reverted, figures.hunks)


def _slips(figures: Figures) -> float:
    """Malformed and leaked calls per 100 requests."""
    return 100 * (figures.malformed + figures.leaked) / figures.cycles if figures.cycles else 0.0


def _slips_text(figures: Figures) -> str:
    return f"{_slips(figures):.1f}"


CALLS = _counted("calls", "calls", "calls")
HUNKS = _counted("hunks", "hunks")
TOKENS = _in_tokens("tokens", "tokens")

SPENT: tuple[Column, ...] = (
    Column("cost", describe_cost, attrgetter("cost"), "requests"),
    _counted("requests", "requests", "requests"),
    _counted("turns", "turns", "requests"),
    _counted("conv.", "conversation_count"),
    _in_tokens("sent", "input"),
    _in_tokens("cached", "cached"),
    _in_tokens("written", "output"),
    _timed("model", "model_seconds", "requests"),
    _timed("tools", "tool_seconds", "calls"),
    _timed("waiting", "waiting_seconds", "requests"),
)
"""What was spent: the time until answers were complete, that of the calls, and the rest, which is mostly that
of questions to the user."""

SUCCESS: tuple[Column, ...] = (
    CALLS,
    Column("failed", _failed, attrgetter("failed"), "calls"),
    HUNKS,
    Column("reverted", _reverted, attrgetter("reverted")),
    _counted("kept", "kept"),
    _counted("edited", "edited"),
    _counted("open", "undecided"),
    Column("malf./100", _slips_text, _slips, "requests"),
    _counted("errors", "failed_turns", "requests"),
)
"""What came of it: of the calls, those that failed; of the hunks, those that were reverted; turns that ended
in an error."""


def columns_of(report: UsageReport, columns: Sequence[Column]) -> list[Column]:
    """The columns that a report has."""
    missing = {"requests": not report.has_requests, "calls": not report.has_calls, "": False}
    return [column for column in columns if not missing[column.needs]]


def amount_of(report: UsageReport) -> Column:
    """The column that the bars of a report show."""
    if report.has_requests:
        return TOKENS
    return CALLS if report.has_calls else HUNKS


def label_of(labels: Sequence[str]) -> str:
    return " · ".join(label or "–" for label in labels)


def describe_too_few(trends: Sequence[Trend]) -> str:
    """Name the figures of which one of two periods has too few cases, in one line; empty without any."""
    names = [trend.name for trend in trends if trend.verdict == "too few"]
    return f"too few cases to compare: {', '.join(names)}" if names else ""


def describe_trend(trend: Trend) -> str:
    """Compare two periods in words: `6% of 211, before 4% of 190: no clear change`."""
    now, before = (_describe_rate(trend, rate) for rate in (trend.now, trend.before))
    return f"{now}, before {before}: {trend.verdict}"


def _describe_rate(trend: Trend, rate: Rate) -> str:
    value = rate.value or 0.0
    if not trend.is_share:
        return f"{100 * value:.1f} per 100 of {rate.cases:,}"
    return f"{percent(value)} of {rate.cases:,}"
