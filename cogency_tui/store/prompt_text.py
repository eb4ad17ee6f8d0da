"""A text of the user's with chips for its pasted parts."""

import re
from collections.abc import Mapping

import msgspec


class Written(msgspec.Struct, frozen=True):
    """A text with chips for pasted parts; `pastes` are their contents. A prompt from a file is not the
    user's `own`."""

    text: str
    pastes: Mapping[str, str] = {}
    own: bool = True

    @property
    def full(self) -> str:
        """Return the text with its pasted parts."""
        if not self.pastes:
            return self.text
        chips = "|".join(re.escape(chip) for chip in sorted(self.pastes, key=len, reverse=True))
        return re.sub(chips, lambda found: self.pastes[found[0]], self.text)
