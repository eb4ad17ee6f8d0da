"""Runs an agent's conversations, one turn or command at a time in each.

Invariant: the engine is imported on first use: creating an agent does not load it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from cogency_tui.config.schema import (
    DIALECT_CHOICES,
    EFFORT_CHOICES,
    DialectChoice,
    EffortChoice,
    Settings,
    config_directory,
)
from cogency_tui.errors import CogencyError, StoreError, UnsentError, UsageError
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import create_provider, host_of, secrets

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.conversation import Conversation
    from cogency_tui.agent.engine import Engine
    from cogency_tui.agent.event_queue import EventQueue
    from cogency_tui.agent.hooks.turn_hooks import HookContext
    from cogency_tui.agent.profile.learner import Learner
    from cogency_tui.agent.titles import Titles
    from cogency_tui.agent.until import Until
    from cogency_tui.config.mcp import McpSettings
    from cogency_tui.protocol.events import Event, Image, ReviewNote
    from cogency_tui.store.requests import Frame
    from cogency_tui.store.store import Store, StoredConversation
    from cogency_tui.store.summaries import Summary
    from cogency_tui.tools.base import Tool
    from cogency_tui.tools.function import Function

Q = TypeVar("Q")
A = TypeVar("A")

_PATIENCE = 1.5
"""Seconds that a message waits for MCP servers that are starting."""

_NOT_LASTING = "the store is unavailable: file changes cannot be reverted after the program ends"

_RESTORED = "This conversation was in the trash, and is restored."


def choice_of(record: "StoredConversation") -> DialectChoice | None:
    """The choice of dialect that is stored with a conversation."""
    return next((choice for choice in DIALECT_CHOICES if choice == record.dialect), None)


def effort_of(record: "StoredConversation") -> EffortChoice | None:
    """The effort that the user chose in a conversation; None if they chose none."""
    return next((choice for choice in EFFORT_CHOICES if choice == record.effort), None)


def missing_directory(agent: "Agent") -> tuple[str, str]:
    """What happened to the directory of `agent`, which is gone, and what the user can do."""
    if not agent.worktree:
        return f"{agent.project} no longer exists.", "Start in another directory."
    begin = f"/new begins a conversation in {agent.home.project.name}, /worktree NAME one in a new worktree."
    return f"Worktree {agent.worktree} was removed.", begin


async def store_choices(store: "Store", record: "StoredConversation", agent: "Agent") -> None:
    """Store the model, effort and dialect of `agent` with a conversation, where they are others.

    Raises:
        StoreError: they cannot be stored.
    """
    dialect = agent.dialect or choice_of(record) or agent.settings.dialect
    model = (agent.provider.name, agent.provider.model)
    now = (dialect, *model, agent.chosen_effort, agent.model_chosen)
    if now != (record.dialect, record.provider, record.model, record.effort, record.model_chosen):
        await store.set_settings(
            record.id,
            dialect=dialect,
            provider=model[0],
            model=model[1],
            effort=agent.chosen_effort,
            model_chosen=agent.model_chosen,
        )


class Conversations:
    """The conversations of `agent`, and of those `beside` it, and their engine, with the user's `tools` and
    `mcp` servers. Private to the agents.

    Each conversation follows the choices (mode, permissions, dialect, model, whom to ask) of one of them: the
    one that worked in it last.

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
        self._agents = [agent]
        self._followed: dict[str, Agent] = {}
        """The agents whose choices the conversations follow, by the id of the conversation."""
        self._tools = tuple(tools)
        self._environ = environ
        self._released = released
        self._mcp = mcp
        self._others: dict[tuple[str, str], Provider] = {}
        self._warming: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[None], Conversation] = {}
        self._known: dict[str, Conversation] = {}
        self.waiting: list[str] = []
        """The ids of the conversations that wait for an answer of the user's."""
        self._learning: Learner | None = None
        self._titling: Titles | None = None

    async def close(self) -> None:
        """Stop what runs, wait until its end is recorded, and close everything that is open."""
        self.held = False
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
            self._warming = None
        await self.stop()
        if self._learning is not None:
            await self._learning.close()
        if self._titling is not None:
            await self._titling.close()
        await self._release()

    async def stop(self) -> None:
        """Interrupt all work, and wait until its end is recorded."""
        self.interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def agents(self) -> "Sequence[Agent]":
        """The agents that are in use."""
        return self._agents

    def join(self, agent: "Agent") -> None:
        """Note that `agent` is in use."""
        self._agents.append(agent)

    async def leave(self, agent: "Agent", id: str | None) -> None:
        """Note that `agent` is no longer in use: end the work in the conversation with this id."""
        conversation = self._known.get(id or "")
        if conversation is not None:
            conversation.interrupt()
            if tasks := [task for task, other in self._tasks.items() if other is conversation]:
                await asyncio.wait(tasks)
        if agent is not self._agent:
            self._agents.remove(agent)
            self.adopt(agent.provider)
            self._followed = {each: other for each, other in self._followed.items() if other is not agent}

    def interrupt(self, conversation_id: str | None = None) -> None:
        """Stop what runs in this conversation, or in all."""
        for conversation in self._known.values():
            if conversation.busy and conversation_id in (None, conversation.id):
                conversation.interrupt()

    async def run(
        self,
        id: str,
        work: "Callable[[Conversation, EventQueue], Awaitable[None]]",
        queue: "EventQueue",
        agent: "Agent",
    ) -> None:
        """Do `work`, which is `turn` or `user_command`, in the conversation by the choices of `agent`, and
        nothing else meanwhile; its events are put into `queue`. If this is cancelled, the work is interrupted
        and its end recorded.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: a turn is already running in this conversation, or another process has it open.
        """
        conversation = self.conversation(id, agent)
        try:
            with conversation.working():
                await self._follow(asyncio.create_task(self._do(conversation, work, queue)), conversation)
        finally:
            queue.close()

    async def _follow(self, task: asyncio.Task[None], conversation: "Conversation") -> None:
        self._tasks[task] = conversation
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():
                conversation.interrupt()
                await asyncio.wait([task])
            del self._tasks[task]
            if not self.held and not self._tasks:
                await self._release()
        task.result()

    async def _do(
        self,
        conversation: "Conversation",
        work: "Callable[[Conversation, EventQueue], Awaitable[None]]",
        queue: "EventQueue",
    ) -> None:
        await self._require_files(conversation.id)
        async with self._agent.recall.working_in(conversation.id, time()):
            await self._take_out_of_trash(conversation)
            await work(conversation, queue)

    async def _require_files(self, id: str) -> None:
        """Require that the project is there, and that the conversation is neither another agent's nor of a
        rerun whose scratch copy is not the project here.

        Raises:
            StoreError: the store cannot be opened.
            UsageError: the project is gone, or the edits of the conversation are in no file of it.
        """
        from cogency_tui.temporary_files import is_in_one

        if not await asyncio.to_thread(self._agent.project.is_dir):
            raise UsageError(*missing_directory(self._agent))
        known = await (await self._agent.store()).conversation(id)
        if known is not None and known.source:
            raise UsageError(
                "This conversation is from another agent or machine, and continues only in a fork.",
                f"Fork it: cogency-tui conversations fork {id}",
            )
        if known is None or known.project == str(self._agent.project):
            return
        if is_in_one(Path(known.project), "rerun"):
            raise UsageError(
                "The files of this rerun are gone: its conversation can only be read.",
                "Send the message in another conversation.",
            )

    async def _take_out_of_trash(self, conversation: "Conversation") -> None:
        """Restore a conversation that is in the trash: what the user sends in it is not to be lost there."""
        # The work itself reports a store that fails.
        with suppress(StoreError):
            if await self._agent.recall.restore_if_trashed(conversation.id):
                conversation.pending_notices.append(_RESTORED)

    async def events(
        self,
        id: str | None,
        work: "Callable[[Conversation, EventQueue], Awaitable[None]]",
        agent: "Agent",
    ) -> AsyncGenerator["Event", None]:
        """The events of `work`, as `run`, in this conversation or a new one. A consumer that leaves early
        interrupts the work.
        """
        from cogency_tui.agent.event_queue import EventQueue
        from cogency_tui.store.store import new_conversation_id

        queue = EventQueue()
        running = asyncio.create_task(self.run(id or new_conversation_id(), work, queue, agent))
        try:
            async for event in queue:
                yield event
        finally:
            if not queue.closed:
                running.cancel()
            await asyncio.wait([running])
        try:
            running.result()
        except UnsentError as exc:
            from cogency_tui.protocol.events import notice_event

            yield notice_event(str(exc), time())
            yield {"type": "interrupt", "timestamp": time()}

    async def turn(
        self,
        query: str | None,
        conversation: "Conversation",
        queue: "EventQueue",
        *,
        chunks: bool,
        typed: str = "",
        images: "Sequence[Image]" = (),
        attached: Collection[str] = (),
        message_waits: Callable[[], bool],
        until: "Until | None" = None,
    ) -> None:
        """Run a turn on the user's query with these images, of which the user typed `typed`; or continue one
        that was cut short. The files at the paths `attached`, which it mentions, are among the images.
        `message_waits` as for `Turn`. One `until` a command succeeds reports its end to that."""
        from cogency_tui.agent.image_mentions import attach_mentioned
        from cogency_tui.agent.recorder import Recorder
        from cogency_tui.agent.turn import Turn

        if until is not None:
            run, place = self._agent_of(conversation.id).run_supervised, conversation.engine.workspace.root
            await until.require_runnable(run, place)
        store = await self._agent.store()
        if query is not None:
            # A text that the user did not type, such as a pasted log, mentions no files of theirs.
            shared, project = self.shared().images, self._agent.workspace
            images, problems = await attach_mentioned(typed or query, images, project, shared, attached)
            conversation.pending_notices += problems
        if not self._agent.lasting:
            conversation.gate.caution(_NOT_LASTING)
        await self.prepare(store, conversation)
        # An agent that closes after this turn has no later one in which to wait for servers.
        await conversation.gather_tools(_PATIENCE if self.held and not self.patient else None)
        with suppress(CogencyError):
            # The user may be editing the file: the previous options remain in force.
            await asyncio.to_thread(self._agent_of(conversation.id).follow_project)
        if self.held and self._warming is None:
            self._warming = asyncio.create_task(self._warm())
        context: HookContext | None = None
        if conversation.turn_hooks is not None:
            known = await store.conversation(conversation.id)
            context = await conversation.begin_hooks(query, is_new=known is None or not known.turns)
        recorder = Recorder(store, conversation.id, queue, chunks=chunks)
        works_until = until is not None and not until.is_over
        turn = Turn(conversation, store, recorder, message_waits=message_waits, works_until=works_until)
        run = partial(turn.run, query, queue.close, lambda: self._reviewed(conversation.id), images, context)
        if until is None:
            await run()
        else:
            await until.prepare(store)
            with until.limited(conversation):
                await run(until.begin_turn(query))
            await until.end_turn(store, conversation.id, turn.failure, stopped=turn.was_stopped)
        await conversation.end_turn_hooks(turn.state)
        with suppress(CogencyError):
            # The turn has ended; a failure here is retried with the next one.
            if self.held and query is not None and typed:
                await self.learner().note(store, conversation.id, query, typed)
        with suppress(CogencyError):
            # The first words of the conversation remain its title.
            agent = self._agent_of(conversation.id)
            if self.held and agent.titled is not None and agent.settings.titles:
                await self.titles().note(store, conversation.id)
        with suppress(CogencyError):
            # A failure here is retried with the next command.
            await conversation.engine.journal.end_turn(conversation.id)

    async def user_command(self, command: str, conversation: "Conversation", queue: "EventQueue") -> None:
        """Run a command of the user's."""
        from cogency_tui.agent.user_command import UserCommand

        store = await self._agent.store()
        await self.prepare(store, conversation)
        await UserCommand(conversation, store, command, queue.put).run()

    async def check(
        self, until: "Until", conversation: "Conversation", queue: "EventQueue", *, chunks: bool = True
    ) -> None:
        """Run the command of `until`; only with `chunks` the queue gets previews of it."""
        from cogency_tui.agent.until import PATIENCE
        from cogency_tui.agent.user_command import UserCommand

        store = await self._agent.store()
        await self.prepare(store, conversation)
        await until.prepare(store)

        def emit(event: "Event") -> None:
            if chunks or not event.get("partial"):
                queue.put(event)

        command = UserCommand(
            *(conversation, store, until.command, emit),
            limit=PATIENCE,
            shorten=until.shorten,
            overdue=lambda: until.overdue,
        )
        with until.limited(conversation):
            ran = await command.run()
        await until.end_check(store, conversation.id, ran, command.whole_output)

    @property
    def at_work(self) -> list[str]:
        """The ids of the conversations that work or wait for the user."""
        return [id for id, conversation in self._known.items() if conversation.busy]

    @property
    def learning(self) -> bool:
        """True if the profile is being updated."""
        return self._learning is not None and self._learning.at_work

    def learner(self) -> "Learner":
        """The learner of the user's profile."""
        from cogency_tui.agent.profile.learner import Learner

        if self._learning is None:
            agent, own = self._agent, secrets(self._agent.settings, self._environ)
            self._learning = Learner(agent.profile, lambda: agent.provider, own)
        return self._learning

    def titles(self) -> "Titles":
        """Names the conversations, and reports their names to the agents."""
        from cogency_tui.agent.titles import Titles

        if self._titling is None:
            own = secrets(self._agent.settings, self._environ)
            self._titling = Titles(lambda id: self._agent_of(id).provider, own, self._titled)
        return self._titling

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
        # Without an engine no server runs that may have to end.
        if settings.now.mcp or self._mcp or self.engine is not None:
            self.shared().servers.configure(settings.now.mcp)

    async def _refresh_servers(self) -> None:
        """Apply the current MCP configuration, which another process may have changed."""
        settings = self._agent.project_settings
        await asyncio.to_thread(settings.refresh)
        self.shared().servers.configure(settings.now.mcp)

    async def _why_server_is_gone(self) -> str:
        """Why a server that was configured before may not run; empty if it is just no longer configured."""
        from cogency_tui.agent.project.trust import TrustState

        survey = await asyncio.to_thread(self._agent.project_settings.survey)
        if any(part.kind == "folder" and part.state is TrustState.CHANGED for part in survey.parts):
            return "it changed since it was trusted; review with /trust"
        return ""

    def conversation(self, id: str, agent: "Agent | None" = None) -> "Conversation":
        """The conversation, created on first use; from now on it follows `agent`, if one is given."""
        if agent is not None:
            self._followed[id] = agent
        if id not in self._known:
            self._known[id] = self._create(id)
        return self._known[id]

    def use(self, settings: Settings) -> None:
        """Go on with these settings."""
        if self.engine is not None:
            self.engine.settings = settings
            self.engine.language_servers.end_if_off()

    def known(self, id: str) -> "Conversation | None":
        """The conversation, if it has run in this process."""
        return self._known.get(id)

    async def prepare(self, store: "Store", conversation: "Conversation") -> None:
        """Prepare the conversation for work: it is created if it is new, and recovered if it broke off.

        Raises:
            StoreError: it cannot be read or stored.
        """
        await self._note_choices(store, conversation)
        await conversation.begin(store)

    async def _note_choices(self, store: "Store", conversation: "Conversation") -> None:
        """Store the conversation's model, effort and dialect, or their change."""
        from cogency_tui.workspace.git.branch import branch_of

        agent, id = self._agent_of(conversation.id), conversation.id
        name, model = agent.provider.name, agent.provider.model
        known = await store.conversation(id)
        if known is None:
            await store.create_conversation(
                str(agent.project),
                id=id,
                dialect=conversation.dialect_choice,
                provider=name,
                model=model,
                branch=await asyncio.to_thread(branch_of, agent.project),
                effort=agent.chosen_effort,
                model_chosen=agent.model_chosen,
            )
            return
        await store.recover(id)
        await self.settle()
        conversation.own_dialect = choice_of(known)
        await store_choices(store, known, agent)

    async def frame(self, record: "StoredConversation", summary: "Summary | None") -> "Frame":
        """The frame that a request would put around the events of a conversation now; nothing is changed.

        Raises:
            StoreError: its events cannot be read.
        """
        store = await self._agent.store()
        conversation = self.conversation(record.id)
        await conversation.begin(store)
        conversation.own_dialect = choice_of(record)
        return await conversation.history(store, conversation.wanted_dialect()).frame(summary)

    def adopt(self, provider: Provider) -> None:
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
        from cogency_tui.agent.language_servers import LanguageServersOnDemand
        from cogency_tui.agent.project.language_server_consent import FILE_NAME, LanguageServerConsent
        from cogency_tui.tools.function import as_tool
        from cogency_tui.tools.mcp.server import Surroundings
        from cogency_tui.tools.mcp.servers import Servers
        from cogency_tui.tools.shell.background import Background
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
                named=self.named,
                host_of=lambda name: host_of(name, agent.settings, self._environ),
                journal=Journal(agent.workspace, agent.store),
                recall=agent.recall,
                project_settings=agent.project_settings,
                servers=Servers(
                    Surroundings(
                        agent.project,
                        self._environ,
                        keys,
                        self._refresh_servers,
                        self._why_server_is_gone,
                    ),
                    self._mcp,
                ),
                remotes=Remotes(agent.workspace.root),
                language_servers=LanguageServersOnDemand(
                    agent.project,
                    self._environ,
                    keys,
                    lambda: agent.settings.language_servers,
                    lambda: agent.settings.diagnostics,
                    LanguageServerConsent(config / FILE_NAME, agent.project),
                ),
                config=config,
                profile=agent.profile,
                sandbox=Sandbox(agent.settings.sandbox, (config, agent.data)),
                is_last_turn=agent.is_last_turn,
                progressed=self._progressed,
                background=Background(marked=agent.recall.running),
            )
        return self.engine

    def _progressed(self, id: str) -> None:
        for agent in self._agents:
            if agent.progressed is not None:
                agent.progressed(id)

    def _titled(self, id: str, title: str) -> None:
        for agent in self._agents:
            if agent.titled is not None:
                agent.titled(id, title)

    def _agent_of(self, id: str) -> "Agent":
        """The agent whose choices the conversation follows."""
        return self._followed.get(id, self._agent)

    def _create(self, id: str) -> "Conversation":
        from cogency_tui.agent.conversation import Choices, Conversation
        from cogency_tui.agent.permissions.gate import Gate
        from cogency_tui.agent.subagents import assemble

        def followed() -> "Agent":
            return self._agent_of(id)

        choices = Choices(
            lambda: followed().provider,
            lambda: followed().mode,
            lambda: followed().dialect,
            lambda: followed().effort,
        )
        gate = Gate(
            lambda: followed().permissions,
            lambda: self._noted(id, followed().ask),
            self._agent.rules,
            lambda: self._noted(id, followed().inquire),
        )
        return Conversation(self.shared(), id, gate, choices, assemble)

    def _noted(
        self, id: str, ask: "Callable[[Q], Awaitable[A]] | None"
    ) -> "Callable[[Q], Awaitable[A]] | None":
        """`ask`, which is noted as waiting for an answer in the conversation."""
        if ask is None:
            return None

        async def noted(question: "Q") -> "A":
            self.waiting.append(id)
            try:
                async with self._agent.recall.waiting_in(id):
                    return await ask(question)
            finally:
                self.waiting.remove(id)

        return noted

    async def _warm(self) -> None:
        """Scan the project while the model is asked, so that the first command need not wait for it."""
        with suppress(CogencyError):
            # A failure here recurs, and is reported, when the scan is needed.
            await self.shared().journal.warm()

    async def _reviewed(self, conversation: str) -> "ReviewNote | None":
        """The note for the next message about the user's decisions on the agent's edits."""
        from cogency_tui.agent.review.note_to_model import undelivered_note
        from cogency_tui.agent.review.snapshot import ReviewSource
        from cogency_tui.redaction import Redactor

        engine = self.shared()
        note = await undelivered_note(ReviewSource(engine.journal, self._agent.store, conversation))
        return note and {**note, "text": Redactor(engine.secrets).text(note["text"])}

    async def _release(self) -> None:
        for conversation in self._known.values():
            await conversation.close()
        if self.engine is not None:
            await self.engine.close()
        for provider in {*(agent.provider for agent in self._agents), *self._others.values()}:
            await provider.close()
        await self._released()
