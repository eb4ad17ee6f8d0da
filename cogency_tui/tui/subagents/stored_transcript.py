"""The transcript of an agent's conversation as it is stored, which grows while the agent works."""

from collections.abc import Iterator
from functools import partial

from cogency_tui.agent.cycle_figures import TurnFigures
from cogency_tui.agent.subagent_progress import numbered_with_progress, progress_payload
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Event, ResultEvent, begins_turn, error_event
from cogency_tui.store.store import Store
from cogency_tui.store.usage import measures
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Transcript


class StoredTranscript:
    """The units of the conversation `id`. `touched` are those that are new or changed since it was taken.
    Files in the directory `root` are named relative to it."""

    def __init__(self, id: str, root: str) -> None:
        self.transcript = Transcript()
        self.transcript.locate(root)
        self.touched: set[int] = set()
        self._id = id
        self._through = 0
        self._figures = TurnFigures()
        self._begun: dict[str, float] = {}
        """The times of the calls without a result."""
        self._last = 0.0
        """The time of the last event."""

    async def read(self, store: Store, *, running: bool, failure: str = "") -> None:
        """Add what is stored by now. While the agent is `running`, a call without a result runs, too; when it
        has ended with a `failure`, that follows, unless the error is stored.

        Raises:
            StoreError: it cannot be read.
        """
        measured = await store.database.read(partial(measures, conversation_id=self._id))
        self._figures.measure(measured)
        async for page in numbered_with_progress(store, self._id, self._through):
            for number, events in page:
                self._through = number
                self._last = events[-1]["timestamp"]
                self._note_call(events[-1])
                self.touched |= self.transcript.feed((*self._figures.before(events[-1]), *events))
        if running:
            self.touched |= self.transcript.feed(self._open_calls())
        else:
            self._end(failure)

    def _end(self, failure: str) -> None:
        self.touched |= self.transcript.feed(self._figures.rest())
        if failure and self.transcript.failure is None:
            self.touched |= self.transcript.feed([error_event(CogencyError(failure), self._last)])
        self.touched |= self.transcript.close()

    def _note_call(self, event: Event) -> None:
        if event["type"] == "call":
            self._begun[event["id"]] = event["timestamp"]
        elif event["type"] == "result":
            self._begun.pop(event["id"], None)
        elif begins_turn(event):
            self._begun.clear()

    def _open_calls(self) -> Iterator[ResultEvent]:
        """Previews of the calls that have no result yet, which show these as running."""
        for id, moment in self._begun.items():
            found = self.transcript.call_with(id)
            if found is not None and found[1].state == "queued":
                yield _running(found[1], moment)


def _running(call: CallUnit, moment: float) -> ResultEvent:
    return {
        "type": "result",
        "timestamp": moment,
        "id": call.id,
        "tool": call.name,
        "duration": 0.0,
        "payload": progress_payload([]),
        "partial": True,
    }
