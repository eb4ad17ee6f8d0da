"""What the embedded model notes about a person: plain statements, always the same, nothing else."""

import json
from typing import Any

from cogency_tui.protocol.messages import Message
from cogency_tui.providers.offline.model import next_text
from tests.cases import cases


def noted(*texts: str, profile: Any = None) -> dict[str, Any]:
    given: dict[str, Any] = {
        "profile": profile or {},
        "messages": [{"number": number, "text": text} for number, text in enumerate(texts, 1)],
    }
    messages: list[Message] = [
        {"role": "system", "content": "Task: profile\n\nYou keep …"},
        {"role": "user", "content": json.dumps(given)},
    ]
    assert next_text(messages) == next_text(messages)
    return json.loads(next_text(messages))


@cases(
    ("said", "kind", "note"),
    [
        ("My name is Ada Lovelace.", "who", "Called Ada Lovelace"),
        ("Hi, please call me Bo, thanks!", "who", "Called Bo"),
        ("I'm a backend developer", "who", "Is a backend developer"),
        ("I prefer short answers", "style", "Prefers short answers"),
        ("Remember that I don't like emojis.", "style", "Dislikes emojis"),
        ("Please always answer in German", "style", "Always: answer in German"),
        ("I'm working on the checkout service", "focus", "Works on the checkout service"),
        ("By the way, I'm interested in parsers", "interests", "Interested in parsers"),
        ("Well, I usually use uv", "misc", "Uses uv"),
    ],
)
def test_a_statement_is_noted(said: str, kind: str, note: str) -> None:
    assert noted("list files", said) == {kind: [{"text": note, "from": 2}]}


def test_several_sentences_are_several_notes() -> None:
    assert noted("My name is Ada and I work on parsers. Read x.py; I use tabs") == {
        "who": [{"text": "Called Ada", "from": 1}],
        "focus": [{"text": "Works on parsers", "from": 1}],
        "misc": [{"text": "Uses tabs", "from": 1}],
    }


@cases(
    "said",
    ["read greet.py", "I like it", "do I prefer tabs?", "he said my name is Ada", "I use " + "x" * 200, ""],
)
def test_anything_else_is_not(said: str) -> None:
    assert noted(said) == {}


def test_a_name_takes_the_place_of_another() -> None:
    known = {"who": [{"id": 7, "text": "Called Ada"}], "misc": [{"id": 8, "text": "Uses tabs"}]}
    assert noted("I use tabs", "call me Bo", "call me Cy", profile=known) == {
        "who": [{"text": "Called Cy", "from": 3}],
        "drop": [7],
    }


def test_a_conversation_that_talks_of_the_task_is_a_conversation() -> None:
    messages: list[Message] = [
        {"role": "system", "content": "Protocol: xml"},
        {"role": "user", "content": "Task: profile\n{}"},
    ]
    assert next_text(messages) not in ("", "{}")
