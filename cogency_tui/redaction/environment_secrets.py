"""The secrets of our environment, which are known by name."""

import re
from collections.abc import Mapping

_SHORTEST_SECRET = 8


class Veil:
    """Replaces known secrets by a note, in text that arrives in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._names = {value: name for name, value in secrets.items() if len(value) >= _SHORTEST_SECRET}
        # Of two secrets with the same beginning, the longer one first.
        values = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, values))) if values else None
        self._longest = len(values[0]) if values else 0
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """Return the text that can be shown now; a possible beginning of a secret is held back, except with
        the last piece."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(self._note, self._held + text)
        self._held = "" if final else self._possible_beginning(text)
        return text[: len(text) - len(self._held)]

    def over(self, text: str) -> str:
        """Redact a whole text; the state of a stream does not matter."""
        return text if self._pattern is None else self._pattern.sub(self._note, text)

    def _note(self, found: re.Match[str]) -> str:
        note = f"[{self._names[found[0]]} is not shown]"
        return "\n".join([note] * (found[0].count("\n") + 1))

    def _possible_beginning(self, text: str) -> str:
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            end = text[start:]
            if any(value.startswith(end) for value in self._names):
                return end
        return ""
