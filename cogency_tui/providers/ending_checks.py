"""Checks of an answer's end, the same for requests and sessions."""

import re
from collections.abc import Iterator, Sequence

from cogency_tui.errors import BadRequestError, EmptyAnswerError, SessionLostError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import CutOff
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire_protocol import Finish

_MARKUP = re.compile(r"<[^<>]*>|§\w+|\W")
_TAIL = 40
"""Letters by which the end of an answer is recognised."""


def check_ending(
    endpoint: Endpoint, finish: Finish, *, wrote: bool, reasoned: bool = False
) -> Iterator[CutOff]:
    """Yield or raise for an end that the answer, which `wrote` text or a call, does not show. Yield from it
    after the usage. The agent handles a model that only `reasoned` and stopped.

    Raises:
        BadRequestError: a filter cut the answer off.
        EmptyAnswerError: the answer is empty, or ended before its text.
    """
    name = endpoint.name
    if finish == "filter":
        raise BadRequestError(f"The content filter of {name} stopped the response.", "Rephrase the request.")
    if finish == "length":
        yield CutOff()
    if wrote:
        return
    if finish == "length":
        raise EmptyAnswerError(
            f"{name} reached its output token limit before it wrote any text.",
            "Raise the server's output token limit, or choose another model.",
        )
    if not reasoned:
        raise EmptyAnswerError(f"{name} returned an empty response.", "Try again, or choose another model.")


def ends_alike(text: str, messages: Sequence[Message]) -> bool:
    """Return whether `messages`, as sent to a session, begin with the whole of the answer `text`. The user
    may have interrupted it, and a dialect discards text after a boundary."""
    return _letters(text)[-_TAIL:] == _letters(_stored_answer(messages))[-_TAIL:]


def check_memory(endpoint: Endpoint, text: str, messages: Sequence[Message]) -> None:
    """Refuse a session whose last answer, `text`, continues after the end of the stored one. The model
    would take what it invented there, such as results, for fact.

    Raises:
        SessionLostError: the session remembers more than the store.
    """
    stored, written = _letters(_stored_answer(messages))[-_TAIL:], _letters(text)
    if stored and stored in written and not written.endswith(stored):
        raise SessionLostError(
            f"The session with {endpoint.name} contains text that the model wrote after its end.",
            "Try again.",
        )


def _stored_answer(messages: Sequence[Message]) -> str:
    return messages[0]["content"] if messages and messages[0]["role"] == "assistant" else ""


def _letters(text: str) -> str:
    """Drop what `text` may lose or gain on its way through the store: tags, delimiters, white space."""
    return _MARKUP.sub("", text)
