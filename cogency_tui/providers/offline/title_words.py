"""The embedded model's title for a conversation: the words of its first message, without the courtesies."""

import re
from collections.abc import Sequence

from cogency_tui.protocol.messages import Message

_TASK = "Task: title\n"
_MESSAGE = re.compile(r"<message>\n(.*?)\n</message>", re.DOTALL)
_COURTESY = re.compile(
    r"^(?:(?:hi|hello|hey|please|ok(?:ay)?|so|now|well|(?:can|could|would|will) you(?: please)?|"
    r"i(?:'d| would) like you to|i want you to|i need you to|help me(?: to)?|let's|let us)\b[,:!]?\s*)+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_LONGEST = 50


def is_title_task(messages: Sequence[Message]) -> bool:
    """Return whether the messages ask for a title, and for nothing else."""
    return len(messages) == 2 and messages[0]["content"].startswith(_TASK)


def write_title(messages: Sequence[Message]) -> str:
    """Return the title of the conversation that the last message begins."""
    found = _MESSAGE.search(messages[-1]["content"])
    message = found[1].strip() if found else ""
    words = _COURTESY.sub("", _SENTENCE.split(message)[0]).strip().rstrip(".!?") or message
    return _capitalized(_cut(" ".join(words.split()))) or "Untitled"


def _capitalized(text: str) -> str:
    """`text` with a capital, unless it begins with a name of code."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return (text[:_LONGEST].rpartition(" ")[0] or text[: _LONGEST - 1]) + "…"
