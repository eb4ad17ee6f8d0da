"""The register: the text last deleted or copied, and how it is put back."""

from typing import NamedTuple

from cogency_tui.tui.prompt.vim.lines import first_word, last_place, line_end, line_start
from cogency_tui.tui.prompt.vim.replacement import Replacement, repeated
from cogency_tui.tui.prompt.vim.text_objects import Span


class Register(NamedTuple):
    """A text; of `lines` with the newline after each."""

    text: str = ""
    lines: bool = False


def cut(text: str, span: Span) -> Register:
    """The register with this span of `text`."""
    found = text[span.start : span.end]
    return Register(found + "\n" if span.lines else found, span.lines)


def put(register: Register, text: str, at: int, times: int, *, after: bool) -> Replacement | None:
    """Insert a register, `times` over, after or before the cursor or its line."""
    if not register.text:
        return None
    place = _put_lines if register.lines else _put_text
    return place(repeated(register.text, times), text, at, after=after)


def _put_lines(inserted: str, text: str, at: int, *, after: bool) -> Replacement:
    place = line_end(text, at) if after else line_start(text, at)
    lines = "\n" + inserted[:-1] if after else inserted
    return Replacement(place, place, lines, place + first_word(lines, int(after)))


def _put_text(inserted: str, text: str, at: int, *, after: bool) -> Replacement:
    place = min(at + after, line_end(text, at))
    result = text[:place] + inserted + text[place:]
    end = place if "\n" in inserted else place + len(inserted) - 1
    return Replacement(place, place, inserted, min(end, last_place(result, place)))
