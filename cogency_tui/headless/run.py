"""`cogency-tui run`: one turn without the interface, for people in a hurry and for scripts."""

import asyncio
import select
import signal
import sys
from dataclasses import dataclass

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions import Answer, Question
from cogency_tui.errors import UsageError
from cogency_tui.headless.output import describe_args, print_json, print_text, talk
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.transcript import as_tool_call, call_record

DONE, FAILED, INTERRUPTED = 0, 1, 130

_STDIN_PATIENCE = 3.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line said about the turn."""

    prompt: str
    conversation: str | None = None
    as_json: bool = False
    chunks: bool = False


async def run_turn(agent: Agent, options: RunOptions) -> int:
    """Run one turn and print it; the exit status."""
    asker = _Asker(interactive=sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty())
    agent.ask = asker.ask
    status = FAILED
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, agent.interrupt)
    async with agent:
        conversation = options.conversation
        if conversation is not None:
            conversation = (await (await agent.store()).resolve(conversation)).id
        printer = print_json if options.as_json else _print_event
        async for event in agent.stream(
            options.prompt, conversation_id=conversation, chunks=options.chunks and options.as_json
        ):
            printer(event)
            if event["type"] == "end":
                status = DONE
            elif event["type"] == "interrupt":
                status = INTERRUPTED
    if asker.refused and status == DONE:
        status = FAILED
    for question in asker.refused:
        talk(
            f"Refused: {question.summary} ({question.reason}). "
            "Allow it with --permissions edits (file changes) or --permissions auto (commands too)."
        )
    return status


def read_prompt(prompt: str) -> str:
    """The prompt with what was piped in.

    Raises:
        UsageError: there is neither.
    """
    piped = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        # A script may leave an idle pipe as stdin: with a prompt given, that is no reason to wait.
        if not prompt or select.select([sys.stdin], [], [], _STDIN_PATIENCE)[0]:
            piped = sys.stdin.read()
        else:
            talk("Nothing came on stdin; going on without it.")
    text = "\n\n".join(part for part in (prompt.strip(), piped.strip()) if part)
    if not text:
        raise UsageError("There is nothing to ask.", "Give a prompt, or pipe one in.")
    return text


class _Asker:
    """Answers permission questions: from the terminal where there is one, else with no."""

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive
        self.refused: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        if not self._interactive:
            self.refused.append(question)
            return Answer(allow=False, reason="there is no terminal to ask at; go on without it")
        talk(f"\n{question.detail}\n\n{question.summary}: {question.reason}.")
        answer = await asyncio.to_thread(_read_answer)
        if answer in ("y", "yes"):
            return Answer(allow=True)
        if answer in ("a", "always"):
            return Answer(allow=True, scope="conversation")
        return Answer(allow=False)


def _read_answer() -> str:
    print("Allow it? [y]es, [a]lways in this conversation, [N]o: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()


def _print_event(event: Event) -> None:
    if event["type"] == "respond":
        print_text(event["content"])
    elif event["type"] == "call":
        call = as_tool_call(call_record(event))
        talk(f"· {call['name']} {describe_args(call['args'])}")
    elif event["type"] == "result":
        mark = "✗" if event["payload"]["error"] else "✓"
        talk(f"{mark} {event['tool']} {event['payload']['outcome']} ({event['duration'] * 1000:.0f} ms)")
    elif event["type"] == "error":
        payload = event["payload"]
        talk(f"Error: {payload['error']} {payload.get('hint', '')}".rstrip())
    elif event["type"] == "interrupt":
        talk("Interrupted.")
