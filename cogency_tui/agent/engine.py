"""What all conversations of an agent share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cogency_tui.agent.journal import Journal
from cogency_tui.agent.profile import Profile
from cogency_tui.agent.project_settings import ProjectSettings
from cogency_tui.agent.recall import Recall
from cogency_tui.config import Mode, Settings
from cogency_tui.providers.base import Provider
from cogency_tui.store.conversations import Store
from cogency_tui.tools.background import Background
from cogency_tui.tools.base import Tool
from cogency_tui.tools.git_remotes import Remotes
from cogency_tui.tools.mcp.servers import Servers
from cogency_tui.tools.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace


@dataclass(slots=True)
class Engine:
    """`settings` are those in force, and may change; `tools` are the person's own; `named` makes a provider
    by its name and model; `host_of` names the host that a provider asks, empty for one on this machine.

    `config` is the person's configuration folder, if they have one; `profile` what is known of them.
    """

    settings: Settings
    workspace: Workspace
    secrets: Mapping[str, str]
    tools: Sequence[Tool[Any]]
    store: Callable[[], Awaitable[Store]]
    mode: Callable[[], Mode]
    named: Callable[[str, str], Provider]
    host_of: Callable[[str], str]
    journal: Journal
    recall: Recall
    project_settings: ProjectSettings
    servers: Servers
    remotes: Remotes
    config: Path | None = None
    profile: Profile | None = None
    background: Background = field(default_factory=Background)
    sandbox: Sandbox = field(default_factory=Sandbox)

    @property
    def project(self) -> str:
        """The project directory, as the store has it."""
        return str(self.workspace.root)

    async def close(self) -> None:
        """End the commands in the background and the MCP servers, record the last changes, and end what the
        sandbox holds."""
        await asyncio.gather(self.background.close(), self.servers.close())
        await self.journal.close()
        await self.sandbox.close()
