"""Serves an editor until it closes our input."""

import asyncio
import os
import stat
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from cogency_tui.errors import UsageError

if TYPE_CHECKING:
    import acp

EXTRA = "pip install 'cogency-tui[acp]'"


def serve_editor(flags: Mapping[str, Any]) -> int:
    """Serve the editor that has started us; agents are as the `flags` of the command line say.

    Raises:
        UsageError: the SDK is not there, or no editor at the other end.
    """
    if find_spec("acp") is None:
        raise UsageError("Editors are served with an extra that is not installed.", EXTRA)
    if not _is_stream(0) or not _is_stream(1):
        raise UsageError("An editor speaks with this over pipes.", "Have the editor start `cogency-tui acp`.")
    return asyncio.run(_serve(flags))


def _is_stream(handle: int) -> bool:
    """Whether it can be waited for: a pipe, a socket or a terminal."""
    try:
        mode = os.fstat(handle).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(handle)


async def _serve(flags: Mapping[str, Any]) -> int:
    import acp

    from cogency_tui.headless.acp.editor import EditorAgent
    from cogency_tui.headless.acp.lines import Lines

    reader, writer = await acp.stdio_streams(limit=acp.core.DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    # What anything prints by mistake is not for the editor.
    sys.stdout = sys.stderr
    agent = EditorAgent(flags)
    try:
        # To close a session, and to go on with one, is unstable yet.
        await acp.run_agent(
            cast("acp.Agent", agent), writer, Lines(reader, writer), use_unstable_protocol=True
        )
    finally:
        await agent.close_all()
    return 0
