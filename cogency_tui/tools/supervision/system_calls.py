"""System calls of a supervisor: signals that wake it, orphans, the end of a parent, a new shell."""

import os
import signal
import sys
from collections.abc import Callable, Sequence

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MOST = 4096


def awake() -> int:
    """Return a handle that becomes readable when a signal arrives; the signal has no other effect.

    Signals with a handler are reset when a shell is started; ignored ones stay ignored.
    """
    source, sink = os.pipe()
    for handle in (source, sink):
        os.set_blocking(handle, False)
    signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number == signal.SIGCHLD or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)
    return source


def quiet(source: int) -> None:
    """Drain a handle of `awake`."""
    try:
        os.read(source, _MOST)
    except BlockingIOError:
        return


def wait(seconds: float) -> int:
    """Convert to milliseconds for `poll`."""
    return max(0, int(seconds * 1000) + 1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has ended (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def notice_end_of_parent() -> None:
    """Request a signal when the parent ends (Linux)."""
    # This signal also continues a process that a command has stopped.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def let_go_of_output() -> None:
    """Detach from the standard input and output, so that the output ends when the command has closed it."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)


def spawn(argv: Sequence[bytes], starting: Callable[[], None]) -> tuple[int, int]:
    """Start a shell in a session of its own, which ends with us; return its pid, and the error number or 0.

    `starting` is called in the new process before.
    """
    parent = os.getpid()
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            # Python ignores them, and a shell would pass that on to its commands.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            if sys.platform == "linux":
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            starting()
            if os.getppid() == parent:
                os.execv(argv[0], list(argv))
        except OSError as error:
            os.write(sink, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(sink)
    problem = int(os.read(source, 16) or 0)
    os.close(source)
    return pid, problem


def _prctl(option: int, value: int) -> None:
    # Only needed on Linux, and the heaviest import of all.
    import ctypes

    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)
