"""The dialects by name: a parser and a renderer each, behind one contract."""

import time
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from cogency_tui.protocol import Dialect, transcript
from cogency_tui.protocol.action_dialect import ActionParser, ActionWriter
from cogency_tui.protocol.delimiter_dialect import DelimiterParser, DelimiterWriter
from cogency_tui.protocol.event_emitter import Clock, NewId
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import NO_ITEMS, AnswerItems, Message
from cogency_tui.protocol.native_dialect import NativeParser, NativeWriter
from cogency_tui.protocol.xml_dialect import XmlParser, XmlWriter

PAYLOAD_LIMIT = 32 * 1024 * 1024


class Parser(Protocol):
    """Wire text in, events out; text comes as deltas that share their unit's id."""

    finished: bool
    """True once nothing that follows can count: stop the generation."""

    forged: bool
    """True if the model has made up results, which were discarded."""

    forged_to_end: bool
    """True if no mark ended these, so that all after their opening was discarded."""

    rest: str
    """Discarded text of the last piece after the end."""

    unclosed: bool
    """True if the stream ended within a thought, or without the mark that ends an answer in this dialect."""

    @property
    def answered(self) -> bool:
        """True if the model has marked the end of its turn itself."""
        ...

    def feed(self, text: str) -> list[Event]:
        """Parse the next piece of the stream, of any size. Never raises on text."""
        ...

    def part(self) -> None:
        """Continue open text as another unit, because another event came in between."""
        ...

    def close(self) -> list[Event]:
        """End the stream; called once."""
        ...


def new_id() -> str:
    """Create a short id for a unit or a call, unique in practice."""
    return uuid.uuid4().hex[:16]


def create_parser(
    dialect: Dialect = "xml",
    *,
    clock: Clock = time.time,
    ids: NewId = new_id,
    payload_limit: int = PAYLOAD_LIMIT,
    used_ids: Collection[str] = (),
) -> Parser:
    """Create a parser of one stream. `payload_limit` bounds a call payload, in characters; `used_ids` are
    ids of earlier actions in the turn.

    Raises:
        ValueError: there is no such dialect.
    """
    if dialect == "action":
        return ActionParser(clock, ids, payload_limit, used_ids)
    try:
        parser = _PARSERS[dialect]
    except KeyError:
        raise ValueError(f"no dialect {dialect!r}") from None
    return parser(clock, ids, payload_limit)


def render(events: Sequence[Event], dialect: Dialect = "xml", items: AnswerItems = NO_ITEMS) -> list[Message]:
    """Return the messages of a stored history, as the model would have written them in `dialect`, with the
    `items` that its provider delivered beside the answers.

    Raises:
        ValueError: there is no such dialect.
    """
    try:
        writer = _WRITERS[dialect]
    except KeyError:
        raise ValueError(f"no dialect {dialect!r}") from None
    return transcript.render(events, writer, items)


_PARSERS: dict[Dialect, Callable[[Clock, NewId, int], Parser]] = {
    "xml": XmlParser,
    "delimiter": DelimiterParser,
    "native": NativeParser,
}
_WRITERS: dict[Dialect, transcript.Writer] = {
    "xml": XmlWriter(),
    "delimiter": DelimiterWriter(),
    "action": ActionWriter(),
    "native": NativeWriter(),
}
