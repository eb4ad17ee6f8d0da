"""The facade: takes a configuration and a query, and yields events.

Invariant: importing this module and creating an `Agent` imports next to nothing, so that the interface
shows before the engine is loaded.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from copy import copy
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from cogency_tui.agent.conversation_runner import Conversations, choice_of, effort_of, store_choices
from cogency_tui.agent.store_fallback import StoreOpener
from cogency_tui.child_environment import withhold_from_children, without_secrets
from cogency_tui.config.layers import Configured, Layer, configure, load_settings
from cogency_tui.config.mcp import McpSettings
from cogency_tui.config.schema import (
    PERMISSIONS,
    DialectChoice,
    EffortChoice,
    Mode,
    Permissions,
    Settings,
    claude_directory,
    config_directory,
    config_path,
    data_path,
)
from cogency_tui.errors import ConfigError
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import create_provider, secrets
from cogency_tui.tools.shell.concealed_proc_environ import conceal
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.context_window import History
    from cogency_tui.agent.edits.journal import Journal
    from cogency_tui.agent.edits.undo import Undo
    from cogency_tui.agent.event_queue import EventQueue
    from cogency_tui.agent.hooks.listing import ListedHook
    from cogency_tui.agent.images import Images
    from cogency_tui.agent.language_servers import LanguageServersOnDemand
    from cogency_tui.agent.permissions.gate import Ask, Gate, Inquire
    from cogency_tui.agent.permissions.rules import Rules
    from cogency_tui.agent.profile.profile import Profile
    from cogency_tui.agent.project.instructions import Instructions
    from cogency_tui.agent.project.settings import ProjectSettings
    from cogency_tui.agent.recall.recall import Recall
    from cogency_tui.agent.review.review import Review
    from cogency_tui.agent.subagent_tree import SubagentTree
    from cogency_tui.agent.timeline.timeline import Timeline
    from cogency_tui.agent.until import Until
    from cogency_tui.protocol.events import CompactionFigures, Event, Image
    from cogency_tui.providers.models import Prices
    from cogency_tui.store.store import Store, StoredConversation
    from cogency_tui.tools.base import Outcome, Tool
    from cogency_tui.tools.function import Function
    from cogency_tui.tools.mcp.servers import Servers
    from cogency_tui.tools.shell.background import Background


def _nothing_waits() -> bool:
    return False


async def _release_nothing() -> None:
    """What a worktree's conversations use is closed with the project's."""


class Agent:
    """A coding agent in one project.

    An agent is configuration. What a turn needs (the store's connection, open sessions) opens on first use,
    and closes with `close`, or after the turn if `open` was not called.

    `llm` names a provider of the configuration, or is one. An argument that is not given follows the user's
    configuration. `ask` asks the user for permission, and `inquire` puts the model's own questions to them.
    These, `mode`, `effort` and `permissions` may be set at any time, and apply from the next cycle.
    `max_cost` is in USD for each turn (`budget.turn.hard`). `tools` are added to the built-in ones: typed
    async functions with a docstring, or `Tool`s. `mcp` adds servers to those of the configuration, and
    replaces those of the same name.

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
        dialect: DialectChoice | None = None,
        effort: EffortChoice | None = None,
        service_tier: str | None = None,
        permissions: Permissions | None = None,
        max_iterations: int | None = None,
        max_cost: float | None = None,
        project: Path | str | None = None,
        data: Path | str | None = None,
        tools: "Sequence[Tool[Any] | Function] | None" = None,
        mcp: Mapping[str, McpSettings] | None = None,
        ask: "Ask | None" = None,
        inquire: "Inquire | None" = None,
        settings: Settings | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environ is None else environ
        self._flags = {
            "provider": llm if isinstance(llm, str) else None,
            "model": model,
            "mode": mode,
            "dialect": dialect,
            "effort": effort,
            "service_tier": service_tier,
            "permissions": permissions,
            "max_iterations": max_iterations,
            "budget.turn.hard": max_cost,
        }
        self._given = settings
        self._environment = environment
        self._project_settings: ProjectSettings | None = None
        self._from_project: Mapping[str, Any] = {}
        self._home: Agent | None = None
        self.rerun_of: Agent | None = None
        """The agent of the project, where this one runs a turn again in a scratch copy of it."""
        self.rerun_turn = 0
        """The number of that turn."""
        self._worktrees: dict[Path, Agent] = {}
        """The agents of worktrees, of the one whose project these belong to."""
        self.workspace = Workspace(Path(project) if project is not None else Path.cwd())
        self.configured = self._configure()
        """The settings, each with its origin."""
        self.mode: Mode = self.settings.mode
        self.permissions: Permissions = self.settings.permissions
        self.effort: EffortChoice = self.settings.effort
        self._dialect_given: DialectChoice | None = dialect
        self.dialect: DialectChoice | None = dialect
        """The dialect of every conversation from now on; None leaves each conversation its own."""
        self.ask = ask
        self.inquire = inquire
        self.titled: Callable[[str, str], None] | None = None
        """If set, conversations are named in the background, and this is called with the id and the title."""
        self.is_last_turn = False
        """Set before the first turn if no other follows: the model learns that background commands end with
        its answer."""
        self.progressed: Callable[[str], None] | None = None
        """If set, it is called with the id of a sub-agent's conversation when new events of it are stored."""
        self._model_given = llm is not None or model is not None
        self.model_chosen = self._model_given and (llm is None or isinstance(llm, str))
        """True if the user has chosen the model, here or by a flag."""
        if llm is None or isinstance(llm, str):
            self.provider: Provider = create_provider(self.settings, environment)
        else:
            self.provider = llm
        self._recall: Recall | None = None
        self._rules: Rules | None = None
        self._profile: Profile | None = None
        self._data = Path(data) if data is not None else data_path(environment)
        self._stored = StoreOpener(self._data)
        self._closing_too: list[Callable[[], Awaitable[None]]] = []
        self._provider_given = None if llm is None or isinstance(llm, str) else llm
        self._extensions = (tools or (), mcp or {})
        self._conversations = Conversations(self, tools or (), environment, self._release, mcp or {})

    @property
    def project(self) -> Path:
        """The project directory, resolved."""
        return self.workspace.root

    @property
    def home(self) -> "Agent":
        """The agent of the main project, where this one works in a worktree of it; else itself."""
        return self if self._home is None else self._home

    @property
    def in_project(self) -> "Agent":
        """The agent that works in the user's files, where this one works in a scratch copy of them; else
        itself."""
        return self if self.rerun_of is None else self.rerun_of.in_project

    @property
    def worktree(self) -> str:
        """The name of the worktree that it works in; empty without one."""
        return self.project.name if self._home is not None else ""

    @property
    def is_worktree_removed(self) -> bool:
        """True if it works in a worktree that is gone."""
        return self._home is not None and not self.project.is_dir()

    @property
    def worktrees_directory(self) -> Path:
        """The directory of the project's worktrees."""
        # Not on the way to the first frame.
        from cogency_tui.config.worktree_paths import worktrees_of

        return worktrees_of(self._data, str(self.home.project))

    def root_of(self, project: str) -> Path | None:
        """The worktree that `project`, the directory of a conversation, is or was, or the main project; None
        if it is of another project."""
        root = Path(project)
        is_worktree = root.parent == self.worktrees_directory
        return root if is_worktree or root == self.home.project else None

    def is_of_other_project(self, conversation: "StoredConversation") -> bool:
        """Return whether a conversation is of a project that is there, and neither this one nor a worktree of
        it: it goes on here only in a fork."""
        from cogency_tui.config.worktree_paths import are_of_one_project

        place = conversation.project
        if place == str(self.project) or self.root_of(place) is not None:
            return False
        return Path(place).is_dir() and not are_of_one_project(place, str(self.project))

    async def fork_here(self, conversation_id: str) -> "StoredConversation":
        """Fork a conversation of another agent, machine or project into this one.

        Raises:
            StoreError: the store fails.
        """
        from cogency_tui.store.forks import Forks

        store = await self.store()
        return await Forks(store.database).fork(conversation_id, project=str(self.project))

    @property
    def journal(self) -> "Journal":
        """The journal of the project."""
        return self._conversations.shared().journal

    @property
    def data(self) -> Path:
        """The user's data directory."""
        return self._data

    @property
    def rules(self) -> "Rules":
        """The user's permanent rules, as they apply to this project."""
        if self._rules is None:
            from cogency_tui.agent.permissions.rules import FILE_NAME, Rules

            path = config_directory(self._environment) / FILE_NAME
            self._rules = Rules(path, self.project, self.home.project)
        return self._rules

    @property
    def project_settings(self) -> "ProjectSettings":
        """The project's configuration, and the user's trust in it."""
        if self._project_settings is None:
            from cogency_tui.agent.project.settings import ProjectSettings
            from cogency_tui.agent.project.trust import FILE_NAME, Trust

            folder = config_directory(self._environment)
            own = partial(load_settings, settings=self._given, environ=self._environment)
            claude = claude_directory(self._environment)
            trust = Trust(folder / FILE_NAME, self.home.project)
            self._project_settings = ProjectSettings(trust, self.project, own, folder, claude)
        return self._project_settings

    def running_hook(self, conversation_id: str | None) -> str:
        """The name of the hook that runs in a conversation, or in one that is new; empty if none does."""
        engine = self._conversations.engine
        running = {} if engine is None else engine.running_hooks
        return (
            next(iter(running.values()), "") if conversation_id is None else running.get(conversation_id, "")
        )

    def list_hooks(self) -> "list[ListedHook]":
        """The hooks of the user and the project, with the last run of each. Blocks."""
        from cogency_tui.agent.hooks.listing import list_hooks

        engine = self._conversations.engine
        return list_hooks(self.project_settings, {} if engine is None else engine.hook_runs)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.configured.settings

    def follow_project(self) -> None:
        """Apply the options that a trusted project gives now, if they have changed.

        Raises:
            ConfigError: as `reload`.
        """
        if self._given is None and self.project_settings.now.options != self._from_project:
            self.reload()

    def reload(self) -> None:
        """Read the configuration again and apply it; what a turn reads at its start applies from the next
        turn. A choice made since the start remains unless the configuration now differs; of the permissions
        the agents `beside` this one follow only what narrows them. `choose_model` sets the provider.

        Raises:
            ConfigError: the configuration cannot be used; nothing has changed.
        """
        before, configured = self.settings, self._configure()
        for each in self._conversations.agents:
            each._follow(configured, self._from_project, widens=each is self)
        if self._profile is not None:
            self._profile.follow(before, self.settings)
        self._conversations.use(self.settings)

    @property
    def follows_file(self) -> bool:
        """True if the settings are those of the user's configuration, not of an embedding program."""
        return self._given is None

    def follow_history(self) -> None:
        """Apply the `[history]` table that the user's configuration has now, and nothing else of it.

        Raises:
            ConfigError: the configuration cannot be used; nothing has changed.
        """
        found = load_settings(flags=self._flags, settings=self._given, environ=self._environment)
        if found.history == self.settings.history:
            return
        withhold_from_children(secrets(found, self._environment))
        for each in self._conversations.agents:
            settings = replace(each.settings, history=found.history)
            each.configured = replace(each.configured, settings=settings)

    def _follow(self, configured: Configured, from_project: Mapping[str, Any], *, widens: bool) -> None:
        before, now = self.settings, configured.settings
        self.configured, self._from_project = configured, from_project
        if now.mode != before.mode:
            self.mode = now.mode
        if now.effort != before.effort:
            self.effort = now.effort
        if now.permissions != before.permissions:
            self.permissions = now.permissions if widens else self._narrowed(now.permissions)

    def _narrowed(self, permissions: Permissions) -> Permissions:
        """These permissions or the present ones, whichever allow less."""
        return PERMISSIONS[min(map(PERMISSIONS.index, (self.permissions, permissions)))]

    def beside(self) -> "Agent":
        """Create an agent for a conversation that runs at the same time as those of this one: of the same
        store, engine and configuration.

        Its mode, dialect, effort and model begin as these; its permissions do, too, but are no wider than
        configured. It is closed with this one, or ends with `leave`.
        """
        # Created on first use, and shared from now on.
        _ = (self.rules, self.project_settings, self.profile, self.recall)
        other = copy(self)
        other.ask = other.inquire = other.titled = other.progressed = None
        other.permissions = self._narrowed(self.settings.permissions)
        self._conversations.join(other)
        return other

    def beside_in(self, root: Path) -> "Agent":
        """Create an agent as `beside` does, which works in the worktree of the project at `root`, or in the
        project itself.

        Raises:
            ConfigError: the configuration cannot be used.
            WorkspaceError: there is no such directory.
        """
        home = self.home
        if root == home.project:
            other = home.beside()
        else:
            if root not in home._worktrees:
                home._worktrees[root] = home._in_worktree(root)
            other = home._worktrees[root].beside()
        other.mode, other.effort, other.dialect = self.mode, self.effort, self.dialect
        other.permissions = other._narrowed(self.permissions)
        if self._provider_given is None:
            with suppress(ConfigError):
                other.provider = other._conversations.named(self.provider.name, self.provider.model)
        other.model_chosen = self.model_chosen
        return other

    def _in_worktree(self, root: Path) -> "Agent":
        _ = (self.profile, self.recall)
        other = copy(self)
        other.ask = other.inquire = other.titled = other.progressed = None
        other.workspace = Workspace(root)
        other._home = self
        other._rules = other._project_settings = None
        other._from_project = {}
        other.configured = other._configure()
        if self._provider_given is None:
            other.provider = create_provider(other.settings, self._environment)
        tools, mcp = self._extensions
        other._conversations = Conversations(other, tools, self._environment, _release_nothing, mcp)
        other._conversations.held = self._conversations.held
        other._conversations.patient = self._conversations.patient
        return other

    async def settle_worktree(self) -> None:
        """Record the changes of commands in the worktree whose process is gone, and start its servers."""
        if self._home is not None:
            await self._conversations.settle()
            await self._conversations.start_servers()

    def working_in(self, root: Path) -> "Agent | None":
        """The agent of the worktree at `root`, if one has worked there since the start."""
        return self.home._worktrees.get(root)

    @property
    def at_work(self) -> list[str]:
        """The ids of the conversations in its directory that work or wait for the user."""
        return self._conversations.at_work

    @property
    def waiting(self) -> list[str]:
        """The ids of those that wait for an answer of the user's."""
        return self._conversations.waiting

    async def stop_all(self) -> None:
        """Stop the work in all conversations in its directory, and wait until the end is recorded."""
        await self._conversations.stop()

    async def close_worktree(self, root: Path) -> None:
        """Stop what runs in the worktree at `root`."""
        if (agent := self._worktrees.pop(root, None)) is not None:
            await agent._conversations.close()

    async def leave(self, conversation_id: str | None) -> None:
        """Stop what runs in this conversation, the last one of this agent, and wait until its end is
        recorded. Its background commands go on, as do the agents `beside` this one.
        """
        await self._conversations.leave(self, conversation_id)
        self.ask = self.inquire = self.titled = self.progressed = None

    def begin_choices(self) -> None:
        """Return to the configured effort and dialect, or those given by flags, for a new conversation. The
        mode, model and permissions remain."""
        self.effort, self.dialect = self.settings.effort, self._dialect_given

    def use_configured(self, key: str) -> None:
        """Replace the mode, effort, permissions or dialect chosen since the start by the configured value."""
        match key:
            case "mode":
                self.mode = self.settings.mode
            case "effort":
                self.effort = self.settings.effort
            case "permissions":
                self.permissions = self.settings.permissions
            case "dialect":
                self.dialect = self.settings.dialect
            case _:
                pass

    @property
    def profile(self) -> "Profile":
        """The user's profile."""
        if self._profile is None:
            from cogency_tui.agent.profile.profile import Profile

            path = config_path(self._environment)
            self._profile = Profile(self.store, path, self.settings, self.reload)
        return self._profile

    @property
    def sandbox(self) -> str:
        """The sandbox's state, for the status bar: `sandboxed`, or `not sandboxed: ` and the reason."""
        if self._conversations.engine is not None:
            return self._conversations.engine.sandbox.state
        return f"not sandboxed: {'switched off' if self.settings.sandbox == 'off' else 'not tried yet'}"

    async def probe_sandbox(self) -> bool:
        """Return whether commands run in a sandbox; tried once."""
        return await self._conversations.shared().sandbox.probe(self.workspace)

    async def run_supervised(self, command: str, directory: Path, seconds: int) -> "Outcome":
        """Run a command of the user's in another directory than the project, as the agent's commands are run:
        in the sandbox if there is one, and without keys. Nothing is recorded.

        Raises:
            ToolError: it cannot be run.
        """
        from cogency_tui.tools.base import BoundCall, ToolContext
        from cogency_tui.tools.shell.shell_tool import Shell, ShellArgs

        engine = self._conversations.shared()
        shell = Shell(sandbox=engine.sandbox)
        context = ToolContext(Workspace(directory), secrets=engine.secrets)
        args = ShellArgs(command, timeout=seconds)
        return await BoundCall(shell, args, context, shell.touch(args, context)).run()

    @property
    def background(self) -> "Background | None":
        """The background commands of all conversations; None before anything has run."""
        return None if self._conversations.engine is None else self._conversations.engine.background

    @property
    def language_servers(self) -> "LanguageServersOnDemand":
        """The language servers of the project; none is started by this."""
        return self._conversations.shared().language_servers

    @property
    def recall(self) -> "Recall":
        """The user's past conversations."""
        if self._recall is None:
            from cogency_tui.agent.recall.recall import Recall

            self._recall = Recall(self.store, str(self.home.project))
        return self._recall

    @property
    def lasting(self) -> bool:
        """True if the store outlives the program."""
        return self._stored.lasting

    async def store(self) -> "Store":
        """The user's store, opened on first use. If it cannot be opened, a store that lasts as long as this
        agent, so that work can continue; its notices report this.

        Raises:
            StoreError: not even a temporary store can be opened.
        """
        return await self._stored.store()

    async def open(self, *, patient: bool = False) -> None:
        """Load what a turn needs, and leave the store and sessions open between turns, until `close`. The
        turns of a `patient` agent wait for MCP servers for their whole start-up limit.
        """
        self._conversations.held = True
        self._conversations.patient = patient
        await self.store()
        await self._conversations.settle()
        await asyncio.to_thread(import_module, "cogency_tui.agent.subagents")
        await self._conversations.start_servers()

    async def start_servers(self) -> "Servers":
        """The MCP servers of the current configuration; those that were not running are starting."""
        await self._conversations.start_servers()
        return self._conversations.shared().servers

    def closes_too(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have something that works for this agent closed before it."""
        self._closing_too.append(close)

    async def close(self) -> None:
        """Stop what runs, wait until its end is recorded, and close everything that is open."""
        while self._closing_too:
            await self._closing_too.pop()()
        for root in [*self._worktrees]:
            await self.close_worktree(root)
        await self._conversations.close()

    async def __aenter__(self) -> "Agent":
        await self.open()
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _exc: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __call__(
        self, query: str, *, conversation_id: str | None = None, images: "Sequence[Image]" = ()
    ) -> AsyncIterator["Event"]:
        """The events of one turn, complete units only."""
        return self.stream(query, conversation_id=conversation_id, chunks=False, images=images)

    def interrupt(self, conversation_id: str | None = None) -> None:
        """Stop the running turn of this conversation, or of all: their streams end with `interrupt`."""
        self._conversations.interrupt(conversation_id)

    def steer(self, conversation_id: str, query: str) -> None:
        """Send a message to the running answer of this conversation, where the provider takes messages while
        it answers. The message is the next one for which the turn's `message_waits` returns True, and
        continues to wait with the caller (see `stream`).
        """
        if conversation := self._conversations.known(conversation_id):
            conversation.steer(query)

    async def stream(
        self,
        query: str,
        *,
        conversation_id: str | None = None,
        chunks: bool = True,
        typed: str = "",
        images: "Sequence[Image]" = (),
        message_waits: Callable[[], bool] = _nothing_waits,
        until: "Until | None" = None,
    ) -> AsyncGenerator["Event", None]:
        """The events of one turn in `conversation_id`, or in a new conversation; with `chunks`, text as
        deltas.

        `typed` is the part of the query that the user typed: the profile learns from nothing else. `images`
        are those of `add_image` that the message carries.

        `message_waits` steers: it is asked between two requests, when every call has its result. If it
        returns True the turn ends there, and the next one, with the message that waits, continues the work:
        its first request has the results and the message. The messages stay with the caller, so that each is
        sent once, whenever it comes. The turn may be one `until` a command succeeds.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is already running in this conversation.
        """
        turn = self._conversations.turn
        work = partial(
            turn,
            query,
            chunks=chunks,
            typed=typed,
            images=images,
            message_waits=message_waits,
            until=until,
        )
        async with aclosing(self._conversations.events(conversation_id, work, self)) as events:
            async for event in events:
                yield event

    async def run_turn(
        self,
        query: str,
        queue: "EventQueue",
        *,
        conversation_id: str,
        typed: str = "",
        images: "Sequence[Image]" = (),
        attached: Collection[str] = (),
        message_waits: Callable[[], bool] = _nothing_waits,
        until: "Until | None" = None,
    ) -> None:
        """Run one turn as `stream` does, for a consumer that takes the events from `queue` itself. The files
        at the paths `attached`, which the query mentions, are among the images. The turn may be one `until` a
        command succeeds."""
        work = partial(
            self._conversations.turn,
            query,
            chunks=True,
            typed=typed,
            images=images,
            attached=attached,
            message_waits=message_waits,
            until=until,
        )
        await self._conversations.run(conversation_id, work, queue, self)

    async def retry_turn(
        self,
        queue: "EventQueue",
        *,
        conversation_id: str,
        message_waits: Callable[[], bool] = _nothing_waits,
        until: "Until | None" = None,
    ) -> None:
        """Continue the last turn of a conversation, which failed, was interrupted or ended for a message
        that does not come, from what is stored of it: as `run_turn`, without another message."""
        work = partial(self._conversations.turn, None, chunks=True, message_waits=message_waits, until=until)
        await self._conversations.run(conversation_id, work, queue, self)

    async def add_image(self, content: bytes, name: str) -> "Image":
        """Store an image for a message: PNG, JPEG, GIF, WebP, or another format that can be converted, sized
        down to what vendors take. `name` is for the user.

        Raises:
            WorkspaceError: it is no image that can be read, or too large.
            StoreError: it cannot be stored.
        """
        return await self._images.add(content, name)

    async def read_mentioned(self, text: str) -> "dict[str, Image]":
        """Store the image files that a text mentions; return them by the mentions (`@shot.png`), without
        those that cannot be attached."""
        from cogency_tui.agent.image_mentions import read_mentioned

        return await read_mentioned(text, self.workspace, self._images)

    async def image_content(self, image: "Image") -> bytes:
        """The bytes of an image of an event: PNG, JPEG, GIF or WebP of the size that the event says.

        Raises:
            StoreError: they are missing or damaged.
            WorkspaceError: they are no such image, in a conversation that was imported.
        """
        return await self._images.content(image)

    @property
    def _images(self) -> "Images":
        return self._conversations.shared().images

    async def run_command(self, command: str, queue: "EventQueue", *, conversation_id: str) -> None:
        """Run a command of the user's. Put into `queue` previews of a call while it runs, then the user
        message that it is stored as, which the model receives with the next one (see `user_command`).

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is already running in this conversation.
        """
        work = partial(self._conversations.user_command, command)
        await self._conversations.run(conversation_id, work, queue, self)

    async def run_check(self, until: "Until", queue: "EventQueue", *, conversation_id: str) -> None:
        """Run the command of `until` as `run_command` does, and report to it how that has ended.

        Raises:
            StoreError: the store cannot be used.
            UsageError: a turn is already running in this conversation.
        """
        await self._conversations.run(conversation_id, partial(self._conversations.check, until), queue, self)

    async def until(
        self,
        until: "Until",
        query: str = "",
        *,
        conversation_id: str | None = None,
        chunks: bool = False,
        typed: str = "",
    ) -> AsyncGenerator["Event", None]:
        """The events of turns until a command succeeds, of the runs of that command, and at the end a notice
        of what held. The first turn has the `query`, without which the command runs first.

        Raises:
            StoreError: the store cannot be used.
            UsageError: a turn is already running in this conversation.
        """
        from cogency_tui.store.store import new_conversation_id

        id, runner = conversation_id or new_conversation_id(), self._conversations
        until.due = "turn" if query else "check"
        while not until.is_over:
            if until.due == "check":
                work = partial(runner.check, until, chunks=chunks)
            else:
                work = partial(
                    runner.turn,
                    query or until.message,
                    chunks=chunks,
                    typed=typed if query else "",
                    message_waits=_nothing_waits,
                    until=until,
                )
                query = ""
            end: Event | None = None
            async with aclosing(runner.events(id, work, self)) as events:
                async for event in events:
                    if event["type"] == "end":
                        end = event
                    else:
                        yield event
            if report := until.take_report():
                yield report
            if end is not None:
                yield end
        if report := until.take_report():
            # It was stopped before it began.
            yield report

    async def choose_model(self, provider: str, model: str) -> None:
        """Switch to another model from the next cycle on; an empty `model` selects the provider's default.

        Raises:
            ConfigError: there is no such provider, or it lacks an address or a model.
        """
        # Closed with the rest, not here: a running cycle may still use its connection, and the user may
        # choose it again.
        self._conversations.adopt(self.provider)
        self.provider = self._conversations.named(provider, model)
        self.model_chosen = True

    @property
    def chosen_effort(self) -> str:
        """The effort that the user has chosen, here or by a flag; empty where it is the configured one."""
        is_configured = self.effort == self.settings.effort and self._flags["effort"] is None
        return "" if is_configured else self.effort

    def refuses(self, effort: EffortChoice) -> bool:
        """Return whether the model has refused this effort, and is asked without it."""
        engine = self._conversations.engine
        return engine is not None and engine.refuses(self.provider, effort)

    async def store_choices(self, conversation_id: str) -> None:
        """Store the model, effort and dialect with a conversation, if it has begun: they come back with it.

        Raises:
            StoreError: they cannot be stored.
        """
        store = await self.store()
        if record := await store.conversation(conversation_id):
            await store_choices(store, record, self)

    async def resume_choices(self, conversation_id: str) -> str:
        """Return to the model, effort and dialect that the user chose in a conversation, and otherwise to the
        configured ones; those given by flags remain. Return a notice if the model can no longer be used.

        Raises:
            StoreError: the conversation cannot be read.
        """
        record = await (await self.store()).conversation(conversation_id)
        if record is None:
            return ""
        if self._flags["effort"] is None:
            self.effort = effort_of(record) or self.settings.effort
        if self._flags["dialect"] is None:
            choice = choice_of(record)
            self.dialect = None if choice == self.settings.dialect else choice
        return await self._resume_model(record)

    async def _resume_model(self, record: "StoredConversation") -> str:
        # A conversation that came from a file does not decide where the project is sent.
        chosen = record.model_chosen and not record.imported
        if self._model_given or not (chosen or self.model_chosen):
            return ""
        name, model = (
            (record.provider, record.model) if chosen else (self.settings.provider, self.settings.model)
        )
        try:
            await self.choose_model(name, model)
        except ConfigError:
            now = f"{self.provider.name}/{self.provider.model}"
            return f"{name}/{model} is no longer configured. Continuing with {now}."
        self.model_chosen = chosen
        return ""

    def prices(self, provider: str, model: str) -> "Prices | None":
        """The prices of a model; None where they are unknown, or the provider is no longer configured."""
        if (provider, model) == (self.provider.name, self.provider.model):
            return self.provider.facts.prices
        try:
            return self._conversations.named(provider, model).facts.prices
        except ConfigError:
            return None

    async def compact(self, conversation_id: str) -> "CompactionFigures":
        """Summarise the whole conversation: the summary replaces it in the model's context; the events
        remain.

        Raises:
            UsageError: a turn is running, or there is nothing to summarise.
            ProviderError: the request to the model failed.
        """
        with self._conversations.conversation(conversation_id, self).working():
            return await (await self.history(conversation_id)).compact(retain=False)

    @property
    def learning(self) -> bool:
        """True if the profile is being updated."""
        return self._conversations.learning

    async def remember(self, conversation_id: str | None) -> None:
        """Turn the profile on, and learn in the background from what the user has typed in this
        conversation since the program started.

        Raises:
            ConfigError: the configuration cannot be changed.
            StoreError: the store cannot be used.
        """
        await self.profile.turn_on()
        if conversation_id is not None:
            await self._conversations.learner().remember(await self.store(), conversation_id)

    async def undo(self, conversation_id: str) -> "Undo":
        """Reverts and reapplies the file changes of the conversation."""
        from cogency_tui.agent.edits.undo import Undo

        return Undo(self._conversations.shared().journal, conversation_id)

    def review(self, conversation_id: str) -> "Review":
        """The review of the agent's changes in the conversation."""
        from cogency_tui.agent.review.review import Review

        return Review(self._conversations.shared().journal, self.store, conversation_id)

    def timeline(self, conversation_id: str) -> "Timeline":
        """The conversation at any of its events."""
        from cogency_tui.agent.timeline.timeline import Timeline

        return Timeline(
            self._conversations.shared().journal, self.store, conversation_id, self._conversations.frame
        )

    def subagents(self, conversation_id: str) -> "SubagentTree":
        """The tree of the conversation's sub-agents."""
        from cogency_tui.agent.subagent_tree import SubagentTree

        return SubagentTree(self._conversations.shared().journal, self.store, conversation_id)

    def gate(self, conversation_id: str | None) -> "Gate | None":
        """The permission gate of a conversation; None before its first turn in this process."""
        conversation = self._conversations.known(conversation_id or "")
        return None if conversation is None else conversation.gate

    def session_expires(self, conversation_id: str | None) -> float | None:
        """The Unix time at which the provider drops the conversation's session if nothing is sent; None
        without such a session.
        """
        conversation = self._conversations.known(conversation_id or "")
        return None if conversation is None else conversation.session_expires

    def allows_edits(self, conversation_id: str | None, *, in_turn: bool) -> bool:
        """Return whether the user has allowed all changes of files for a conversation, or, `in_turn`, for its
        present turn.
        """
        gate = self.gate(conversation_id)
        return gate is not None and gate.allows_edits(in_turn=in_turn)

    async def approve_by_mode(self, conversation_id: str | None) -> int:
        """Approve the waiting calls of a conversation that the permission mode does not ask about; return
        their number.
        """
        gate = self.gate(conversation_id)
        return 0 if gate is None else await gate.approve_by_mode()

    async def files_changed(self, conversation_id: str | None) -> None:
        """Ask again about the waiting changes of files that would be others by now."""
        if gate := self.gate(conversation_id):
            await gate.files_changed()

    def instructions(self, conversation_id: str | None) -> "Instructions":
        """The instruction files, as they were when the conversation's last turn began."""
        from cogency_tui.agent.project.instructions import Instructions

        conversation = self._conversations.known(conversation_id or "")
        return Instructions() if conversation is None else conversation.instructions

    async def history(self, conversation_id: str) -> "History":
        """The conversation as its model receives it: the context and its summary."""
        store = await self.store()
        conversation = self._conversations.conversation(conversation_id, self)
        await self._conversations.prepare(store, conversation)
        return conversation.history(store, conversation.wanted_dialect())

    def _configure(self) -> Configured:
        layer: Layer | None = None
        brought = self.project / ".cogency" / "config.toml"
        if self._given is None and (self._project_settings is not None or brought.exists()):
            self.project_settings.refresh()
            layer = self.project_settings.layer
            self._from_project = self.project_settings.now.options
        found = configure(flags=self._flags, settings=self._given, environ=self._environment, project=layer)
        keys = secrets(found.settings, self._environment)
        withhold_from_children(keys)
        # Other processes can inspect this one before it has started any child.
        conceal(os.environ.keys() - without_secrets(os.environ, keys).keys())
        return found

    async def _release(self) -> None:
        if self._recall is not None:
            await self._recall.close()
        await self._stored.close()
