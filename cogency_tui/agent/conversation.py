"""A conversation at work, the user's or a sub-agent's, both by the same rules.

What it has read, its permissions and its channel to the model last from turn to turn. What may change at
any time (mode, provider, permissions) is read when it is needed.
"""

import asyncio
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from cogency_tui.agent.background_request import record_request
from cogency_tui.agent.budget import Budget
from cogency_tui.agent.call_graph import TurnActions
from cogency_tui.agent.call_interceptors import CallInterceptor
from cogency_tui.agent.context_window import History
from cogency_tui.agent.cycle_metrics import Calibration
from cogency_tui.agent.dialect_choice import dialect_for
from cogency_tui.agent.engine import Engine
from cogency_tui.agent.model_channels import (
    AutoChannel,
    Channel,
    LastAnswers,
    ReplayChannel,
    ResumeChannel,
)
from cogency_tui.agent.permissions.gate import Gate
from cogency_tui.agent.permissions.stored_taint import sources_of
from cogency_tui.agent.profile.profile import ProfileText
from cogency_tui.agent.project.instructions import Instructions, read_instructions
from cogency_tui.agent.project.settings import Delegates
from cogency_tui.agent.prompt import ACTION_TYPES, system_parts
from cogency_tui.agent.prompt_cache import CacheWatch
from cogency_tui.agent.request_messages import MessageLog
from cogency_tui.agent.scheduler import Preview, Scheduler
from cogency_tui.config.hooks import INSIDE
from cogency_tui.config.schema import DialectChoice, EffortChoice, Mode, Settings
from cogency_tui.errors import StoreError, UnsentError, UsageError
from cogency_tui.protocol import Dialect
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.providers.base import Options, Provider, Usage
from cogency_tui.redaction import Redactor
from cogency_tui.store.store import Store
from cogency_tui.tools.base import Outcome, ToolContext
from cogency_tui.tools.mcp.names import described_by, source_of
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.worker_threads import in_thread

if TYPE_CHECKING:
    from cogency_tui.agent.diagnostics import EditDiagnostics
    from cogency_tui.agent.hooks.call_hooks import CallHooks
    from cogency_tui.agent.hooks.hook import Hook
    from cogency_tui.agent.hooks.turn_hooks import HookContext, TurnHooks

SteeredAt: TypeAlias = Literal["", "step", "answer"]


