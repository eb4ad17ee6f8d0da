"""Images as vendors take them: validated, upright, and sized down.

PNG, JPEG, GIF and WebP that are small enough stay byte for byte; all else becomes PNG or JPEG. The limits are
the strictest that the vendors document: Anthropic's for a request of many images (2,000 pixels a side, 5 MB
of base64 each; OpenAI and Gemini take more and scale down themselves). Pillow is imported with the first
image. The functions block: run them in a thread.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from cogency_tui.errors import WorkspaceError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Decoded = TypeVar("Decoded")

LONGEST_EDGE = 2000
"""Most pixels of a side."""

LARGEST = 3_750_000
"""Most bytes of an image; in base64 they are 5 MB."""

MOST_PIXELS = 50_000_000
"""Most pixels of an image that is decoded: 200 MB of memory."""

LARGEST_FILE = 50_000_000
"""Most bytes of an image file that is decoded."""

SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff", ".ico"}
    | {".avif", ".jp2", ".ppm", ".pgm", ".pbm", ".tga", ".qoi"}
)
"""Endings of the names of image files, in lower case."""

_FORMATS = frozenset(
    {"PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "ICO", "AVIF", "JPEG2000", "PPM", "TGA", "QOI"}
)
"""What Pillow may decode: no format that runs another program, or is a document."""

_SENT = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
"""Media types of the formats that all vendors take."""

_SIGNATURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_ORIENTATION = 0x0112
_SHRINK = 0.75
_CONVERT = "Convert it to PNG or JPEG and attach that."
_SAVE_AGAIN = "Save or export it again."
_filters = Lock()


@dataclass(frozen=True, slots=True)
class SendableImage:
    """An image that vendors take; `width` and `height` are in pixels."""

    content: bytes
    media_type: str
    width: int
    height: int


def is_image_name(name: str) -> bool:
    """Return whether a file of this name should be an image."""
    dot = name.rfind(".")
    return dot >= 0 and name[dot:].lower() in SUFFIXES


def is_image(content: bytes, name: str) -> bool:
    """Return whether a file is an image, by its first bytes; by its name where these only say that it is no
    text."""
    signed = content.startswith(_SIGNATURES) or content[8:12] == b"WEBP"
    return signed or (is_image_name(name) and b"\0" in content[:1024])


def sendable(content: bytes, name: str) -> SendableImage:
    """Return the image in `content` as vendors take it.

    Raises:
        WorkspaceError: it is no image that can be read, or too large; the message begins with `name`.
    """
    return _decoded(content, name, _sendable)


def require_sendable(content: bytes, name: str) -> None:
    """Check that an image can be sent.

    Raises:
        WorkspaceError: as `sendable`.
    """
    _decoded(content, name, _load)


def _decoded(content: bytes, name: str, use: "Callable[[Picture, bytes], Decoded]") -> "Decoded":
    """Return what `use` makes of an image and its content."""
    if not content:
        raise WorkspaceError(f"{name} is empty.", _SAVE_AGAIN)
    if len(content) > LARGEST_FILE:
        raise WorkspaceError(
            f"{name} has {len(content) / 1e6:,.0f} MB; images may have {LARGEST_FILE / 1e6:,.0f} MB.",
            "Attach a smaller version of it.",
        )
    try:
        with _opened(content, name) as picture:
            _require_decodable(picture, name)
            return use(picture, content)
    except WorkspaceError:
        raise
    except Exception as error:
        # What a decoder raises on hostile bytes has no common base.
        raise _damaged(name) from error


def require_sound(content: bytes, name: str, width: int, height: int) -> None:
    """Check that an image from a store that others may have filled is as it says: of a format that is sent,
    and of this size in pixels.

    Raises:
        WorkspaceError: it is not.
    """
    with _opened(content, name) as picture:
        if picture.format not in _SENT or picture.size != (width, height):
            raise _damaged(name)


def _load(picture: "Picture", _content: bytes) -> None:
    picture.load()


def _sendable(picture: "Picture", content: bytes) -> SendableImage:
    media_type = _SENT.get(picture.format or "")
    turned = picture.getexif().get(_ORIENTATION, 1) not in (0, 1)
    picture.load()
    if media_type and not turned and len(content) <= LARGEST and max(picture.size) <= LONGEST_EDGE:
        return SendableImage(content, media_type, *picture.size)
    return _encoded(picture, lossy=media_type == "image/jpeg")


def _opened(content: bytes, name: str) -> "Picture":
    from PIL import Image, UnidentifiedImageError

    try:
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            Image.init()
            return Image.open(BytesIO(content), formats=[name for name in Image.OPEN if name in _FORMATS])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels(name) from error
    except UnidentifiedImageError as error:
        raise _unknown(content, name) from error


def _require_decodable(picture: "Picture", name: str) -> None:
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise _too_many_pixels(name)


def _too_many_pixels(name: str) -> WorkspaceError:
    return WorkspaceError(
        f"{name} has more than {MOST_PIXELS // 1_000_000} million pixels.", "Attach a smaller version of it."
    )


def _damaged(name: str) -> WorkspaceError:
    return WorkspaceError(f"{name} cannot be read as an image: it is damaged or cut off.", _SAVE_AGAIN)


def _unknown(content: bytes, name: str) -> WorkspaceError:
    if content.startswith(_SIGNATURES):
        return _damaged(name)
    head = content[:1024].lstrip().lower()
    if b"<svg" in head:
        return WorkspaceError(f"{name} is an SVG drawing, which models read as text only.", _CONVERT)
    if b"ftyphei" in head or b"ftypmif1" in head:
        return WorkspaceError(f"{name} is a HEIC image, which cannot be read here.", _CONVERT)
    return WorkspaceError(f"{name} is not an image that can be read.", _CONVERT)


def _encoded(picture: "Picture", *, lossy: bool) -> SendableImage:
    """Encode the first frame upright, in the largest size that is small enough."""
    from PIL import ImageOps

    upright = _in_colour(ImageOps.exif_transpose(picture))
    for image in _sizes(upright):
        for kind in ("JPEG",) if lossy else ("PNG", "JPEG"):
            content = _written(image, kind)
            if len(content) <= LARGEST:
                return SendableImage(content, _SENT[kind], *image.size)
    raise AssertionError("an image of one pixel is small enough")


def _sizes(picture: "Picture") -> Iterator["Picture"]:
    """Yield a picture in ever smaller sizes, from the largest that vendors take."""
    from PIL.Image import Resampling

    edge = min(LONGEST_EDGE, max(picture.size))
    while edge >= 1:
        smaller = picture.copy()
        smaller.thumbnail((edge, edge), Resampling.LANCZOS)
        yield smaller
        edge = int(edge * _SHRINK)


def _in_colour(picture: "Picture") -> "Picture":
    """Convert to 8 bits a channel; 16 bits of grey lose the lower ones."""
    if picture.mode.startswith("I;16"):
        grey = picture.convert("I")
        picture = grey.point(lambda value: value * (1 / 256)).convert("L")  # pyright: ignore[reportUnknownMemberType] (Pillow leaves it open)
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _written(picture: "Picture", kind: str) -> bytes:
    target = BytesIO()
    if kind == "PNG":
        picture.save(target, "PNG")
    else:
        _on_white(picture).save(target, "JPEG", quality=88)
    return target.getvalue()


def _on_white(picture: "Picture") -> "Picture":
    """Return a picture without transparency, which JPEG does not have."""
    from PIL import Image

    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(ground, picture).convert("RGB")
