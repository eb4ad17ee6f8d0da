"""Renders stored events as the messages of the next request; always from the store, never from memory.

Rendering cuts long results, so that it yields the same bytes each time while the store holds the whole
output for the user.

Invariant: a `MessageLog` holds exactly what `messages_of` makes of all events, though it reads and renders
each event once and not for each request.
"""

import json
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from cogency_tui.agent.cycle_metrics import characters_in
from cogency_tui.agent.prompt import TOOLS
from cogency_tui.protocol import Dialect, render
from cogency_tui.protocol.events import Event, ResultEvent, UserEvent
from cogency_tui.protocol.messages import NO_ITEMS, AnswerItem, AnswerItems, Message, ToolSpec, images_in
from cogency_tui.protocol.transcript import user_message, with_images
from cogency_tui.safe_text import without_escapes
from cogency_tui.store.requests import Frame
from cogency_tui.store.summaries import Summary

_COLOURED = frozenset({"shell", "processes"})
"""Tools whose results contain colours for the user."""

_LEFT_OUT = "[engine] {} earlier messages are omitted."


def build_messages(
    system: str,
    events: Sequence[Event],
    dialect: Dialect,
    output_limit: int,
    *,
    summary: str = "",
    window: int = 0,
    items: AnswerItems = NO_ITEMS,
) -> list[Message]:
    """The system prompt and the history. `output_limit`: characters of a result that the model receives.

    `summary` replaces what was before `events`; `window` limits the messages of the history, 0 for all.
    """
    shown = [as_given(event, output_limit) for event in events]
    asked = [event for event in events if event["type"] == "user"]
    return _around(system, summary, _windowed(render(shown, dialect, items), asked, window))


def framed(frame: Frame, history: list[Message], asked: Sequence[UserEvent], note: str = "") -> list[Message]:
    """The request with a rendered `history`; `asked` are the user's messages in it."""
    return _noted(_around(system_text(frame), frame.summary, _windowed(history, asked, frame.window)), note)


def system_text(frame: Frame) -> str:
    """The system message."""
    apart = _tools_apart(frame)
    return "".join(text for name, text in frame.system if not (apart and name == TOOLS))


def tools_of(frame: Frame) -> tuple[ToolSpec, ...]:
    """The tools that a request is sent with."""
    return tuple(json.loads(_tools_apart(frame) or "[]"))


def characters_of(frame: Frame, messages: Iterable[Message]) -> int:
    """The length of a request: its messages, and the tools that it is sent with."""
    return characters_in(messages) + len(_tools_apart(frame))


def _tools_apart(frame: Frame) -> str:
    """The tools as JSON, which the native dialect sends apart from the system message; else empty."""
    return dict(frame.system).get(TOOLS, "") if frame.dialect == "native" else ""


def _around(system: str, summary: str, history: Sequence[Message]) -> list[Message]:
    before: list[Message] = [{"role": "user", "content": summary}] if summary else []
    return [{"role": "system", "content": system}, *before, *history]


def messages_of(
    frame: Frame, events: Sequence[Event], note: str = "", items: AnswerItems = NO_ITEMS
) -> list[Message]:
    """The request that gives a model these `events` in `frame`, with `note` at the end of its last message,
    and the `items` of its own answers.

    Both the request that is sent and the later report of it come from here.
    """
    messages = build_messages(
        system_text(frame),
        events,
        cast("Dialect", frame.dialect),
        frame.output_limit,
        summary=frame.summary,
        window=frame.window,
        items=items,
    )
    return _noted(messages, note)


def _noted(messages: list[Message], note: str) -> list[Message]:
    if note:
        messages[-1] = _extended(messages[-1], f"\n\n{note}")
    return messages


def _extended(message: Message, text: str) -> Message:
    """A message with more text at its end."""
    whole: Message = {**message, "content": f"{message['content']}{text}"}
    if "parts" in message:
        whole["parts"] = [*message["parts"], {"type": "text", "text": text.lstrip()}]
    return whole


