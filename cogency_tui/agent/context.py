"""Stored events to the messages of the next request; always from the store, never from memory.

The cap on results is part of the rendering, so that it gives the same bytes each time while the
store keeps the whole output for the person.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from cogency_tui.config import Dialect
from cogency_tui.protocol import render
from cogency_tui.protocol.events import Event, Message, ResultEvent


def build_messages(
    system: str, events: Sequence[Event], dialect: Dialect, output_limit: int
) -> list[Message]:
    """System prompt and history. `output_limit`: characters of a result that the model is given."""
    shown = [_capped(e, output_limit) if e["type"] == "result" else e for e in events]
    return [{"role": "system", "content": system}, *render(shown, dialect)]


def _capped(event: ResultEvent, limit: int) -> ResultEvent:
    content = event["payload"]["content"]
    content = _cap(content, _share(content, limit))
    outcome = cut(event["payload"]["outcome"], limit)
    return {**event, "payload": {**event["payload"], "content": content, "outcome": outcome}}


def _share(content: Any, limit: int) -> int:
    """What each string in `content` may have, so that all together have no more than `limit`."""
    sizes = sorted(_sizes(content))
    left = limit
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return limit


def _sizes(content: Any) -> Iterator[int]:
    if isinstance(content, str):
        yield len(content)
    elif isinstance(content, dict):
        yield from _sizes(list(cast("dict[str, Any]", content).values()))
    elif isinstance(content, list):
        for item in cast("list[Any]", content):
            yield from _sizes(item)


def _cap(content: Any, limit: int) -> Any:
    if isinstance(content, str):
        return cut(content, limit)
    if isinstance(content, list):
        return [_cap(item, limit) for item in cast("list[Any]", content)]
    if isinstance(content, dict):
        return {key: _cap(value, limit) for key, value in cast("dict[str, Any]", content).items()}
    return content


def cut(text: str, limit: int) -> str:
    """`text` with its middle left out where it is longer than `limit` characters, the cut marked."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} of {len(text):,} characters left out …]\n{text[-tail:]}"
