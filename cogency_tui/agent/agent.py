"""The facade: configuration in, events out.

An `Agent` is configuration; what it needs while it works (the store's connection, open sessions) is
opened when first needed, and closed with `close`, or after the turn where it was not opened by hand.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from cogency_tui.agent.auto import AutoChannel
from cogency_tui.agent.outbox import Outbox
from cogency_tui.agent.permissions import Ask, Gate
from cogency_tui.agent.prompt import system_prompt
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.replay import Channel, ReplayChannel
from cogency_tui.agent.resume import ResumeChannel
from cogency_tui.agent.scheduler import Preview, Scheduler
from cogency_tui.agent.turn import Turn, TurnSetup
from cogency_tui.config import Dialect, Mode, Permissions, Settings, data_path, load_settings
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.providers.catalog import create_provider, secrets
from cogency_tui.store.conversations import Store, new_conversation_id
from cogency_tui.tools.base import Tool, ToolContext
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.workspace.paths import Workspace


@dataclass(slots=True)
class _Running:
    """What a conversation keeps between its turns: its gate's grants, what it has read, its channel."""

    gate: Gate
    context: ToolContext
    channel: Channel | None = None
    wanted: tuple[Mode, Provider] | None = None
    turn: Turn | None = field(default=None)


class Agent:
    """A coding agent in one project.

    `llm` names a provider of the configuration, or is one; everything not given is as the person's
    configuration says. `mode`, `permissions` and `ask` may be set at any time, and take effect with
    the next cycle.

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
        tools: Sequence[Tool[Any]] | None = None,
        ask: Ask | None = None,
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
        self.dialect: Dialect = self.settings.dialect
        self.ask = ask
        self.workspace = Workspace(Path(project) if project is not None else Path.cwd())
        if llm is None or isinstance(llm, str):
            self.provider: Provider = create_provider(self.settings, environment)
        else:
            self.provider = llm
        self._secrets = secrets(self.settings, environment)
        self._registry = Registry([*default_tools(), *(tools or ())])
        self._data = Path(data) if data is not None else data_path(environment)
        self._store: Store | None = None
        self._opening = asyncio.Lock()
        self._held = False
        self._turns = 0
        self._running: dict[str, _Running] = {}

    @property
    def project(self) -> Path:
        """The project directory, resolved."""
        return self.workspace.root

    async def store(self) -> Store:
        """The person's store, opened when first asked for.

        Raises:
            StoreError: it cannot be opened.
        """
        async with self._opening:
            if self._store is None:
                self._store = await Store.open(self._data)
            return self._store

    async def open(self) -> None:
        """Keep the store and sessions open between turns, until `close`."""
        self._held = True
        await self.store()

    async def close(self) -> None:
        """Stop what runs, and close everything that was opened."""
        self._held = False
        self.interrupt()
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
            if running.turn is not None and conversation_id in (None, key):
                running.turn.interrupt()

    async def stream(
        self, query: str, *, conversation_id: str | None = None, chunks: bool = True
    ) -> AsyncGenerator[Event, None]:
        """The events of one turn in `conversation_id`, or in a new one; with `chunks` text as deltas.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is running in this conversation already.
        """
        conversation = conversation_id or new_conversation_id()
        running = self._running.setdefault(conversation, self._start())
        if running.turn is not None:
            raise UsageError("A turn is running in this conversation.", "Wait for it, or interrupt it.")
        self._turns += 1
        try:
            outbox = Outbox()
            turn = running.turn = await self._prepare(conversation, running, outbox, chunks=chunks)
            task = asyncio.create_task(turn.run(query, outbox.close))
            try:
                async for event in outbox:
                    yield event
            finally:
                # A consumer that leaves early stops the turn; its end is recorded all the same.
                if not task.done():
                    if not outbox.closed:
                        turn.interrupt()
                    await asyncio.wait([task])
            task.result()
        finally:
            running.turn = None
            self._turns -= 1
            if not self._held and not self._turns:
                await self._release()

    def _start(self) -> _Running:
        gate = Gate(lambda: self.permissions, lambda: self.ask)
        return _Running(gate, ToolContext(self.workspace, secrets=self._secrets))

    async def _prepare(self, conversation: str, running: _Running, outbox: Outbox, *, chunks: bool) -> Turn:
        store = await self.store()
        if await store.conversation(conversation) is None:
            await store.create_conversation(
                str(self.project),
                id=conversation,
                dialect=self.dialect,
                provider=self.provider.name,
                model=self.provider.model,
            )
        else:
            await store.recover(conversation)
        setup = TurnSetup(
            store=store,
            conversation_id=conversation,
            settings=self.settings,
            dialect=self.dialect,
            provider=self.provider,
            system=system_prompt(self.dialect, self._registry.describe(), self.project),
            channel=partial(self._channel, running),
            scheduler=partial(self._scheduler, running),
        )
        return Turn(setup, Recorder(store, conversation, outbox, chunks=chunks))

    def _scheduler(self, running: _Running, preview: Preview, wake: Callable[[], None]) -> Scheduler:
        return Scheduler(self._registry, running.gate, running.context, preview, wake)

    async def _channel(self, running: _Running) -> Channel:
        wanted = (self.mode, self.provider)
        if running.channel is None or running.wanted != wanted:
            if running.channel is not None:
                await running.channel.close()
            running.channel = _create_channel(*wanted)
            running.wanted = wanted
        return running.channel

    async def _release(self) -> None:
        for running in self._running.values():
            if running.channel is not None:
                await running.channel.close()
                running.channel = None
        await self.provider.close()
        async with self._opening:
            store, self._store = self._store, None
        if store is not None:
            await store.close()


def _create_channel(mode: Mode, provider: Provider) -> Channel:
    if mode == "resume":
        return ResumeChannel(provider, "chosen")
    if mode == "replay":
        return ReplayChannel(provider, "chosen")
    return AutoChannel(provider)
