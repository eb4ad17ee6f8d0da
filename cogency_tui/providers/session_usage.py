"""What a session sent, apart from what it is billed.

Endpoints report the whole context that they bill for each answer. What was sent for it is the part
that is new: the difference to the context before, as far as their own figures show it.
"""

from collections.abc import Iterable

from cogency_tui.providers.base import Usage
from cogency_tui.providers.tokens import estimate_tokens


class SessionUsage:
    """Counts one session, answer by answer."""

    def __init__(self) -> None:
        self._characters = 0
        self._context = 0
        self._ratio = 0.25

    def sending(self, texts: Iterable[str]) -> None:
        """These texts are sent with the next request for an answer, or were sent since the last."""
        self._characters += sum(len(text) for text in texts)

    def removing(self, tokens: int) -> None:
        """So many tokens are taken out of the context."""
        self._context -= tokens

    def reported(
        self, billed: int, output: int, *, cached: int | None = None, kept: int | None = None
    ) -> Usage:
        """The usage of the answer that just ended, as the endpoint bills it. `kept` are the tokens of
        `output` that stay in its context (all but the reasoning); default: all."""
        new = billed - self._context
        by_length = round(self._characters * self._ratio)
        if not self._context and self._characters:
            self._ratio = billed / self._characters
        # A difference that cannot be (an endpoint that trims its context) is replaced by our estimate.
        sent = new if 0 < new <= billed else by_length
        self._context = billed + (output if kept is None else kept)
        self._characters = 0
        return Usage(sent, output, cached, billed_input=billed)

    def estimated(self, written: Iterable[str]) -> Usage:
        """The usage of an answer for which nothing was reported."""
        sent = max(1, round(self._characters * self._ratio))
        output = estimate_tokens(written)
        self._context += sent + output
        self._characters = 0
        return Usage(sent, output, estimated=True)
