"""`cogency-tui` as a fork of a process that has loaded its modules: a process of its own without their cost.

A fork has its own environment, working directory, standard streams, signals and exit status. It does not prove
the start of the interpreter: tests of that start `python -m cogency_tui`.
"""

import atexit
import functools
import gc
import importlib
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, TextIO

_ROOT = Path(__file__).parents[1]
_PATIENCE = 60.0
"""Seconds that a command may take."""

_STDERR = 2
_UMASK = 0o022
_HANDLES = 4
"""The socket for the reply and the three standard streams."""

_LAZY = ("platformdirs", "watchfiles", "cogency_tui.tui.doctor_checks")
"""Modules that a command imports only once it needs them."""


# The side of the tests.


class Program:
    """A `cogency-tui` that has been started."""

    def __init__(self, arguments: Sequence[str], reply: "Connection[Any, Any]") -> None:
        self.returncode: int | None = None
        self._arguments = arguments
        self._reply = reply
        self.pid: int = reply.recv()

    def wait(self, timeout: float = _PATIENCE) -> int:
        """Wait for its end; the exit status, negative after a signal.

        Raises:
            TimeoutExpired: it still runs.
        """
        if self.returncode is None:
            if not self._reply.poll(timeout):
                raise subprocess.TimeoutExpired(self._arguments, timeout)
            status: int = self._reply.recv()
            self.returncode = status
            self._reply.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        return self.wait(0) if self.returncode is not None or self._reply.poll() else None

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it is known to have ended."""
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    umask: int = _UMASK,
    session: bool = False,
) -> Program:
    """Start `cogency-tui` with these arguments and standard streams, if asked in a `session` of its own."""
    ours, theirs = socket.socketpair()
    reply: Connection[Any, Any] = Connection(ours.detach())
    with theirs:
        socket.send_fds(_server(), [b"."], [theirs.fileno(), stdin, stdout, stderr])
    reply.send((list(arguments), str(cwd), dict(environ), umask, session))
    return Program(arguments, reply)


def run(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdin: str | bytes = "",
    stdout: int | None = None,
    umask: int = _UMASK,
) -> subprocess.CompletedProcess[str]:
    """Run `cogency-tui` to its end and capture what it prints; stdout goes to a handle that is given."""
    source, target = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            program = start(
                arguments,
                cwd,
                environ,
                stdin=source,
                stdout=out.fileno() if stdout is None else stdout,
                stderr=err.fileno(),
                umask=umask,
            )
        finally:
            os.close(source)
        with os.fdopen(target, "wb") as pipe, suppress(BrokenPipeError):
            pipe.write(stdin.encode() if isinstance(stdin, str) else stdin)
        try:
            status = program.wait()
        finally:
            program.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*arguments], status, out.read().decode(), err.read().decode())


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        handle = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(handle)],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[handle],
        )

    @atexit.register
    def _stop() -> None:
        ours.close()
        process.wait()

    return ours


# The side of the server.


def _serve(control: socket.socket) -> int:
    """Fork for each request; in the fork, the exit status of the program."""
    _load()
    while True:
        message, handles, *_ = socket.recv_fds(control, 1, _HANDLES)
        _reap(0 if not message else os.WNOHANG)
        if not message:
            return 0
        if not os.fork():
            control.close()
            return _attend(Connection(handles[0]), handles[1:])
        for handle in handles:
            os.close(handle)


def _reap(options: int) -> None:
    """Let the time of the forks that have ended count as that of the tests."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _load() -> None:
    import cogency_tui

    for module in pkgutil.walk_packages(cogency_tui.__path__, "cogency_tui."):
        importlib.import_module(module.name)
    for name in _LAZY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _attend(reply: "Connection[Any, Any]", streams: Sequence[int]) -> int:
    """Fork the program and report its process id and its exit status; in the fork, be the program."""
    request: tuple[list[str], str, dict[str, str], int, bool] = reply.recv()
    program = os.fork()
    if not program:
        reply.close()
        return _become(*request, streams)
    for stream in streams:
        os.close(stream)
    with suppress(BrokenPipeError):
        reply.send(program)
        reply.send(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]))
    os._exit(0)


def _become(
    arguments: list[str], cwd: str, environ: dict[str, str], umask: int, session: bool, streams: Sequence[int]
) -> int:
    from cogency_tui import __main__ as program

    if session:
        os.setsid()
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = _open(0, "r"), _open(1, "w"), _open(2, "w")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.umask(umask)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [str(program.__file__), *arguments]
    try:
        status = program.main()
    except SystemExit as exc:
        if not isinstance(exc.code, int):
            raise
        status = exc.code
    return _end(status)


def _end(status: int) -> int:
    """Exit as the interpreter does, but leave the modules to the system: to free them takes longer than most
    commands. What cannot be flushed is left to the interpreter."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no public name
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - no public name
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def _open(handle: int, mode: Literal["r", "w"]) -> TextIO:
    """A standard stream, as the interpreter opens it at its start."""
    buffering = 1 if handle == _STDERR else -1
    return open(handle, mode, buffering, errors="backslashreplace" if mode == "w" else None, closefd=False)


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
