"""Snapshots of the screen as text files that a person can read and review: what stands where, and in which
roles of the theme.

    async def test_a_failed_call(project: Path) -> None:
        await check_looks("calls-failed", lambda: app_over(agent), prepare)

Each look is one file `tests/tui/looks/NAME.txt`. `COGENCY_LOOKS=write` writes what is seen instead of
comparing with it; look at the difference before it is committed.

Below the text of each line stand its styles as letters, which the legend gives in roles of the theme (`dim on
surface bold`). So a look is the same in every theme unless the layout or the roles differ, and is stored once.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, cast

import msgspec
from rich.color import Color
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot

from cogency_tui.palettes import Palette, load_palette
from tests.tui.driving import opened

SIZES = ((160, 45), (100, 30), (80, 24), (60, 16))
THEMES = ("night", "day")

_LOOKS = Path(__file__).with_name("looks")
_WRITE = os.environ.get("COGENCY_LOOKS") == "write"
_LETTERS = ascii_letters + digits + "!#$%&*+=?@^~"
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse")

Prepare = Callable[[Pilot[Any]], Awaitable[None]]


async def check_looks(
    name: str,
    make: Callable[[], App[Any]],
    prepare: Prepare,
    *,
    sizes: Sequence[tuple[int, int]] = SIZES,
    themes: Sequence[str] = THEMES,
) -> None:
    """Compare what the app shows after `prepare` with the stored looks, in each size and theme.

    `prepare` is called when the main screen has found out where it is, and waits for what is to be seen. Times,
    paths and the like must not be seen: the app is to be given a clock and names of its own. All that differ
    are told together.
    """
    problems: list[str] = []
    for width, height in sizes:
        seen: dict[str, Look] = {}
        for theme in themes:
            app = make()
            async with app.run_test(size=(width, height)) as pilot:
                await pilot.app.run_action(f"app.set_theme({theme!r})")
                await opened(pilot)
                await prepare(pilot)
                await pilot.pause()
                seen[theme] = look_of(pilot.app, theme)
        first, *others = seen
        problems += _compare(f"{name}.{width}x{height}.txt", str(seen[first]))
        for theme in others:
            problems += _differences(f"{name} at {width}x{height} in {theme}", seen[first], seen[theme])
    assert not problems, "\n\n".join([*problems, "COGENCY_LOOKS=write takes them as they are now."])


def _compare(file: str, text: str) -> list[str]:
    path = _LOOKS / file
    if _WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return []
    if not path.exists():
        return [f"There is no look {file}. It would be:\n{text}"]
    stored = path.read_text("utf-8")
    return [] if stored == text else [f"{file} is stored as\n{stored}\nand is seen as\n{text}"]


def _differences(where: str, first: "Look", other: "Look") -> list[str]:
    """What the same screen in another theme must not differ in: texts, and the roles of each cell."""
    problems: list[str] = []
    for y, (mine, theirs) in enumerate(zip_longest(first.lines, other.lines, fillvalue="")):
        if mine != theirs:
            problems.append(f"{where}, line {y}:\n{mine}\n{theirs}")
            continue
        pairs = dict.fromkeys(zip(first.cells[y], other.cells[y], strict=True))
        problems += [
            f"{where}, line {y}: {_either(one)} is {_either(another)}"
            for one, another in pairs
            if not one & another
        ]
    return problems


@dataclass(frozen=True, slots=True)
class Look:
    """Lines of text, and the style of each of their cells: all that it may be where roles share a colour."""

    lines: list[str]
    cells: list[list[frozenset[str]]]

    def __str__(self) -> str:
        legend: dict[frozenset[str], str] = {}
        said: list[str] = []
        for line, cells in zip(self.lines, self.cells, strict=True):
            letters = "".join(legend.setdefault(words, _LETTERS[len(legend)]) for words in cells)
            said += [f"|{line}", f":{letters.rstrip(letters[-1:])}{letters[-1:]}…"]
        return "\n".join([*said, "", *(f"{letter} {_either(words)}" for words, letter in legend.items()), ""])


def look_of(app: App[Any], theme: str) -> Look:
    """What the app shows now, with the roles of `theme`."""
    names = _names(load_palette(theme))
    # Textual has no public way to the cells of a screen but an SVG, whose styles are numbers.
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return Look(
        ["".join(segment.text for segment in strip).rstrip() for strip in strips],
        [
            [words for segment in strip for words in [_words(segment.style, names)] * segment.cell_length]
            for strip in strips
        ],
    )


def _either(words: frozenset[str]) -> str:
    return " or ".join(sorted(words))


def _names(palette: Palette) -> dict[str, set[str]]:
    """The roles of each colour."""
    roles: dict[str, set[str]] = {}
    for group in (palette.colors, palette.syntax):
        for role, color in cast("dict[str, str]", msgspec.to_builtins(group)).items():
            roles.setdefault(color.lower(), set()).add(role)
    return roles


def _words(style: Style | None, names: dict[str, set[str]]) -> frozenset[str]:
    if style is None:
        return frozenset({"plain"})
    attributes = "".join(f" {each}" for each in _ATTRIBUTES if getattr(style, each))
    fronts, backs = (_roles(color, names) for color in (style.color, style.bgcolor))
    return frozenset(f"{front} on {back}{attributes}" for front in fronts for back in backs)


def _roles(color: Color | None, names: dict[str, set[str]]) -> set[str]:
    if color is None:
        return {"default"}
    if color.triplet is None:
        return {color.name}
    # Textual mixes some colours itself (scroll bars, selections): those have no role.
    return names.get(color.triplet.hex.lower(), {"mixed"})
