"""Select Graphic Rendition (ECMA-48, 8.3.117), translated into roles of our themes.

The colors of foreign output are not used unchanged: each becomes the role with the nearest hue, so that all
output keeps the theme's contrast, on light and dark grounds.
"""

import colorsys
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_MOST_PARAMETERS = 32
_GRAY = 0.18
"""Saturation below which a color counts as gray."""

_NAMED = ("text", "bad", "good", "edit", "accent", "branch", "builtin", "text")
_HUES = ((20, "bad"), (75, "edit"), (165, "good"), (200, "builtin"), (260, "accent"), (335, "branch"))
"""The upper limit in degrees of each role's hue."""

_GROUNDS = {"bad": "removed", "good": "added"}
_STEPS = (0, 95, 135, 175, 215, 255)
_DEFAULT = ""


class Rendition(NamedTuple):
    """The rendition of text: its foreground role (empty: the text's own), its background role (empty: the
    surface below), and attributes as `ThemeStyles` accepts them."""

    ink: str = _DEFAULT
    ground: str = _DEFAULT
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False

    @property
    def role(self) -> str:
        return self.ink or ("dim" if self.faint else "text")

    @property
    def surface(self) -> str:
        """The surface to draw on, if it differs."""
        return "cursor" if self.reverse else self.ground

    @property
    def attributes(self) -> str:
        names = ("bold", "italic", "underline", "strike")
        return " ".join(name for name in names if getattr(self, name))


PLAIN = Rendition()

_REMEMBERED = 1024
"""The size of the cache of sequences."""


@lru_cache(_REMEMBERED)
def rendition_after(before: Rendition, parameters: str) -> Rendition:
    """The rendition after a sequence with these parameters; unknown ones have no effect."""
    after = before
    codes = iter(parameters.split(";")[:_MOST_PARAMETERS])
    for code in codes:
        after = _after_one(after, code, codes)
    return after


def _after_one(now: Rendition, code: str, rest: Iterator[str]) -> Rendition:
    main, *sub = code.split(":")
    number = int(main) if main.isascii() and main.isdigit() else 0 if not main else -1
    match number:
        case 0:
            return PLAIN
        case 1:
            return now._replace(bold=True)
        case 2:
            return now._replace(faint=True)
        case 3:
            return now._replace(italic=True)
        case 4:
            return now._replace(underline=sub != ["0"])
        case 7:
            return now._replace(reverse=True)
        case 9:
            return now._replace(strike=True)
        case 21 | 22:
            return now._replace(bold=False, faint=False)
        case 23:
            return now._replace(italic=False)
        case 24:
            return now._replace(underline=False)
        case 27:
            return now._replace(reverse=False)
        case 29:
            return now._replace(strike=False)
        case 39:
            return now._replace(ink=_DEFAULT)
        case 49:
            return now._replace(ground=_DEFAULT)
        case 38:
            return now._replace(ink=_extended(sub, rest))
        case 48:
            return now._replace(ground=_ground(_extended(sub, rest)))
        case _ if 30 <= number <= 37 or 90 <= number <= 97:
            return now._replace(ink=_palette_role(number % 10 + (8 if number >= 90 else 0)))
        case _ if 40 <= number <= 47 or 100 <= number <= 107:
            return now._replace(ground=_ground(_palette_role(number % 10 + (8 if number >= 100 else 0))))
        case _:
            return now


def _extended(sub: list[str], rest: Iterator[str]) -> str:
    """The role of a 256-color or RGB color; accepts both spellings in use."""
    if sub:
        kind, *numbers = sub
        # ITU T.416 puts a color space before the three values; many programs omit it.
        numbers = numbers[-3:] if kind == "2" else numbers[:1]
    else:
        kind = next(rest, "")
        numbers = [next(rest, "") for _ in range({"5": 1, "2": 3}.get(kind, 0))]
    values = [min(255, int(each)) if each.isascii() and each.isdigit() else 0 for each in numbers]
    if kind == "5" and len(values) == 1:
        return _palette_role(values[0])
    if kind == "2" and len(values) == 3:
        return _role_of_hue(*values)
    return _DEFAULT


def _palette_role(index: int) -> str:
    if index < 16:
        return "dim" if index == 8 else _NAMED[index % 8]
    if index >= 232:
        level = 8 + 10 * (index - 232)
        return _role_of_hue(level, level, level)
    index -= 16
    return _role_of_hue(_STEPS[index // 36], _STEPS[index // 6 % 6], _STEPS[index % 6])


def _role_of_hue(red: int, green: int, blue: int) -> str:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if saturation < _GRAY or value < _GRAY:
        # Whether a light or dark gray is faint depends on the intended ground; a middle gray is on any.
        return "dim" if 0.3 < value < 0.7 else "text"
    return next((role for limit, role in _HUES if hue * 360 < limit), "bad")


def _ground(role: str) -> str:
    """The surface for a background of this hue."""
    if role in (_DEFAULT, "text", "dim"):
        return "raised" if role else _DEFAULT
    return _GROUNDS.get(role, "cursor")
