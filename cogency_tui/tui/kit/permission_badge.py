"""The badge of a permission mode: one color and word each, and a glyph for the one that runs everything."""

from rich.segment import Segment

from cogency_tui.config.schema import Permissions
from cogency_tui.tui.theme_styles import ThemeStyles

_ROLES: dict[Permissions, str] = {"plan": "accent", "ask": "dim", "edits": "edit", "auto": "bad"}
_GLYPHS: dict[Permissions, str] = {"auto": "» "}
"""In every terminal font; ⏵ is in none of DejaVu, Liberation, Noto, JetBrains Mono, Fira Code and Hack."""


def permission_badge(permissions: Permissions, styles: ThemeStyles, on: str) -> Segment:
    """The badge on the surface `on`."""
    style = styles(_ROLES[permissions], on, "bold reverse")
    return Segment(f" {_GLYPHS.get(permissions, '')}{permissions} ", style)
