"""The protocol between our program and the host of an MCP server: JSON, one message a line.

Only these messages are decoded, none longer than `LONGEST` or `LONGEST_REPORT`.
"""

from typing import Any

import msgspec

LONGEST = 4 << 20
"""Most bytes of an order."""

LONGEST_REPORT = 24 << 20
"""Most bytes of a report, which may have images."""

MOST_TOOLS = 128
"""Most tools of a server."""

LONGEST_DESCRIPTION = 2_000
LARGEST_SCHEMA = 32_000
"""Most bytes of the JSON schema of a tool's arguments."""

LARGEST_RESULT = 400_000
"""Most characters of a result; a longer one is cut to its beginning and end."""

LARGEST_IMAGES = 16 << 20
"""Most bytes of the images of a result; those beyond are left out."""


class Connect(msgspec.Struct, frozen=True, tag="connect"):
    """Connects to the server: a `command`, which has the host's environment and `environ`, or a `url`."""

    command: list[str] = []
    environ: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}


class Call(msgspec.Struct, frozen=True, tag="call"):
    """Calls a tool; a `Done` with this id answers it."""

    id: int
    tool: str
    args: dict[str, Any]


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Cancels a call, whose result is no longer awaited."""

    id: int


class Offer(msgspec.Struct, frozen=True):
    """The server's description of a tool; `schema` is a JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The server answers, or its tools have changed. `left_out` names tools that cannot be used, with the
    reason."""

    title: str
    version: str
    tools: list[Offer]
    left_out: list[str] = []


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The result of a call; its text names the `images` by their numbers from 1."""

    id: int
    text: str
    failed: bool
    images: list[bytes] = []


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """The server's progress report on a running call."""

    id: int
    text: str


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """The server cannot be reached or used; the last message. `words` explain more, and may be the server's
    own."""

    reason: str
    words: str = ""


Order = Connect | Call | Cancel
Report = Ready | Done | Progress | Lost

_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_reports: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def encode(message: Order | Report) -> bytes:
    """Encode a message as one line.

    Raises:
        UnicodeEncodeError: a text has a lone surrogate.
    """
    return msgspec.json.encode(message) + b"\n"


def read_order(line: bytes) -> Order:
    """Decode a message of our program.

    Raises:
        msgspec.DecodeError: it is no order.
    """
    return _orders.decode(line)


def read_report(line: bytes) -> Report:
    """Decode a message of the host.

    Raises:
        msgspec.DecodeError: it is no report.
    """
    return _reports.decode(line)
