"""The images of conversations: each is stored once, under its digest, and referred to by events."""

from collections.abc import Awaitable, Callable

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import Image
from cogency_tui.store.blobs import Blobs
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.images import sendable

_FULL = "Remove old conversations, or set COGENCY_DATA to a directory on another disk."


class Images:
    """The images in the store's `blobs`."""

    def __init__(self, blobs: Callable[[], Awaitable[Blobs]]) -> None:
        self._blobs = blobs

    async def add(self, content: bytes, name: str) -> Image:
        """Store an image in the form that vendors take; it survives a power cut.

        Raises:
            WorkspaceError: it is no image that can be read, or too large.
            StoreError: it cannot be stored.
        """
        return await in_thread(_stored, await self._blobs(), content, name)

    async def content(self, image: Image) -> bytes:
        """Return the bytes of an image.

        Raises:
            StoreError: they are missing or damaged.
        """
        blobs = await self._blobs()
        return await in_thread(blobs.read, image["digest"], image["size"])


def _stored(blobs: Blobs, content: bytes, name: str) -> Image:
    found = sendable(content, name)
    stored = blobs.put_bytes(found.content)
    if not stored.stored:
        raise StoreError(f"{name} cannot be stored: the space for stored contents is used up.", _FULL)
    blobs.sync()
    return {
        "name": name,
        "digest": stored.digest,
        "media_type": found.media_type,
        "width": found.width,
        "height": found.height,
        "size": stored.size,
    }
