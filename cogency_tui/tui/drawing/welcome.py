"""What an empty conversation shows: what this is, which model answers and why, and what to try."""

import msgspec
from rich.segment import Segment

from cogency_tui.text import one_line
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.theming import Inks

OFFLINE = "offline"
_TRY = (
    "explain what this project does",
    "find where the settings are read",
    "write a test for the part that has none",
)
_TRY_OFFLINE = (
    "list the files",
    "explain README.md",
    "create notes.txt then run the tests",
)
_WAY_COLUMN = 15
_WAYS = (
    ("/mode", "how turns are run"),
    ("/permissions", "what runs without asking"),
    ("F1", "all keys and commands"),
)


class Situation(msgspec.Struct, frozen=True):
    """Which model answers, chosen `by` what."""

    provider: str
    model: str
    config: str


def draw_welcome(situation: Situation, width: int, inks: Inks) -> list[Line]:
    """The start text in `width` cells."""
    text, dim, strong = inks("text"), inks("dim"), inks("text", attributes="bold")
    model = f"{one_line(situation.provider)}/{one_line(situation.model)}"
    lines = wrap([Segment("A coding agent in this directory.", strong)], width)
    lines += wrap(
        [Segment("It reads, searches, edits and runs; you see each step, and are asked first.", dim)], width
    )
    if situation.provider == OFFLINE:
        why = "answers, because no other is configured. It is built in: no key, no network, no real model."
    else:
        why = "answers, as the configuration says."
    lines += [BLANK, *wrap([Segment(model, inks("accent")), Segment(f" {why}", text)], width)]
    tries = _TRY_OFFLINE if situation.provider == OFFLINE else _TRY
    lines += [BLANK, Line([Segment("Try", strong)])]
    lines += [
        line.indented(Segment("  › ", inks("accent")))
        for line in (Line([Segment(each, text)]) for each in tries)
    ]
    if situation.provider == OFFLINE:
        lines += [BLANK, Line([Segment("Add a provider", strong)])]
        how = "Set OPENAI_API_KEY and start with --provider openai, or write a [providers.NAME] table into "
        lines += _indent(
            wrap([Segment(how, text), Segment(one_line(situation.config), inks("edit"))], width - 2), inks
        )
    lines.append(BLANK)
    for key, meaning in _WAYS:
        lines.append(Line([Segment(key.ljust(_WAY_COLUMN), inks("accent")), Segment(meaning, dim)]))
    return lines


def _indent(lines: list[Line], inks: Inks) -> list[Line]:
    return [line.indented(Segment("  ", inks())) for line in lines]
