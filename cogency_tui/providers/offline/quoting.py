"""Quoted parts of a message, replaced by single words, so that the grammar sees only the user's own words.

A mark replaces the whole quoted part, fences included; `value` restores the text in the quotes and `raw`
the quotes as well.
"""

import re
from dataclasses import dataclass, field

MARK = "\ue000\\d+\ue001"
"""Pattern of one mark."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_QUOTES = re.compile(
    r"(?P<code>`[^`\n]+`)|(?P<double>\"[^\"\n]*\")|(?P<curly>“[^”\n]*”|‘[^’\n]*’)"
    r"|(?P<single>(?<![\w'])'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w))"
)
_MARKED = re.compile(MARK)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted part. `kind` is `fence`, `block` (lines after a colon) or the quotes' name."""

    kind: str
    value: str
    raw: str


@dataclass(slots=True)
class Quoted:
    """A message with marks for its quoted parts."""

    text: str
    quotes: list[Quote] = field(default_factory=list[Quote])

    def mark(self, kind: str, value: str, raw: str) -> str:
        """Store a quoted part and return its mark."""
        self.quotes.append(Quote(kind, value, raw))
        return f"\ue000{len(self.quotes) - 1}\ue001"

    def value(self, text: str) -> str:
        """Restore the quoted text in `text`, without its quotes."""
        return _MARKED.sub(lambda mark: self._quote(mark).value, text)

    def raw(self, text: str) -> str:
        """Restore `text` as the user wrote it."""
        return _MARKED.sub(lambda mark: self._quote(mark).raw, text)

    def whole(self, text: str) -> Quote | None:
        """Return the quoted part that is the whole of `text`, if it is one."""
        mark = _MARKED.fullmatch(text.strip())
        return self._quote(mark) if mark else None

    def has_fence(self, text: str) -> bool:
        """Return whether `text` contains a fenced block."""
        return any(self._quote(mark).kind == "fence" for mark in _MARKED.finditer(text))

    def _quote(self, mark: re.Match[str]) -> Quote:
        return self.quotes[int(mark.group()[1:-1])]


def mark_quotes(message: str) -> Quoted:
    """Replace the quoted parts of `message` by marks: fenced blocks first, then code and quotes."""
    # The marks' own characters are for private use, and dropped from a message.
    quoted = Quoted(message.replace("\ue000", "").replace("\ue001", ""))

    def fenced(match: re.Match[str]) -> str:
        return quoted.mark("fence", match[2], match[0])

    def inline(match: re.Match[str]) -> str:
        return quoted.mark(match.lastgroup or "", match[0][1:-1], match[0])

    quoted.text = _FENCE.sub(fenced, quoted.text)
    quoted.text = _QUOTES.sub(inline, quoted.text)
    return quoted
