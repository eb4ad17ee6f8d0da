"""Two branches of a conversation side by side: what they share, and what each came to since."""

from dataclasses import dataclass

from cogency_tui.protocol.events import Event
from cogency_tui.store import usage
from cogency_tui.store.conversations import Conversation, Store
from cogency_tui.store.edits import Edits
from cogency_tui.store.events import missing
from cogency_tui.store.forks import Forks
from cogency_tui.store.versions import Kind, net


@dataclass(frozen=True, slots=True)
class Branch:
    """One side, since both parted. `answers` are what was answered, in order; `files` the paths that it
    changed, with what became of each; `tokens` sent and generated, `cost` in USD where it is known."""

    conversation: Conversation
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    files: tuple[tuple[str, Kind], ...]
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`shared` is how many events both have in common."""

    shared: int
    left: Branch
    right: Branch


async def compare(store: Store, left: str, right: str) -> Comparison:
    """Compare two conversations.

    Raises:
        StoreError: there is no such conversation.
    """
    last_left, last_right = await Forks(store.database).shared(left, right)
    shared = sum(number <= last_left for number, _ in await store.numbered_events(left))
    sides = await _branch(store, left, last_left), await _branch(store, right, last_right)
    return Comparison(shared, *sides)


async def _branch(store: Store, id: str, after: int) -> Branch:
    conversation = await store.conversation(id)
    if conversation is None:
        raise missing(id)
    events = [event for _, event in await store.numbered_events(id, after)]
    if not events:
        return Branch(conversation, (), (), (), 0, 0.0)
    parted = events[0]["timestamp"]
    edits = [edit for edit in await Edits(store.database).of_conversation(id) if edit.timestamp >= parted]
    tokens, cost = await store.database.read(lambda connection: usage.since(connection, id, parted))
    files: tuple[tuple[str, Kind], ...] = tuple((each.change.path, each.change.kind) for each in net(edits))
    return Branch(conversation, _said(events, "user"), _said(events, "respond"), files, tokens, cost)


def _said(events: list[Event], kind: str) -> tuple[str, ...]:
    return tuple(
        event["content"]
        for event in events
        if event["type"] == kind and (event["type"] == "user" or event["type"] == "respond")
    )
