"""Deltas as valid Unicode, even where an endpoint splits characters between them."""

import re
from dataclasses import dataclass, field

_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADING_SURROGATES = ("\ud800", "\udbff")


def whole_text(text: str) -> str:
    """Join pairs of surrogates in `text`, and replace lone ones by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class SurrogateJoiner:
    """Joins a pair of surrogates that was split between two deltas."""

    _held: str = field(default="", init=False)

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if text and _LEADING_SURROGATES[0] <= text[-1] <= _LEADING_SURROGATES[1]:
            text, self._held = text[:-1], text[-1]
        return whole_text(text)

    def close(self) -> str:
        held, self._held = self._held, ""
        return whole_text(held)
