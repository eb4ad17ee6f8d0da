"""Snapshots of the screen as text files that a person can read and review: what stands where, and in which
roles of the theme.

    async def test_a_failed_call(project: Path) -> None:
        await check_looks("calls-failed", lambda: app_over(agent), prepare)

Each look is one file `looks/NAME.WIDTHxHEIGHT.txt` beside the test that takes it. `COGENCY_LOOKS=write` writes
what is seen instead of comparing with it; read the difference before you commit it.

Below the text of each line are its styles as letters, which the legend gives in roles of the theme (`dim on
surface bold`). So a look is the same in every theme unless the layout or the roles differ, and is stored once. A
style keeps the letter that it has in the stored look, so that a new style changes only the lines that show it.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, cast

import msgspec
import pytest
from rich.color import Color
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot

from cogency_tui.config.themes import Palette, load_palette
from tests import ROOT
from tests.exhaustive import is_quick, sampled
from tests.tui.driving import opened, until

SIZES = ((160, 45), (100, 30), (80, 24), (60, 16))
THEMES = ("night", "day")

each_size = pytest.mark.parametrize(("width", "height"), sampled(SIZES, quick=1))
"""For a test that starts the app in one size: `check_looks(…, sizes=[(width, height)])`."""

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
    themes: Sequence[str] | None = None,
    live: bool = True,
) -> None:
    """Compare what the app shows after `prepare` with the stored looks, in each size and theme.

    The app starts once, in the first size, is resized to the others, and changes its theme in the last. Where what
    is shown depends on the size that it was prepared in (a scroll position, a pane that is opened), the test is
    marked `each_size`. Where it depends on the theme having changed, the app starts in each theme: not `live`.
    The quick run takes the first size and the last. A larger size alone is shown in one theme, unless `themes`
    are given: the smallest shows the other.

    `prepare` is called when the main screen has found out where it is, and waits for what is to be seen. Times,
    paths and the like must not be seen: the app is to be given a clock and names of its own. All that differ
    are reported together.
    """
    themes = themes or (THEMES[:1] if len(sizes) == 1 and sizes[0] in SIZES[:-1] else THEMES)
    if not _WRITE and is_quick():
        sizes = list(dict.fromkeys([sizes[0], sizes[-1]]))
    looks: dict[tuple[int, int], dict[str, Look]] = {size: {} for size in sizes}
    for group in [themes] if live else [[theme] for theme in themes]:
        async with make().run_test(size=sizes[0]) as pilot:
            await _show_theme(pilot, group[0])
            await opened(pilot)
            await prepare(pilot)
            await pilot.pause()
            for size in sizes:
                await _resize(pilot, size)
                shown = sorted(group, key=pilot.app.theme.__ne__)
                for theme in shown if size == sizes[-1] else shown[:1]:
                    await _show_theme(pilot, theme)
                    looks[size][theme] = look_of(pilot.app, theme)
    problems = [
        each
        for (width, height), seen in looks.items()
        for each in _problems(
            f"{name}.{width}x{height}", [(theme, seen[theme]) for theme in themes if theme in seen]
        )
    ]
    assert not problems, "\n\n".join([*problems, "COGENCY_LOOKS=write takes them as they are now."])


async def _resize(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    if pilot.app.size != size:
        await pilot.resize_terminal(*size)
        # Textual waits a moment for another change of the size.
        compositor = pilot.app.screen._compositor  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: compositor.size == size)
        await pilot.pause()


async def _show_theme(pilot: Pilot[Any], name: str) -> None:
    """Change the theme, and wait until each widget is drawn in it."""
    if pilot.app.theme == name:
        return
    await pilot.app.run_action(f"app.set_theme({name!r})")
    await pilot.pause()
    workers = cast("Any", pilot.app.workers)
    await until(pilot, lambda: all(each.is_finished for each in workers if each.group == "restyle"))
    await pilot.pause()


def _problems(name: str, looks: Sequence[tuple[str, "Look"]]) -> list[str]:
    """What differs in one size: in the first theme from the stored look, in the others from the first."""
    (_, first), *others = looks
    problems = _compare(f"{name}.txt", first)
    for theme, look in others:
        problems += _differences(f"{name} in {theme}", first, look)
    return problems


def _compare(file: str, look: "Look") -> list[str]:
    path = _directory() / file
    stored = path.read_text("utf-8") if path.exists() else ""
    text = look.text(_legend_of(stored))
    if _WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return []
    if not stored:
        return [f"There is no look {file}. It would be:\n{text}"]
    return [] if stored == text else [f"{file} is stored as\n{stored}\nand is seen as\n{text}"]


def _directory() -> Path:
    """`looks` beside the test that runs."""
    test, _, _ = os.environ["PYTEST_CURRENT_TEST"].partition("::")
    return (ROOT / test).with_name("looks")


def _legend_of(stored: str) -> dict[str, str]:
    """The letter of each style in a stored look."""
    _, _, legend = stored.rpartition("\n\n")
    return {words: letter for letter, _, words in (line.partition(" ") for line in legend.splitlines())}


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

    def text(self, letters: dict[str, str]) -> str:
        """The look as it is stored, with `letters` for the styles that have one already."""
        legend: dict[str, str] = {}
        free = (letter for letter in _LETTERS if letter not in letters.values())
        said: list[str] = []
        for line, cells in zip(self.lines, self.cells, strict=True):
            row = ""
            for words in map(_either, cells):
                if words not in legend:
                    legend[words] = letters.get(words) or next(free)
                row += legend[words]
            said += [f"|{line}", f":{row.rstrip(row[-1:])}{row[-1:]}…"]
        return "\n".join([*said, "", *(f"{letter} {words}" for words, letter in legend.items()), ""])


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
