"""Child processes that parse untrusted content.

Invariant: a page can affect a parser only in that process: it can be killed, has bounded memory, and has
none of our secrets in its environment. `serve` runs in that process; the rest runs in ours.
"""

import ctypes
import importlib
import os
import resource
import signal
import sys
from contextlib import suppress

import msgspec

from cogency_tui.child_processes import ask_interpreter
from cogency_tui.errors import ToolError
from cogency_tui.text import one_line

MEMORY = 1 << 30
"""Bytes of address space for the process."""

_NETWORK_NAMES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "DDGS_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Environment variables that configure the network."""

_PR_SET_PDEATHSIG = 1
_LONGEST_REASON = 200

_SERVE = "from cogency_tui.tools.web.parser_process import serve; serve(sys.argv[1], float(sys.argv[2]))"


class _Refusal(msgspec.Struct, tag=True):
    refused: str
    hint: str


class _Answer(msgspec.Struct, tag=True):
    content: bytes


async def in_child(module: str, request: bytes, seconds: float, what: str) -> bytes:
    """Compute `answer(request)` of a module in a child process; `what` names the work in an error.

    Raises:
        ToolError: raised there, or the process failed or took longer than `seconds`.
    """
    try:
        status, output, error = await ask_interpreter(
            *(_SERVE, module, str(seconds)), request=request, seconds=seconds, also=_NETWORK_NAMES
        )
    except TimeoutError:
        raise ToolError(f"{what} took longer than {seconds:g} s and was stopped.") from None
    if status:
        raise ToolError(f"{what} failed (status {status}): {one_line(error[:_LONGEST_REASON])}")
    answered = msgspec.msgpack.decode(output, type=_Answer | _Refusal)
    if isinstance(answered, _Refusal):
        raise ToolError(answered.refused, answered.hint)
    return answered.content


def serve(module: str, seconds: float) -> None:
    """Answer the one request on standard input."""
    _end_in_time(seconds)
    work = importlib.import_module(module)
    request = sys.stdin.buffer.read()
    # macOS has no such limit.
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
    """Have the kernel end this process when our program is killed: on Linux at once, elsewhere after
    `seconds`."""
    signal.alarm(int(seconds) + 5)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
