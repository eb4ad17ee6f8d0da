"""Starts the program's child processes: helpers, programs of the user's desktop, and our own interpreter.

Work of ours that must not block, fill or crash the program is a `Job`: its process gets one request and
gives one bounded answer, or lines. However that ends, the process and its group have ended with it, and a
killed program leaves none behind.

Invariant: every environment made here is without secrets (see `child_environment`). An interpreter started
here imports this very package and nothing from its start directory, whatever `PYTHON…` variables say. A
program that is looked up by its name is found where no command could have put it (see `search_paths`).

Besides this module, only the supervision of commands (`tools.shell.orphans`, `tools.supervision`) and the
host of an MCP server (`tools.mcp.stdio`) start processes, those of programs that are not ours and may
escape; a test checks every call that could. Whatever is started here, and whatever that leaves behind, is in
our session or bears `MARK`; nothing that a command leaves behind does.
"""

import asyncio
import importlib
import json
import math
import os
import resource
import secrets
import select
import signal
import subprocess
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, BinaryIO, NoReturn

from cogency_tui.child_environment import without_secrets
from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line
from cogency_tui.search_paths import require_program, with_own_search_paths

MARK = ("COGENCY_STARTED", secrets.token_hex(8))
"""A variable with its value in this process, in the environment of everything that is started here."""

_HELPER_NAMES = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
"""The variables that a helper needs."""

_PACKAGE = str(Path(__file__).parents[1])
_PREAMBLE = """
import sys
places = [index for index, path in enumerate(sys.path) if path.endswith("-packages")]
sys.path.insert(min(places, default=len(sys.path)), sys.argv.pop(1))
"""
"""Imports this very package, even if another version of it is installed."""

_starting = 0


def interpreter(code: str, *arguments: str) -> list[str]:
    """The command line of our own interpreter that runs `code`, which finds `arguments` in `sys.argv[1:]`."""
    return [sys.executable, "-P", "-E", "-W", "ignore", "-c", f"{_PREAMBLE}{code}\n", _PACKAGE, *arguments]


@contextmanager
def new_session_starting() -> Generator[None]:
    """Note that a process may have left our session and not have its own environment yet."""
    global _starting
    _starting += 1
    try:
        yield
    finally:
        _starting -= 1


def is_session_starting() -> bool:
    """Return whether a process may be between its session and its environment."""
    return _starting > 0


