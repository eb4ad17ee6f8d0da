"""The usage of sessions that have to be given the system prompt again, which the context has once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.session_usage import SessionUsage


class RepeatingUsage:
    """Counts one session, answer by answer. `seed` is what it begins with."""

    def __init__(self, seed: Sequence[Message]) -> None:
        self._inner = SessionUsage()
        self._system = sum(len(each["content"]) for each in seed if each["role"] == "system")
        self._characters = 0
        self._tokens: int | None = None
        self._again = 0
        self.sending(seed)

    def sending(self, messages: Iterable[Message]) -> None:
        """These messages are new to the context with the next answer."""
        texts = [each["content"] for each in messages]
        self._characters += sum(len(text) for text in texts)
        self._inner.sending(texts)

    def repeating(self) -> None:
        """The system prompt is sent again for the next answer."""
        self._again = self._tokens or 0

    def reported(self, billed: int, output: int, *, cached: int | None, kept: int) -> Usage:
        """As `SessionUsage.reported`, with the system prompt where it was sent again."""
        usage = self._inner.reported(billed, output, cached=cached, kept=kept)
        if self._tokens is None:
            self._tokens = round(self._system * billed / max(1, self._characters))
        return self._repeated(usage)

    def estimated(self, written: Iterable[str]) -> Usage:
        """As `SessionUsage.estimated`, with the system prompt where it was sent again."""
        return self._repeated(self._inner.estimated(written))

    def _repeated(self, usage: Usage) -> Usage:
        again, self._again = self._again, 0
        return replace(usage, input=usage.input + again)
