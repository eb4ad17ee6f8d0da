"""Rows of a store for conversations of the past, whose figures and files are always the same."""

from cogency_tui.protocol.events import Measure
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Version
from cogency_tui.store.requests import Frame, Requests
from cogency_tui.store.store import Store


def blobs_of(store: Store) -> Blobs:
    """The contents of files, beside the database."""
    return Blobs(store.database.path.parent / "blobs", limit=1 << 20, quota=1 << 30)


def version_of(blobs: Blobs, data: bytes) -> Version:
    """A version of a file with this content."""
    stored = blobs.put_bytes(data)
    return Version("file", stored.digest, stored.size, 0o644, stored.stored)


async def record_request(store: Store, conversation: str, number: int, frame: Frame, figures: Measure) -> int:
    """Record a request that was answered after the event `number`, with these figures and others that are
    always the same; return its id."""
    requests = Requests(store.database)
    id = await requests.add(conversation, 0, number, frame, "")
    await requests.settle(id, "replay", 1)
    usual: Measure = {"output": 90, "duration": 2.0, "provider": "openai", "mode": "replay"}
    await store.record_usage(conversation, usual | figures)
    return id
