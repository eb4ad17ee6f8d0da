"""Known secrets: those that were found in files.

A piece of one is a secret wherever it appears: on lines of any width, in Base64, in hexadecimal digits, or
backwards.
"""

import re
from base64 import b64encode
from collections.abc import Hashable, Iterable, Iterator

from cogency_tui.redaction.secret_spans import Span
from cogency_tui.redaction.secret_values import is_random_value

_SHORTEST = 8
_SHORTEST_PIECE = 16
_STEP = 8
"""Characters between two positions of a secret that are looked up: each piece contains one of them."""

_MOST = 1 << 21
"""Most characters of known secrets, in all spellings."""

_MOST_SOURCES = 10_000
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(rf"\S{{{_SHORTEST},}}")


class KnownSecrets:
    """The known secrets of one conversation."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, int]] = {}
        self._room = _MOST
        self._learnt: set[str] = set()
        self._sources: set[Hashable] = set()

    def __bool__(self) -> bool:
        return bool(self._places)

    def is_new(self, source: Hashable) -> bool:
        """Return whether a source of secrets has not been asked about before."""
        if source in self._sources or len(self._sources) >= _MOST_SOURCES:
            return source not in self._sources
        self._sources.add(source)
        return True

    def learn(self, text: str, spans: Iterable[Span]) -> None:
        """Learn the secrets of a text."""
        for start, end in _joined(text, spans):
            secret = text[start:end]
            if secret in self._learnt:
                continue
            if len(secret) >= _SHORTEST_PIECE or is_random_value(secret):
                self._learnt.add(secret)
                for spelling in _spellings(secret):
                    self._add(spelling)

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the pieces of known secrets in a text."""
        if not self._places:
            return
        for word in _WORD.finditer(text):
            place, end = word.span()
            first = place
            while place <= end - _STEP:
                found = self._places.get(text[place : place + _STEP])
                piece = found and _piece(text, (first, place, end), *found)
                if piece:
                    yield piece
                    first = place = piece[1]
                else:
                    place += 1

    def _add(self, secret: str) -> None:
        if len(secret) < _SHORTEST or len(secret) > self._room:
            return
        self._room -= len(secret)
        for offset in range(0, len(secret) - _STEP + 1, _STEP):
            self._places.setdefault(secret[offset : offset + _STEP], (secret, offset))


def _joined(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans of secrets, those of consecutive lines joined."""
    joined: Span | None = None
    for start, end in spans:
        if joined and not text[joined[1] : start].strip():
            joined = (joined[0], end)
            continue
        if joined:
            yield joined
        joined = (start, end)
    if joined:
        yield joined


def _spellings(secret: str) -> Iterator[str]:
    yield (plain := _BLANKS.sub("", secret))
    yield plain[::-1]
    data = secret.encode("utf-8", "replace")
    yield data.hex()
    for before in range(3):
        # Neighbouring characters affect the first and the last ones.
        encoded = b64encode(b"\0" * before + data).decode()
        yield encoded[4 if before else 0 : -4]


def _piece(text: str, around: tuple[int, int, int], secret: str, offset: int) -> Span | None:
    """Return the piece of a secret whose characters behind `offset` are at a position of a word; `around`
    are the word's first character, the position, and the word's end."""
    first, start, limit = around
    end, last = start + _STEP, offset + _STEP
    while start > first and offset and text[start - 1] == secret[offset - 1]:
        start, offset = start - 1, offset - 1
    while end < limit and last < len(secret) and text[end] == secret[last]:
        end, last = end + 1, last + 1
    return (start, end) if end - start >= min(_SHORTEST_PIECE, len(secret)) else None
