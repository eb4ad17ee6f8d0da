"""What our program and the host of an MCP server say to each other: JSON, a message a line.

`decode` takes nothing but these messages, of which none is longer than `LONGEST`.
"""

from typing import Any

import msgspec

LONGEST = 4 << 20
"""Bytes of a message."""

MOST_TOOLS = 128
"""Tools that a server may have."""

LONGEST_DESCRIPTION = 2_000
LARGEST_SCHEMA = 32_000
"""Bytes of JSON in which a tool says what arguments it takes."""

LARGEST_RESULT = 400_000
"""Characters of a result, from its beginning and its end."""


class Connect(msgspec.Struct, frozen=True, tag="connect"):
    """How to reach the server: a `command`, which has the host's environment and `environ`, or a `url`."""

    command: list[str] = []
    environ: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}


class Call(msgspec.Struct, frozen=True, tag="call"):
    """Call a tool; it is answered by a `Done` with this id."""

    id: int
    tool: str
    args: dict[str, Any]


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Nobody waits for the result of this call any more."""

    id: int


class Offer(msgspec.Struct, frozen=True):
    """A tool as the server describes it; `schema` is a JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The server answers, or has other tools now. `left_out` says which of its tools cannot be used."""

    title: str
    version: str
    tools: list[Offer]
    left_out: list[str] = []


class Done(msgspec.Struct, frozen=True, tag="done"):
    """What a call came to."""

    id: int
    text: str
    failed: bool


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """What the server says of a call that still runs."""

    id: int
    text: str


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """The server cannot be reached, or cannot be used; the last message. `words` say more, and may be the
    server's own."""

    reason: str
    words: str = ""


Order = Connect | Call | Cancel
Report = Ready | Done | Progress | Lost

_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_reports: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def encode(message: Order | Report) -> bytes:
    """One line.

    Raises:
        UnicodeEncodeError: a text has a lone surrogate.
    """
    return msgspec.json.encode(message) + b"\n"


def read_order(line: bytes) -> Order:
    """What our program says.

    Raises:
        msgspec.DecodeError: it is no order.
    """
    return _orders.decode(line)


def read_report(line: bytes) -> Report:
    """What the host says.

    Raises:
        msgspec.DecodeError: it is no report.
    """
    return _reports.decode(line)