class Work(Protocol):
    """A turn or a command of the user's, which runs in a conversation."""

    def interrupt(self) -> None: ...

    def steer(self, query: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's choices that a conversation follows, each as it is when it is needed. A `dialect` of None
    leaves the conversation its own.
    """

    provider: Callable[[], Provider]
    mode: Callable[[], Mode]
    dialect: Callable[[], DialectChoice | None]
    effort: Callable[[], EffortChoice]


class Conversation:
    """One conversation while its agent is open.

    `assemble` gives it its tools. `role` is the part of a sub-agent's system prompt that describes the
    sub-agent. `depth` is the number of agents above it.
    """

    def __init__(
        self,
        engine: Engine,
        id: str,
        gate: Gate,
        choices: Choices,
        assemble: "Callable[[Conversation], Registry]",
        *,
        settings: Settings | None = None,
        role: str = "",
        depth: int = 0,
        budget: Budget | None = None,
    ) -> None:
        self.engine = engine
        self.id = id
        self.gate = gate
        self.choices = choices
        self.provider = choices.provider
        self.depth = depth
        self._settings = settings
        self.budget = budget or Budget(id, gate, lambda: engine.settings.budget, engine.store)
        """The spending limits; a sub-agent shares those of its caller."""
        self.own_dialect: DialectChoice | None = None
        """The choice that is stored with it."""
        self.dialect: Dialect = self.wanted_dialect()
        """The dialect of the last cycle."""
        self._is_last_turn = engine.is_last_turn or depth > 0
        self.background = engine.background.of(id, ends_with_answer=self._is_last_turn)
        """The background commands that it has started."""
        self.delegates = engine.project_settings.now
        self._served = engine.servers.tools
        self._diagnostics: EditDiagnostics | None = None
        """Checks its edits, once there are calls."""
        self.hooks: Sequence[Hook] = ()
        """Those of its turn."""
        self._suspended: dict[Hook, str] = {}
        """Those of them that the user knows to be suspended, with what changed."""
        self.turn_hooks: TurnHooks | None = None
        """Runs those that are not around calls, if there are any."""
        self._hook_problems: Sequence[str] = ()
        """The problems with files of hooks that the user was notified of."""
        self._call_hooks: CallHooks | None = None
        """Runs those that are around calls, if there are hooks."""
        self._take_hooks()
        self.registry = assemble(self)
        self.busy = False
        """True if work is running or about to."""
        self.steered_at: SteeredAt = ""
        """Where the last turn ended for a message that follows: at a step, or within an answer, which the
        message has steered; empty if it did not."""
        self._interrupted = False
        self._work: Work | None = None
        self.pauses: tuple[float, ...] = ()
        """The last pauses between a turn and the next, in seconds."""
        self.pending_notices: list[str] = []
        """Notices for the user about the next turn."""
        self.instructions = Instructions()
        """The instruction files, as they were when the last turn began."""
        self._profile_text = ProfileText()
        self._assemble = assemble
        self._role = role
        self._recalled = False
        self._context = ToolContext(
            engine.workspace,
            secrets=engine.secrets,
            journal=engine.journal.of(id),
            output_limit=self.settings.output_limit,
            remotes=engine.remotes,
            add_image=engine.images.add,
            is_of_skill=self._is_of_own_skill,
        )
        self.without_images: set[tuple[str, str]] = set()
        """The models of which the user knows that they are sent no images."""
        self.calibration = Calibration()
        self._log = MessageLog()
        self._last_answers = LastAnswers()
        self.cache_watch = CacheWatch()
        self._channel: Channel | None = None
        self._channel_key: tuple[Mode, Provider] | None = None
        self._settling: asyncio.Task[Any] | None = None
        self._recordings: set[asyncio.Task[None]] = set()

    @property
    def settings(self) -> Settings:
        """Its own settings, else those in force."""
        return self._settings or self.engine.settings

    @property
    def dialect_choice(self) -> DialectChoice:
        """The user's choice of its dialect."""
        return self.choices.dialect() or self.own_dialect or self.settings.dialect

    def wanted_dialect(self) -> Dialect:
        """The dialect of the next cycle, which depends on the model, too."""
        return dialect_for(self.dialect_choice, self.provider())

    def options(self) -> Options:
        """The options of its next request, but for the tools."""
        effort = self.choices.effort()
        return Options(
            effort=None if effort == "auto" else effort,
            conversation=self.id,
            tier=self.settings.service_tier,
            pauses=self.pauses,
            read_image=self.engine.images.read,
            report_rest=self._record_rest,
        )

    def _record_rest(self, usage: Usage) -> None:
        """Record the rest of an answer that was given up, which the endpoint finished."""
        recording = asyncio.create_task(self._record(usage))
        self._recordings.add(recording)
        recording.add_done_callback(self._recordings.discard)

    async def _record(self, usage: Usage) -> None:
        with suppress(StoreError):
            store = await self.engine.store()
            await record_request(store, self.id, self.provider(), usage, "rest")

    def interrupt(self) -> None:
        """Stop the turn, even one that has not begun yet: the next one does not continue it."""
        self._interrupted = True
        self.steered_at = ""
        if self._settling is not None:
            self._settling.cancel()
        if self._work is not None:
            self._work.interrupt()

    def steer(self, query: str) -> None:
        """Send a message that waits to what runs, where that is possible."""
        if self._work is not None:
            self._work.steer(query)

    @contextmanager
    def working(self) -> Generator[None]:
        """Reserve the conversation for one piece of work.

        Raises:
            UsageError: other work is running.
        """
        if self.busy:
            raise UsageError("A turn is running in this conversation.", "Wait for it, or interrupt it.")
        self.busy, self._interrupted = True, False
        try:
            yield
        finally:
            self.busy, self._work = False, None

    async def begin(self, store: Store) -> None:
        """Refresh what the next turn starts from: instructions, the configuration of a trusted project, the
        user's profile and, the first time, what the conversation has read before.

        Raises:
            StoreError: its events or the profile cannot be read.
        """
        engine = self.engine
        if engine.profile is not None:
            self._profile_text = await engine.profile.text(self._profile_text)
        self.instructions = await in_thread(read_instructions, engine.workspace, engine.config)
        if not await self._refresh_settings():
            return
        engine.servers.configure(engine.project_settings.now.mcp)
        self._take_tools()
        await self._report_suspended()
        self._report_hook_problems()
        self._take_hooks()
        if not self._recalled:
            before = await sources_of(store, self.id, engine.workspace)
            self.gate.note(before)
            if before and not self.depth:
                # Commands of an earlier process may have changed its remotes.
                self.gate.distrust_remotes()
            self.background.resume(await store.background(self.id))
            self._recalled = True

    async def _refresh_settings(self) -> bool:
        """Refresh the project's settings; return False if the turn is interrupted before that is done."""
        work = asyncio.create_task(asyncio.to_thread(self.engine.project_settings.refresh))
        await self._await_unless_interrupted(work)
        if work.cancelled() or not work.done():
            return False
        work.result()
        return True

    async def configured(self) -> Delegates:
        """The sub-agents and workflows in force now: trust may have been revoked during the turn."""
        await asyncio.to_thread(self.engine.project_settings.refresh)
        return self.engine.project_settings.now

    async def suspended_hooks(self) -> "Mapping[Hook, str]":
        """Those of its hooks that are suspended now, with what changed: a call may have changed what those of
        the project run. The user is notified of each once."""
        from cogency_tui.agent.hooks.suspension import describe_suspension, suspended_hooks

        await self.configured()
        found = await asyncio.to_thread(suspended_hooks, self.hooks, self.engine.project_settings)
        fresh = {hook: files for hook, files in found.items() if hook not in self._suspended}
        self._suspended |= fresh
        self.pending_notices += describe_suspension(fresh, in_turn=True)
        return found

    async def current_hooks(self) -> "Sequence[Hook]":
        """Those of its hooks that are in force now."""
        suspended = await self.suspended_hooks()
        now = self.engine.project_settings.now.hooks
        return [
            hook for hook in self.hooks if hook not in suspended and (hook.owner == "user" or hook in now)
        ]

    def _take_hooks(self) -> None:
        """Refresh the hooks."""
        hooks = () if INSIDE in os.environ else self.engine.project_settings.now.hooks
        if hooks == self.hooks:
            return
        from cogency_tui.agent.hooks.call_hooks import CallHooks
        from cogency_tui.agent.hooks.turn_hooks import TurnHooks

        self.hooks, self._suspended = hooks, {}
        self._call_hooks = CallHooks(self) if hooks else None
        # Sub-agents are part of their caller's turn.
        if not self.depth:
            self.turn_hooks = self.turn_hooks or TurnHooks(self)

    def _report_hook_problems(self) -> None:
        """Report the files of hooks that cannot be used, each once."""
        before, self._hook_problems = self._hook_problems, self.engine.project_settings.hook_problems
        if not self.depth:
            self.pending_notices += [each for each in self._hook_problems if each not in before]

    async def _report_suspended(self) -> None:
        """Report the hooks that the next turn does without."""
        now = self.engine.project_settings.now.hooks
        if self.depth or all(hook in now for hook in self.hooks if hook.owner == "project"):
            return
        from cogency_tui.agent.hooks.suspension import describe_suspension, suspended_hooks

        found = await asyncio.to_thread(suspended_hooks, self.hooks, self.engine.project_settings)
        self.pending_notices += describe_suspension(found, in_turn=False)

    async def begin_hooks(self, query: str | None, *, is_new: bool) -> "HookContext | None":
        """Run the hooks before a turn with this message; return what they have for the model.

        Raises:
            HookBlockedError: one of them blocks the message or the turn.
            UnsentError: the user interrupts them: a message that is not checked is not sent.
        """
        if self.turn_hooks is None:
            return None
        work = asyncio.create_task(self.turn_hooks.begin(query, is_new=is_new))
        await self._await_unless_interrupted(work)
        if not work.cancelled():
            return work.result()
        if query is not None and self.turn_hooks.precede_messages:
            raise UnsentError("Interrupted: the message was not sent.")
        return None

    async def end_turn_hooks(self, state: 'Literal["done", "failed", "interrupted"]') -> None:
        """Run the hooks after a turn that did not end with an answer."""
        if self.turn_hooks is None or state == "done":
            return

        async def say(notice: str) -> None:
            self.pending_notices.append(notice)

        await self.turn_hooks.after_turn(state, "", 0, say)

    def stop_for_hook(self, name: str, reason: str) -> None:
        """Interrupt the turn for a hook, once what runs has its result."""
        self.pending_notices.append(f"The hook {name} stopped the turn: {reason}")
        asyncio.get_running_loop().call_soon(self.interrupt)

    async def _await_unless_interrupted(self, work: asyncio.Task[Any]) -> None:
        """Wait for work before a turn, which an interrupt cancels."""
        self._settling = work
        if self._interrupted:
            work.cancel()
        try:
            await asyncio.wait([work])
        finally:
            work.cancel()
            self._settling = None

    async def gather_tools(self, seconds: float | None) -> None:
        """Wait at most `seconds` for MCP servers that are starting; the next turn has the tools that are
        then ready.
        """
        await self._await_unless_interrupted(asyncio.create_task(self.engine.servers.settle(seconds)))
        self._take_tools()

    def _take_tools(self) -> None:
        """Refresh the set of tools."""
        if self._work is not None:
            # A turn continues with the tools that its model knows.
            return
        there = (self.engine.project_settings.now, self.engine.servers.tools)
        if self.delegates is not there[0] or self._served is not there[1]:
            self.delegates, self._served = there
            self.registry = self._assemble(self)
            # A session knows the tools as they were.
            self._channel_key = None

    def begin_turn(self, work: Work, *, continues: bool) -> Sources:
        """Note that `work` is a turn, which `continues` the last one if a message steered that; return the
        sources whose words describe its tools."""
        described = {source_of(tool.name): described_by(tool.name) for tool in self.registry}
        described.pop("", None)
        for server, source in described.items():
            # The words of the server are part of the system prompt.
            self.gate.note(Sources(possible=(source,)), server)
        self.gate.begin_turn(continues=continues)
        if not self.depth:
            self.budget.begin()
        self.begin_work(work)
        return Sources(possible=tuple(described.values()))

    def begin_work(self, work: Work) -> None:
        """Note that `work` runs, and interrupt it if the user already did."""
        self._work = work
        if self._interrupted:
            work.interrupt()

    async def environment(self, store: Store) -> str:
        """The environment block for the next message; empty if the last one is about this project.

        Raises:
            StoreError: the earlier messages cannot be read.
        """
        # Imported late: not on the way to the first frame.
        from cogency_tui.agent.environment import describe, is_about

        workspace, gate = self.engine.workspace, self.gate
        blocks = await store.environments(self.id)
        last = blocks[-1] if blocks else ""
        if is_about(last, workspace.root):
            return ""
        block = await in_thread(
            describe, workspace, gate.mode, can_ask=gate.can_ask, is_last_turn=self._is_last_turn, last=last
        )
        return Redactor(self.engine.secrets).text(block)

    def history(self, store: Store, dialect: Dialect) -> History:
        """The conversation as the model receives it; text from files, servers and the profile is redacted."""
        redact = Redactor(self.engine.secrets).text
        native = dialect == "native"
        parts = system_parts(
            dialect,
            json.dumps(self.registry.specs(), ensure_ascii=False) if native else self.registry.describe(),
            [tool.name for tool in self.registry if tool.name in ACTION_TYPES],
            role=self._role,
            skills=self._skills_text(),
            instructions=self.instructions.text,
            profile=self._profile_text.text,
        )
        return History(
            store,
            self.id,
            self.settings,
            dialect,
            self.provider,
            [(name, redact(text)) for name, text in parts],
            self.calibration,
            self._log,
            self.options,
            self.engine.images,
        )

    def _skills_text(self) -> str:
        """The skills for the system prompt; empty where the conversation has not the tool for them."""
        if not self.delegates.skills or not any(tool.name == "skill" for tool in self.registry):
            return ""
        from cogency_tui.agent.project.skills import describe_skills

        return describe_skills(self.delegates.skills)

    def _is_of_own_skill(self, path: Path) -> bool:
        """Return whether a resolved path is a file of a skill of the user's own."""
        return any(skill.holds(path) for skill in self.delegates.skills.values())

    async def close(self) -> None:
        """Close the session with the model, and stop the background commands and checks."""
        if self.turn_hooks is not None:
            await self.turn_hooks.end()
        await self.background.close()
        if self._diagnostics is not None:
            await self._diagnostics.close()
        await self._close_channel()
        await asyncio.gather(*self._recordings)

    @property
    def interceptors(self) -> Sequence[CallInterceptor]:
        """What runs around its calls, in this order."""
        if self._diagnostics is None:
            from cogency_tui.agent.diagnostics import EditDiagnostics

            self._diagnostics = EditDiagnostics(
                self.engine.language_servers, self.engine.workspace, lambda: self.gate.mode != "plan"
            )
        return [*([] if self._call_hooks is None else [self._call_hooks]), self._diagnostics]

    async def late_diagnostics(self) -> Outcome | None:
        """What language servers found of the edits of earlier turns since the last call."""
        return None if self._diagnostics is None else await self._diagnostics.late(self._context)

    def scheduler(self, actions: TurnActions, preview: Preview, wake: Callable[[], None]) -> Scheduler:
        """The scheduler of a cycle's calls; `actions` are those of its turn so far."""
        return Scheduler(
            self.registry,
            self.gate,
            self._context,
            preview,
            wake,
            actions=actions,
            interceptors=self.interceptors,
        )

    def notices(self, store: Store) -> list[str]:
        """The pending notices, each of which the user is shown once."""
        own, self.pending_notices = self.pending_notices, []
        engine = self.engine
        return [
            *own,
            *store.new_notices(),
            *engine.servers.new_notices(),
            *engine.language_servers.new_notices(),
        ]

    @property
    def session_expires(self) -> float | None:
        """The Unix time at which its open session ends if nothing is sent; None without such a session."""
        return self._channel.expires if self._channel is not None else None

    async def channel(self) -> Channel:
        key = (self.choices.mode(), self.provider())
        if self._channel is None or self._channel_key != key:
            await self._close_channel()
            self._channel = _create_channel(*key, self._last_answers)
            self._channel_key = key
        return self._channel

    async def _close_channel(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()


def _create_channel(mode: Mode, provider: Provider, answers: LastAnswers) -> Channel:
    if mode == "resume":
        return ResumeChannel(provider, "chosen", answers=answers)
    if mode == "replay":
        return ReplayChannel(provider, "chosen", answers=answers)
    return AutoChannel(provider, answers=answers)
