"""The facade: configuration in, events out.

An `Agent` is configuration; what it needs while it works (the store's connection, open sessions) is
opened when first needed, and closed with `close`, or after the turn where it was not opened by hand.

Making one imports next to nothing, so that the interface stands before the engine is loaded.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from cogency_tui.config import DIALECTS, Dialect, Mode, Permissions, Settings, data_path, load_settings
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.providers.catalog import create_provider, secrets
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.outbox import Outbox
    from cogency_tui.agent.permissions import Ask
    from cogency_tui.agent.running import Engine, Running
    from cogency_tui.store.conversations import Store
    from cogency_tui.tools.base import Tool
    from cogency_tui.tools.function import Function


class Agent:
    """A coding agent in one project.

    `llm` names a provider of the configuration, or is one; everything not given is as the person's
    configuration says. `mode`, `permissions` and `ask` may be set at any time, and take effect with
    the next cycle. `tools` are added to ours: typed async functions with a docstring, or `Tool`s.

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
        project: Path | str | None = None,
        data: Path | str | None = None,
        tools: "Sequence[Tool[Any] | Function] | None" = None,
        ask: "Ask | None" = None,
        settings: Settings | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environ is None else environ
        flags = {
            "provider": llm if isinstance(llm, str) else None,
            "model": model,
            "mode": mode,
            "dialect": dialect,
            "permissions": permissions,
            "max_iterations": max_iterations,
        }
        self.settings = load_settings(flags=flags, settings=settings)
        self.mode: Mode = self.settings.mode
        self.permissions: Permissions = self.settings.permissions
        self.dialect: Dialect | None = dialect
        """Chosen for every conversation from now on; None leaves each in its own."""
        self.ask = ask
        self.workspace = Workspace(Path(project) if project is not None else Path.cwd())
        if llm is None or isinstance(llm, str):
            self.provider: Provider = create_provider(self.settings, environment)
        else:
            self.provider = llm
        self._environment = environment
        self._tools = tuple(tools or ())
        self._engine: Engine | None = None
        self._others: dict[tuple[str, str], Provider] = {}
        self._data = Path(data) if data is not None else data_path(environment)
        self._store: Store | None = None
        self._opening = asyncio.Lock()
        self._held = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[str, Running] = {}

    @property
    def project(self) -> Path:
        """The project directory, resolved."""
        return self.workspace.root

    async def store(self) -> "Store":
        """The person's store, opened when first asked for.

        Raises:
            StoreError: it cannot be opened.
        """
        async with self._opening:
            if self._store is None:
                from cogency_tui.store.conversations import Store

                self._store = await Store.open(self._data)
            return self._store

    async def open(self) -> None:
        """Keep the store and sessions open between turns, until `close`; load what a turn needs."""
        self._held = True
        await self.store()
        await asyncio.to_thread(import_module, "cogency_tui.agent.delegates")

    async def close(self) -> None:
        """Stop what runs, wait until its end is recorded, and close everything that was opened."""
        self._held = False
        self.interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._release()

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
        for key, running in self._running.items():
            if running.busy and conversation_id in (None, key):
                running.interrupt()

    async def stream(
        self, query: str, *, conversation_id: str | None = None, chunks: bool = True
    ) -> AsyncGenerator[Event, None]:
        """The events of one turn in `conversation_id`, or in a new one; with `chunks` text as deltas.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is running in this conversation already.
        """
        from cogency_tui.agent.outbox import Outbox
        from cogency_tui.store.conversations import new_conversation_id

        conversation = conversation_id or new_conversation_id()
        if conversation not in self._running:
            self._running[conversation] = self._start(conversation)
        running = self._running[conversation]
        if running.busy:
            raise UsageError("A turn is running in this conversation.", "Wait for it, or interrupt it.")
        running.busy, running.interrupted = True, False
        outbox = Outbox()
        task = asyncio.create_task(self._turn(query, conversation, running, outbox, chunks=chunks))
        self._tasks.add(task)
        try:
            async for event in outbox:
                yield event
        finally:
            # A consumer that leaves early stops the turn; its end is recorded all the same.
            if not outbox.closed:
                running.interrupt()
            await asyncio.wait([task])
            self._tasks.discard(task)
            if not self._held and not self._tasks:
                await self._release()
        task.result()

    async def _turn(
        self, query: str, conversation: str, running: "Running", outbox: "Outbox", *, chunks: bool
    ) -> None:
        try:
            store = await self.store()
            dialect = await self._dialect_of(store, conversation)
            turn = running.prepare(store, dialect, outbox, chunks=chunks)
            await turn.run(query, outbox.close)
        finally:
            running.turn = None
            running.busy = False
            outbox.close()

    def _start(self, conversation: str) -> "Running":
        from cogency_tui.agent.delegates import assemble
        from cogency_tui.agent.permissions import Gate
        from cogency_tui.agent.running import Running

        gate = Gate(lambda: self.permissions, lambda: self.ask)
        return Running(self._shared(), conversation, gate, lambda: self.provider, assemble)

    def _shared(self) -> "Engine":
        """What all conversations share, made with the first of them."""
        from cogency_tui.agent.running import Engine
        from cogency_tui.tools.function import as_tool
        from cogency_tui.tools.registry import default_tools

        if self._engine is None:
            self._engine = Engine(
                settings=self.settings,
                workspace=self.workspace,
                secrets=secrets(self.settings, self._environment),
                tools=[*default_tools(), *map(as_tool, self._tools)],
                store=self.store,
                mode=lambda: self.mode,
                named=self._named,
            )
        return self._engine

    def _named(self, name: str, model: str) -> Provider:
        """The provider that a sub-agent or a question is for, made once."""
        if (name, model) not in self._others:
            chosen = replace(self.settings, provider=name, model=model)
            self._others[name, model] = create_provider(chosen, self._environment)
        return self._others[name, model]

    async def _dialect_of(self, store: "Store", conversation: str) -> Dialect:
        """The dialect of the conversation, which is begun if it is new, and recovered if it broke off."""
        known = await store.conversation(conversation)
        dialect: Dialect = self.dialect or self.settings.dialect
        if known is None:
            await store.create_conversation(
                str(self.project),
                id=conversation,
                dialect=dialect,
                provider=self.provider.name,
                model=self.provider.model,
            )
            return dialect
        await store.recover(conversation)
        if self.dialect is None:
            dialect = known.dialect if known.dialect in DIALECTS else dialect
        name, model = self.provider.name, self.provider.model
        if (known.dialect, known.provider, known.model) != (dialect, name, model):
            await store.set_settings(conversation, dialect=dialect, provider=name, model=model)
        return dialect

    async def _release(self) -> None:
        for running in self._running.values():
            await running.close()
        for provider in (self.provider, *self._others.values()):
            await provider.close()
        async with self._opening:
            store, self._store = self._store, None
        if store is not None:
            await store.close()
