"""What an editor sends, line by line: each is answered, whatever it is.

The SDK drops a line that is no JSON, and ends where one is no object.
"""

import asyncio
import json
from typing import Any, cast

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600


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
        pieces: list[bytes] = []
        while True:
            try:
                pieces.append(await self._source.readuntil(separator))
            except asyncio.LimitOverrunError as exc:
                pieces.append(await self._source.readexactly(exc.consumed))
            else:
                return b"".join(pieces)


def _error_in(line: bytes) -> dict[str, object] | None:
    """What is wrong with a line, as JSON-RPC has it; None for a message, and for an empty line."""
    if not line.strip():
        return None
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return {"code": _PARSE_ERROR, "message": "Parse error"}
    if isinstance(message, dict):
        fields = cast("dict[str, Any]", message)
        if isinstance(fields.get("method"), str) or ("method" not in fields and "id" in fields):
            return None
    return {"code": _INVALID_REQUEST, "message": "Invalid Request"}
