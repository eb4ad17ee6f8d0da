"""What an editor sends as a message: blocks of text, links to files and what is in them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    EmbeddedResourceContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)


def text_of(blocks: Iterable[Any], project: Path) -> str:
    """The message as text: files of `project` (resolved) by their names, others by their addresses."""
    return "".join(_text(block, project) for block in blocks).strip()


def _text(block: Any, project: Path) -> str:
    if isinstance(block, TextContentBlock):
        return block.text
    if isinstance(block, ResourceContentBlock):
        return _named(block.uri, project)
    if isinstance(block, EmbeddedResourceContentBlock):
        name = _named(block.resource.uri, project)
        if isinstance(block.resource, TextResourceContents):
            fence = "```"
            while fence in block.resource.text:
                fence += "`"
            return f"\n\n{name}:\n{fence}\n{block.resource.text}\n{fence}\n"
        return f"{name} (not text)"
    return "(something that is not text)"


def _named(uri: str, project: Path) -> str:
    address = urlsplit(uri)
    if address.scheme != "file":
        return uri
    path = Path(unquote(address.path))
    return f"@{path.relative_to(project)}" if path.is_relative_to(project) else str(path)
