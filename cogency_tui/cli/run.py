"""`cogency-tui run`: one turn without the interface, or turns until a command succeeds; for quick use and for
scripts.
"""

import asyncio
import re
import select
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from time import time
from typing import TYPE_CHECKING

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question, Refusal
from cogency_tui.agent.weekly_copy import WeeklyCopy
from cogency_tui.cli.standard_streams import describe_args, print_json, print_text, talk
from cogency_tui.cli.trust import print_unused
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.protocol.events import (
    Event,
    RanCommand,
    describe_error,
    describe_image,
    error_event,
    labelled_outcome,
    mark_of,
)
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.providers.models import describe_ending
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.signal_delivery import on_signal
from cogency_tui.store.store import new_conversation_id
from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.registry import own_tool

if TYPE_CHECKING:
    from cogency_tui.agent.project.settings import ProjectSettings
    from cogency_tui.agent.until import Until

DONE, FAILED, INTERRUPTED = 0, 1, 130

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9-]*)(?:\s+(.*))?")

_STDIN_PATIENCE = 3.0

_LAST_LINES = 5
"""Lines of the output of a command that has failed."""

_MOST_PIPED = 4 << 20
"""Characters that are read from stdin."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The command line's options for the turn; `timeout` in seconds. With `until` there are turns, at most
    `max_turns` for at most `max_cost` USD, until that command succeeds."""

    prompt: str
    conversation: str | None = None
    as_json: bool = False
    chunks: bool = False
    timeout: float | None = None
    until: str = ""
    max_turns: int | None = None
    max_cost: float | None = None

    def limited(self) -> "Until | None":
        """The work until the command succeeds; None without one."""
        if not self.until:
            return None
        from cogency_tui.agent.until import TURNS, Limits, Until

        return Until(self.until, Limits(self.max_turns or TURNS, self.max_cost, self.timeout))


