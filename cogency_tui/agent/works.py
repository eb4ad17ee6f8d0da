"""Runs an agent's conversations, one turn or command at a time in each.

Invariant: the engine is imported on first use: creating an agent does not load it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from cogency_tui.config.schema import DIALECTS, Dialect, Settings, config_directory
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.providers.catalog import create_provider, host_of, secrets

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.engine import Engine
    from cogency_tui.agent.event_queue import Outbox
    from cogency_tui.agent.profile.learner import Learner
    from cogency_tui.agent.running import Running
    from cogency_tui.config.mcp import McpSettings
    from cogency_tui.protocol.events import ReviewNote
    from cogency_tui.store.conversations import Conversation, Store
    from cogency_tui.store.requests import Frame
    from cogency_tui.store.summaries import Summary
    from cogency_tui.tools.base import Tool
    from cogency_tui.tools.function import Function


_PATIENCE = 1.5
"""Seconds that a message waits for MCP servers that are starting."""

_NOT_LASTING = "the store cannot be used: once the program ends, no change of a file can be taken back"


class Works:
    """The conversations of `agent` and their engine, with the user's `tools` and `mcp` servers. Private to
    the agent.

    `held`: what one turn opens stays open for the next. `patient`: turns wait for MCP servers for their
    whole start-up limit. `released` is awaited when everything is closed.
    """

    def __init__(
        self,
        agent: "Agent",
        tools: "Sequence[Tool[Any] | Function]",
        environ: Mapping[str, str],
        released: Callable[[], Awaitable[None]],
        mcp: Mapping[str, "McpSettings"],
    ) -> None:
        self.held = False
        self.patient = False
        self.engine: Engine | None = None
        self._agent = agent
        self._tools = tuple(tools)
        self._environ = environ
        self._released = released
        self._mcp = mcp
        self._others: dict[tuple[str, str], Provider] = {}
        self._warming: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[str, Running] = {}
        self._learning: Learner | None = None

    async def close(self) -> None:
        """Stop what runs, wait until its end is recorded, and close everything that is open."""
        self.held = False
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
            self._warming = None
        self.interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._learning is not None:
            await self._learning.close()
        await self._release()

    def interrupt(self, conversation_id: str | None = None) -> None:
        """Stop what runs in this conversation, or in all."""
        for key, running in self._running.items():
            if running.busy and conversation_id in (None, key):
                running.interrupt()

    async def run(
        self,
        conversation_id: str | None,
        work: "Callable[[str, Running, Outbox], Awaitable[None]]",
    ) -> AsyncGenerator[Event, None]:
        """The events that `work`, `turn` or `own_command`, puts into its outbox; nothing else runs in the
        conversation meanwhile.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is already running in this conversation, or another process has it open.
        """
        from cogency_tui.agent.event_queue import Outbox
        from cogency_tui.store.conversations import new_conversation_id

        conversation = conversation_id or new_conversation_id()
        running = self.running_of(conversation)
        if running.busy:
            raise UsageError("A turn is running in this conversation.", "Wait for it, or interrupt it.")
        running.busy, running.interrupted = True, False
        outbox = Outbox()

        async def done() -> None:
            try:
                async with self._agent.recall.working_in(conversation, time()):
                    await work(conversation, running, outbox)
            finally:
                running.turn = None
                running.busy = False
                outbox.close()

        task = asyncio.create_task(done())
        self._tasks.add(task)
        try:
            async for event in outbox:
                yield event
        finally:
            # A consumer that leaves early stops the turn; its end is still recorded.
            if not outbox.closed:
                running.interrupt()
            await asyncio.wait([task])
            self._tasks.discard(task)
            if not self.held and not self._tasks:
                await self._release()
        task.result()

    async def turn(
        self, query: str, conversation: str, running: "Running", outbox: "Outbox", *, chunks: bool, typed: str
    ) -> None:
        """Run a turn on the user's query; `typed` is the part of it that the user typed."""
        store = await self._agent.store()
        if not self._agent.lasting:
            running.gate.caution(_NOT_LASTING)
        dialect = await self.dialect_of(store, conversation)
        await running.begin(store)
        # An agent that closes after this turn has no later one in which to wait for servers.
        await running.gather_tools(_PATIENCE if self.held and not self.patient else None)
        with suppress(CogencyError):
            # The user may be editing the file: the previous options remain in force.
            await asyncio.to_thread(self._agent.follow_project)
        if self.held and self._warming is None:
            self._warming = asyncio.create_task(self._warm())
        turn = running.prepare(store, dialect, outbox, chunks=chunks)
        await turn.run(query, outbox.close, lambda: self._reviewed(conversation))
        with suppress(CogencyError):
            # The turn has ended; a failure here is retried with the next one.
            if self.held and typed:
                await self.learner().hear(store, conversation, query, typed)
        with suppress(CogencyError):
            # A failure here is retried with the next command.
            await running.engine.journal.end_turn(conversation)

    async def own_command(
        self, command: str, conversation: str, running: "Running", outbox: "Outbox"
    ) -> None:
        """Run a command of the user's."""
        store = await self._agent.store()
        await self.dialect_of(store, conversation)
        await running.begin(store)
        await running.prepare_command(store, command, outbox).run()

    @property
    def learning(self) -> bool:
        """Whether the profile is being updated."""
        return self._learning is not None and self._learning.at_work

    def learner(self) -> "Learner":
        """The learner of the user's profile."""
        from cogency_tui.agent.profile.learner import Learner

        if self._learning is None:
            agent, own = self._agent, secrets(self._agent.settings, self._environ)
            self._learning = Learner(agent.profile, lambda: agent.provider, own)
        return self._learning

    async def settle(self) -> None:
        """Record the changes of commands in the project whose process is gone; the store's notices report
        them.

        Raises:
            StoreError: the store cannot be used.
        """
        from cogency_tui.store.intents import Intents

        store = await self._agent.store()
        intents = await Intents(store.database).below(str(self._agent.project))
        if not all(intent.is_live for intent in intents):
            await self.shared().journal.settle()

    async def start_servers(self) -> None:
        """Begin to start the configured MCP servers, so that no message waits for them."""
        settings = self._agent.project_settings
        await asyncio.to_thread(settings.refresh)
        if settings.now.mcp or self._mcp:
            self.shared().servers.configure(settings.now.mcp)

    async def _refresh_servers(self) -> None:
        """Apply the current MCP configuration, which another process may have changed."""
        settings = self._agent.project_settings
        await asyncio.to_thread(settings.refresh)
        self.shared().servers.configure(settings.now.mcp)

    def running_of(self, conversation: str) -> "Running":
        """The state of the conversation, created on first use."""
        if conversation not in self._running:
            self._running[conversation] = self._start(conversation)
        return self._running[conversation]

    def use(self, settings: Settings) -> None:
        """Go on with these settings."""
        if self.engine is not None:
            self.engine.settings = settings

    def known(self, conversation: str) -> "Running | None":
        """The state of the conversation, if it has run in this process."""
        return self._running.get(conversation)

    async def dialect_of(self, store: "Store", conversation: str) -> Dialect:
        """The dialect of the conversation, which is created if it is new, and recovered if it broke off."""
        from cogency_tui.workspace.git.branch import branch_of

        agent = self._agent
        known = await store.conversation(conversation)
        dialect: Dialect = agent.dialect or agent.settings.dialect
        if known is None:
            await store.create_conversation(
                str(agent.project),
                id=conversation,
                dialect=dialect,
                provider=agent.provider.name,
                model=agent.provider.model,
                branch=await asyncio.to_thread(branch_of, agent.project),
            )
            return dialect
        await store.recover(conversation)
        await self.settle()
        if agent.dialect is None:
            dialect = known.dialect if known.dialect in DIALECTS else dialect
        name, model = agent.provider.name, agent.provider.model
        if (known.dialect, known.provider, known.model) != (dialect, name, model):
            await store.set_settings(conversation, dialect=dialect, provider=name, model=model)
        return dialect

    async def frame(self, conversation: "Conversation", summary: "Summary | None") -> "Frame":
        """The frame that a request would put around the events of a conversation now; nothing is changed.

        Raises:
            StoreError: its events cannot be read.
        """
        store = await self._agent.store()
        running = self.running_of(conversation.id)
        await running.begin(store)
        known = conversation.dialect
        dialect: Dialect = known if known in DIALECTS else self._agent.settings.dialect
        return await running.history(store, dialect).frame(summary)

    def keep(self, provider: Provider) -> None:
        """Close this provider with the rest, and return it again under its name."""
        self._others.setdefault((provider.name, provider.model), provider)

    def named(self, name: str, model: str) -> Provider:
        """The provider for a sub-agent or an `llm` call, created once."""
        if (name, model) not in self._others:
            chosen = replace(self._agent.settings, provider=name, model=model)
            self._others[name, model] = create_provider(chosen, self._environ)
        return self._others[name, model]

    def shared(self) -> "Engine":
        """The engine, created with the first conversation."""
        from cogency_tui.agent.edits.journal import Journal
        from cogency_tui.agent.engine import Engine
        from cogency_tui.tools.function import as_tool
        from cogency_tui.tools.mcp.server import Surroundings
        from cogency_tui.tools.mcp.servers import Servers
        from cogency_tui.tools.shell.git_remotes import Remotes
        from cogency_tui.tools.shell.sandbox import Sandbox

        if self.engine is None:
            agent, config = self._agent, config_directory(self._environ)
            keys = secrets(agent.settings, self._environ)
            self.engine = Engine(
                settings=agent.settings,
                workspace=agent.workspace,
                secrets=keys,
                tools=[as_tool(tool) for tool in self._tools],
                store=agent.store,
                mode=lambda: agent.mode,
                named=self.named,
                host_of=lambda name: host_of(name, agent.settings, self._environ),
                journal=Journal(agent.workspace, agent.store),
                recall=agent.recall,
                project_settings=agent.project_settings,
                servers=Servers(
                    Surroundings(agent.project, self._environ, keys, self._refresh_servers), self._mcp
                ),
                remotes=Remotes(agent.workspace.root),
                config=config,
                profile=agent.profile,
                sandbox=Sandbox(agent.settings.sandbox, (config, agent.data)),
            )
        return self.engine

    def _start(self, conversation: str) -> "Running":
        from cogency_tui.agent.permissions.gate import Gate
        from cogency_tui.agent.running import Running
        from cogency_tui.agent.subagents import assemble

        agent = self._agent
        gate = Gate(lambda: agent.permissions, lambda: agent.ask, agent.rules)
        return Running(self.shared(), conversation, gate, lambda: agent.provider, assemble)

    async def _warm(self) -> None:
        """Scan the project while the model is asked, so that the first command need not wait for it."""
        with suppress(CogencyError):
            # A failure here recurs, and is reported, when the scan is needed.
            await self.shared().journal.warm()

    async def _reviewed(self, conversation: str) -> "ReviewNote | None":
        """The note for the next message about the user's decisions on the agent's edits."""
        from cogency_tui.agent.review.note_to_model import untold
        from cogency_tui.agent.review.snapshot import Book
        from cogency_tui.redaction import Redactor

        engine = self.shared()
        note = await untold(Book(engine.journal, self._agent.store, conversation))
        return note and {**note, "text": Redactor(engine.secrets).text(note["text"])}

    async def _release(self) -> None:
        for running in self._running.values():
            await running.close()
        if self.engine is not None:
            await self.engine.close()
        for provider in {self._agent.provider, *self._others.values()}:
            await provider.close()
        await self._released()
