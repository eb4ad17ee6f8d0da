"""The embedded model's notes on the user: only statements that users make about themselves in plain words.

Such a sentence is recognised by its beginning; the same messages always give the same notes.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from cogency_tui.protocol.messages import Message

_TASK = "Task: profile\n"
_LONGEST = 120

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+|,?\s+(?:and|but)\s+(?=(?:i|i'm|my|call)\b)", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:hi|hello|hey|well|ok(?:ay)?|so|and|but|by the way|please|also|remember that|note that)\b[,:]?\s+",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(?:,?\s+(?:please|thanks|thank you|by the way))?[.! ]*\Z", re.IGNORECASE)
_THING = r"(?!(?:it|this|that|these|those|them|you|your)\b)"
_FORMS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (kind, form, re.compile(pattern, re.IGNORECASE))
    for kind, form, pattern in (
        ("who", "Called {}", r"(?:my name is|call me|i(?:'m| am) called)\s+([\w' -]{1,40})"),
        ("who", "Is {}", r"i(?:'m| am)\s+((?:a|an|new to)\s.+)"),
        ("who", "Speaks {}", r"i speak\s+(.+)"),
        ("style", "Prefers {}", rf"i(?:'d| would)? (?:prefer|rather have)\s+({_THING}.+)"),
        ("style", "Dislikes {}", rf"i (?:dislike|hate|do not like|don't like)\s+({_THING}.+)"),
        ("style", "Always: {}", r"always\s+((?:answer|reply|write|explain|show|use)\s.+)"),
        ("focus", "Works on {}", rf"(?:i work|i(?:'m| am) working) on\s+({_THING}.+)"),
        ("interests", "Interested in {}", rf"i(?:'m| am) interested in\s+({_THING}.+)"),
        ("interests", "Likes {}", rf"i (?:like|love|enjoy)\s+({_THING}.+)"),
        ("misc", "Uses {}", rf"i (?:always |usually |mostly )?use\s+({_THING}.+)"),
    )
)


def is_profile_task(messages: Sequence[Message]) -> bool:
    """Return whether the messages ask for a profile, and for nothing else."""
    return len(messages) == 2 and messages[0]["content"].startswith(_TASK)


def write_profile(messages: Sequence[Message]) -> str:
    """Return the notes on the last message, as one JSON object."""
    try:
        given: Any = json.loads(messages[-1]["content"])
    except (ValueError, RecursionError):
        return "{}"
    data = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    known = {fact["text"]: fact["id"] for facts in data.get("profile", {}).values() for fact in facts}
    found: dict[str, list[dict[str, Any]]] = {}
    dropped: list[int] = []
    for message in data.get("messages", ()):
        for kind, text in _notes(str(message["text"])):
            if text in known or any(text == note["text"] for note in found.get(kind, ())):
                continue
            if text.startswith("Called "):
                # A user has one name: the last one given.
                dropped += [id for fact, id in known.items() if fact.startswith("Called ")]
                found[kind] = [note for note in found.get(kind, []) if not note["text"].startswith("Called ")]
            found.setdefault(kind, []).append({"text": text, "from": message["number"]})
    lesson: dict[str, Any] = {kind: notes[-8:] for kind, notes in found.items()}
    return json.dumps(lesson | ({"drop": sorted(set(dropped))} if dropped else {}), ensure_ascii=False)


def _notes(text: str) -> list[tuple[str, str]]:
    """Extract the statements of a message about its author, each with its kind."""
    notes: list[tuple[str, str]] = []
    for sentence in _SENTENCE.split(text):
        statement = sentence.strip()
        while (shorter := _OPENING.sub("", statement)) != statement:
            statement = shorter
        # A question says nothing about its author.
        if statement.endswith("?"):
            continue
        statement = _CLOSING.sub("", statement)
        for kind, form, pattern in _FORMS:
            if matched := pattern.fullmatch(statement):
                note = form.format(matched[1].strip())
                notes += [(kind, note)] if len(note) <= _LONGEST else []
                break
    return notes