async def run_turn(agent: Agent, options: RunOptions) -> int:
    """Run one turn, or turns until a command succeeds, and print them; return the exit status."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        agent.ask, agent.inquire = ask_at_terminal, inquire_at_terminal
    status: int | None = None
    loop = asyncio.get_running_loop()
    until, copy = options.limited(), WeeklyCopy(agent)

    def interrupt() -> None:
        if until is not None:
            until.stop()
        copy.stop()
        agent.interrupt()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        on_signal(loop, number, interrupt)

    def report(_type: object, error: BaseException | None, _trace: object) -> None:
        """Print the end of a turn that could not begin."""
        if options.as_json and status is None and isinstance(error, CogencyError):
            print_json(error_event(error, time()))
            print_json({"type": "end", "timestamp": time()})

    agent.is_last_turn = until is None
    async with AsyncExitStack() as stack:
        stack.push(report)
        stack.push_async_callback(agent.close)
        await agent.open(patient=True)
        conversation = options.conversation
        if conversation is not None:
            found = await (await agent.store()).resolve(conversation)
            if found.source or agent.is_of_other_project(found):
                whose = "imported conversation" if found.source else f"conversation of {found.project}"
                found = await agent.fork_here(found.id)
                talk(one_line(f"The {whose} continues here in the fork {found.id}."))
            conversation = found.id
            if unusable := await agent.resume_choices(conversation):
                talk(unusable)
        else:
            conversation = new_conversation_id()
        await asyncio.to_thread(print_unused, agent.project_settings)
        if notice := describe_ending(
            agent.provider.model, agent.provider.facts, "choose another with --model."
        ):
            talk(notice)
        prompt = await asyncio.to_thread(expand_command, options.prompt, agent.project_settings)
        printer = partial(_print_json, conversation) if options.as_json else print_event
        late = _Late(agent)
        chunks = options.chunks and options.as_json
        if until is not None:
            async for event in agent.until(until, prompt, conversation_id=conversation, chunks=chunks):
                printer(event)
            status = DONE if until.held else INTERRUPTED if until.was_interrupted else FAILED
        else:
            watch = loop.call_later(options.timeout, late.stop) if options.timeout else None
            async for event in agent.stream(prompt, conversation_id=conversation, chunks=chunks):
                printer(event)
                status = status_after(event, status)
            if watch is not None:
                watch.cancel()
        if late.stopped and status == INTERRUPTED:
            talk(
                f"Error: the turn was stopped after {options.timeout:g} s. Raise --timeout to allow more "
                "time."
            )
            status = FAILED
        for problem in agent.instructions(conversation).problems:
            talk(f"Instructions were not read: {problem}")
        if agent.background is not None and (running := agent.background.running()):
            talk(f"Background commands stopped at the end: {', '.join(running)}")
        gate = agent.gate(conversation)
        # What was refused on the way to what holds does not matter.
        refusals = gate.refusals if gate is not None and not (until and until.held) else ()
        copy.begin()
        await copy.finish()
        await (await agent.store()).report(lambda notice: talk(f"◇ {notice}"))
    for refusal in refusals:
        talk(_advice(refusal))
    return FAILED if status is None or (refusals and status == DONE) else status


def expand_command(prompt: str, settings: "ProjectSettings") -> str:
    """The message of the command or skill that the first line of a prompt names; otherwise the prompt. A name
    that there is not is reported. Blocks.

    Raises:
        UsageError: the command needs an argument.
    """
    first, newline, rest = prompt.partition("\n")
    named = _COMMAND.fullmatch(first.strip())
    if named is None:
        return prompt
    settings.refresh()
    name, argument = named[1], (named[2] or "").strip()
    command = settings.now.commands.get(name)
    if command is None:
        # Loaded where it may be a skill.
        from cogency_tui.agent.project.skills import describe_unusable

        problem = describe_unusable(name, settings.skills) if settings.skills else ""
        hint = " (review it with `cogency-tui trust`)" if problem else ""
        talk(f"{problem or f'There is no command /{name} here'}{hint}: sent as text.")
        return prompt
    if not argument and not rest and command.takes and not command.takes.startswith("["):
        raise UsageError(f"/{name} takes {command.takes}.")
    return f"{command.message(argument)}{newline}{rest}"


def status_after(event: Event, status: int | None) -> int | None:
    """The exit status after `event`, given `status` before it; None while the turn continues."""
    if event["type"] == "end":
        return DONE if status is None else status
    if event["type"] == "interrupt":
        return INTERRUPTED
    return FAILED if event["type"] == "error" and not event["payload"].get("notice") else None


def read_prompt(prompt: str, *, is_needed: bool = True) -> str:
    """The prompt with the piped text.

    Raises:
        UsageError: there is neither, and one `is_needed`, or the piped text is too long.
    """
    piped = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        # A script may leave an idle pipe as stdin; with a prompt, that is no reason to wait.
        if (is_needed and not prompt) or select.select([sys.stdin], [], [], _STDIN_PATIENCE)[0]:
            piped = sys.stdin.read(_MOST_PIPED + 1)
            if len(piped) > _MOST_PIPED:
                problem = f"stdin has more than {_MOST_PIPED:,} characters."
                raise UsageError(
                    problem, "That is too much for a model: name the file in the prompt instead."
                )
        else:
            talk("Nothing arrived on stdin; continuing without it.")
    if prompt.strip():
        # The piped text is not the user's prompt, but its subject.
        piped = Redactor({}).text(piped)
    text = "\n\n".join(part for part in (prompt.strip(), piped.strip()) if part)
    if is_needed and not text:
        raise UsageError("The prompt is empty.", "Give a prompt, or pipe one in.")
    return text


class _Late:
    """Stops the turn of `agent` when its time is up."""

    def __init__(self, agent: Agent) -> None:
        self.stopped = False
        self._agent = agent

    def stop(self) -> None:
        self.stopped = True
        self._agent.interrupt()


async def ask_at_terminal(question: Question) -> Answer:
    """Ask at the terminal. Nothing that the user judges is hidden from them, or left out."""
    reasons = [f"this {describe_losses(question.losses)}"] if question.losses else []
    reasons += [question.reason] if question.reason else []
    talk(f"\n{reveal(question.detail)}\n\n{': '.join([one_line(question.title), *reasons])}.")
    wider = ", [a]ll edits this turn" if question.turn else ""
    if question.grant:
        talk(f"[c]: {question.grant}")
        wider += ", for this [c]onversation"
    answer = await _read_answer(wider)
    if answer in ("y", "yes"):
        return Answer(allow=True)
    if answer in ("a", "all") and question.turn:
        return Answer(allow=True, scope="turn")
    if answer in ("c", "conversation") and question.grant:
        return Answer(allow=True, scope="conversation")
    return Answer(allow=False)


async def inquire_at_terminal(inquiry: Inquiry) -> InquiryAnswer:
    """Put the model's questions to the user at the terminal."""
    from cogency_tui.linear.questions import describe_answer, describe_inquiry, read_choices, skips

    given: list[tuple[str, ...]] = []
    for number, question in enumerate(inquiry.questions, 1):
        talk("\n" + "\n".join(describe_inquiry(inquiry, number)))
        words = (await _read_line()).strip()
        answers = () if skips(words, question) else read_choices(words, question)
        talk(describe_answer(answers, question) if answers else "Skipped.")
        given.append(answers)
    return InquiryAnswer.of(tuple(given))


