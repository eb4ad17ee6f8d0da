"""Searches in a process of their own, because a regular expression cannot be stopped in any other way.

Invariant: no pattern of a model can block the program: the search holds no lock of ours, and is killed when
its time is up or its caller is cancelled.
"""

import ctypes
import math
import os
import signal
import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cogency_tui.child_processes import ask_interpreter
from cogency_tui.errors import ToolError
from cogency_tui.workspace import text_search
from cogency_tui.workspace.paths import Location, Workspace

SECONDS = 60.0

_PR_SET_PDEATHSIG = 1

_SERVE = "from cogency_tui.workspace.search_worker import serve; serve()"

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


class _Refusal(msgspec.Struct, tag=True):
    refused: str
    hint: str


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
    answer: type[Answer],
    seconds: float,
) -> Answer:
    roots = [os.fsencode(root) for root in (workspace.root, *workspace.added)]
    try:
        request = msgspec.msgpack.encode(_Request(roots, os.fsencode(start.path), job))
    except UnicodeEncodeError:
        raise ToolError("An argument has a lone surrogate, which is half a character.") from None
    try:
        status, output, error = await ask_interpreter(_SERVE, request=request, seconds=seconds)
    except TimeoutError:
        raise ToolError(
            f"The search took longer than {seconds:g} s and was stopped.",
            "Narrow it with path or pattern, or make the regular expression simpler.",
        ) from None
    if status:
        raise ToolError(f"The search process failed (status {status}): {error}")
    answered = msgspec.msgpack.decode(output, type=text_search.Found | text_search.Rewrites | _Refusal)
    if isinstance(answered, _Refusal):
        raise ToolError(answered.refused, answered.hint)
    if not isinstance(answered, answer):
        raise ToolError("The search process gave another answer than was asked for.")
    return answered


def serve() -> None:
    """Answer the one request on standard input, in the process that `_ask` starts."""
    _end_with_parent()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Request)
    sys.stdout.buffer.write(msgspec.msgpack.encode(_answer(request)))


def _end_with_parent() -> None:
    """Have the kernel end this process: an endless search could not do it by itself.

    When the program is killed, Linux ends this process at once, the alarm elsewhere.
    """
    signal.alarm(math.ceil(SECONDS) + 5)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answer(request: _Request) -> Any:
    try:
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
    except ToolError as error:
        return _Refusal(str(error), error.hint)
