"""`cogency-tui recall`: searches past conversations, and sums up their figures."""

import time
from dataclasses import asdict

from cogency_tui.agent.recall.recall import Recall, Where
from cogency_tui.agent.recall.results import Hit, ListedConversation
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.errors import UsageError
from cogency_tui.store.search.query import parse
from cogency_tui.store.usage import Spending, Statistics

_BAR = 30
_EIGHTHS = " ▏▎▍▌▋▊▉"
_DAYS = 31
_MOST = 12


async def search_conversations(
    recall: Recall, query: str, *, where: Where, limit: int, best: bool, as_json: bool
) -> int:
    """Print the matching conversations with their hits; return the exit status, 1 if there are none."""
    async for progress in recall.update_index():
        talk(f"Indexing: {progress.done:,} of {progress.total:,} events.")
    page = await recall.page(query, where=where, order="best" if best else "newest", limit=limit)
    for problem in page.problems:
        talk(f"Searched as text: {problem}.")
    for each in page.listed:
        if as_json:
            print_json(asdict(each))
        else:
            print_text(_entry(each, with_project=where == "everywhere"))
    if not page.listed and not as_json:
        there = "in this project. --all searches every project" if where == "project" else "anywhere"
        talk(f"Nothing matches {there}.")
    if page.next is not None and not as_json:
        talk(f"More matches: use --limit {limit * 2}.")
    return 0 if page.listed else 1


async def print_statistics(recall: Recall, period: str, *, where: Where, as_json: bool) -> int:
    """Print the totals of a period; `period` is `since:` and `before:` as in a search.

    Raises:
        UsageError: it contains anything else.
    """
    asked = parse(period)
    if asked.asks_for_content or asked.models or asked.projects or asked.branches or asked.costs:
        raise UsageError(
            f"{period!r} is not a period.", "Use since:30d, or since:2026-05-01 before:2026-06-01."
        )
    found = await recall.statistics(where=where, since=asked.since, before=asked.before)
    if as_json:
        print_json(asdict(found) | {"total": asdict(found.total)})
    else:
        print_text(_charts(found))
    return 0


def _entry(listed: ListedConversation, *, with_project: bool) -> str:
    found = listed.conversation
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.updated))
    facts = [found.id, when, f"{found.turns} turn{'' if found.turns == 1 else 's'}"]
    facts += [f"${found.cost:.2f}"] if found.cost else []
    facts += [f"from {listed.source}"] if listed.source else []
    facts += [found.project] if with_project else []
    facts += [f"open in process {listed.live.pid}"] if listed.live else []
    lines = [found.title or "Untitled", f"  {'  '.join(facts)}"]
    lines += map(describe_hit, listed.hits)
    return "\n".join([*lines, "  …"] if listed.more else lines)


def describe_hit(hit: Hit) -> str:
    """A line with a hit: where it is, and its snippet."""
    return f"  {_where(hit):<16} {_marked(hit)}"


def _where(hit: Hit) -> str:
    return f"{hit.kind} {hit.tool}" if hit.tool else hit.kind


def _marked(hit: Hit) -> str:
    """The snippet with its marks between » and «, so that matches show without colours, too."""
    pieces: list[str] = []
    at = 0
    for first, end in hit.marks:
        pieces += [hit.text[at:first], "»", hit.text[first:end], "«"]
        at = end
    return "".join([*pieces, hit.text[at:]])


def _charts(found: Statistics) -> str:
    total = found.total
    parts = [
        f"{found.conversations:,} conversations, {found.turns:,} turns, {total.input:,} tokens sent"
        f" ({total.cached:,} cached), {total.output:,} generated, ${total.cost:.2f}"
    ]
    days = found.days[-_DAYS:]
    parts += _chart("Tokens by day", [(day.label, day.input + day.output, _spent(day)) for day in days])
    models = found.models[:_MOST]
    parts += _chart(
        "Tokens by model", [(each.label, each.input + each.output, _spent(each)) for each in models]
    )
    tools = [
        (
            each.tool,
            each.calls,
            f"{each.calls:,} calls, {each.failed:,} failed, {each.stopped:,} stopped, {each.seconds:,.1f} s",
        )
        for each in found.tools[:_MOST]
    ]
    parts += _chart("Calls by tool", tools)
    parts += _chart("Changes by file", [(path, count, f"{count:,}") for path, count in found.files[:_MOST]])
    return "\n\n".join(parts)


def _spent(spending: Spending) -> str:
    return f"{spending.input + spending.output:,} ${spending.cost:.2f}"


def _chart(title: str, rows: list[tuple[str, int, str]]) -> list[str]:
    if not rows:
        return []
    most = max((value for _, value, _ in rows), default=0)
    width = min(40, max(len(label) for label, _, _ in rows))
    lines = [f"{label[-width:]:<{width}} {bar(value, most)} {note}" for label, value, note in rows]
    return ["\n".join([title, *lines])]


def bar(value: int, most: int) -> str:
    """A bar of `_BAR` cells at most, in eighths of a cell."""
    eighths = round(value * _BAR * 8 / most) if most > 0 else 0
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(_BAR)
