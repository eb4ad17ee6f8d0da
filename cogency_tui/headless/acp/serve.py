"""Serves an editor until it closes our input."""

import asyncio
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
        UsageError: the SDK is not there.
    """
    if find_spec("acp") is None:
        raise UsageError("Editors are served with an extra that is not installed.", EXTRA)
    return asyncio.run(_serve(flags))


async def _serve(flags: Mapping[str, Any]) -> int:
    import acp

    from cogency_tui.headless.acp.editor import EditorAgent

    reader, writer = await acp.stdio_streams(limit=acp.core.DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    # What anything prints by mistake is not for the editor.
    sys.stdout = sys.stderr
    agent = EditorAgent(flags)
    try:
        await acp.run_agent(cast("acp.Agent", agent), writer, reader)
    finally:
        await agent.close_all()
    return 0
