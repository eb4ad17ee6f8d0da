"""What an editor sends, line by line: each is answered, whatever it is.

The SDK drops a line that is no JSON, and ends where one is no object.
"""

import asyncio
import json
from typing import Any, cast

LONGEST = 64 << 20
"""Bytes of a line; a longer one is answered with an error, and not held."""

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_TOO_LONG = b"\x00"
"""In the place of a line that is too long."""


class Lines(asyncio.StreamReader):
    """The lines of `source` that hold a message; the others are answered on `answers` with an error."""

    def __init__(self, source: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        super().__init__()
        self._source = source
        self._answers = answers

    async def readuntil(  # pyright: ignore[reportIncompatibleMethodOverride] (the SDK gives bytes)
        self, separator: bytes = b"\n"
    ) -> bytes:
        """The next line that holds a message.

        Raises:
            IncompleteReadError: there is none.
        """
        while True:
            line = await self._line(separator)
            error = _error_in(line)
            if error is None:
                return line
            answer = {"jsonrpc": "2.0", "id": None, "error": error}
            self._answers.write(json.dumps(answer).encode() + b"\n")
            await self._answers.drain()

    async def _line(self, separator: bytes) -> bytes:
        """The next line, or `_TOO_LONG` in its place."""
        pieces: list[bytes] = []
        size = 0
        while True:
            ended = True
            try:
                piece = await self._source.readuntil(separator)
            except asyncio.LimitOverrunError as exc:
                piece = await self._source.readexactly(exc.consumed)
                ended = False
            size += len(piece)
            if size > LONGEST:
                pieces = [_TOO_LONG]
            else:
                pieces.append(piece)
            if ended:
                return b"".join(pieces)


def _error_in(line: bytes) -> dict[str, object] | None:
    """What is wrong with a line, as JSON-RPC has it; None for a message, and for an empty line."""
    if not line.strip():
        return None
    if line == _TOO_LONG:
        return {"code": _INVALID_REQUEST, "message": f"A message may have {LONGEST:,} bytes."}
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return {"code": _PARSE_ERROR, "message": "Parse error"}
    if isinstance(message, dict):
        fields = cast("dict[str, Any]", message)
        if isinstance(fields.get("method"), str) or ("method" not in fields and "id" in fields):
            return None
    return {"code": _INVALID_REQUEST, "message": "Invalid Request"}
