"""The grammar of the keys: what a sequence of them commands.

A command that the prompt does not have is `unknown` only with its last key, so that none of its keys commands
something else: an operator with its motion or object, a mark with its letter, a selection with the operator
that ends it, a search up to Enter, replace mode up to Esc.
"""

import re
from dataclasses import dataclass
from math import prod
from typing import Literal

from cogency_tui.tui.prompt.vim.motions import MOTIONS

REDO = "\x12"
"""Ctrl+R."""

BLOCK = "\x16"
"""Ctrl+V."""

_COUNT = r"[1-9]\d*(?!\d)"
_KEYS = re.escape("".join(key for key in MOTIONS if len(key) == 1))
_LONG = "|".join(re.escape(key) for key in MOTIONS if len(key) > 1)
_MOTION = rf"{_LONG}|[{_KEYS}]|[fFtT]."
_OBJECT = r"[ia][wWp\"'`()b\[\]{}B<>]"
_REGISTER = r"\"."
"""The name of a register, of which there is one, whatever it is called."""

_COMMAND = re.compile(
    rf"(?P<count>{_COUNT})?(?:{_REGISTER}(?P<repeated>{_COUNT})?)?"
    rf"(?:(?P<motion>{_MOTION})|(?P<operator>[dcy<>])(?P<second>{_COUNT})?"
    rf"(?:(?P<target>{_MOTION})|(?P<object>{_OBJECT})|(?P<lines>(?P=operator)))"
    rf"|(?P<command>[xXDCYsSJpP~oOaAiIu.{REDO}]|r.))",
    re.DOTALL,
)
_SEARCH = r"/[^\n]*"
_OPERATED = rf"(?:[dcy<>=!]|g[uU~?qw])(?:[1-9]\d*)?(?:[iagfFtT'`\[\]z]|{_SEARCH})?"
_WITH_ARGUMENT = r"g?r|[gfFtTm'`@qzZ\[\]]|g['`]"
_TYPED = r"(?:c(?:[ia][st]|['`\[\]].|[nN*#HML()])|g?R).*"
"""What text follows up to Esc."""

_WAY = rf"[vV{BLOCK}]"
_EXTENDED = rf"\d|{_MOTION}|{_OBJECT}|{_REGISTER}|{_SEARCH}\n|[oO]|(?!(?P=way)){_WAY}"
_SELECTION = rf"(?P<way>{_WAY})(?:{_EXTENDED})*(?:[iagfFtTr\"]|[cCsSRIA].*|[:/][^\n]*)?"
"""Visual mode up to the operator that ends it, with the text that this one inserts."""

_BEGUN = re.compile(
    r"(?:[1-9]\d*)?(?:\"(?:.(?:[1-9]\d*)?)?)?"
    rf"(?:{_OPERATED}|{_WITH_ARGUMENT}|{_SEARCH}|{_TYPED}|{_SELECTION})?",
    re.DOTALL,
)

_MISSING = {
    **dict.fromkeys(("v", "V", BLOCK), "visual mode"),
    **dict.fromkeys("m'`", "marks"),
    **dict.fromkeys("q@", "macros"),
    "R": "replace mode",
    "/": "search",
}
"""What Vim has and the prompt does not, by the key that begins it."""

_SHORT = {
    "x": ("d", "l"),
    "X": ("d", "h"),
    "D": ("d", "$"),
    "C": ("c", "$"),
    "s": ("c", "l"),
    "S": ("c", ""),
    "Y": ("y", ""),
}
"""Commands that stand for an operator and a motion, or for an operator on lines."""

_MOST = 9_999
"""The highest count: a higher one only takes longer."""


@dataclass(frozen=True)
class Command:
    """What keys mean: a command, or else an operator on a motion, text object or (`lines`) whole lines.

    Without an operator a motion moves the cursor. `count` is 0 if none was typed.
    """

    count: int = 0
    command: str = ""
    operator: str = ""
    motion: str = ""
    object: str = ""
    lines: bool = False

    @property
    def times(self) -> int:
        return max(1, self.count)

    @property
    def argument(self) -> str:
        """The character that `f`, `t` and `r` have after them."""
        return (self.motion or self.command)[1:]


def parse(keys: str) -> Command | Literal["begun", "unknown"]:
    """The command of `keys`; or that they begin one, or none."""
    found = _COMMAND.fullmatch(keys)
    if found is None:
        return "begun" if _BEGUN.fullmatch(keys) else "unknown"
    given = {name: text for name, text in found.groupdict().items() if text}
    count = _product([int(given[name]) for name in ("count", "repeated", "second") if name in given])
    if short := _SHORT.get(given.get("command", "")):
        operator, motion = short
        return Command(count, operator=operator, motion=motion, lines=not motion)
    return Command(
        count,
        given.get("command", ""),
        given.get("operator", ""),
        given.get("motion", "") or given.get("target", ""),
        given.get("object", ""),
        "lines" in given,
    )


def missing(key: str) -> str:
    """What the prompt does not have of that which `key` begins in Vim; empty if it has that."""
    return _MISSING.get(key, "")


def _product(counts: list[int]) -> int:
    """The product of the counts; 0 if there are none."""
    return min(prod(counts), _MOST) if counts else 0
