"""The contract of an HTTP wire protocol: it encodes requests and reads the events of answers.

Wires are pure: they know no sockets. Retries and time-outs (`http_transport`), estimates (`token_counting`)
and the errors that the user sees (`failures`) are the same for all of them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, Protocol, TypeAlias, cast

from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.events import CacheMiss
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, CallDelta, Options, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ListedModel

Finish: TypeAlias = Literal["", "stop", "length", "filter", "other"]
"""Reason for the end of an answer: the model stopped, a limit of tokens, a filter."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The content of one event: reasoning, the items of reasoning that end `before` the text, text, then
    `native` calls and items of reasoning in order. `finish` is the reason for the end of the answer, where
    the event has one; `complete` marks the last event."""

    text: str = ""
    reasoning: str = ""
    finish: Finish = ""
    usage: Usage | None = None
    complete: bool = False
    native: Sequence[CallDelta | ReasoningItem] = ()
    before: Sequence[ReasoningItem] = ()


class Reader(Protocol):
    """Reads the events of one answer, in order."""

    def read(self, name: str, data: str) -> Frame:
        """Read one event. `name` is the event's own, `message` where it has none.

        Raises:
            ProviderProtocolError: it is nothing that this wire has.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        ...


class Wire(Protocol):
    """A wire protocol with one endpoint."""

    @property
    def label(self) -> str:
        """Name for the user: `Chat Completions`, …"""
        ...

    @property
    def path(self) -> str:
        """Path of requests below the base URL."""
        ...

    @property
    def models_path(self) -> str:
        """Path of the list of models below the base URL."""
        ...

    def headers(self) -> Mapping[str, str]:
        """Return the key, as this wire sends it, and other headers of each request."""
        ...

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request, without the optional parameters that were `refused` before. The
        same arguments always give the same bytes. A wire ignores the options that it does not have."""
        ...

    def reader(self, options: Options = PLAIN) -> Reader:
        """Create a reader for the answer to a request with these `options`."""
        ...

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the names in the endpoint's list of models."""
        ...


def bearer(endpoint: Endpoint) -> dict[str, str]:
    """Return the header with the key that most endpoints accept."""
    return {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}


def read_object(endpoint: Endpoint, label: str, data: str) -> dict[str, Any]:
    """Parse the JSON object in an event's data.

    Raises:
        ProviderProtocolError: it is none.
    """
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise malformed(endpoint, label, data) from exc
    if not isinstance(value, dict):
        raise malformed(endpoint, label, data)
    return cast("dict[str, Any]", value)


def malformed(endpoint: Endpoint, label: str, data: str) -> ProviderProtocolError:
    """Build the error for an event that this wire does not have."""
    return ProviderProtocolError(
        f"{endpoint.name} sent an invalid {label} frame: {endpoint.quote(data)}",
        f"Check that base_url is a {label} server; try again.",
    )


def table(value: object) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return `value` if it is an array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Return `value` if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int | None:
    """Return `value` if it is a count of tokens, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def cache_miss_of(endpoint: Endpoint, reason: object, tokens: object) -> CacheMiss | None:
    """Return the endpoint's diagnosis of its cache; None where it names no reason."""
    if not (code := endpoint.quote(text_of(reason))):
        return None
    missed: CacheMiss = {"reason": code}
    if (count := count_of(tokens)) is not None:
        missed["tokens"] = count
    return missed


def listed_models(entries: object) -> list[ListedModel]:
    """Return the models of a list as OpenAI's and Anthropic's are, sorted by name."""
    found = {text_of(each.get("id")): _end_of(each) for each in map(table, items(entries))}
    return [ListedModel(name, found[name]) for name in sorted(found) if name]


def _end_of(entry: Mapping[str, Any]) -> date | None:
    """Return the day of a model's retirement, by OpenAI's or Anthropic's field; None for a day that has
    passed without one, as `lifecycle` shows."""
    stated = text_of(entry.get("shutdown_date")) or text_of(entry.get("retires_at"))
    try:
        day = date.fromisoformat(stated[:10])
    except ValueError:
        return None
    is_overdue = entry.get("lifecycle") == "deprecated" and day < datetime.now(UTC).date()
    return None if is_overdue else day
