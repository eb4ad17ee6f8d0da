"""What a server offers and answers, as our program is told of it: text of a bounded length."""

from typing import TYPE_CHECKING

import msgspec

from cogency_tui.tools.mcp import wire

if TYPE_CHECKING:
    import mcp_types as types

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/")
_LONGEST_NAME = 128


def why_unusable(tool: "types.Tool") -> str:
    """Why a tool cannot be offered; empty where it can."""
    if not 0 < len(tool.name) <= _LONGEST_NAME:
        return f"its name has {len(tool.name):,} characters; there may be 1 to {_LONGEST_NAME}"
    if not set(tool.name) <= _NAME:
        return "its name has characters that no tool's name has"
    if len(msgspec.json.encode(tool.input_schema)) > wire.LARGEST_SCHEMA:
        return "what it says of its arguments is too long"
    return ""


def text_of(result: "types.CallToolResult") -> str:
    """A result as text, of a long one the beginning and the end; what is none is named by type and size."""
    parts: list[str] = []
    for block in result.content:
        match block.type:
            case "text":
                parts.append(block.text)
            case "image" | "audio":
                size = len(block.data.rstrip("=")) * 3 // 4
                parts.append(f"[{block.type}, {block.mime_type}, {size:,} bytes: not shown]")
            case "resource":
                text: str | None = getattr(block.resource, "text", None)
                parts.append(f"[{block.resource.uri}]" + ("" if text is None else f"\n{text}"))
            case "resource_link":
                parts.append(f"[{block.uri}] {block.description or block.name}")
    if not parts and result.structured_content is not None:
        parts.append(msgspec.json.encode(result.structured_content).decode())
    return _cut("\n".join(parts))


def _cut(text: str) -> str:
    """The beginning and the end of a text, with a mark where something is missing."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= wire.LARGEST_RESULT:
        return text
    half = wire.LARGEST_RESULT // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n[… {missing:,} characters were cut here …]\n{text[-half:]}"
