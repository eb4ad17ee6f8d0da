"""The slash commands of the plain-line interface."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from cogency_tui.agent.compaction import describe_compaction
from cogency_tui.agent.dialect_choice import dialect_for, reason_for
from cogency_tui.cli.edits import Choice, Consent, EditCommands
from cogency_tui.cli.profile import run_profile
from cogency_tui.cli.standard_streams import print_text
from cogency_tui.config.schema import DIALECT_CHOICES, EFFORT_CHOICES, MODES, PERMISSIONS
from cogency_tui.errors import UsageError
from cogency_tui.providers.efforts import describe_effort, substitute
from cogency_tui.safe_text import clean, one_line

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.project.skills import ListedSkill
    from cogency_tui.linear.session import LinearSession

_LISTED = 10

Name = TypeVar("Name", bound=str)
Carry = Callable[["LinearSession", str], Awaitable[None]]


class LinearCommand(msgspec.Struct, frozen=True):
    """`takes` describes the argument."""

    name: str
    takes: str
    summary: str
    carry: Carry


_ELSEWHERE = ("hooks", "skills", "trust")
"""Commands of the full-screen interface that are commands of the program, too."""


def _unusable_skill(name: str, listed: "Sequence[ListedSkill]") -> str:
    # Loaded where there are skills.
    from cogency_tui.agent.project.skills import describe_unusable

    return describe_unusable(name, listed)


async def run_command(session: "LinearSession", text: str) -> None:
    """Run the command `text` (with its slash).

    Raises:
        CogencyError: there is no such command, or it failed; the message gives the reason.
    """
    name, _space, argument = text.removeprefix("/").partition(" ")
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        settings = session.agent.project_settings
        await asyncio.to_thread(settings.refresh)
        if custom := settings.now.commands.get(name):
            await session.turn(custom.message(argument.strip()))
            return
        if name in _ELSEWHERE:
            raise UsageError(f"There is no /{name} here.", f"Use `cogency-tui {name}` in a shell.")
        if settings.skills and (unusable := _unusable_skill(name, settings.skills)):
            raise UsageError(f"{unusable}.", "Review it with `cogency-tui trust`.")
        if name == "image":
            raise UsageError("There is no /image here.", "Type @image.png in your message.")
        names = " ".join(f"/{each}" for each in (*(each.name for each in COMMANDS), *settings.now.commands))
        raise UsageError(f"Unknown command /{one_line(name)}.", f"Choose one of: {names}")
    await command.carry(session, argument.strip())


async def _help(session: "LinearSession", _argument: str) -> None:
    del session
    print_help()


def print_help() -> None:
    """Print the commands."""
    print_text("@image.png in a message attaches that image.")
    for command in COMMANDS:
        print_text(f"/{command.name}{f' {command.takes}' if command.takes else ''}: {command.summary}")


async def _status(session: "LinearSession", _argument: str) -> None:
    agent, total = session.agent, session.total
    print_text(f"Project {one_line(str(agent.project))}.")
    print_text(f"Model {one_line(agent.provider.name)}/{one_line(agent.provider.model)}.")
    choice = agent.dialect or agent.settings.dialect
    dialect, reason = dialect_for(choice, agent.provider), reason_for(choice, agent.provider)
    print_text(f"Reasoning effort {_effort_in_force(agent)}. Dialect {dialect} ({one_line(reason)}).")
    print_text(f"Session mode {agent.mode}. Permissions {agent.permissions}. Commands: {agent.sandbox}.")
    if total.get("input"):
        cost = f", {total['cost']:.4f} US dollars" if "cost" in total else ""
        print_text(f"{total.get('input', 0)} tokens sent, {total.get('output', 0)} generated{cost}.")


def _effort_in_force(agent: "Agent") -> str:
    instead = "" if agent.effort == "auto" else substitute(agent.provider.facts.efforts, agent.effort)
    return describe_effort(agent.effort, instead, refused=agent.refuses(agent.effort))


async def _new(session: "LinearSession", _argument: str) -> None:
    session.begin(None)
    session.agent.begin_choices()
    print_text("New conversation.")


async def _resume(session: "LinearSession", argument: str) -> None:
    store = await session.agent.store()
    past = await store.conversations(str(session.agent.project), limit=_LISTED)
    if not argument:
        for number, each in enumerate(past, 1):
            print_text(f"{number}: {one_line(each.title) or 'Untitled'}, {each.turns} turns")
        print_text("Continue one with /resume NUMBER." if past else "No conversations here yet.")
        return
    known = argument.isdecimal() and 0 < int(argument) <= len(past)
    conversation = past[int(argument) - 1] if known else await store.resolve(argument)
    await session.open(conversation.id)


async def _model(session: "LinearSession", argument: str) -> None:
    agent = session.agent
    if argument:
        provider, _slash, model = argument.partition("/")
        await agent.choose_model(provider, model)
        await session.store_choices()
    print_text(f"The model is {one_line(agent.provider.name)}/{one_line(agent.provider.model)}.")


async def _mode(session: "LinearSession", argument: str) -> None:
    agent = session.agent
    agent.mode = _one_of(argument, MODES, "session mode") if argument else agent.mode
    print_text(f"Session mode: {agent.mode}.{_choose(argument, MODES)}")


async def _permissions(session: "LinearSession", argument: str) -> None:
    agent = session.agent
    agent.permissions = _one_of(argument, PERMISSIONS, "permissions") if argument else agent.permissions
    print_text(f"Permissions are {agent.permissions}.{_choose(argument, PERMISSIONS)}")


async def _dialect(session: "LinearSession", argument: str) -> None:
    agent = session.agent
    agent.dialect = _one_of(argument, DIALECT_CHOICES, "dialect") if argument else agent.dialect
    await session.store_choices()
    chosen = agent.dialect or agent.settings.dialect
    print_text(f"Dialect: {chosen}.{_choose(argument, DIALECT_CHOICES)}")


async def _effort(session: "LinearSession", argument: str) -> None:
    agent = session.agent
    agent.effort = _one_of(argument, EFFORT_CHOICES, "reasoning effort") if argument else agent.effort
    await session.store_choices()
    print_text(f"Reasoning effort: {_effort_in_force(agent)}.{_choose(argument, EFFORT_CHOICES)}")


async def _output(session: "LinearSession", _argument: str) -> None:
    text = clean(session.last_output).rstrip("\n")
    print_text(text or "No call has returned text in this turn.")


async def _todos(session: "LinearSession", _argument: str) -> None:
    from cogency_tui.protocol.plan import latest_plan, plan_as_text

    begun = session.conversation_id is not None
    events = await (await session.agent.store()).events(_begun(session)) if begun else []
    plan = latest_plan(events)
    print_text(clean(plan_as_text(plan)) if plan else "The agent has made no plan here.")


async def _compact(session: "LinearSession", _argument: str) -> None:
    print_text(describe_compaction(await session.agent.compact(_begun(session))))


async def _take_back(session: "LinearSession", kind: Literal["undo", "redo"]) -> None:
    store = await session.agent.store()
    commands = EditCommands(store, session.agent.project, _begun(session), as_json=False)
    await commands.revert(Choice(redo=kind == "redo"), Consent())


async def _undo(session: "LinearSession", _argument: str) -> None:
    await _take_back(session, "undo")


async def _redo(session: "LinearSession", _argument: str) -> None:
    await _take_back(session, "redo")


async def _profile(session: "LinearSession", argument: str) -> None:
    profile = session.agent.profile
    if argument == "on":
        await session.agent.remember(session.conversation_id)
    await run_profile(profile, argument if argument not in ("", "on") else "show")


async def _usage(session: "LinearSession", argument: str) -> None:
    # Loads more than a conversation needs.
    from time import time

    from cogency_tui.agent.usage_report import parse_dimensions
    from cogency_tui.cli.usage import PERIOD, describe_usage, span_of

    dimensions = parse_dimensions(argument or "model")
    report = await session.agent.recall.usage(
        dimensions, span_of(PERIOD, None, session.agent.project, time())
    )
    for line in describe_usage(report):
        print_text(line)


async def _until(session: "LinearSession", argument: str) -> None:
    running = session.until
    if argument == "off":
        if running is None:
            raise UsageError("No /until is running.")
        running.stop("switched off")
    elif running is not None and not argument:
        print_text(f"Working until {running.name} succeeds: {running.progress}.")
    else:
        await session.work_until(argument)


async def _quit(session: "LinearSession", _argument: str) -> None:
    session.leave()


def _one_of(argument: str, names: Sequence[Name], noun: str) -> Name:
    for name in names:
        if name == argument:
            return name
    raise UsageError(f"Unknown {noun} {one_line(argument)!r}.", f"Choose one of: {', '.join(names)}.")


def _choose(argument: str, names: Sequence[str]) -> str:
    """The choices, where the user has not made one."""
    return "" if argument else f" Choose one of: {', '.join(names)}."


def _begun(session: "LinearSession") -> str:
    if session.conversation_id is None:
        raise UsageError("This conversation has no messages yet.", "Send a message first.")
    return session.conversation_id


COMMANDS = (
    LinearCommand("help", "", "list the commands", _help),
    LinearCommand("status", "", "model, effort, dialect, mode, permissions, tokens and cost", _status),
    LinearCommand("new", "", "start a new conversation", _new),
    LinearCommand("resume", "[NUMBER or ID]", "continue a past conversation, or list them", _resume),
    LinearCommand("output", "", "show the output of the last tool call", _output),
    LinearCommand("todos", "", "show the agent's plan", _todos),
    LinearCommand("model", "[PROVIDER/MODEL]", "show or choose the model", _model),
    LinearCommand("mode", "[MODE]", "show or choose the session mode", _mode),
    LinearCommand("permissions", "[PERMISSIONS]", "show or choose what runs without asking", _permissions),
    LinearCommand("effort", "[EFFORT]", "show or choose how hard the model thinks", _effort),
    LinearCommand("dialect", "[DIALECT]", "show or choose how the model writes tool calls", _dialect),
    LinearCommand("compact", "", "summarize the conversation", _compact),
    LinearCommand(
        "profile",
        "[on, off or clear]",
        "show or clear what the agent remembers about you, or turn learning on or off",
        _profile,
    ),
    LinearCommand("usage", "[DIMENSION,…]", "show the usage of this project in the last 30 days", _usage),
    LinearCommand("undo", "", "revert the changes of the last turn", _undo),
    LinearCommand("redo", "", "redo the last revert", _redo),
    LinearCommand("until", "CMD or off", "work until a shell command succeeds, or stop that", _until),
    LinearCommand("quit", "", "quit (also Ctrl+D, the end of the input)", _quit),
)