def _advice(refusal: Refusal) -> str:
    """The refused call, the reason, and what would allow it."""
    if refusal.enough:
        cure = f"Allow it with --permissions {refusal.enough}."
    else:
        cure = "No permission mode allows it without asking: start cogency-tui without run to approve it."
    return f"Not allowed: {one_line(refusal.summary)} ({refusal.reason}). {cure}"


async def _read_answer(wider: str) -> str:
    talk(f"Allow it? [y]es{wider}, [N]o: ", end="")
    return (await _read_line()).strip().lower()


async def _read_line() -> str:
    """The next line of the terminal; empty at its end."""
    # A thread that waits for a line would delay the end of the program.
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()


def _print_json(conversation: str, event: Event) -> None:
    """Print an event; the first and the last include the id of their conversation."""
    if event["type"] == "user" or event["type"] == "end":
        event = event.copy()
        event["conversation"] = conversation
    print_json(event)


def print_event(event: Event) -> None:
    """Print answers on stdout, and the rest on stderr."""
    if event["type"] == "respond":
        print_text(event["content"])
    elif event["type"] == "user" and "ran" in event:
        _print_check(event["ran"])
    elif event["type"] == "user":
        if "until" in event:
            place = event["until"]
            talk(f"· turn {place['turn']} of {place['turns']}")
        for image in event.get("images", ()):
            talk(f"· image {describe_image(image)}")
    elif event["type"] == "call":
        call = as_tool_call(call_record(event))
        if own_tool(str(call["name"])) != "plan":
            # The result of an update of the plan says it.
            talk(f"· {call['name']} {describe_args(call['args'])}")
    elif event["type"] == "result":
        payload = event["payload"]
        took = "" if payload["state"] == "declined" else f" ({event['duration'] * 1000:.0f} ms)"
        talk(f"{mark_of(payload)} {labelled_outcome(event, ' ')}{took}")
    elif event["type"] == "error" and "call" in event["payload"]:
        # The failed result of the call, which follows, reports it.
        pass
    elif event["type"] == "error":
        payload = event["payload"]
        mark = "◇" if payload.get("notice") else "⊘" if payload.get("declined") else "Error:"
        talk(f"{mark} {describe_error(payload)} {payload.get('hint', '')}".rstrip())
    elif event["type"] == "interrupt":
        talk("Interrupted.")


def _print_check(ran: RanCommand) -> None:
    """Print how the user's command has ended; of a failure the last lines of its output, too."""
    mark = {"done": "✓", "interrupted": "■"}.get(ran["state"], "✗")
    talk(f"{mark} {one_line(ran['command'])} {ran['outcome']} ({ran['duration']:.1f} s)")
    if ran["state"] == "failed":
        for line in ran["output"].rstrip("\n").split("\n")[-_LAST_LINES:]:
            talk(f"  {line}")
