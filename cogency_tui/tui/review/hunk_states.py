"""The state and the fate of a hunk: a glyph, a role of the theme and a word for each."""

from collections.abc import Mapping

from rich.segment import Segment

from cogency_tui.agent.review.model import Fate
from cogency_tui.store.edit_records import Kind, State
from cogency_tui.tui.theme_styles import ThemeStyles

STATES: tuple[State, ...] = ("new", "conflict", "edited", "kept", "reverted")
"""All states, the undecided ones first."""

GLYPHS: Mapping[State, str] = {"new": "●", "kept": "✓", "reverted": "↺", "edited": "✎", "conflict": "≠"}
ROLES: Mapping[State, str] = {
    "new": "edit",
    "kept": "good",
    "reverted": "dim",
    "edited": "accent",
    "conflict": "bad",
}
FATES: Mapping[Fate, tuple[str, str]] = {
    "still there": ("applied", "dim"),
    "moved": ("moved", "dim"),
    "changed since": ("edited later", "edit"),
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


def state_mark(state: State, styles: ThemeStyles, on: str, *, word: bool = True) -> list[Segment]:
    """Draw glyph and word of a state."""
    style = styles(ROLES[state], on)
    return [Segment(f"{GLYPHS[state]} {state}" if word else GLYPHS[state], style)]
