"""Select Graphic Rendition (ECMA-48, 8.3.117), translated into roles of our themes.

The colours of a stranger's output are not taken as they are: each becomes the role whose hue is nearest, so
that whatever a command writes keeps the theme's contrast, on light and on dark ground.
"""

import colorsys
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_MOST_PARAMETERS = 32
_GRAY = 0.18
"""Saturation below which a colour is none."""

_NAMED = ("text", "bad", "good", "edit", "accent", "branch", "builtin", "text")
_HUES = ((20, "bad"), (75, "edit"), (165, "good"), (200, "builtin"), (260, "accent"), (335, "branch"))
"""Degrees up to which a hue is that role."""

_GROUNDS = {"bad": "removed", "good": "added"}
_STEPS = (0, 95, 135, 175, 215, 255)
_DEFAULT = ""


class Rendition(NamedTuple):
    """How text is drawn: the role of its ink (empty: the text's own), that of its ground (empty: the
    surface that it lies on), and attributes as `Inks` takes them."""

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
        """The surface to draw on, if it is another one."""
        return "cursor" if self.reverse else self.ground

    @property
    def attributes(self) -> str:
        names = ("bold", "italic", "underline", "strike")
        return " ".join(name for name in names if getattr(self, name))


PLAIN = Rendition()

_REMEMBERED = 1024
"""Sequences whose effect is not worked out again."""


@lru_cache(_REMEMBERED)
def rendition_after(before: Rendition, parameters: str) -> Rendition:
    """The rendition after a sequence with these parameters; what is not known changes nothing."""
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
    """The role of a colour of 256, or of one in red, green and blue; both spellings are in use."""
    if sub:
        kind, *numbers = sub
        # ITU T.416 has a colour space before the three values; many leave it out.
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
        # Which grays are faint depends on the ground that was meant: those in the middle are on any.
        return "dim" if 0.3 < value < 0.7 else "text"
    return next((role for limit, role in _HUES if hue * 360 < limit), "bad")


def _ground(role: str) -> str:
    """The surface for a ground of this hue."""
    if role in (_DEFAULT, "text", "dim"):
        return "raised" if role else _DEFAULT
    return _GROUNDS.get(role, "cursor")
