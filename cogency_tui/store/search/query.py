"""The query language: words, "quoted phrases" and filters. Total: every text is a valid query.

    retry "sleep(1)" file:app.py tool:shell error: model:gpt project:shop branch:main from:codex since:30d

Words and phrases are terms: each has to occur somewhere in the conversation. No character of a term is
special, not even `%` and `_`; an unclosed quote reaches to the end. A word that resembles a filter and is
none (`http://x`, `since:whenever`) is a term; `problems` reports those that were meant as one.
"""

import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from cogency_tui.store.search.folding import fold

_TOKEN = re.compile(
    r"""(?P<name>[a-z]+):(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<value>[^\s"]*))"""
    r"""|"(?P<quoted>[^"]*)(?:"|$)|(?P<word>[^\s"]+)"""
)
_AGO = re.compile(r"(\d{1,5})([hdwmy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
_COST = re.compile(r"(<=|>=|<|>|=)?\$?(\d+(?:\.\d+)?)")
MOMENTS = "a date (2026-05-01), an age (30d, 2w, 6h), today or yesterday"
"""The forms of a moment, in words."""

_FORMATS = ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H:%M")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. All texts are folded. `since` and `before` are in Unix seconds, compared with a
    conversation's last change; `sources` are parts of the names of other agents, machines and people; `costs`
    are pairs of a comparison and USD. `error` is None where no error is wanted, else a text (perhaps empty)
    that the failed output has to contain."""

    terms: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    since: float | None = None
    before: float | None = None
    costs: tuple[tuple[str, float], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def phrase(self) -> str:
        """The terms in their order as one text; empty unless there are several."""
        return " ".join(self.terms) if len(self.terms) > 1 else ""

    @property
    def asks_for_content(self) -> bool:
        """True if the query has conditions on the events, not on the conversation's row alone."""
        return bool(self.terms or self.files or self.tools or self.errors)

    @property
    def asks_for_rows(self) -> bool:
        """True if the query has conditions on the conversation's own row, other than its time."""
        return bool(self.models or self.projects or self.branches or self.costs)


def parse(text: str, now: float | None = None) -> Query:
    """Parse `text`; `now` in Unix seconds is the base of `30d`."""
    moment = time.time() if now is None else now
    found: dict[str, list[str]] = {name: [] for name in ("term", *_TEXTS)}
    since = before = None
    costs: list[tuple[str, float]] = []
    problems: list[str] = []
    for match in _TOKEN.finditer(text):
        name = match["name"]
        value = match["phrase"] if match["phrase"] is not None else match["value"]
        if name in _TEXTS and (value or name == "error"):
            found[name].append(fold(value or ""))
        elif name in ("since", "before") and value and (when := moment_of(value, moment)) is not None:
            since, before = (when, before) if name == "since" else (since, when)
        elif name == "cost" and (cost := _COST.fullmatch(value or "")):
            costs.append((cost[1] or "=", float(cost[2])))
        elif name in ("since", "before", "cost") and value:
            form = "a comparison, e.g. >0.5" if name == "cost" else MOMENTS
            problems.append(f"{match[0]}: expected {form}")
            found["term"].append(fold(match[0]))
        elif name in (*_TEXTS, "since", "before", "cost"):
            # Still being typed: the name of a filter without its value filters nothing.
            continue
        else:
            quoted = match["quoted"]
            found["term"].append(fold(match[0] if quoted is None else quoted))
    texts = {field: tuple(dict.fromkeys(each for each in found[name])) for name, field in _TEXTS.items()}
    terms = tuple(dict.fromkeys(term for term in found["term"] if term))
    return Query(terms, **texts, since=since, before=before, costs=tuple(costs), problems=tuple(problems))


_TEXTS = {
    "file": "files",
    "tool": "tools",
    "error": "errors",
    "model": "models",
    "project": "projects",
    "branch": "branches",
    "from": "sources",
}


def moment_of(value: str, now: float) -> float | None:
    """Return the beginning of the period `value`, in Unix seconds of the local time."""
    today = datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if value in ("today", "yesterday"):
        return (today - timedelta(days=value == "yesterday")).timestamp()
    if ago := _AGO.fullmatch(value):
        return now - int(ago[1]) * _HOURS[ago[2]] * 3600
    for form in _FORMATS:
        try:
            return datetime.strptime(value, form).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            continue
    return None
