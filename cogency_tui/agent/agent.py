"""The facade: configuration in, events out.

An `Agent` is configuration; what it needs while it works (the store's connection, open sessions) is
opened when first needed, and closed with `close`, or after the turn where it was not opened by hand.

Making one imports next to nothing, so that the interface stands before the engine is loaded.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cogency_tui.agent.store_keeper import StoreKeeper
from cogency_tui.agent.works import Works
from cogency_tui.child_processes import keep_from_children, without_secrets
from cogency_tui.config import (
    Dialect,
    Mode,
    Permissions,
    Settings,
    config_directory,
    config_path,
    data_path,
)
from cogency_tui.config_sources import Configured, Layer, configure, load_settings
from cogency_tui.errors import UsageError
from cogency_tui.mcp_settings import McpSettings
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.providers.catalog import create_provider, secrets
from cogency_tui.tools.own_environment import conceal
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.history import Compacted, History
    from cogency_tui.agent.instructions import Instructions
    from cogency_tui.agent.permissions import Ask, Gate
    from cogency_tui.agent.profile import Profile
    from cogency_tui.agent.project_settings import ProjectSettings
    from cogency_tui.agent.recall import Recall
    from cogency_tui.agent.review.review import Review
    from cogency_tui.agent.rules import Rules
    from cogency_tui.agent.timeline.timeline import Timeline
    from cogency_tui.agent.undo import Undo
    from cogency_tui.store.conversations import Store
    from cogency_tui.tools.background import Background
    from cogency_tui.tools.base import Tool
    from cogency_tui.tools.function import Function
    from cogency_tui.tools.mcp.servers import Servers


class Agent:
    """A coding agent in one project.

    `llm` names a provider of the configuration, or is one; everything not given is as the person's
    configuration says. `mode`, `permissions` and `ask` may be set at any time, and take effect with
    the next cycle. `max_cost` is in USD, for each turn (`budget.turn.hard`). `tools` are added
    to ours: typed async functions with a docstring, or `Tool`s. `mcp` are servers beside those of the
    configuration, and in the place of those of the same name.

    Raises:
        ConfigError: the configuration or the provider's name cannot be used.
        WorkspaceError: `project` is no directory.
    """

    def __init__(
        self,
        llm: str | Provider | None = None,
        *,
        model: str | None = None,
        mode: Mode | None = None,
        dialect: Dialect | None = None,
        permissions: Permissions | None = None,
        max_iterations: int | None = None,
        max_cost: float | None = None,
        project: Path | str | None = None,
        data: Path | str | None = None,
        tools: "Sequence[Tool[Any] | Function] | None" = None,
        mcp: Mapping[str, McpSettings] | None = None,
        ask: "Ask | None" = None,
        settings: Settings | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environ is None else environ
        self._flags = {
            "provider": llm if isinstance(llm, str) else None,
            "model": model,
            "mode": mode,
            "dialect": dialect,
            "permissions": permissions,
            "max_iterations": max_iterations,
            "budget.turn.hard": max_cost,
        }
        self._given = settings
        self._environment = environment
        self._project_settings: ProjectSettings | None = None
        self._from_project: Mapping[str, Any] = {}
        self.workspace = Workspace(Path(project) if project is not None else Path.cwd())
        self.configured = self._configure()
        """The settings with where each is from."""
        self.mode: Mode = self.settings.mode
        self.permissions: Permissions = self.settings.permissions
        self.dialect: Dialect | None = dialect
        """Chosen for every conversation from now on; None leaves each in its own."""
        self.ask = ask
        if llm is None or isinstance(llm, str):
            self.provider: Provider = create_provider(self.settings, environment)
        else:
            self.provider = llm
        self._recall: Recall | None = None
        self._rules: Rules | None = None
        self._profile: Profile | None = None
        self._data = Path(data) if data is not None else data_path(environment)
        self._stored = StoreKeeper(self._data)
        self._works = Works(self, tools or (), environment, self._release, mcp or {})

    @property
    def project(self) -> Path:
        """The project directory, resolved."""
        return self.workspace.root

    @property
    def data(self) -> Path:
        """The person's data directory."""
        return self._data

    @property
    def rules(self) -> "Rules":
        """The person's standing rules, as they hold in this project."""
        if self._rules is None:
            from cogency_tui.agent.rules import FILE_NAME, Rules

            self._rules = Rules(config_directory(self._environment) / FILE_NAME, self.project)
        return self._rules

    @property
    def project_settings(self) -> "ProjectSettings":
        """What the project configures, and whether the person trusts it."""
        if self._project_settings is None:
            from cogency_tui.agent.project_settings import ProjectSettings
            from cogency_tui.agent.trust import FILE_NAME, Trust

            folder = config_directory(self._environment)
            own = partial(load_settings, settings=self._given, environ=self._environment)
            self._project_settings = ProjectSettings(Trust(folder / FILE_NAME), self.project, own, folder)
        return self._project_settings

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.configured.settings

    def follow_project(self) -> None:
        """Go on with the options that a trusted project gives now, if they are others than before.

        Raises:
            ConfigError: as `reload`.
        """
        if self._given is None and self.project_settings.now.options != self._from_project:
            self.reload()

    def reload(self) -> None:
        """Read the configuration again and go on as it says: what a turn begins with counts from the next
        one on. What was chosen since the start stays unless it says something else now. The provider is
        chosen with `choose_model`.

        Raises:
            ConfigError: it cannot be used; nothing has changed.
        """
        before, self.configured = self.settings, self._configure()
        if self.settings.mode != before.mode:
            self.mode = self.settings.mode
        if self.settings.permissions != before.permissions:
            self.permissions = self.settings.permissions
        if self._profile is not None:
            self._profile.follow(before, self.settings)
        self._works.use(self.settings)

    @property
    def profile(self) -> "Profile":
        """What is known of the person."""
        if self._profile is None:
            from cogency_tui.agent.profile import Profile

            path = config_path(self._environment)
            self._profile = Profile(self.store, path, self.settings, self.reload)
        return self._profile

    @property
    def sandbox(self) -> str:
        """For the status bar: `sandboxed`, or `not sandboxed: ` and why."""
        if self._works.engine is not None:
            return self._works.engine.sandbox.state
        return f"not sandboxed: {'switched off' if self.settings.sandbox == 'off' else 'not tried yet'}"

    @property
    def background(self) -> "Background | None":
        """The commands that go on by themselves, of all conversations; None where nothing has run yet."""
        return None if self._works.engine is None else self._works.engine.background

    @property
    def recall(self) -> "Recall":
        """The person's past conversations."""
        if self._recall is None:
            from cogency_tui.agent.recall import Recall

            self._recall = Recall(self.store, str(self.project))
        return self._recall

    @property
    def lasting(self) -> bool:
        """Whether what is stored outlives the program."""
        return self._stored.lasting

    async def store(self) -> "Store":
        """The person's store, opened when first asked for. Where that cannot be, one that lasts as long
        as this agent, so that work can go on; its notices say so.

        Raises:
            StoreError: not even that can be had.
        """
        return await self._stored.store()

    async def open(self, *, patient: bool = False) -> None:
        """Keep the store and sessions open between turns, until `close`; load what a turn needs. A `patient`
        agent's turns wait for MCP servers as long as those may take to start."""
        self._works.held = True
        self._works.patient = patient
        await self.store()
        await self._works.settle()
        await asyncio.to_thread(import_module, "cogency_tui.agent.delegates")
        await self._works.start_servers()

    async def start_servers(self) -> "Servers":
        """The MCP servers as they are configured now; those that were not started are starting."""
        await self._works.start_servers()
        return self._works.shared().servers

    async def close(self) -> None:
        """Stop what runs, wait until its end is recorded, and close everything that was opened."""
        await self._works.close()

    async def __aenter__(self) -> "Agent":
        await self.open()
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _exc: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __call__(self, query: str, *, conversation_id: str | None = None) -> AsyncIterator[Event]:
        """The events of one turn, complete units only."""
        return self.stream(query, conversation_id=conversation_id, chunks=False)

    def interrupt(self, conversation_id: str | None = None) -> None:
        """Stop the running turn of this conversation, or of all: their streams end with `interrupt`."""
        self._works.interrupt(conversation_id)

    async def stream(
        self, query: str, *, conversation_id: str | None = None, chunks: bool = True, typed: str = ""
    ) -> AsyncGenerator[Event, None]:
        """The events of one turn in `conversation_id`, or in a new one; with `chunks` text as deltas.

        `typed` is what of the query a person typed: from nothing else is anything learned about them.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is running in this conversation already.
        """
        work = partial(self._works.turn, query, chunks=chunks, typed=typed)
        async with aclosing(self._works.run(conversation_id, work)) as events:
            async for event in events:
                yield event

    async def run_command(
        self, command: str, *, conversation_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """The events of a command that the person runs: previews of a call while it runs, then the message
        of theirs that it is stored as, which the model sees with the next one (see `own_command`).

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is running in this conversation already.
        """
        work = partial(self._works.own_command, command)
        async with aclosing(self._works.run(conversation_id, work)) as events:
            async for event in events:
                yield event

    async def choose_model(self, provider: str, model: str) -> None:
        """Go on with another model, from the next cycle on; an empty `model` is the provider's own.

        Raises:
            ConfigError: there is no such provider, or it lacks an address or a model.
        """
        # Kept until the end: a cycle that still runs has its connection, and it may be chosen again.
        self._works.keep(self.provider)
        self.provider = self._works.named(provider, model)

    async def compact(self, conversation_id: str) -> "Compacted":
        """Have the whole conversation summarised: the summary stands for it in the model's context, the
        events stay.

        Raises:
            UsageError: a turn is running, or there is nothing to summarise.
            ProviderError: the model could not be asked.
        """
        running = self._works.running_of(conversation_id)
        if running.busy:
            raise UsageError("A turn is running in this conversation.", "Wait for it, or interrupt it.")
        running.busy = True
        try:
            return await (await self.history(conversation_id)).compact(keep=False)
        finally:
            running.busy = False

    @property
    def learning(self) -> bool:
        """Whether something is being learned about the person just now."""
        return self._works.learning

    async def remember(self, conversation_id: str | None) -> None:
        """Turn the profile on, and learn in the background from what the person has typed in this
        conversation since the program began.

        Raises:
            ConfigError: the configuration cannot be changed.
            StoreError: the store cannot be used.
        """
        await self.profile.turn_on()
        if conversation_id is not None:
            await self._works.learner().remember(await self.store(), conversation_id)

    async def undo(self, conversation_id: str) -> "Undo":
        """What takes back and brings back the changes of files that the conversation made."""
        from cogency_tui.agent.undo import Undo

        return Undo(self._works.shared().journal, conversation_id)

    def review(self, conversation_id: str) -> "Review":
        """The review of what the agent changed in the conversation."""
        from cogency_tui.agent.review.review import Review

        return Review(self._works.shared().journal, self.store, conversation_id)

    def timeline(self, conversation_id: str) -> "Timeline":
        """The conversation at any of its events."""
        from cogency_tui.agent.timeline.timeline import Timeline

        return Timeline(self._works.shared().journal, self.store, conversation_id, self._works.frame)

    def gate(self, conversation_id: str | None) -> "Gate | None":
        """What decides about the calls of a conversation; None before its first turn here."""
        running = self._works.known(conversation_id or "")
        return None if running is None else running.gate

    def instructions(self, conversation_id: str | None) -> "Instructions":
        """The files that say how to work here, as they were when its last turn began."""
        from cogency_tui.agent.instructions import Instructions

        running = self._works.known(conversation_id or "")
        return Instructions() if running is None else running.instructions

    async def history(self, conversation_id: str) -> "History":
        """The conversation as its model is given it: what fills the context, and its summary."""
        store = await self.store()
        running = self._works.running_of(conversation_id)
        await running.begin(store)
        return running.history(store, await self._works.dialect_of(store, conversation_id))

    def _configure(self) -> Configured:
        layer: Layer | None = None
        brought = self.project / ".cogency" / "config.toml"
        if self._given is None and (self._project_settings is not None or brought.exists()):
            self.project_settings.refresh()
            layer = self.project_settings.layer
            self._from_project = self.project_settings.now.options
        found = configure(flags=self._flags, settings=self._given, environ=self._environment, project=layer)
        keys = secrets(found.settings, self._environment)
        keep_from_children(keys)
        # What runs beside us can look at us before we have started anything.
        conceal(os.environ.keys() - without_secrets(os.environ, keys).keys())
        return found

    async def _release(self) -> None:
        if self._recall is not None:
            await self._recall.close()
        await self._stored.close()
