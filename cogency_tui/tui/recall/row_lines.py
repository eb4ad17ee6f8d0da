"""The rows of the recall screen as lines. Foreign text in them is shown, never executed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.segment import Segment

from cogency_tui.agent.recall.results import Hit
from cogency_tui.safe_text import one_line
from cogency_tui.store.search.snippets import Marks
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.number_format import dollars, plural, tokens, when
from cogency_tui.tui.recall.rows import Item, RecallEntry
from cogency_tui.tui.switcher.rows import CONDITIONS
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

UNTITLED = "Untitled"

_LONGEST_TITLE = 300
_TITLE = 24
"""Minimum cells that the columns leave to a title; half of the line if that is more."""

_WEEK = 6 * 86_400.0
_WEEKDAY = len("Mon 12:00")
_KIND = 9
_DEPTH = 6
_ORIGIN = 24
"""The most cells of the name of a source."""

_CONTEXT = 16
"""Cells before the first mark of a snippet that is too long."""


def title_of(entry: RecallEntry) -> str:
    """The title on one line."""
    return one_line(entry.conversation.title[:_LONGEST_TITLE]) or UNTITLED


def draw_heading(title: str, styles: ThemeStyles) -> Line:
    """Draw the heading of a day or period."""
    return Line([Segment(title, styles("dim", attributes="bold"))])


def draw_entry(
    entry: RecallEntry,
    item: Item,
    columns: "FactColumns",
    width: int,
    styles: ThemeStyles,
    on: str,
    *,
    now: float,
    state: State | None = None,
) -> Line:
    """Draw a conversation, with its `state` if it is open here: its title, then as many facts as fit, in
    columns at the right."""
    indent = "  " * min(item.depth, _DEPTH)
    mark = "  "
    if item.below:
        mark = "▸ " if item.folded else "▾ "
    elif entry.conversation.parent is not None:
        mark = "└ " if item.depth else "↳ "
    facts = _facts(entry, columns, width - max(_TITLE, width // 2), now)
    left = [Segment(indent + mark, styles("dim", on))]
    live = _draw_state("idle" if entry.live else state, styles, on)
    imported = [Segment(f"  {fit(entry.origin, _ORIGIN)}", styles("edit", on))] if entry.origin else []
    begin = entry.conversation.forked_after
    forked = [] if begin is None else [Segment(f"  ⑂ after turn {begin}", styles("branch", on))]
    right = [*forked, *imported, *live, Segment(facts, styles("dim", on))]
    if item.folded:
        right.insert(0, Segment(f"  {plural(item.below, 'fork')}  ", styles("branch", on)))
    room = max(0, width - width_of(left) - width_of(right))
    title = fit(title_of(entry), room)
    style = styles("text", on, "" if item.depth else "bold")
    return Line([*left, Segment(title + " " * (room - cells(title)), style), *right])


def _draw_state(state: State | None, styles: ThemeStyles, on: str) -> list[Segment]:
    """Draw the state of an open conversation: as in the switcher, except that of an idle one."""
    if state is None:
        return []
    text, role = ("● open", "good") if state == "idle" else CONDITIONS[state]
    return [Segment(f"  {text}", styles(role, on))]


def draw_hit(hit: Hit, depth: int, width: int, styles: ThemeStyles, on: str, *, selected: bool) -> Line:
    """Draw a match: its kind of text, and the text around it."""
    indent = "  " * min(depth, _DEPTH) + ("  › " if selected else "    ")
    hit = _without_tool(hit)
    kind = fit(one_line(hit.tool) if hit.kind in ("call", "output") and hit.tool else hit.kind, _KIND - 1)
    left = [
        Segment(indent, styles("accent", on)),
        Segment(kind + " " * (_KIND - cells(kind)), styles("dim", on, "italic")),
    ]
    return Line([*left, *marked(hit.text, hit.marks, width - width_of(left), styles, on)])


def _without_tool(hit: Hit) -> Hit:
    """A call without the name of its tool, which the row has in a column of its own."""
    lead = len(hit.tool) + 1
    if hit.kind != "call" or not hit.text.startswith(f"{hit.tool} "):
        return hit
    marks = tuple((start - lead, end - lead) for start, end in hit.marks if start >= lead)
    return replace(hit, text=hit.text[lead:], marks=marks)


def relative_hit(hit: Hit, project: str) -> Hit:
    """Name the files in the directory `project` relative to it, except where that would hide a mark."""
    text, marks, end = "", list[tuple[int, int]](), 0
    for start, stop in hit.marks:
        text += _without(project, hit.text[end:start])
        marks.append((len(text), len(text) + stop - start))
        text, end = text + hit.text[start:stop], stop
    return replace(hit, text=text + _without(project, hit.text[end:]), marks=tuple(marks))


def _without(project: str, text: str) -> str:
    """A piece of a snippet without the directory `project` in its paths, of which the first may be cut."""
    place = f"{project}/"
    ends = (f"…{place[cut:]}" for cut in range(1, project.rfind("/") + 2))
    if begun := next(filter(text.startswith, ends), ""):
        text = f"…{text.removeprefix(begun)}"
    return text.replace(place, "")


def marked(text: str, marks: Marks, width: int, styles: ThemeStyles, on: str) -> list[Segment]:
    """Fit `text` into `width` cells, with `marks` highlighted, starting near the first if too long."""
    first = marks[0][0] if marks else 0
    # A snippet is escaped piece by piece: escaping it as a whole would shift the marks.
    start = max(0, first - _CONTEXT) if cells(text) > width else 0
    while start and start < first and cells(_revealed(text[start:first])) > _CONTEXT:
        start += 1
    pieces = [("…", "dim", "")] if start else []
    at = start
    for begin, end in marks:
        if begin < at:
            continue
        pieces += [(text[at:begin], "dim", ""), (text[begin:end], "edit", "bold underline")]
        at = end
    pieces.append((text[at:], "dim", ""))
    shown: list[Segment] = []
    room = width
    for piece, role, attributes in pieces:
        # On one line, but with its spaces: those beside a mark belong to the text.
        visible = fit(_revealed(piece), room)
        if visible:
            shown.append(Segment(visible, styles(role, on, attributes)))
            room -= cells(visible)
    return shown


def describe(entry: RecallEntry, *, project: bool) -> str:
    """Describe all facts of a conversation in one line."""
    found = entry.conversation
    facts = [f"open in process {entry.live}"] if entry.live else []
    facts += [f"from {entry.origin}" if entry.source else entry.origin] if entry.origin else []
    facts.append(plural(found.turns, "turn"))
    facts += [f"{tokens(found.tokens)} tokens"] if found.tokens else []
    facts += [dollars(found.cost)] if found.cost else []
    facts += [f"{plural(entry.files, 'file')} changed"] if entry.files else []
    facts += [one_line(found.branch)] if found.branch else []
    facts.append(one_line(f"{found.provider}/{found.model}"))
    facts += [one_line(entry.shared_as or short_path(Path(found.project)))] if project else []
    return " · ".join(facts)


@dataclass(frozen=True, slots=True)
class FactColumns:
    """The widths of the columns at the right of conversations; one without any fact has none."""

    project: int = 0
    branch: int = 0
    files: int = 0
    turns: int = 0
    cost: int = 0
    date: int = 0


def columns_of(entries: Collection[RecallEntry], now: float, *, everywhere: bool) -> FactColumns:
    """The widths for these entries, within bounds."""
    found = [entry.conversation for entry in entries]
    if not found:
        return FactColumns()
    costs = [each.cost for each in found if each.cost]
    files = max(entry.files or 0 for entry in entries)
    return FactColumns(
        min(14, max(cells(_project_of(each)) for each in entries)) if everywhere else 0,
        min(11, max(cells(one_line(each.branch)) for each in found)),
        cells(plural(files, "file")) if files else 0,
        cells(plural(max(each.turns for each in found), "turn")),
        max(cells(dollars(max(costs))), cells(dollars(min(costs)))) if costs else 0,
        _date_width([each.updated for each in found], now),
    )


def _date_width(moments: Sequence[float], now: float) -> int:
    """The width of the longest date; the weekday and time of this week are longer than a day of this year."""
    oldest = when(min(moments), now)
    is_today = " " not in oldest
    return cells(oldest) if is_today or now - max(moments) > _WEEK else max(cells(oldest), _WEEKDAY)


def _facts(entry: RecallEntry, columns: FactColumns, room: int, now: float) -> str:
    """The facts that fit into `room` cells, the most important first; each in its column."""
    found = entry.conversation
    ranked: Sequence[tuple[int, str, int]] = (
        (1, _project_of(entry), columns.project),
        (5, one_line(found.branch), columns.branch),
        (4, plural(entry.files, "file") if entry.files else "", columns.files),
        (2, plural(found.turns, "turn"), columns.turns),
        # The store sums only known costs: a sum of zero means unknown.
        (3, dollars(found.cost) if found.cost else "", columns.cost),
        (0, when(found.updated, now), columns.date),
    )
    shown: set[int] = set()
    for rank, _text, size in sorted(each for each in ranked if each[2]):
        if size + 2 > room:
            break
        room -= size + 2
        shown.add(rank)
    fitted = ((fit(text, size), size) for rank, text, size in ranked if rank in shown)
    return "".join("  " + " " * (size - cells(text)) + text for text, size in fitted)


def _project_of(entry: RecallEntry) -> str:
    return one_line(entry.shared_as or entry.conversation.project.rstrip("/").rpartition("/")[2])


def _revealed(text: str) -> str:
    """Escape `text` as `one_line` does, but preserve its outer spaces."""
    body = text.strip()
    if not body:
        return " " * len(text)
    before, after = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    return " " * before + one_line(body) + " " * after
