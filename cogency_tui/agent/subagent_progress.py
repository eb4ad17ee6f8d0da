"""The progress of a sub-agent's turn: steps, its calls, while it runs, and an answer at its end.

The answer is the text of the last cycle, after its last call.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import (
    Event,
    ResultEvent,
    ResultPayload,
    Step,
    StepState,
    error_text,
    outcome_shown,
)
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.store.store import Store
from cogency_tui.workspace.protected_names import shown

_WIDTH = 80


class SubagentProgress:
    """Follows the events of one turn; `report` receives its steps."""

    def __init__(self, report: Callable[[Step], None]) -> None:
        self.answer = ""
        self.problem = ""
        """Why the turn did not complete, if it did not."""
        self.calls = 0
        self.stopped: Sequence[str] = ()
        """The background commands that ended with the turn."""
        self._report = report
        self._accumulator = Accumulator()
        self._answers: list[str] = []

    def add(self, event: Event) -> None:
        """Process the next event."""
        for unit in self._accumulator.add(event):
            self._take(unit)

    def _take(self, event: Event) -> None:
        if event["type"] != "end":
            # An error after which the turn continues has not ended it.
            self.problem = ""
        if event["type"] == "respond":
            self._answers.append(event["content"])
        elif event["type"] == "call":
            self._answers.clear()
            self.calls += 1
            self._report(step_begun(event["id"], call_record(event)))
        elif event["type"] == "result":
            self._report(step_ended(event))
        elif event["type"] == "metric":
            self.answer = "\n\n".join(self._answers)
            self._answers.clear()
        elif event["type"] == "error" and not event["payload"].get("notice"):
            self.problem = error_text(event["payload"])
            self._report(_step("", "problem", subject=first_line(self.problem)))
        elif event["type"] == "interrupt":
            self.problem = "interrupted"


def ends_unit(event: Event) -> bool:
    """Return whether all events before this one are stored, and this one, too, if it is to be."""
    return event["type"] not in ("think", "respond") and not event.get("partial")


async def pages_with_progress(store: Store, conversation_id: str) -> AsyncGenerator[list[Event]]:
    """The stored events of a conversation in pages, with the progress of its sub-agents before the results
    of their calls, as it was shown while they worked.
    """
    async for page in numbered_with_progress(store, conversation_id):
        yield [event for _number, events in page for event in events]


async def numbered_with_progress(
    store: Store, conversation_id: str, after: int = 0
) -> AsyncGenerator[list[tuple[int, tuple[Event, ...]]]]:
    """As `pages_with_progress`, with the numbers of the stored events; those up to `after` are left out."""
    agents: dict[str, list[str]] = {}
    for conversation in await store.delegated(conversation_id):
        agents.setdefault(conversation.call or "", []).append(conversation.id)
    async for page in store.event_pages(conversation_id, after):
        yield [(number, (*await _progress_of(event, store, agents), event)) for number, event in page]


async def _progress_of(event: Event, store: Store, agents: Mapping[str, Sequence[str]]) -> Sequence[Event]:
    if event["type"] != "result" or event["id"] not in agents:
        return ()
    steps: list[Step] = []
    for id in agents[event["id"]]:
        progress = SubagentProgress(steps.append)
        async for page in store.event_pages(id):
            for _number, each in page:
                progress.add(each)
    return ({**event, "payload": progress_payload(steps), "partial": True},)


def progress_payload(steps: Sequence[Step]) -> ResultPayload:
    """The payload that reports steps of a call that is running."""
    content = "".join(map(_line, steps))
    return {
        "outcome": "running",
        "content": content,
        "error": False,
        "state": "running",
        "steps": list(steps),
    }


def step_begun(call_id: str, record: Mapping[str, Any]) -> Step:
    """The step of a call that begins."""
    tool = first_line(str(as_tool_call(record).get("name")))
    return _step(call_id, "running", tool, subject=call_summary(record)[len(tool) + 1 :])


def step_ended(event: ResultEvent) -> Step:
    """The step of a call that has ended."""
    tool, payload = first_line(event["tool"]), event["payload"]
    outcome = first_line(f"{tool}: {outcome_shown(payload)}")[len(tool) + 2 :]
    state: StepState = "failed" if payload["error"] else "done"
    return _step(event["id"], "declined" if payload["state"] == "declined" else state, tool, outcome=outcome)


def call_summary(record: Mapping[str, Any]) -> str:
    """A call in one line: its tool and its first text argument."""
    call = as_tool_call(record)
    args: Any = call.get("args")
    values = cast("dict[str, Any]", args).values() if isinstance(args, dict) else ()
    first = next((value for value in values if isinstance(value, str) and value.strip()), "")
    name: Any = call.get("name")
    return first_line(f"{name} {first}")


def _step(call: str, state: StepState, tool: str = "", *, subject: str = "", outcome: str = "") -> Step:
    return {"call": call, "state": state, "tool": tool, "subject": subject, "outcome": outcome}


_MARKS: Mapping[StepState, str] = {
    "running": "·",
    "done": "✓",
    "failed": "✗",
    "declined": "⊘",
    "problem": "!",
}


def _line(step: Step) -> str:
    shown = (step["tool"], step["subject"])
    if step["state"] in ("done", "failed", "declined"):
        shown = (f"{step['tool']}:", step["outcome"])
    return f"{_MARKS[step['state']]} {' '.join(part for part in shown if part)}\n"


def first_line(text: str) -> str:
    """The first line of a text, shortened and safe to show."""
    line = shown(text.strip().partition("\n")[0])
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


async def ended(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task that is being stopped, however often the waiting is cancelled."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
