"""Stored events to the messages of the next request; always from the store, never from memory.

The cap on results is part of the rendering, so that it gives the same bytes each time while the
store keeps the whole output for the person.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from cogency_tui.config import Dialect
from cogency_tui.protocol import render
from cogency_tui.protocol.events import Event, Message, ResultEvent, UserEvent
from cogency_tui.store.requests import Frame
from cogency_tui.store.summaries import Summary
from cogency_tui.text import without_escapes

_COLOURED = frozenset({"shell", "processes"})
"""Tools whose results have colours for the user in them."""

_LEFT_OUT = "[engine] {} earlier messages are left out."


def build_messages(
    system: str,
    events: Sequence[Event],
    dialect: Dialect,
    output_limit: int,
    *,
    summary: str = "",
    window: int = 0,
) -> list[Message]:
    """System prompt and history. `output_limit`: characters of a result that the model is given.

    `summary` stands for what was before `events`; `window` bounds the messages of the history, 0 for
    all.
    """
    shown = [as_given(event, output_limit) for event in events]
    asked = [event for event in events if event["type"] == "user"]
    return _around(system, summary, _windowed(render(shown, dialect), asked, window))


def framed(frame: Frame, history: list[Message], asked: Sequence[UserEvent], note: str = "") -> list[Message]:
    """The request with a `history` that is rendered already; `asked` are the user's messages in it."""
    system = "".join(text for _name, text in frame.system)
    return _noted(_around(system, frame.summary, _windowed(history, asked, frame.window)), note)


def _around(system: str, summary: str, history: Sequence[Message]) -> list[Message]:
    before: list[Message] = [{"role": "user", "content": summary}] if summary else []
    return [{"role": "system", "content": system}, *before, *history]


def messages_of(frame: Frame, events: Sequence[Event], note: str = "") -> list[Message]:
    """The request that gives a model these `events` in `frame`, with `note` at the end of its last message.

    What is sent and what is told later of what was sent are both made here.
    """
    messages = build_messages(
        "".join(text for _name, text in frame.system),
        events,
        cast("Dialect", frame.dialect),
        frame.output_limit,
        summary=frame.summary,
        window=frame.window,
    )
    return _noted(messages, note)


def _noted(messages: list[Message], note: str) -> list[Message]:
    if note:
        last = messages[-1]
        messages[-1] = Message(role=last["role"], content=f"{last['content']}\n\n{note}")
    return messages


def told(summary: Summary | None, environment: str = "") -> str:
    """What the model is given in the place of what a summary stands for, the `environment` block included
    that was part of it."""
    if summary is None:
        return ""
    before = f"{environment}\n\n" if environment else ""
    return before + (
        "[engine] The conversation before this point, summarised "
        f"({'edited by the person' if summary.edited else 'by the model'}):\n\n{summary.text}"
    )


def _windowed(messages: list[Message], asked: Sequence[UserEvent], window: int) -> list[Message]:
    """The last messages, at most `window`.

    They are let go by halves of the window, so that the beginning stays the same for many requests: a
    window that slid with each of them would never meet a provider's cache.
    """
    if not window or len(messages) <= window:
        return messages
    step = max(1, window // 2)
    dropped = -(-(len(messages) - window) // step) * step
    # What is left begins with the person or with results, as a provider demands.
    while dropped < len(messages) - 1 and messages[dropped]["role"] == "assistant":
        dropped += 1
    left = {message["content"] for message in messages[dropped:]}
    gone = [event for event in asked if said(event) not in left]
    told = _LEFT_OUT.format(dropped)
    if asked and asked[-1] in gone:
        told += f" The person's last message among them was:\n\n{_words(asked[-1])}"
    environment = next((event["environment"] for event in reversed(gone) if "environment" in event), "")
    told = f"{environment}\n\n{told}" if environment else told
    return [{"role": "user", "content": told}, *messages[dropped:]]


def said(event: UserEvent) -> str:
    """The person's message as the model is given it: the environment, what they said, then what they did in
    the review."""
    environment = event.get("environment")
    return f"{environment}\n\n{_words(event)}" if environment else _words(event)


def _words(event: UserEvent) -> str:
    review = event.get("review")
    return f"{event['content']}\n\n{review['text']}" if review else event["content"]


def as_given(event: Event, limit: int) -> Event:
    """An event as the model is given it, with at most `limit` characters of a result."""
    if event["type"] == "user":
        return {**event, "content": said(event)}
    return capped(event, limit) if event["type"] == "result" else event


def capped(event: ResultEvent, limit: int) -> ResultEvent:
    """A result as the model is given it."""
    content = event["payload"]["content"]
    if event["tool"] in _COLOURED and isinstance(content, str):
        content = without_escapes(content)
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
