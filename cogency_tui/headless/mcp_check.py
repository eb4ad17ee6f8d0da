"""Whether the MCP servers that are configured here answer: each is started, asked what it has, and ended."""

import os
from pathlib import Path
from typing import Literal

from cogency_tui.agent.reopening import any_left
from cogency_tui.config import data_path
from cogency_tui.config_sources import load_settings
from cogency_tui.errors import ConfigError
from cogency_tui.headless.trust import project_settings_of
from cogency_tui.providers.catalog import secrets

_UNSETTLED = "not started: what a killed program changed is not settled yet"

Answer = tuple[str, Literal["ok", "bad"], str, str]
"""A server's name, how it stands, in words, and what to do."""


async def check_servers(project: Path) -> list[Answer]:
    """How the servers stand that are the person's or of `project` (resolved), as far as it is trusted."""
    if any_left(data_path()):
        # It may have configured them.
        return [("mcp", "bad", _UNSETTLED, "Start cogency-tui once, which settles that.")]
    try:
        settings = project_settings_of(project)
    except ConfigError:
        return []
    settings.refresh()
    if not settings.now.mcp:
        return []
    from cogency_tui.tools.mcp.server import State, Surroundings
    from cogency_tui.tools.mcp.servers import Servers

    servers = Servers(Surroundings(project, os.environ, secrets(load_settings(), os.environ)))
    try:
        servers.configure(settings.now.mcp)
        await servers.settle(None)
        answers: list[Answer] = []
        for server in servers.listed():
            if server.state is State.READY:
                title = server.title or server.told
                count = len(server.tools)
                what = f"{title}, {count} tool{'' if count == 1 else 's'}"
                what += f"; not used: {'; '.join(server.left_out)}" if server.left_out else ""
                answers.append((f"mcp {server.name}", "ok", what, ""))
            else:
                what = f"{server.told}: {server.problem or server.state.value}"
                advice = f"See to it, or remove [mcp.{server.name}]."
                answers.append((f"mcp {server.name}", "bad", what, advice))
        return answers
    finally:
        await servers.close()
