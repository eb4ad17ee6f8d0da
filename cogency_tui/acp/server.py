"""Serves an editor until it closes our input, and answers every line that it sends.

The SDK drops a line that is no JSON, and stops at one that is no object; `MessageLines` answers both with an
error.
"""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from cogency_tui.errors import UsageError

if TYPE_CHECKING:
    import acp


LONGEST = 64 << 20
"""Bytes of a line; a longer one is answered with an error, and not held."""

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_TOO_LONG = b"\x00"
"""Replaces a line that is too long."""


class MessageLines(asyncio.StreamReader):
    """The lines of `source` that contain a message; the others are answered on `answers` with an error."""

    def __init__(self, source: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        super().__init__()
        self._source = source
        self._answers = answers

    async def readuntil(  # pyright: ignore[reportIncompatibleMethodOverride] (the SDK gives bytes)
        self, separator: bytes = b"\n"
    ) -> bytes:
        """The next line that contains a message.

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
    """The error in a line, as JSON-RPC represents it; None for a message, and for an empty line."""
    if not line.strip():
        return None
    if line == _TOO_LONG:
        return {"code": _INVALID_REQUEST, "message": f"A message has at most {LONGEST:,} bytes."}
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return {"code": _PARSE_ERROR, "message": "Parse error"}
    if isinstance(message, dict):
        fields = cast("dict[str, Any]", message)
        if isinstance(fields.get("method"), str) or ("method" not in fields and "id" in fields):
            return None
    return {"code": _INVALID_REQUEST, "message": "Invalid Request"}


EXTRA = "pip install 'cogency-tui[acp]'"


def serve_editor(flags: Mapping[str, Any]) -> int:
    """Serve the editor that has started us; agents follow the `flags` of the command line.

    Raises:
        UsageError: the SDK is not installed, or no editor is at the other end.
    """
    if find_spec("acp") is None:
        raise UsageError("Serving editors needs an extra that is not installed.", EXTRA)
    if not _is_stream(0) or not _is_stream(1):
        raise UsageError(
            "This command is for editors, over pipes.", "Configure the editor to start `cogency-tui acp`."
        )
    return asyncio.run(_serve(flags))


def _is_stream(handle: int) -> bool:
    """Return whether a handle can be waited for: a pipe, a socket or a terminal."""
    try:
        mode = os.fstat(handle).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(handle)


async def _serve(flags: Mapping[str, Any]) -> int:
    import acp

    from cogency_tui.acp.agent import EditorAgent

    reader, writer = await acp.stdio_streams(limit=acp.core.DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    # Accidental output must not reach the editor.
    sys.stdout = sys.stderr
    agent = EditorAgent(flags)
    try:
        # Closing and resuming a session are still unstable in the protocol.
        await acp.run_agent(
            cast("acp.Agent", agent), writer, MessageLines(reader, writer), use_unstable_protocol=True
        )
    finally:
        await agent.close_all()
    return 0
