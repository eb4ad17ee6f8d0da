"""Checks the configured MCP servers: starts each, lists its tools, and ends it."""

import os
from pathlib import Path
from typing import Literal

from cogency_tui.agent.edits.startup_recovery import any_left
from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import data_path
from cogency_tui.errors import ConfigError
from cogency_tui.providers.configured_providers import secrets

_UNSETTLED = "not started: changes of an interrupted run are not recovered yet"

Answer = tuple[str, Literal["ok", "bad"], str, str]
"""A server's name, its state, a description, and advice."""


async def check_servers(project: Path) -> list[Answer]:
    """Check the servers of the user and, as far as it is trusted, of `project` (resolved)."""
    if any_left(data_path()):
        # The killed program's command may have configured them.
        return [("mcp", "bad", _UNSETTLED, "Start cogency-tui once to recover them.")]
    try:
        settings = project_settings_of(project)
    except ConfigError:
        return []
    settings.refresh()
    if not settings.now.mcp:
        return []
    from cogency_tui.tools.mcp.server import ServerState, Surroundings
    from cogency_tui.tools.mcp.servers import Servers

    servers = Servers(Surroundings(project, os.environ, secrets(load_settings(), os.environ)))
    try:
        servers.configure(settings.now.mcp)
        await servers.settle(None)
        answers: list[Answer] = []
        for server in servers.listed():
            if server.state is ServerState.READY:
                title = server.title or server.address
                count = len(server.tools)
                what = f"{title}, {count} tool{'' if count == 1 else 's'}"
                what += f"; not used: {'; '.join(server.left_out)}" if server.left_out else ""
                answers.append((f"mcp {server.name}", "ok", what, ""))
            else:
                what = f"{server.address}: {server.problem or server.state.value}"
                advice = f"Fix it, or remove [mcp.{server.name}]."
                answers.append((f"mcp {server.name}", "bad", what, advice))
        return answers
    finally:
        await servers.close()
