"""A conversation at work: the person's or a sub-agent's, both by the same rules.

What it has read, what it may do and its way to the model last from turn to turn; what may change at
any time (mode, provider, permissions) is asked for when it is needed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cogency_tui.agent.auto import AutoChannel
from cogency_tui.agent.outbox import Outbox
from cogency_tui.agent.permissions import Gate
from cogency_tui.agent.prompt import system_prompt
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.replay import Channel, ReplayChannel
from cogency_tui.agent.resume import ResumeChannel
from cogency_tui.agent.scheduler import Preview, Scheduler
from cogency_tui.agent.turn import Turn, TurnSetup
from cogency_tui.config import Dialect, Mode, Settings
from cogency_tui.providers.base import Provider
from cogency_tui.store.conversations import Store
from cogency_tui.tools.base import Tool, ToolContext
from cogency_tui.tools.registry import Registry
from cogency_tui.workspace.paths import Workspace


@dataclass(frozen=True, slots=True)
class Engine:
    """What all conversations of an agent share. `named` makes a provider by its name and model."""

    settings: Settings
    workspace: Workspace
    secrets: Mapping[str, str]
    tools: Sequence[Tool[Any]]
    store: Callable[[], Awaitable[Store]]
    mode: Callable[[], Mode]
    named: Callable[[str, str], Provider]

    @property
    def project(self) -> str:
        """The project directory, as the store has it."""
        return str(self.workspace.root)


class Running:
    """One conversation while its agent is open.

    `assemble` gives it its tools, `role` is what a sub-agent is told of itself, `depth` how many agents
    are above it.
    """

    def __init__(
        self,
        engine: Engine,
        conversation_id: str,
        gate: Gate,
        provider: Callable[[], Provider],
        assemble: "Callable[[Running], Registry]",
        *,
        settings: Settings | None = None,
        role: str = "",
        depth: int = 0,
    ) -> None:
        self.engine = engine
        self.conversation_id = conversation_id
        self.gate = gate
        self.provider = provider
        self.depth = depth
        self.settings = settings or engine.settings
        self.dialect: Dialect = self.settings.dialect
        """That of the last turn."""
        self.registry = assemble(self)
        self.busy = False
        self.interrupted = False
        self.turn: Turn | None = None
        self._role = role
        self._context = ToolContext(engine.workspace, secrets=engine.secrets)
        self._channel: Channel | None = None
        self._wanted: tuple[Mode, Provider] | None = None

    def interrupt(self) -> None:
        """Stop the turn, also one that has not begun yet."""
        self.interrupted = True
        if self.turn is not None:
            self.turn.interrupt()

    def prepare(self, store: Store, dialect: Dialect, outbox: Outbox, *, chunks: bool) -> Turn:
        """The next turn, whose events go to `outbox`."""
        self.dialect = dialect
        described = self.registry.describe()
        setup = TurnSetup(
            store=store,
            conversation_id=self.conversation_id,
            settings=self.settings,
            dialect=dialect,
            provider=self.provider(),
            system=system_prompt(dialect, described, self.engine.workspace.root, self._role),
            channel=self._open_channel,
            scheduler=self._scheduler,
        )
        self.turn = Turn(setup, Recorder(store, self.conversation_id, outbox, chunks=chunks))
        if self.interrupted:
            self.turn.interrupt()
        return self.turn

    async def close(self) -> None:
        """End the session with the model, if one is open."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    def _scheduler(self, preview: Preview, wake: Callable[[], None]) -> Scheduler:
        return Scheduler(self.registry, self.gate, self._context, preview, wake)

    async def _open_channel(self) -> Channel:
        wanted = (self.engine.mode(), self.provider())
        if self._channel is None or self._wanted != wanted:
            await self.close()
            self._channel = _create_channel(*wanted)
            self._wanted = wanted
        return self._channel


def _create_channel(mode: Mode, provider: Provider) -> Channel:
    if mode == "resume":
        return ResumeChannel(provider, "chosen")
    if mode == "replay":
        return ReplayChannel(provider, "chosen")
    return AutoChannel(provider)