def helper_environment(*also: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a helper, a program that only answers us: what every program needs, and the
    variables in `also`.
    """
    return _own_environment({name: environ[name] for name in (*_HELPER_NAMES, *also) if name in environ})


def run_helper(
    command: Sequence[str],
    *,
    seconds: float,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    request: bytes = b"",
    target: BinaryIO | None = None,
    errors: bytearray | None = None,
) -> tuple[int, bytes]:
    """The exit status of a helper, and its output, unless that goes to `target`. What it writes to its
    standard error is added to `errors`, or lost. Its environment is that of a helper, overridden by
    `environ`; its name is looked up on our search path. Blocks.

    Raises:
        OSError, ValueError: it could not be started.
        TimeoutError: it did not end within `seconds`.
    """
    try:
        ended = subprocess.run(
            [require_program(command[0]), *command[1:]],
            cwd=cwd,
            env=helper_environment() | dict(environ),
            input=request,
            stdout=target or subprocess.PIPE,
            stderr=subprocess.DEVNULL if errors is None else subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise TimeoutError from exc
    if errors is not None:
        errors += ended.stderr
    return ended.returncode, ended.stdout or b""


async def start_in_background(
    command: Sequence[str], environ: Mapping[str, str], *, takes_input: bool = False
) -> asyncio.subprocess.Process:
    """Start a program of the user's desktop, away from the terminal.

    Raises:
        OSError: it could not be started.
    """
    quiet = asyncio.subprocess.DEVNULL
    with new_session_starting():
        return await asyncio.create_subprocess_exec(
            require_program(command[0], environ),
            *command[1:],
            stdin=asyncio.subprocess.PIPE if takes_input else quiet,
            # Some stay in the background: they must not hold our pipes open.
            stdout=quiet,
            stderr=quiet,
            env=_own_environment(environ),
            start_new_session=True,
        )


async def output_of(
    command: Sequence[str], environ: Mapping[str, str], *, seconds: float, limit: int
) -> tuple[int, bytes, str]:
    """Run a program of the user's desktop, away from the terminal; return its exit status, its output and the
    first line of its errors.

    Raises:
        OSError: it could not be started, did not end within `seconds` (`TimeoutError`), or wrote more than
            `limit` bytes.
    """
    try:
        async with asyncio.timeout(seconds), _running(_start_program(command, environ)) as running:
            errors = asyncio.create_task(_read_at_most(limit, running.stderr))
            output = await _read_at_most(limit, running.stdout)
            if output is None:
                raise OSError(f"{command[0]} wrote more than {limit / 1e6:,.0f} MB")
            first = (await errors or b"").decode(errors="replace").strip().partition("\n")[0]
            return await asyncio.shield(running.ended), output, first
    except TimeoutError as exc:
        raise TimeoutError(f"{command[0]} did not answer within {seconds:g} s") from exc


def _start_program(command: Sequence[str], environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with new_session_starting():
        return subprocess.Popen(
            [require_program(command[0], environ), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=_own_environment(environ),
            start_new_session=True,
        )


async def _read_at_most(limit: int, stream: asyncio.StreamReader | None) -> bytes | None:
    """All bytes of a stream; None where there are more than `limit`."""
    output = bytearray()
    while stream is not None and (piece := await stream.read(_PIECE)):
        output += piece
        if len(output) > limit:
            return None
    return bytes(output)


async def start_in_terminal(command: Sequence[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a program that uses the user's terminal.

    Raises:
        OSError: it could not be started.
    """
    program = require_program(command[0], environ)
    return await asyncio.create_subprocess_exec(program, *command[1:], env=_own_environment(environ))


async def start_with_keys(
    code: str, *arguments: str, environ: Mapping[str, str], keys: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Start our own interpreter in the user's environment, with pipes; `code` receives `keys` by
    `take_keys`, and no other process ever sees them.

    Raises:
        OSError: it could not be started.
    """
    source, sink = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *interpreter(code, str(source), *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=without_secrets(environ, keys.keys()),
            pass_fds=(source,),
        )
    except BaseException:
        os.close(sink)
        raise
    finally:
        os.close(source)
    await asyncio.to_thread(_hand_over, os.fdopen(sink, "wb"), json.dumps(dict(keys)).encode())
    return process


def take_keys() -> None:
    """Put the keys from `start_with_keys` into this process's `os.environ`, not into the environment that
    the system shows.
    """
    with os.fdopen(int(sys.argv.pop(1)), "rb") as source:
        os.environ.update(json.loads(source.read()))


_SERVE = "from cogency_tui.child_processes import serve; serve()"
_REFUSED = 3
"""Exit status of a job that has raised a `ToolError`, which is its answer."""

_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 16
_ENDING = 5.0
"""Seconds for a process that was killed to end. One that waits for a disk or a network drive may not."""
_LONGEST_ERRORS = 2_000
_LONGEST_REASON = 200
_SPARE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """Work for our own interpreter in a process of its own, as a helper: `answer(request: bytes) -> bytes`
    or `lines(*arguments: str) -> Iterator[str]` of a `module`.

    `most` bounds the answer, in bytes, and `memory` the address space, where the system has such a limit.
    A `nice` job leaves the processor to others. `variables` are those that it needs beside a helper's.
    """

    module: str
    most: int = 1 << 28
    memory: int = 0
    nice: int = 0
    variables: tuple[str, ...] = ()

    async def answer(self, request: bytes, *, seconds: float, name: str, hint: str = "") -> bytes:
        """The answer to a request; `name` is the work's in an error, `hint` the next step if it takes too
        long.

        Raises:
            OSError: the process could not be started.
            ToolError: raised there, or the process failed, answered too much, or took over `seconds`.
        """
        try:
            async with asyncio.timeout(seconds), _running(self._start("answer", seconds)) as running:
                output, errors = await _exchange(running, request, self.most)
                status = await asyncio.shield(running.ended)
        except TimeoutError:
            raise ToolError(f"{name} took longer than {seconds:g} s and was stopped.", hint) from None
        if len(output) > self.most:
            raise ToolError(f"{name} gave more than {self.most:,} bytes and was stopped.")
        if status:
            raise _failure(status, output, errors, name)
        return output

    async def lines(self, *arguments: str) -> AsyncGenerator[str]:
        """The lines of the job. A consumer that stops listening stops it.

        Raises:
            OSError: the process could not be started.
        """
        async with _running(self._start("lines", 0, *arguments)) as running:
            async for line in running.stdout:
                yield line.decode().rstrip("\n")

    def _start(self, function: str, seconds: float, *arguments: str) -> "subprocess.Popen[bytes]":
        limits = (str(math.ceil(seconds)), str(self.memory), str(self.nice))
        return subprocess.Popen(
            interpreter(_SERVE, self.module, function, *limits, *arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE if function == "answer" else subprocess.DEVNULL,
            env=helper_environment(*self.variables),
            # Ctrl+C in a terminal goes to the whole group; this program ends the work itself.
            process_group=0,
        )


@dataclass(frozen=True, slots=True)
class _Running:
    """A process: what it writes, and the exit status that it ends with."""

    process: "subprocess.Popen[bytes]"
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader | None
    ended: asyncio.Future[int]


@asynccontextmanager
async def _running(process: "subprocess.Popen[bytes]") -> AsyncGenerator[_Running]:
    """Have the event loop read what a process writes. When the block is left, however often that is
    cancelled, the process and its group have ended.

    A start by asyncio that is cancelled would lose the process, or wait for it without end.
    """
    ended = _reaped(process)
    with ExitStack() as reading:
        try:
            yield await _connect(process, ended, reading)
        finally:
            _kill_group(process)
            reading.close()
            await _outlast(ended)


async def _connect(
    process: "subprocess.Popen[bytes]", ended: asyncio.Future[int], reading: ExitStack
) -> _Running:
    """Connect the pipes of a process, until `reading` is closed."""
    pipes = [reading.enter_context(pipe) for pipe in (process.stdout, process.stderr) if pipe]
    stdout, *rest = [await _reader(pipe, reading) for pipe in pipes]
    return _Running(process, stdout, rest[0] if rest else None, ended)


async def _reader(pipe: IO[bytes], reading: ExitStack) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    reading.callback(transport.close)
    return reader


def _failure(status: int, output: bytes, errors: str, name: str) -> ToolError:
    if status == _REFUSED:
        with suppress(ValueError, TypeError):
            return ToolError(*json.loads(output))
    last = errors.strip().rpartition("\n")[2]
    return ToolError(f"{name} failed (status {status}): {one_line(last[:_LONGEST_REASON])}")


async def _exchange(running: _Running, request: bytes, most: int) -> tuple[bytes, str]:
    """The output and the end of the errors of a process that receives `request`; it is killed when its
    output is longer than `most`.
    """
    assert running.process.stdin is not None
    _, output, errors = await asyncio.gather(
        asyncio.to_thread(_hand_over, running.process.stdin, request),
        _read(running, most),
        _read_end(running.stderr),
    )
    return output, errors.decode(errors="replace")


async def _read(running: _Running, most: int) -> bytes:
    output = bytearray()
    while piece := await running.stdout.read(_PIECE):
        if len(output) <= most:
            output += piece
        else:
            _kill_group(running.process)
    return bytes(output)


async def _read_end(stream: asyncio.StreamReader | None) -> bytes:
    """Read to the end of a stream, and return the last part of it."""
    end = b""
    while stream is not None and (piece := await stream.read(_PIECE)):
        end = (end + piece)[-_LONGEST_ERRORS:]
    return end


def _reaped(process: "subprocess.Popen[bytes]") -> asyncio.Future[int]:
    """The exit status of a process, which a thread waits for."""
    loop = asyncio.get_running_loop()
    # No task: an event loop that closes would cancel it.
    ended: asyncio.Future[int] = loop.create_future()
    report = partial(loop.call_soon_threadsafe, ended.set_result)
    Thread(target=_reap, args=(process, report), daemon=True).start()
    return ended


def _reap(process: "subprocess.Popen[bytes]", report: Callable[[int], object]) -> None:
    status = process.wait()
    if process.stdin is not None:
        # What it has not read of a request cannot be flushed.
        with suppress(BrokenPipeError):
            process.stdin.close()
    # The event loop has given it up where it takes longer than `_ENDING`.
    with suppress(RuntimeError):
        report(status)


async def _outlast(ended: asyncio.Future[int]) -> None:
    """Wait for the end of a process that was killed. However often this is cancelled, that takes effect after
    it."""
    last = time.monotonic() + _ENDING
    cancelled: asyncio.CancelledError | None = None
    while not ended.done() and (left := last - time.monotonic()) > 0:
        try:
            await asyncio.wait([ended], timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    # macOS refuses it for a group that has ended.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def serve() -> None:
    """Do the job whose process this is."""
    module, function, seconds, memory, nice, *arguments = sys.argv[1:]
    _end_with_parent(int(seconds))
    os.nice(int(nice))
    work = importlib.import_module(module)
    if function == "answer":
        _serve_answer(work.answer, int(memory))
    for line in work.lines(*arguments):
        print(line, flush=True)


def _serve_answer(answer: Callable[[bytes], bytes], memory: int) -> NoReturn:
    request = sys.stdin.buffer.read()
    if memory:
        # macOS has no such limit.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    status = 0
    try:
        output = answer(request)
    except ToolError as error:
        status, output = _REFUSED, json.dumps([str(error), error.hint]).encode()
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    # Threads of a library may still wait for a server.
    os._exit(status)


def is_abandoned() -> bool:
    """Return whether the program that started this job has ended, where the system does not end the job with
    it."""
    # Nothing is written to a job with lines: a readable input means that the other end is closed.
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _end_with_parent(seconds: int) -> None:
    """Have the kernel end this process when our program is killed: on Linux at once, elsewhere after
    `seconds`, if not 0. Endless work could not do it by itself.
    """
    signal.alarm(seconds + _SPARE_SECONDS if seconds else 0)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without secrets, with our mark, and with our search paths."""
    return with_own_search_paths(without_secrets(environ)) | dict([MARK])


def _hand_over(pipe: IO[bytes], data: bytes) -> None:
    # The process may have ended already, and the pipe been closed with it.
    with suppress(BrokenPipeError, ValueError), pipe:
        pipe.write(data)
