"""What tells one HTTP wire protocol from another: how a request is written and its events are read.

Wires are pure: they know no sockets. Retries, time-outs, estimates and the errors that a person
sees are the same for all of them and live in `requests`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, cast

from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint

Finish: TypeAlias = Literal["", "stop", "length", "filter", "other"]
"""Why an answer ended: by itself, at a limit of tokens, by a filter."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What one event brought. `finish` is why the answer ended, where it says so; `complete` says that
    nothing follows."""

    text: str = ""
    reasoning: str = ""
    finish: Finish = ""
    usage: Usage | None = None
    complete: bool = False


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
    """One wire protocol, spoken with one endpoint."""

    @property
    def label(self) -> str:
        """Its name for a person: `Chat Completions`, …"""
        ...

    @property
    def path(self) -> str:
        """Where requests are posted, below the base URL."""
        ...

    @property
    def models_path(self) -> str:
        """Where the list of models is, below the base URL."""
        ...

    def headers(self) -> Mapping[str, str]:
        """The key, as this wire carries it, and what else each request needs."""
        ...

    def encode(self, messages: Sequence[Message], refused: Iterable[str]) -> bytes:
        """The body of a request, without the optional parameters that were `refused` before. The same
        messages always give the same bytes."""
        ...

    def reader(self) -> Reader:
        """A reader for one answer."""
        ...

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """The names in a list of models as the endpoint gives it."""
        ...


def bearer(endpoint: Endpoint) -> dict[str, str]:
    """The key as most endpoints take it."""
    return {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}


def read_object(endpoint: Endpoint, label: str, data: str) -> dict[str, Any]:
    """The JSON object in an event's data.

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
    """The error for an event that this wire does not have."""
    return ProviderProtocolError(
        f"{endpoint.name} sent something that is no {label} frame: {endpoint.quote(data)}",
        f"Check that base_url names a {label} server; try again.",
    )


def table(value: object) -> dict[str, Any]:
    """`value` as an object; an empty one where it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """`value` as an array; an empty one where it is something else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """`value` if it is text."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int | None:
    """`value` if it is a count of tokens."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def names_in(models: object, key: str = "id") -> list[str]:
    """The names in a list of objects, sorted."""
    return sorted({text_of(table(each).get(key)) for each in items(models)} - {""})