def summary_message(summary: Summary | None, environment: str = "", verbatim: str = "") -> str:
    """The message that replaces summarised events in the model's context, including the `environment` block
    that was part of them, and the parts that stay `verbatim`.
    """
    if summary is None:
        return ""
    parts = [part for part in (environment, verbatim) if part]
    parts.append(
        "[engine] The conversation before this point, summarized "
        f"({'edited by the user' if summary.edited else 'by the model'}):\n\n{summary.text}"
    )
    return "\n\n".join(parts)


def shortened(written: Sequence[str], room: int) -> list[str]:
    """Texts in at most about `room` characters: the longest are cut in their middle."""
    share = max(1, _fair_share(sorted(map(len, written)), room))
    return [cut(text, share) for text in written]


def _windowed(messages: list[Message], asked: Sequence[UserEvent], window: int) -> list[Message]:
    """The last messages, at most `window`.

    They are dropped by halves of the window, so that the beginning stays the same for many requests: a
    window that moved with each request would never hit a provider's cache.
    """
    if not (dropped := _dropped(messages, window)):
        return messages
    left = {message["content"] for message in messages[dropped:]}
    gone = [event for event in asked if user_message(event) not in left]
    summary_message = _LEFT_OUT.format(dropped)
    if asked and asked[-1] in gone:
        summary_message += f" The user's last message among them was:\n\n{_without_environment(asked[-1])}"
    environment = next((event["environment"] for event in reversed(gone) if "environment" in event), "")
    summary_message = f"{environment}\n\n{summary_message}" if environment else summary_message
    # Results whose calls are left out are text.
    first = _with_images_alone(messages[dropped])
    return [{"role": "user", "content": summary_message}, first, *messages[dropped + 1 :]]


def _with_images_alone(message: Message) -> Message:
    """A message of text and images, without calls and results."""
    if message["role"] != "user":
        return {"role": message["role"], "content": message["content"]}
    return with_images("user", message["content"], list(images_in([message])))


