"""Pictures for tests: sound ones of any format and size, and hostile ones."""

import hashlib
import struct
import zlib
from io import BytesIO
from typing import Any

import PIL.Image

from cogency_tui.protocol.events import Image
from cogency_tui.workspace.images import sendable


def picture(kind: str = "PNG", size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: Any) -> bytes:
    """A red picture of this kind, encoded."""
    target = BytesIO()
    PIL.Image.new(mode, size, "red" if mode in ("RGB", "RGBA", "P") else 1).save(target, kind, **options)
    return target.getvalue()


def noise(size: tuple[int, int], kind: str = "PNG", mode: str = "RGB") -> bytes:
    """A picture that does not compress."""
    target = BytesIO()
    channels = [PIL.Image.effect_noise(size, 200) for _ in mode]
    PIL.Image.merge(mode, channels).save(target, kind)
    return target.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG that claims this size, and has the data of next to nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def opened(content: bytes) -> PIL.Image.Image:
    """The decoded picture."""
    found = PIL.Image.open(BytesIO(content))
    found.load()
    return found


async def add_image(content: bytes, name: str) -> Image:
    """The image that an event refers to, stored nowhere."""
    found = sendable(content, name)
    return {
        "name": name,
        "digest": hashlib.sha256(found.content).hexdigest(),
        "media_type": found.media_type,
        "width": found.width,
        "height": found.height,
        "size": len(found.content),
    }


SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>\n'
