"""Reads an editor's message: blocks of text, images, links to files and their contents."""

import base64
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from cogency_tui.redaction import Redactor
from cogency_tui.workspace.images import is_image_name
from cogency_tui.workspace.protected_names import shown


def fenced(text: str) -> str:
    """`text` as a block of code: an editor renders it as it is, with no markup and nothing hidden."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def text_of(blocks: Iterable[Any], project: Path) -> str:
    """The message as text: files of `project` (resolved) by their names, others by their addresses, and
    their contents without secrets.
    """
    return "".join(_text(block, project) for block in blocks).strip()


def images_of(blocks: Iterable[Any]) -> list[tuple[bytes, str]]:
    """The contents of the message's images, with their names; no bytes where the base64 is malformed."""
    encoded = [found for block in blocks if (found := _image(block))]
    return [(_decoded(data), name or f"attachment {at}") for at, (data, name) in enumerate(encoded, 1)]


def _image(block: Any) -> tuple[str, str] | None:
    """The base64 and the name of a block that is an image; the name is empty where it has none."""
    if isinstance(block, ImageContentBlock):
        return block.data, _last_name(block.uri or "")
    resource = block.resource if isinstance(block, EmbeddedResourceContentBlock) else None
    if isinstance(resource, BlobResourceContents) and (resource.mime_type or "").startswith("image/"):
        return resource.blob, _last_name(resource.uri)
    return None


def _last_name(uri: str) -> str:
    try:
        return shown(unquote(urlsplit(uri).path).rpartition("/")[2])
    except ValueError:
        return ""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


def _text(block: Any, project: Path) -> str:
    if isinstance(block, TextContentBlock):
        return block.text
    if _image(block):
        return ""
    if isinstance(block, ResourceContentBlock):
        return _named(block.uri, project)
    if isinstance(block, EmbeddedResourceContentBlock):
        name = _named(block.resource.uri, project)
        if isinstance(block.resource, TextResourceContents):
            return f"\n\n{name}:\n{fenced(Redactor({}).text(block.resource.text, file=name))}\n"
        return f"{name} (not text)"
    return "(not text)"


def _named(uri: str, project: Path) -> str:
    try:
        address = urlsplit(uri)
    except ValueError:
        # Malformed, as `http://[x`: the model receives it as the editor sent it.
        return shown(uri)
    if address.scheme != "file":
        return shown(uri)
    path = Path(os.path.normpath(unquote(address.path)))
    name = str(path.relative_to(project) if path.is_relative_to(project) else path)
    if is_image_name(name):
        # The engine attaches it.
        return shown(f'@"{name}"' if " " in name else f"@{name}")
    return shown(f"@{name}" if path.is_relative_to(project) else name)
