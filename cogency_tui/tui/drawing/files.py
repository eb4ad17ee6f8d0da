"""Files as rows: what the agent changed (● and counts), what git says (a letter), how deep it lies."""

from collections.abc import Sequence

from rich.segment import Segment

from cogency_tui.text import one_line
from cogency_tui.tui.calls import FileChange
from cogency_tui.tui.drawing.lines import Line, cells, fit, fit_path, width_of
from cogency_tui.tui.file_rows import FileRows, Node
from cogency_tui.tui.git_marks import CONFLICT
from cogency_tui.tui.theming import Inks

_LETTERS = {"M": "edit", "A": "good", "D": "bad", "R": "branch", "?": "dim", CONFLICT: "bad"}
_SHALLOW = 6
"""Levels that are set in by two cells each; deeper ones by one, as names need the room."""


def draw_file(rows: FileRows, y: int, width: int, inks: Inks, on: str) -> Line:
    """Row `y` of the tree."""
    depth, node = rows.rows[y]
    change = rows.changes.get(node.path)
    letter = rows.marks.of(node.path)
    opened = node.path in rows.open
    if node.is_directory:
        changed = node.path in rows.changed_inside and not opened
        gutter, gutter_ink = "▾" if opened else "▸", "edit" if changed else "dim"
        letter = letter or ("" if opened else rows.marks.inside.get(node.path, ""))
    elif change:
        gutter, gutter_ink = "●", "edit"
    else:
        gutter, gutter_ink, letter = letter or " ", _LETTERS.get(letter, "dim"), ""
    ink = "dim" if node.gone else "text"
    attributes = "bold" if node.is_directory and not depth else "strike" if node.gone else ""
    indent = min(2 * depth, depth + _SHALLOW, width // 2)
    head = [Segment(" " * indent, inks("text", on)), Segment(f"{gutter} ", inks(gutter_ink, on))]
    right = _right(change, letter, inks, on)
    room = max(4, width - width_of(head) - width_of(right))
    name = fit(one_line(node.name), room)
    space = Segment(" " * max(0, room - cells(name)), inks("text", on))
    return Line([*head, Segment(name, inks(ink, on, attributes)), space, *right])


def draw_found(node: Node, letters: Sequence[int], width: int, inks: Inks, on: str) -> Line:
    """A file that a filter found: its path, in which the characters numbered `letters` were meant."""
    mark = Segment("▸ " if node.is_directory else "  ", inks("dim", on))
    room = width - 2
    path = one_line(node.path)
    shown = fit_path(path, room)
    cut = len(path) - len(shown)
    name = len(shown) - len(one_line(node.name))
    meant = {place - cut for place in letters} if len(path) == len(node.path) else set[int]()
    segments = [
        Segment(
            letter,
            inks("accent", on, "bold") if place in meant else inks("text" if place >= name else "dim", on),
        )
        for place, letter in enumerate(shown)
    ]
    return Line([mark, *segments])


def _right(change: FileChange | None, letter: str, inks: Inks, on: str) -> list[Segment]:
    counts = [f"+{change.added}"] if change and change.added else []
    counts += [f"−{change.removed}"] if change and change.removed else []
    segments = [Segment(f" {' '.join(counts)}", inks("dim", on))] if counts else []
    if letter:
        segments.append(Segment(f" {letter}", inks(_LETTERS.get(letter, "dim"), on)))
    return segments
