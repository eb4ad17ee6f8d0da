"""Searches in a process of their own, because a regular expression cannot be stopped in any other way.

Invariant: no pattern of a model can block the program: the search holds no lock of ours, and is killed when
its time is up or its caller is cancelled.
"""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from cogency_tui.child_processes import Job
from cogency_tui.errors import ToolError
from cogency_tui.workspace import text_search
from cogency_tui.workspace.paths import Location, Workspace

SECONDS = 60.0

_SEARCH = Job(__name__)
_HINT = "Narrow it with path or pattern, or make the regular expression simpler."

Answer = TypeVar("Answer")


class _Names(msgspec.Struct, tag="names"):
    pattern: str


class _Lines(msgspec.Struct, tag="lines"):
    pattern: str | None
    content: str
    context: int


class _Replacements(msgspec.Struct, tag="replacements"):
    pattern: str
    old: str
    new: str
    regex: bool


class _Request(msgspec.Struct):
    roots: list[bytes]
    start: bytes
    job: _Names | _Lines | _Replacements


async def find_names(
    workspace: Workspace, start: Location, pattern: str, seconds: float = SECONDS
) -> text_search.Found:
    """Run `scan.find_names` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    return await _ask(workspace, start, _Names(pattern), text_search.Found, seconds)


async def find_lines(
    workspace: Workspace,
    start: Location,
    pattern: str | None,
    content: str,
    context: int,
    seconds: float = SECONDS,
) -> text_search.Found:
    """Run `scan.find_lines` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    return await _ask(workspace, start, _Lines(pattern, content, context), text_search.Found, seconds)


async def find_replacements(
    workspace: Workspace,
    start: Location,
    pattern: str,
    old: str,
    new: str,
    regex: bool,
    seconds: float = SECONDS,
) -> text_search.Rewrites:
    """Run `scan.find_replacements` in a child process.

    Raises:
        ToolError: as there, or it took longer than `seconds`.
    """
    return await _ask(
        workspace, start, _Replacements(pattern, old, new, regex), text_search.Rewrites, seconds
    )


async def _ask(
    workspace: Workspace,
    start: Location,
    job: _Names | _Lines | _Replacements,
    kind: type[Answer],
    seconds: float,
) -> Answer:
    roots = [os.fsencode(root) for root in (workspace.root, *workspace.added)]
    try:
        request = msgspec.msgpack.encode(_Request(roots, os.fsencode(start.path), job))
    except UnicodeEncodeError:
        raise ToolError("An argument has a lone surrogate, which is half a character.") from None
    output = await _SEARCH.answer(request, seconds=seconds, name="The search", hint=_HINT)
    return msgspec.msgpack.decode(output, type=kind)


def answer(request: bytes) -> bytes:
    """Answer `_ask`, in the child process."""
    asked = msgspec.msgpack.decode(request, type=_Request)
    return msgspec.msgpack.encode(_found(asked))


def _found(request: _Request) -> text_search.Found | text_search.Rewrites:
    first, *added = (Path(os.fsdecode(root)) for root in request.roots)
    workspace = Workspace(first, added)
    start = workspace.locate(os.fsdecode(request.start))
    match request.job:
        case _Names(pattern):
            return text_search.find_names(workspace, start, pattern)
        case _Lines(pattern, content, context):
            return text_search.find_lines(workspace, start, pattern, content, context)
        case _Replacements(pattern, old, new, regex):
            return text_search.find_replacements(workspace, start, pattern, old, new, regex)
