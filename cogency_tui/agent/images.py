"""The images of conversations: each is stored once, under its digest, and referred to by events.

A request has the images that its model takes; any other is described in its place.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import Event, Image
from cogency_tui.protocol.messages import ImagePart, Message, Part, image_text, images_in, nested_parts_of
from cogency_tui.protocol.transcript import image_parts
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import OFFLINE
from cogency_tui.store.blobs import Blobs
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.images import require_sound, sendable

_CACHED = 64 << 20
"""Most bytes of images that stay in memory between requests."""

_FULL = "Remove old conversations, or set COGENCY_DATA to a directory on another disk."
_NOT_TAKEN = "this model takes no images"
_MISSING = "its content is missing"


class Images:
    """The images in the store's `blobs`."""

    def __init__(self, blobs: Callable[[], Awaitable[Blobs]]) -> None:
        self._blobs = blobs
        self._opened: Blobs | None = None
        self._contents = OrderedDict[str, bytes]()
        """Contents of the last requests, the latest last."""

    async def add(self, content: bytes, name: str) -> Image:
        """Store an image in the form that vendors take; it survives a power cut.

        Raises:
            WorkspaceError: it is no image that can be read, or too large.
            StoreError: it cannot be stored.
        """
        return await in_thread(_stored, await self._blobs(), content, name)

    async def content(self, image: Image) -> bytes:
        """Return the bytes of an image, which is as the event says: it may come from an imported file.

        Raises:
            StoreError: they are missing.
            WorkspaceError: they are not those of such an image.
        """
        return await in_thread(_content, await self._blobs(), image)

    def read(self, digest: str) -> bytes:
        """Return the bytes of an image of the last request.

        Raises:
            StoreError: they are missing or damaged.
        """
        if digest in self._contents:
            return self._contents[digest]
        if self._opened is None:
            raise StoreError(f"No image with the digest {digest} was requested.")
        return self._opened.read(digest)

    async def sendable(self, messages: list[Message], *, takes_images: bool) -> list[Message]:
        """Return the messages as a model takes them: images that it does not take, or whose content is
        missing, are described."""
        digests = {image["digest"] for image in images_in(messages)}
        if not digests:
            return messages
        reasons = dict.fromkeys(digests, _NOT_TAKEN)
        if takes_images:
            self._opened = await self._blobs()
            reasons = await in_thread(self._load, digests)
        return [_described(message, reasons) for message in messages] if reasons else messages

    def _load(self, digests: Iterable[str]) -> dict[str, str]:
        """Read contents into memory; return the reason for each that cannot be read."""
        missing: dict[str, str] = {}
        for digest in digests:
            try:
                self._contents[digest] = self.read(digest)
                self._contents.move_to_end(digest)
            except StoreError:
                missing[digest] = _MISSING
        while len(self._contents) > 1 and sum(map(len, self._contents.values())) > _CACHED:
            self._contents.popitem(last=False)
        return missing


def images_left_out(provider: Provider) -> str:
    """The notice that a model is sent no images."""
    text = f"{provider.model} takes no images: it receives only their names and sizes."
    if provider.name == OFFLINE:
        return text
    return f"{text} If it does take them, set images = true under [providers.{provider.name}]."


def images_of(event: Event) -> list[ImagePart]:
    """Return the images of an event."""
    if event["type"] == "user":
        return image_parts(event)
    return image_parts(event["payload"]) if event["type"] == "result" else []


def _described(message: Message, reasons: Mapping[str, str]) -> Message:
    """A message with text in place of the images for which there is a reason."""
    gone = [image for image in images_in([message]) if image["digest"] in reasons]
    if not gone:
        return message
    text = _in_words(gone, reasons)
    written = message["content"] + text if message["content"] else text.lstrip()
    whole: Message = {"role": message["role"], "content": written}
    parts = [_part_in_words(part, reasons) for part in nested_parts_of(message)]
    if any(part["type"] != "text" for part in parts):
        whole["parts"] = parts
    return whole


def _part_in_words(part: Part, reasons: Mapping[str, str]) -> Part:
    if part["type"] == "image" and part["digest"] in reasons:
        return {"type": "text", "text": _in_words([part], reasons)}
    if part["type"] != "result" or "images" not in part:
        return part
    gone = [image for image in part["images"] if image["digest"] in reasons]
    left = [image for image in part["images"] if image["digest"] not in reasons]
    return {**part, "text": part["text"] + _in_words(gone, reasons), "images": left}


def _in_words(images: Iterable[ImagePart], reasons: Mapping[str, str]) -> str:
    return "".join(f"\n\n{image_text(image, reasons[image['digest']])}" for image in images)


def _content(blobs: Blobs, image: Image) -> bytes:
    content = blobs.read(image["digest"], image["size"])
    require_sound(content, image["name"], image["width"], image["height"])
    return content


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