def _dropped(messages: Sequence[Message], window: int) -> int:
    """The number of messages that a window leaves out."""
    if not window or len(messages) <= window:
        return 0
    step = max(1, window // 2)
    dropped = -(-(len(messages) - window) // step) * step
    # The rest begins with a user message or results, as providers require.
    while dropped < len(messages) - 1 and messages[dropped]["role"] == "assistant":
        dropped += 1
    return dropped


def left_out(events: Sequence[Event], dialect: Dialect, window: int) -> int:
    """The number of events at the beginning that a request with this window does not have."""
    if not window or not (dropped := _dropped(render(events, dialect), window)):
        return 0
    counts = range(len(events) + 1)
    return bisect_right(counts, dropped, key=lambda count: len(render(events[:count], dialect))) - 1


def _without_environment(event: UserEvent) -> str:
    return user_message({**event, "environment": ""})


def as_given(event: Event, limit: int) -> Event:
    """An event as the model receives it, with at most `limit` characters of a result."""
    return capped(event, limit) if event["type"] == "result" else event


def capped(event: ResultEvent, limit: int) -> ResultEvent:
    """A result as the model receives it."""
    content = event["payload"]["content"]
    if event["tool"] in _COLOURED and isinstance(content, str):
        content = without_escapes(content)
    content = _cap(content, _share(content, limit))
    outcome = cut(event["payload"]["outcome"], limit)
    return {**event, "payload": {**event["payload"], "content": content, "outcome": outcome}}


def _share(content: Any, limit: int) -> int:
    """The characters that each string in `content` may have, so that all together have at most `limit`."""
    return _fair_share(sorted(_sizes(content)), limit)


def _fair_share(sizes: Sequence[int], limit: int) -> int:
    """The characters that each text may have, so that all together have at most `limit`; `sizes` ascend."""
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
    """`text` with its middle left out if it is longer than `limit` characters, the cut marked."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} of {len(text):,} characters omitted …]\n{text[-tail:]}"


class VerbatimPart(NamedTuple):
    """A part of the summarised conversation that stays verbatim: the number of its event, its text for the
    model, whether the user has pinned it, and the characters that were cut out of it."""

    number: int
    text: str
    pinned: bool
    omitted: int = 0


class Way(NamedTuple):
    """The events to render, those above the number `since`, and how to render them: for which provider and
    model, too."""

    since: int
    dialect: Dialect
    output_limit: int
    provider: str = ""
    model: str = ""


class MessageLog:
    """The rendered messages of a growing conversation.

    Events are rendered in parts that no later event changes: a part ends before a message of the user's, or
    before a cycle when every earlier call has its result. `add` reports an event that belongs to an earlier
    part; the caller then renders all again, as one part.
    """

    def __init__(self) -> None:
        self._way = Way(0, "xml", 0)
        self.verbatim: tuple[Hashable, Sequence[VerbatimPart]] | None = None
        """The parts that stay verbatim, as the last request had them, and what they depend on."""
        self.plan: tuple[int, str] | None = None
        """The event up to which all is summarised, and the text of the plan there."""
        self.restart()

    def restart(self, *, in_parts: bool = True) -> None:
        """Drop all events."""
        self.through = self._way.since
        """The number of the last event in the log."""
        self.asked: list[UserEvent] = []
        """The user's messages."""
        self.items_through = 0
        """The number of the last item in the log."""
        self._items = AnswerItems()
        self._in_parts = in_parts
        self._done: list[Message] = []
        self._ids: set[str] = set()
        self._begin_part()

    def follow(self, way: Way) -> None:
        """Render this way from now on; start again if it differs from the previous way."""
        if way != self._way:
            self._way = way
            self.restart()

    def add_items(self, numbered: Iterable[tuple[int, AnswerItem]]) -> None:
        """Add the items after `items_through`, before the events that follow theirs."""
        for number, item in numbered:
            self._items.add((item,))
            self.items_through = number

    def add(self, numbered: Iterable[tuple[int, Event]]) -> bool:
        """Add the events after `through`; False if one changes what is already rendered."""
        for number, event in numbered:
            if self._in_parts and self._begins_part(event):
                self._done += self._rendered()
                self._ids |= self._part_ids
                self._begin_part()
            if not self._take(event):
                return False
            self.through = number
        return True

    def messages(self) -> list[Message]:
        return [*self._done, *self._rendered()]

    def _begin_part(self) -> None:
        self._part: list[Event] = []
        self._part_ids: set[str] = set()
        self._unanswered: set[str] = set()
        self._cycle: str | None = None

    def _rendered(self) -> Sequence[Message]:
        return render(self._part, self._way.dialect, self._items)

    def _begins_part(self, event: Event) -> bool:
        if event["type"] == "user":
            return True
        cycle = _cycle(event)
        return not self._unanswered and None not in (cycle, self._cycle) and cycle != self._cycle

    def _take(self, event: Event) -> bool:
        id = _call_of(event)
        if id in self._ids:
            return False
        if id:
            self._part_ids.add(id)
            (self._unanswered.discard if event["type"] == "result" else self._unanswered.add)(id)
        self._cycle = _cycle(event) or self._cycle
        self._part.append(as_given(event, self._way.output_limit))
        if event["type"] == "user":
            self.asked.append(event)
        return True


def _call_of(event: Event) -> str:
    """The id of the call that an event belongs to; empty if it belongs to none."""
    if event["type"] == "call" or event["type"] == "result":
        return event["id"]
    return event.get("malformed", "") if event["type"] == "respond" else ""


def _cycle(event: Event) -> str | None:
    """The cycle in which the model wrote an event; the model wrote a result if it carries the raw text of
    its call.
    """
    if event["type"] == "result" and "raw" not in event["payload"]:
        return None
    written = event["type"] in ("think", "call", "respond", "result")
    return event.get("cycle") if written else None
