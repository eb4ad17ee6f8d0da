"""The engine: what all conversations of an agent share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.images import Images
from cogency_tui.agent.language_servers import LanguageServersOnDemand
from cogency_tui.agent.profile.profile import Profile
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.config.schema import Effort, EffortChoice, Settings
from cogency_tui.protocol.events import HookRun
from cogency_tui.providers.base import Provider
from cogency_tui.store.store import Store
from cogency_tui.tools.base import Tool
from cogency_tui.tools.mcp.servers import Servers
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.tools.shell.git_remotes import Remotes


@dataclass(slots=True)
class Engine:
    """The shared parts of an agent's conversations.

    `settings` are those in force, and may change. `tools` are the user's own. `named` creates a provider
    from its name and model. `host_of` returns the host of a provider, empty for one on this machine.
    `config` is the user's configuration folder, if there is one. `progressed` is called with the id of a
    sub-agent's conversation when new events of it are stored.
    """

    settings: Settings
    workspace: Workspace
    secrets: Mapping[str, str]
    tools: Sequence[Tool[Any]]
    store: Callable[[], Awaitable[Store]]
    named: Callable[[str, str], Provider]
    host_of: Callable[[str], str]
    journal: Journal
    recall: Recall
    project_settings: ProjectSettings
    servers: Servers
    remotes: "Remotes"
    language_servers: LanguageServersOnDemand
    config: Path | None = None
    profile: Profile | None = None
    background: Background = field(default_factory=Background)
    sandbox: Sandbox = field(default_factory=Sandbox)
    is_last_turn: bool = False
    """True if nobody sends another message after an answer, with which background commands then end."""
    progressed: Callable[[str], None] = lambda _id: None
    refused_efforts: set[tuple[str, str, Effort]] = field(default_factory=set[tuple[str, str, Effort]])
    """Efforts that models have refused, each with the provider and the model."""
    hook_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a hook runs: what changes in the meantime is its own."""
    hook_runs: dict[str, HookRun] = field(default_factory=dict[str, HookRun])
    """The last run of each hook, by name."""
    running_hooks: dict[str, str] = field(default_factory=dict[str, str])
    """The name of the hook that runs, by conversation."""
    images: Images = field(init=False)
    """The stored images."""

    def __post_init__(self) -> None:
        self.images = Images(self.journal.blobs)

    def refuses(self, provider: Provider, effort: EffortChoice | None) -> bool:
        """Return whether a model has refused this effort."""
        return (provider.name, provider.model, effort) in self.refused_efforts

    @property
    def project(self) -> str:
        """The project directory, in the form that the store uses."""
        return str(self.workspace.root)

    async def close(self) -> None:
        """Stop background commands and servers, record the last changes, and close the sandbox."""
        await asyncio.gather(self.background.close(), self.servers.close(), self.language_servers.close())
        await self.journal.close()
        await self.sandbox.close()
