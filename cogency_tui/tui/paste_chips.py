"""Chips: short names for big pastes in a draft. `Written` holds both chips and pastes: nothing is lost."""

import re
from collections.abc import Iterable, Mapping, Sequence

from cogency_tui.store.prompt_text import Written

BIG_LINES = 20
BIG_CHARACTERS = 2_000
"""Characters above which a paste is folded into a chip."""


def is_big(text: str) -> bool:
    """Return whether a paste is folded."""
    return len(text) > BIG_CHARACTERS or text.count("\n") >= BIG_LINES


def chip_for(text: str, taken: Mapping[str, str]) -> str:
    """A chip name for `text` that is not `taken` by another text."""
    lines = text.count("\n") + (not text.endswith("\n"))
    what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    chip = f"[pasted {what}]"
    number = 2
    while taken.get(chip, text) != text:
        chip = f"[pasted {what} #{number}]"
        number += 1
    return chip


def chips_in(line: str, pastes: Mapping[str, str]) -> list[tuple[int, int]]:
    """The first and last column of each chip in `line`."""
    return [found.span() for found in re.finditer(_any_of(pastes), line)] if pastes else []


def joined(parts: Iterable[Written]) -> Written:
    """Join all parts into one text, with a blank line between them; chips with equal names are renamed."""
    texts: list[str] = []
    pastes: dict[str, str] = {}
    for part in parts:
        text, own = part.text, {chip: part.pastes[chip] for chip in part.pastes if chip in part.text}
        for chip, content in own.items():
            name = chip_for(content, pastes)
            text = text.replace(chip, name)
            pastes[name] = content
        if text.strip():
            texts.append(text)
    return Written("\n\n".join(texts), pastes)


def following(history: Sequence[Written], since: Sequence[Written]) -> list[Written]:
    """Append `since` to `history`, whose end may already contain the beginning of `since`."""
    sizes = range(min(len(history), len(since)), 0, -1)
    both = next((size for size in sizes if [*history[-size:]] == [*since[:size]]), 0)
    return [*history, *since[both:]]


def _any_of(pastes: Mapping[str, str]) -> str:
    return "|".join(re.escape(chip) for chip in sorted(pastes, key=len, reverse=True))
