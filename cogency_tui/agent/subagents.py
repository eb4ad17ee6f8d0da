"""The tools of a conversation, and `agent`: named sub-agents that do a task by themselves.

A sub-agent runs on the same engine in a conversation of its own, which the store links to the call that
started it.

Invariant: a sub-agent never has more permissions than its caller, and it ends with the call, whatever ends
that.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cogency_tui.agent.call_by_name import (
    PARAMETERS,
    AgentArgs,
    choose,
    errors_as_results,
    listed,
    require_current,
)
from cogency_tui.agent.conversation import Conversation
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.llm_tool import Llm, asking
from cogency_tui.agent.output_variables import as_text
from cogency_tui.agent.permissions.stored_taint import sources_below
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.relic_tool import Relic
from cogency_tui.agent.subagent_progress import SubagentProgress, ended, ends_unit
from cogency_tui.agent.turn import Turn
from cogency_tui.agent.workflows import Workflow
from cogency_tui.config.schema import AgentSettings
from cogency_tui.errors import ToolError
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.providers.base import Provider
from cogency_tui.redaction import Redactor
from cogency_tui.tools.base import (
    PLAIN,
    READING,
    Aliases,
    Intent,
    Outcome,
    Spellings,
    Tool,
    ToolContext,
    ToolKind,
    Touch,
)
from cogency_tui.tools.recall import RecallTool
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.tools.web.search import Search

if TYPE_CHECKING:
    from cogency_tui.agent.project.skills import Skill
    from cogency_tui.agent.recall.recall_for_model import PastConversations

DEPTH = 2
"""Levels of sub-agents below the user's agent."""


_CONDITIONAL = ("agent", "workflow", "skill", "recall", "relic", "llm", "symbol")
"""Tools that depend on the conversation, which a sub-agent may name whether or not they are there."""


def assemble(conversation: Conversation, only: Collection[str] | None = None) -> Registry:
    """The tools of a conversation: all available ones, or `only` those."""
    engine = conversation.engine
    own = [*engine.servers.tools, *engine.tools]
    tools = [*default_tools(conversation.background, engine.sandbox), *_delegates(conversation), *own]
    return Registry(tool for tool in tools if only is None or tool.name in only)


def _delegates(conversation: Conversation) -> list[Tool[Any]]:
    there = conversation.delegates
    tools: list[Tool[Any]] = []
    if there.agents and conversation.depth < DEPTH:
        tools.append(SubAgents(conversation))
    if there.workflows:
        tools.append(Workflow(conversation))
    if there.skills:
        tools.append(_skill_tool(conversation))
    if conversation.engine.language_servers.find_symbols:
        # Loaded where there is a language server.
        from cogency_tui.tools.language_servers.symbol_tool import Symbol

        servers = conversation.engine.language_servers
        tools.append(Symbol(servers.load, lambda: servers.enabled))
    return [*tools, _recall(conversation), Relic(conversation.engine, conversation.gate), Llm(conversation)]


def _skill_tool(conversation: Conversation) -> Tool[Any]:
    # Loaded where there are skills.
    from cogency_tui.agent.project.skills_for_model import LAST_MESSAGES, SkillsForModel
    from cogency_tui.tools.skill import SkillTool

    async def current() -> "Mapping[str, Skill]":
        return (await conversation.configured()).skills

    async def messages() -> Sequence[str]:
        if conversation.depth:
            # Its task is the words of another model.
            return ()
        store = await conversation.engine.store()
        return await store.last_messages(conversation.id, LAST_MESSAGES)

    return SkillTool(SkillsForModel(conversation.delegates.skills, current, messages))


def _recall(conversation: Conversation) -> RecallTool:
    engine = conversation.engine

    async def memory() -> "PastConversations":
        # Loaded on first use.
        from cogency_tui.agent.recall.recall_for_model import PastConversations

        return PastConversations(engine.recall, engine.store, conversation.id, engine.workspace)

    return RecallTool(memory)


