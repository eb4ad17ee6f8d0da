"""Work on what strangers sent, in a process of its own.

Invariant: whatever a page does to a parser happens there: it can be killed, has bounded memory, and has none
of our keys in its environment. `serve` is what runs in that process; the rest runs in ours.
"""

import asyncio
import ctypes
import importlib
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.text import one_line

MEMORY = 1 << 30
"""Bytes of address space that the process may have."""

_KEPT = (
    *("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "DDGS_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
_PR_SET_PDEATHSIG = 1
_LONGEST_REASON = 200

_BOOT = """
import sys
places = [index for index, path in enumerate(sys.path) if path.endswith("-packages")]
sys.path.insert(min(places, default=len(sys.path)), sys.argv[1])
from cogency_tui.tools.web_child import serve
serve(sys.argv[2], float(sys.argv[3]))
"""
"""Run this very package, even where another version of it is installed."""


class _Refusal(msgspec.Struct, tag=True):
    refused: str
    hint: str


class _Answer(msgspec.Struct, tag=True):
    content: bytes


async def in_child(module: str, request: bytes, seconds: float, what: str) -> bytes:
    """Have `answer(request)` of a module computed; `what` names the work in an error.

    Raises:
        ToolError: as raised there, or the process failed or took longer than `seconds`.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-W", "ignore", "-c", _BOOT, str(Path(__file__).parents[2]), module, str(seconds)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        # Ctrl+C in a terminal goes to the whole group; ending the work is for us to do.
        process_group=0,
    )
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(request)
    except TimeoutError:
        raise ToolError(f"{what} took longer than {seconds:g} s and was stopped.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    if process.returncode:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:_LONGEST_REASON]
        raise ToolError(f"{what} failed (status {process.returncode}): {one_line(last)}")
    answered = msgspec.msgpack.decode(output, type=_Answer | _Refusal)
    if isinstance(answered, _Refusal):
        raise ToolError(answered.refused, answered.hint)
    return answered.content


def serve(module: str, seconds: float) -> None:
    """Answer the one request on standard input."""
    _end_in_time(seconds)
    work = importlib.import_module(module)
    request = sys.stdin.buffer.read()
    # macOS knows no such limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answer = _Answer(work.answer(request))
    except ToolError as error:
        answer = _Refusal(str(error), error.hint)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.buffer.flush()
    # Threads of a library may still wait for a server.
    os._exit(0)


def _end_in_time(seconds: float) -> None:
    """Have the kernel end this process when the program was killed: on Linux at once, elsewhere in time."""
    signal.alarm(int(seconds) + 5)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
