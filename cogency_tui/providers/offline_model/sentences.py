"""Messages to single requests: where one ends and the next begins, and which words are only courtesy.

Splitting is by "then", line ends, and sentences or "and" before a verb; never inside what is quoted.
"""

import re

from cogency_tui.providers.offline_model.quoting import Quoted, mark_quotes

LONGEST = 20_000
"""Characters of a message without what is quoted in it that are looked at for several requests."""

_VERBS = (
    "list|show|read|open|print|cat|find|search|grep|explain|summari[sz]e|describe|replace|change|rename"
    "|create|write|append|add|run|execute|count|undo|test|tell|overwrite|remove"
)
_THEN = re.compile(
    rf"\n+|[,;.]? (?:and )?then\b,? |[.!?] (?=(?:{_VERBS})\b)|,? and (?=(?:{_VERBS}) )",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"^((?:please\s+)?(?:create|write|make|append|add)\b[^\n]*:)[ \t]*\n(.+)\Z",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_SPACES = re.compile(r"[^\S\n]+")
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+", re.MULTILINE)
_POLITE_START = re.compile(
    r"^(?:please|now|also|first|next|finally|lastly|then|and|hey|hi|hello|ok(?:ay)?|so|kindly|just"
    r"|go ahead and|(?:can|could|would|will) you|i(?:'d like| want| need| would like) you to"
    r"|let'?s|let us)\b,?\s+",
    re.IGNORECASE,
)
_POLITE_END = re.compile(r",?\s+(?:please|for me|thanks|thank you|now)$", re.IGNORECASE)
_OUTPUT_ONLY = re.compile(
    r"(?:tell|show|give|report)(?: me)? (?:the |its |what )?(?:output|results?|outcome|happens|exit status)",
    re.IGNORECASE,
)


def split_message(message: str) -> tuple[Quoted, list[str]]:
    """The requests of a message as the person worded them, with marks for what is quoted."""
    quoted = mark_quotes(message.strip())
    quoted.text = _BLOCK.sub(lambda found: _mark_block(quoted, found), quoted.text)
    if len(quoted.text) > LONGEST:
        return quoted, [quoted.text]
    parts: list[str] = []
    for piece in _THEN.split(_SPACES.sub(" ", _BULLET.sub("", quoted.text))):
        part = piece.strip()
        if not part or _OUTPUT_ONLY.fullmatch(part.rstrip(".")):
            continue
        whole = quoted.whole(part)
        if parts and whole is not None and whole.kind == "fence":
            # A block below a request is what the request is about.
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return quoted, parts or [quoted.text]


def without_courtesies(part: str) -> str:
    """A request without the words around it that ask for nothing, and without its full stop."""
    text = part
    while (shorter := _POLITE_END.sub("", _POLITE_START.sub("", text))) != text:
        text = shorter
    text = re.sub(r"(?<=[\w\ue001)\"'/*])[.!?]+$", "", text.strip())
    return _POLITE_END.sub("", text)


def _mark_block(quoted: Quoted, found: re.Match[str]) -> str:
    """Take the lines below "create FILE with:" for its content, unless it stands in a fence there."""
    if quoted.has_fence(found[2]):
        return found[0]
    lines = quoted.raw(found[2])
    return f"{found[1]} {quoted.mark('block', lines, lines)}"