class SubAgents:
    """Runs a turn of a configured sub-agent for the conversation `parent`."""

    name = "agent"
    kind: ToolKind = "other"
    args = AgentArgs
    aliases = Aliases(
        Spellings({"subagent_type": "name", "agent": "name", "prompt": "task"}).over(PARAMETERS),
        dict.fromkeys(("task", "dispatch_agent", "subagent"), PLAIN),
    )

    def __init__(self, parent: Conversation) -> None:
        self._parent = parent
        self._agents = parent.delegates.agents
        there = listed({name: agent.description for name, agent in self._agents.items()})
        self.description = (
            'Have a sub-agent do a task by itself and get its answer: {"name": …, "task": …}. It cannot '
            f"see this conversation: task must include everything that it needs. Names: {there}."
        )

    def touch(self, args: AgentArgs, _context: ToolContext, /) -> Touch:
        agent = self._agents.get(args.name)
        if agent is None:
            return Touch()
        return Touch(everything=True, writes=agent.permissions != "plan" and not self._only_reads(agent))

    def _only_reads(self, agent: AgentSettings) -> bool:
        """Whether its tools change no file, so that it may work beside another one."""
        kinds = {tool.name: tool.kind for tool in self._parent.registry}
        return agent.tools is not None and all(
            kinds[name] in READING for name in agent.tools if name in kinds
        )

    async def plan(self, args: AgentArgs, context: ToolContext) -> Intent:
        """The intent to use the sub-agent's model if that is on another host; the sub-agent's own calls are
        checked one by one.
        """
        agent = choose(self.name, args.name, self._agents)
        task = _task(args, agent)
        with errors_as_results():
            provider = self._provider(agent)()
        self._check_tools(args.name, agent)
        return asking(self._parent, provider, f"Have {args.name} do a task", task)

    async def run(self, args: AgentArgs, context: ToolContext) -> Outcome:
        agent = choose(self.name, args.name, self._agents)
        require_current("sub-agent", args.name, agent, (await self._parent.configured()).agents)
        with errors_as_results():
            progress, sources = await self._turn(args, agent, context)
        if progress.problem:
            outcome = f"{args.name} did not finish: {progress.problem}"
            content = f"{progress.answer}\n\n[{outcome}]" if progress.answer else None
            return Outcome(outcome, content, failed=True, sources=sources)
        if not progress.answer:
            return Outcome(f"{args.name} ended without an answer", value="", sources=sources)
        calls = f"{progress.calls} call{'' if progress.calls == 1 else 's'}"
        note = ""
        if progress.stopped:
            note = f"[Its background commands ended with its answer: {', '.join(progress.stopped)}]"
        return Outcome(f"answered after {calls}", progress.answer, sources=sources, note=note)

    async def _turn(
        self, args: AgentArgs, agent: AgentSettings, context: ToolContext
    ) -> tuple[SubagentProgress, Sources]:
        """Run the turn to its end; also return the sources of what it has read."""
        engine = self._parent.engine
        provider = self._provider(agent)
        store = await engine.store()
        record = await store.create_conversation(
            engine.project,
            dialect=self._parent.dialect_choice,
            provider=provider().name,
            model=provider().model,
            parent=self._parent.id,
            call=context.call_id,
        )
        asker = f"the sub-agent {args.name}"
        child = Conversation(
            engine,
            record.id,
            self._parent.gate.narrowed(agent.permissions, call_id=context.call_id, asker=asker),
            replace(self._parent.choices, provider=provider),
            partial(assemble, only=self._allowed(agent)),
            settings=structs.replace(
                engine.settings,
                max_iterations=agent.max_iterations,
                # Another vendor has other words for its classes of service.
                service_tier="" if agent.provider else engine.settings.service_tier,
            ),
            role=_role(args.name, agent),
            depth=self._parent.depth + 1,
            budget=self._parent.budget,
        )
        child.instructions = self._parent.instructions
        child.own_dialect = self._parent.dialect_choice
        progress = SubagentProgress(context.report_step)
        queue = EventQueue()
        turn = Turn(child, store, Recorder(store, child.id, queue, chunks=True))
        given = Redactor(engine.secrets).text(_task(args, agent))
        task = asyncio.create_task(turn.run(given, queue.close))
        try:
            async for event in queue:
                progress.add(event)
                if ends_unit(event):
                    engine.progressed(child.id)
        finally:
            if not queue.closed:
                turn.interrupt()
            await ended(task)
            progress.stopped = child.background.running()
            await child.close()
        task.result()
        return progress, await sources_below(store, record.id, engine.workspace)

    def _provider(self, agent: AgentSettings) -> Callable[[], Provider]:
        own = self._parent.provider()
        if agent.provider in ("", own.name) and agent.model in ("", own.model):
            return self._parent.provider
        chosen = self._parent.engine.named(agent.provider or own.name, agent.model)
        return lambda: chosen

    def _allowed(self, agent: AgentSettings) -> set[str]:
        """The tools of the sub-agent: those that its configuration allows, out of its caller's."""
        there = {tool.name for tool in self._parent.registry}
        return there if agent.tools is None else there.intersection(agent.tools)

    def _check_tools(self, name: str, agent: AgentSettings) -> None:
        engine = self._parent.engine
        tools = [*default_tools(self._parent.background), *engine.servers.tools, *engine.tools]
        there = {*(tool.name for tool in tools), *_CONDITIONAL, Search.name}
        missing = [tool for tool in agent.tools or () if tool not in there]
        if missing:
            why = f'The sub-agent {name} cannot run: its tools include "{missing[0]}", which does not exist.'
            raise ToolError(
                why,
                f"The user can correct [agents.{name}]; tools: {', '.join(sorted(there))}.",
                brief=f"{why} Correct [agents.{name}].",
            )


def _role(name: str, agent: AgentSettings) -> str:
    return (
        f"You are the sub-agent {name} of another agent, which sees only your answer: include everything "
        f"that it needs, and no questions.\n{agent.instructions.strip()}"
    ).strip()


def _task(args: AgentArgs, agent: AgentSettings) -> str:
    """The message for a sub-agent: the task, and further parameters by name.

    Raises:
        ToolError: the task is given twice, or missing while the sub-agent has no instructions of its own.
    """
    form = f'Form: {{"name": "{args.name}", "task": …}}'
    if args.task and "task" in args.parameters:
        raise ToolError(f'agent {args.name}: "task" is given twice, also among the parameters.', form)
    task: Any = args.task or args.parameters.get("task")
    parts = [as_text(task)] if task else []
    parts += [f"{name}: {as_text(value)}" for name, value in args.parameters.items() if name != "task"]
    if not parts and not agent.instructions.strip():
        raise ToolError(f'agent {args.name}: "task" is missing.', form)
    return "\n".join(parts) or "Do what your instructions say."
