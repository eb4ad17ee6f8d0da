"""Token counts: our own estimates, and the usage of a session, answer by answer.

An endpoint that reports none gets an estimate: four characters for each token, at least one token. It is
always marked `estimated` where it is shown.

Endpoints report the whole context that they bill for each answer. The part that was sent for it is the new
one: the difference to the context before, as far as their own figures show it.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cogency_tui.providers.base import Usage

if TYPE_CHECKING:
    from cogency_tui.protocol.messages import Message

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """Count the tokens of all `texts` together, rounded up."""
    return tokens_of(sum(len(text) for text in texts))


def tokens_of(characters: int) -> int:
    """Count the tokens of a text with this many characters, rounded up."""
    return max(1, -(-characters // CHARACTERS_PER_TOKEN))


def rest_of(usage: Usage, known: Usage) -> Usage:
    """Return what a whole answer took beyond `known`, the estimate of its beginning. Its input was sent once,
    but is billed with the whole context."""
    billed = max(0, usage.input - known.input)
    cached = None if usage.cached is None else min(usage.cached, billed)
    output = max(0, usage.output - known.output)
    return replace(usage, input=0, output=output, cached=cached, billed_input=billed, estimated=True)


class SessionUsage:
    """The usage of one session."""

    def __init__(self) -> None:
        self._characters = 0
        self._images = 0
        self._context = 0
        self._ratio = 0.25

    def sending(self, texts: Iterable[str], images: int = 0) -> None:
        """Count texts, and images of so many tokens, that are sent with the next request for an answer, or
        were sent since the last."""
        self._characters += sum(len(text) for text in texts)
        self._images += images

    def sending_messages(self, messages: Iterable["Message"], model: str) -> None:
        """Count messages to `model`, as `sending`."""
        # Before the first frame only the figures above are needed.
        from cogency_tui.protocol.messages import images_in
        from cogency_tui.providers.image_tokens import tokens_of_images

        for each in messages:
            self.sending([each["content"]], tokens_of_images(model, images_in([each])))

    def removing(self, tokens: int) -> None:
        """Subtract tokens that are removed from the context."""
        self._context -= tokens

    def reported(
        self, billed: int, output: int, *, cached: int | None = None, retained: int | None = None
    ) -> Usage:
        """Return the usage of the answer that just ended, as the endpoint bills it. `retained` is the number
        of tokens of `output` that stay in its context (all but the reasoning); default: all."""
        new = billed - self._context
        by_length = round(self._characters * self._ratio) + self._images
        if not self._context and self._characters and billed > self._images:
            self._ratio = (billed - self._images) / self._characters
        # An impossible difference (an endpoint that trims its context) is replaced by our estimate.
        sent = new if 0 < new <= billed else by_length
        self._context = billed + (output if retained is None else retained)
        self._characters = self._images = 0
        return Usage(sent, output, cached, billed_input=billed)

    def estimated(self, written: Iterable[str]) -> Usage:
        """Estimate the usage of an answer for which nothing was reported."""
        sent = max(1, round(self._characters * self._ratio) + self._images)
        output = estimate_tokens(written)
        self._context += sent + output
        self._characters = self._images = 0
        return Usage(sent, output, estimated=True)


class RepeatingUsage:
    """The usage of a session that has to resend the system prompt, which the context has once. `seed` is
    its first context, `model` the one that images are counted for."""

    def __init__(self, seed: Sequence["Message"], model: str = "") -> None:
        self._inner = SessionUsage()
        self._model = model
        self._system = sum(len(each["content"]) for each in seed if each["role"] == "system")
        self._characters = 0
        self._tokens: int | None = None
        self._again = 0
        self.sending(seed)

    def sending(self, messages: Sequence["Message"]) -> None:
        """Count messages that are new to the context with the next answer."""
        self._characters += sum(len(each["content"]) for each in messages)
        self._inner.sending_messages(messages, self._model)

    def repeating(self) -> None:
        """Count the system prompt as sent again for the next answer."""
        self._again = self._tokens or 0

    def reported(self, billed: int, output: int, *, cached: int | None, retained: int) -> Usage:
        """As `SessionUsage.reported`, with the system prompt where it was sent again."""
        usage = self._inner.reported(billed, output, cached=cached, retained=retained)
        if self._tokens is None:
            self._tokens = round(self._system * billed / max(1, self._characters))
        return self._repeated(usage)

    def estimated(self, written: Iterable[str]) -> Usage:
        """As `SessionUsage.estimated`, with the system prompt where it was sent again."""
        return self._repeated(self._inner.estimated(written))

    def _repeated(self, usage: Usage) -> Usage:
        again, self._again = self._again, 0
        return replace(usage, input=usage.input + again)
