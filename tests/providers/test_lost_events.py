"""Events of a Responses answer that are lost or swapped on the way: what is left of a call never runs, over HTTP and
over a socket. Servers that number otherwise, or not at all, are read as ever."""

from collections.abc import Callable
from typing import Any

import pytest

from cogency_tui.errors import NetworkError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import TextDelta
from cogency_tui.tools.function import reads
from tests.agent.conftest import MakeAgent, make_agent, project
from tests.agent.delegation import block
from tests.exhaustive import sampled
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Context
from tests.peers.ways import WAYS

__all__ = ["make_agent", "project"]

Event = dict[str, Any]
Mangle = Callable[[list[Event]], list[Event]]

TEXT = "Hello there, hello there, hello there."
WORDS = "The first of two sentences to be noted; and the second of the two."
OVER = ("Responses", "Responses WebSocket")


class Mangling(ResponsesPeer):
    """Sends the events of its first answers as these have them."""

    mangles: list[Mangle]

    def _events(self, *args: Any, **options: Any) -> list[Event]:
        events = super()._events(*args, **options)
        return self.mangles.pop(0)(events) if self.mangles else events


def lose(at: int) -> Mangle:
    return lambda events: [event for event in events if event["sequence_number"] != at]


def swap(at: int) -> Mangle:
    return lambda events: [*events[:at], events[at + 1], events[at], *events[at + 2 :]]


def renumbered(number: Callable[[int, Event], int | None]) -> Mangle:
    def mangle(events: list[Event]) -> list[Event]:
        plain = [{k: v for k, v in event.items() if k != "sequence_number"} for event in events]
        numbers = [number(at, event) for at, event in enumerate(events)]
        return [
            event if given is None else event | {"sequence_number": given}
            for event, given in zip(plain, numbers, strict=True)
        ]

    return mangle


NUMBERINGS: dict[str, Mangle] = {
    "from 1": renumbered(lambda at, _event: at + 1),
    "from 1,000": renumbered(lambda at, _event: at + 1000),
    "none": renumbered(lambda _at, _event: None),
    "always 0": renumbered(lambda _at, _event: 0),
    "deltas have none": renumbered(lambda at, event: None if "delta" in event else at),
    "by two": renumbered(lambda at, _event: 2 * at),
    "each part anew": renumbered(lambda at, _event: at % 4),
    "of its own": renumbered(lambda at, _event: at * at),
}


async def read(over: str, mangle: Mangle) -> tuple[str, NetworkError | None]:
    """The text that comes of an answer, and what ends it too early."""
    way = WAYS[over]
    text = ""
    messages: list[Message] = [{"role": "user", "content": "Hi."}]
    async with Mangling([TEXT], model=way.model, token=4) as peer:
        peer.mangles = [mangle]
        provider = way.connect(peer)
        try:
            if way.mode == "resume":
                session = await provider.connect([])
                await session.send(messages)
                chunks = session.receive()
            else:
                chunks = provider.stream(messages)
            async for chunk in chunks:
                text += chunk.text if isinstance(chunk, TextDelta) else ""
        except NetworkError as error:
            return text, error
        finally:
            await provider.close()
    return text, None


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("mangle", [lose, swap])
async def test_an_answer_ends_where_an_event_is_missing(over: str, mangle: Callable[[int], Mangle]) -> None:
    for at in range(6, 12):
        text, error = await read(over, mangle(at))
        assert error is not None
        assert error.retryable
        assert TEXT.startswith(text)
        assert text != TEXT


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize(
    "kind", ["response.in_progress", "response.output_item.added", "response.content_part.added"]
)
async def test_a_proxy_that_leaves_out_events_without_text_ends_nothing(over: str, kind: str) -> None:
    def leave_out(events: list[Event]) -> list[Event]:
        left = [each for each in events if each["type"] != kind]
        assert len(left) < len(events)
        return left

    assert await read(over, leave_out) == (TEXT, None)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("numbering", NUMBERINGS)
async def test_other_ways_to_number_events_end_nothing(over: str, numbering: str) -> None:
    assert await read(over, NUMBERINGS[numbering]) == (TEXT, None)


# Each is lost over one wire and swapped over the other.
PARTS = [
    (over, mangle, at)
    for number, at in enumerate((5, 13, 17, 19, 21))
    for over, mangle in zip(OVER, (lose, swap) if number % 2 else (swap, lose), strict=True)
]


def model(context: Context) -> str:
    """Has the words noted until it has its result."""
    done = any('"status": "success"' in each["content"] for each in context if each["role"] == "user")
    return "Done." if done else "I note it.\n" + block(("note", {"text": WORDS}))


@pytest.mark.parametrize(("over", "mangle", "at"), sampled(PARTS, quick=4))
async def test_a_call_of_which_a_part_is_lost_does_not_run_and_then_runs_once(
    make_agent: MakeAgent, over: str, mangle: Callable[[int], Mangle], at: int
) -> None:
    noted: list[str] = []

    @reads
    async def note(text: str) -> str:
        """Note a text."""
        noted.append(text)
        return "Noted."

    way = WAYS[over]
    async with Mangling(model, model=way.model, token=8) as peer:
        peer.mangles = [mangle(at)]
        agent = make_agent(llm=way.connect(peer), mode=way.mode, tools=[note])
        async with agent:
            events = [event async for event in agent("go on")]
        assert events[-1]["type"] == "end"
        assert noted == [WORDS]
        assert peer.mangles == []
