"""The rows of the recall screen as lines. Foreign text in them is shown, never executed."""

from collections.abc import Sequence
from pathlib import Path

from rich.segment import Segment

from cogency_tui.agent.recall.results import Hit
from cogency_tui.safe_text import one_line
from cogency_tui.store.search.snippets import Marks
from cogency_tui.tui.kit.lines import Line, cells, fit, width_of
from cogency_tui.tui.kit.number_format import dollars, plural, tokens, when
from cogency_tui.tui.recall.rows import Item, RecallEntry
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

UNTITLED = "Untitled"

_LONGEST_TITLE = 300
_TITLE = 24
"""Minimum cells that the columns leave to a title; a third of the line if that is more."""

_KIND = 9
_DEPTH = 6
_CONTEXT = 16
"""Cells before the first mark of a snippet that is too long."""


def title_of(entry: RecallEntry) -> str:
    """The title on one line."""
    return one_line(entry.conversation.title[:_LONGEST_TITLE]) or UNTITLED


def draw_heading(title: str, styles: ThemeStyles) -> Line:
    """Draw the heading of a day or period."""
    return Line([Segment(title, styles("dim", attributes="bold"))])


def draw_entry(
    entry: RecallEntry, item: Item, width: int, styles: ThemeStyles, on: str, *, now: float, everywhere: bool
) -> Line:
    """Draw a conversation: its title, then as many facts as fit, in columns at the right."""
    indent = "  " * min(item.depth, _DEPTH)
    mark = "  "
    if item.below:
        mark = "▸ " if item.folded else "▾ "
    elif entry.conversation.parent is not None:
        mark = "└ " if item.depth else "↳ "
    facts = _columns(entry, width - max(_TITLE, width // 3), now, everywhere=everywhere)
    left = [Segment(indent + mark, styles("dim", on))]
    live = [Segment("  ● open", styles("good", on))] if entry.live else []
    imported = [Segment("  imported", styles("edit", on))] if entry.conversation.imported else []
    right = [*imported, *live, Segment(facts, styles("dim", on))]
    if item.folded:
        right.insert(0, Segment(f"  {plural(item.below, 'fork')}  ", styles("branch", on)))
    room = max(0, width - width_of(left) - width_of(right))
    title = fit(title_of(entry), room)
    style = styles("text", on, "" if item.depth else "bold")
    return Line([*left, Segment(title + " " * (room - cells(title)), style), *right])


def draw_hit(hit: Hit, depth: int, width: int, styles: ThemeStyles, on: str, *, selected: bool) -> Line:
    """Draw a match: its kind of text, and the text around it."""
    indent = "  " * min(depth, _DEPTH) + ("  › " if selected else "    ")
    kind = fit(one_line(hit.tool) if hit.kind in ("call", "output") and hit.tool else hit.kind, _KIND - 1)
    left = [
        Segment(indent, styles("accent", on)),
        Segment(kind + " " * (_KIND - cells(kind)), styles("dim", on, "italic")),
    ]
    return Line([*left, *marked(hit.text, hit.marks, width - width_of(left), styles, on)])


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
    facts += ["imported"] if found.imported else []
    facts.append(plural(found.turns, "turn"))
    facts += [f"{tokens(found.tokens)} tokens"] if found.tokens else []
    facts += [dollars(found.cost)] if found.cost else []
    facts += [f"{plural(entry.files, 'file')} changed"] if entry.files else []
    facts += [one_line(found.branch)] if found.branch else []
    facts.append(one_line(f"{found.provider}/{found.model}"))
    facts += [one_line(short_path(Path(found.project)))] if project else []
    return " · ".join(facts)


def _columns(entry: RecallEntry, room: int, now: float, *, everywhere: bool) -> str:
    """The facts that fit into `room` cells, the most important first; each in a fixed column."""
    found = entry.conversation
    project = one_line(found.project.rstrip("/").rpartition("/")[2])
    files = plural(entry.files, "file") if entry.files else ""
    # The store sums only known costs: a sum of zero means unknown.
    cost = dollars(found.cost) if found.cost else ""
    columns: Sequence[tuple[int, str, int, bool]] = (
        (1, project, 14, everywhere),
        (5, one_line(found.branch), 11, True),
        (4, files, 9, True),
        (2, plural(found.turns, "turn"), 9, True),
        (3, cost, 8, True),
        (0, when(found.updated, now), 11, True),
    )
    shown: set[int] = set()
    for rank, _text, size, requested in sorted(columns):
        if requested:
            if size + 2 > room:
                break
            room -= size + 2
            shown.add(rank)
    return "".join(
        "  " + " " * (size - cells(fitted)) + fitted
        for rank, text, size, _requested in columns
        if rank in shown
        for fitted in [fit(text, size)]
    )


def _revealed(text: str) -> str:
    """Escape `text` as `one_line` does, but preserve its outer spaces."""
    body = text.strip()
    if not body:
        return " " * len(text)
    before, after = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    return " " * before + one_line(body) + " " * after
