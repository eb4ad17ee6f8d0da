"""One stream fed in every way: whole, by the character, cut anywhere; and what it comes to."""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.events import Event

Unit = tuple[str, Any]


def pieces(text: str) -> Iterator[list[str]]:
    """Ways of cutting `text`."""
    yield [text]
    yield list(text)
    if len(text) < 400:
        for index in range(1, len(text)):
            yield [text[:index], text[index:]]
    rng = random.Random(len(text))
    for _ in range(5):
        parts: list[str] = []
        index = 0
        while index < len(text):
            step = rng.randint(1, 9)
            parts.append(text[index : index + step])
            index += step
        yield parts


def parse(parts: Sequence[str], dialect: Dialect = "xml", **options: Any) -> list[Event]:
    """The events of a stream that arrives in these parts."""
    numbers = count(1)
    parser = create_parser(dialect, clock=lambda: 0.0, ids=lambda: f"id{next(numbers)}", **options)
    events: list[Event] = []
    for part in parts:
        events += parser.feed(part)
    return events + parser.close()


def coalesce(events: Sequence[Event]) -> list[Unit]:
    """Units with their whole text; previews left out, after checking that they fit what follows."""
    units: list[Unit] = []
    open_id = ""
    previews: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "think" or event["type"] == "respond":
            assert event["content"]
            if event["id"] == open_id:
                kind, text = units[-1]
                units[-1] = (kind, text + event["content"])
            else:
                units.append((event["type"], event["content"]))
                open_id = event["id"]
            continue
        if event["type"] == "call":
            content = json.loads(event["content"])
            if event.get("partial"):
                _add_preview(previews.setdefault(event["id"], {"args": {}}), content)
                continue
            _check_preview(previews.get(event["id"]), content)
            units.append(("call", content))
        elif event["type"] == "error":
            units.append(("error", event["payload"]["error"]))
        else:
            units.append((event["type"], None))
        open_id = ""
    return units


def _add_preview(known: dict[str, Any], content: dict[str, Any]) -> None:
    known["name"] = content["name"]
    for key, value in content["args"].items():
        before = known["args"].get(key)
        known["args"][key] = before + value if isinstance(before, str) else value


def _check_preview(known: dict[str, Any] | None, content: dict[str, Any]) -> None:
    if known is None:
        return
    assert known["name"] == content["name"]
    for key, value in known["args"].items():
        whole = content["args"][key]
        assert whole.startswith(value) if isinstance(value, str) else whole == value


def events_of(text: str, dialect: Dialect = "xml", **options: Any) -> list[Unit]:
    """What `text` comes to, the same for every way of cutting it."""
    results = [coalesce(parse(parts, dialect, **options)) for parts in pieces(text)]
    for result in results[1:]:
        assert result == results[0]
    return results[0]
