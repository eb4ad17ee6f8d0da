"""Searches in a process of their own, because a regular expression cannot be stopped in any other way.

Invariant: no pattern of a model can block the program: the search holds no lock of ours, and is killed when
its time is up or its caller is cancelled.
"""

import os
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from cogency_tui.child_processes import Job
from cogency_tui.errors import ToolError
from cogency_tui.workspace import text_search
from cogency_tui.workspace.paths import Location, Workspace

SECONDS = 60.0

_SEARCH = Job(__name__)
_HINT = "Narrow it with path or pattern, or make the regular expression simpler."

Answer = TypeVar("Answer")


class _Request(msgspec.Struct):
    """A call of a function of `text_search`; paths are in bytes, as they need not be valid text."""

    function: Literal["find_names", "find_lines", "find_replacements"]
    roots: list[bytes]
    start: bytes
    arguments: tuple[Any, ...]


async def find_names(
    workspace: Workspace, start: Location, pattern: str, seconds: float = SECONDS
) -> text_search.Found:
    """Run `text_search.find_names` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    request = _Request("find_names", _roots(workspace), os.fsencode(start.path), (pattern,))
    return await _ask(request, text_search.Found, seconds)


async def find_lines(
    workspace: Workspace,
    start: Location,
    pattern: str | None,
    content: str,
    context: int,
    seconds: float = SECONDS,
) -> text_search.Found:
    """Run `text_search.find_lines` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    arguments = (pattern, content, context)
    request = _Request("find_lines", _roots(workspace), os.fsencode(start.path), arguments)
    return await _ask(request, text_search.Found, seconds)


async def find_replacements(
    workspace: Workspace,
    start: Location,
    pattern: str,
    old: str,
    new: str,
    regex: bool,
    seconds: float = SECONDS,
) -> text_search.Rewrites:
    """Run `text_search.find_replacements` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    arguments = (pattern, old, new, regex)
    request = _Request("find_replacements", _roots(workspace), os.fsencode(start.path), arguments)
    return await _ask(request, text_search.Rewrites, seconds)


def _roots(workspace: Workspace) -> list[bytes]:
    return [os.fsencode(root) for root in (workspace.root, *workspace.added)]


async def _ask(request: _Request, kind: type[Answer], seconds: float) -> Answer:
    try:
        encoded = msgspec.msgpack.encode(request)
    except UnicodeEncodeError:
        raise ToolError("An argument has a lone surrogate, which is half a character.") from None
    output = await _SEARCH.answer(encoded, seconds=seconds, name="The search", hint=_HINT)
    return msgspec.msgpack.decode(output, type=kind)


def answer(request: bytes) -> bytes:
    """Answer `_ask`, in the child process."""
    asked = msgspec.msgpack.decode(request, type=_Request)
    first, *added = (Path(os.fsdecode(root)) for root in asked.roots)
    workspace = Workspace(first, added)
    start = workspace.locate(os.fsdecode(asked.start))
    search = getattr(text_search, asked.function)
    return msgspec.msgpack.encode(search(workspace, start, *asked.arguments))
