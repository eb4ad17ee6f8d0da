"""Reads an editor's message: blocks of text, links to files and their contents."""

import os
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

from cogency_tui.redaction import Redactor
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


def _text(block: Any, project: Path) -> str:
    if isinstance(block, TextContentBlock):
        return block.text
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
    return shown(f"@{path.relative_to(project)}" if path.is_relative_to(project) else str(path))
