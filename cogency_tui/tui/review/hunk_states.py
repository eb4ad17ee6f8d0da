"""The state and the fate of a hunk: a glyph, a role of the theme and a word for each."""

from collections import Counter
from collections.abc import Mapping

from rich.segment import Segment

from cogency_tui.agent.review.model import ChangedFile, Fate, HunkState
from cogency_tui.store.edit_records import Kind
from cogency_tui.tui.theme_styles import ThemeStyles

STATES: tuple[HunkState, ...] = ("new", "conflict", "edited", "kept", "reverted", "gone")
"""All states, the undecided ones first."""

GLYPHS: Mapping[HunkState, str] = {
    "new": "●",
    "kept": "✓",
    "reverted": "↺",
    "edited": "✎",
    "conflict": "≠",
    "gone": "∅",
}
ROLES: Mapping[HunkState, str] = {
    "new": "edit",
    "kept": "good",
    "reverted": "dim",
    "edited": "accent",
    "conflict": "bad",
    "gone": "dim",
}
FATES: Mapping[Fate, tuple[str, str]] = {
    "still there": ("applied", "dim"),
    "moved": ("moved", "dim"),
    "changed since": ("edited since", "accent"),
    "gone": ("gone", "edit"),
    "unknown": ("unknown", "dim"),
}
"""The role of each word."""

KIND_LETTERS: Mapping[Kind, str] = {
    "created": "A",
    "changed": "M",
    "deleted": "D",
    "renamed": "R",
    "mode": "M",
    "snapshot": "M",
}
"""Git's letters."""


def state_mark(state: HunkState, styles: ThemeStyles, on: str, *, word: bool = True) -> list[Segment]:
    """Draw glyph and word of a state."""
    style = styles(ROLES[state], on)
    return [Segment(f"{GLYPHS[state]} {state}" if word else GLYPHS[state], style)]


def comment_mark(count: int) -> str:
    """The mark of so many comments that go with the next message."""
    return f"¶ {count}" if count else ""


MIXED = "◐"
"""The glyph of a file whose hunks were decided differently."""


def is_mixed(file: ChangedFile) -> bool:
    """Return whether all hunks of a file are decided, and not all alike."""
    return len(set(file.states)) > 1 and file.state == "edited"


def file_glyph(file: ChangedFile) -> str:
    """The glyph of a file's state."""
    return MIXED if is_mixed(file) else GLYPHS[file.state]


def file_words(file: ChangedFile, *, short: bool = False) -> list[tuple[str, str]]:
    """The words of a file's state, each with its role; of mixed states `1 kept · 1 reverted`, or `1✓ 1↺` if
    `short`. Of a file whose lines alone are reverted, `reverted · still renamed`.
    """
    if file.state in ("reverted", "gone") and file.remaining and not short:
        return [(file.state, ROLES[file.state]), (" · ", "dim"), (f"still {file.remaining}", "edit")]
    if not is_mixed(file):
        return [(file.state, ROLES[file.state])]
    counts = Counter(file.states)
    found: list[tuple[str, str]] = []
    for state in filter(counts.get, STATES):
        joint = (" " if short else " · ") if found else ""
        found += [(joint, "dim"), (f"{counts[state]}{GLYPHS[state] if short else f' {state}'}", ROLES[state])]
    return found


def file_state(file: ChangedFile, styles: ThemeStyles, on: str, *, short: bool = False) -> list[Segment]:
    """Draw the words of a file's state."""
    return [Segment(text, styles(role, on)) for text, role in file_words(file, short=short)]
