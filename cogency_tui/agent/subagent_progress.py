"""The progress of a sub-agent's turn: a line for each call while it runs, an answer at its end.

The answer is the text of the last cycle, after its last call.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import Event, ResultEvent, ResultPayload
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.store.conversations import Store
from cogency_tui.workspace.file_names import shown

_WIDTH = 80


class Progress:
    """Follows the events of one turn; `report` receives the lines."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.answer = ""
        self.problem = ""
        """Why the turn did not complete, if it did not."""
        self.calls = 0
        self._report = report
        self._accumulator = Accumulator()
        self._said: list[str] = []

    def add(self, event: Event) -> None:
        """Process the next event."""
        for unit in self._accumulator.add(event):
            self._take(unit)

    def _take(self, event: Event) -> None:
        if event["type"] != "end":
            # An error after which the turn continues has not ended it.
            self.problem = ""
        if event["type"] == "respond":
            self._said.append(event["content"])
        elif event["type"] == "call":
            self._said.clear()
            self.calls += 1
            self._report(call_line(call_record(event)))
        elif event["type"] == "result":
            self._report(result_line(event))
        elif event["type"] == "metric":
            self.answer = "\n\n".join(self._said)
            self._said.clear()
        elif event["type"] == "error" and not event["payload"].get("notice"):
            payload = event["payload"]
            self.problem = f"{payload['error']} {payload.get('hint', '')}".strip()
            self._report(f"! {first_line(self.problem)}\n")
        elif event["type"] == "interrupt":
            self.problem = "interrupted"


async def pages_with_progress(store: Store, conversation_id: str) -> AsyncGenerator[list[Event]]:
    """The stored events of a conversation in pages, with the progress of its sub-agents before the results
    of their calls, as it was shown while they worked.
    """
    async for page in numbered_with_progress(store, conversation_id):
        yield [event for _number, events in page for event in events]


async def numbered_with_progress(
    store: Store, conversation_id: str
) -> AsyncGenerator[list[tuple[int, tuple[Event, ...]]]]:
    """As `pages_with_progress`, with the numbers of the stored events."""
    agents: dict[str, list[str]] = {}
    for conversation in await store.delegated(conversation_id):
        agents.setdefault(conversation.call or "", []).append(conversation.id)
    async for page in store.event_pages(conversation_id):
        yield [(number, (*await _progress_of(event, store, agents), event)) for number, event in page]


async def _progress_of(event: Event, store: Store, agents: Mapping[str, Sequence[str]]) -> Sequence[Event]:
    if event["type"] != "result" or event["id"] not in agents:
        return ()
    lines: list[str] = []
    for id in agents[event["id"]]:
        progress = Progress(lines.append)
        async for page in store.event_pages(id):
            for _number, each in page:
                progress.add(each)
    payload: ResultPayload = {"outcome": "running", "content": "".join(lines), "error": False}
    return ({**event, "payload": payload, "partial": True},)


def call_line(record: Mapping[str, Any]) -> str:
    """A call in one line: its tool and its first text argument."""
    call = as_tool_call(record)
    args: Any = call.get("args")
    values = cast("dict[str, Any]", args).values() if isinstance(args, dict) else ()
    first = next((value for value in values if isinstance(value, str) and value.strip()), "")
    name: Any = call.get("name")
    return f"· {first_line(f'{name} {first}')}\n"


def result_line(event: ResultEvent) -> str:
    """The outcome of a call in one line."""
    payload = event["payload"]
    mark = "✗" if payload["error"] else "✓"
    return f"{mark} {first_line(event['tool'] + ': ' + payload['outcome'])}\n"


def first_line(text: str) -> str:
    """The first line of a text, shortened and safe to show."""
    line = shown(text.strip().partition("\n")[0])
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


async def ended(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task that is being stopped, however often the waiting is cancelled."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
