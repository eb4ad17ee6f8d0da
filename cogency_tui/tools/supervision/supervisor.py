"""The guard and the supervisor of one command."""

import os
import select
import signal
import sys
import time
from collections.abc import Sequence

from .process_tree import Family
from .system_calls import adopt_orphans, awake, let_go_of_output, notice_end_of_parent, quiet, spawn, wait

LAST_GRACE = 1.0
"""Seconds between TERM and KILL when our program is gone."""

GUARD_PATIENCE = 2.0
"""Seconds after the end of our program after which the guard ends everything itself."""

_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from supervision.supervisor import main; main(sys.argv[2:])"
)
MOST_SILENCE = 10.0
"""Seconds without a sign of life after which the guard gives none any more: it was stopped, and others may
have worked meanwhile."""

_LONGEST_LINE = 4096
_LENGTH_SIZE = 8
_GROUP_PAUSE = 0.1


def command_line(role: str, handles: Sequence[int], wrapper: Sequence[str] = ()) -> list[str]:
    """Build the command line of a `guard`, or of a supervisor alone, `inside` a sandbox or of a `group`.

    The `handles` are, in the new process: the supervisor's socket, a socket of its own, and, where a guard
    is to give a last sign of life, the file whose time it sets. A guard starts the supervisor through
    `wrapper`. The shell is not part of the command line, but `packed` and sent, so that `pkill -f` in one
    command does not match the supervisors of another.
    """
    # Without pathlib, whose import would delay every command.
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    above = os.path.dirname(package)  # noqa: PTH120
    python = [sys.executable, "-I", "-S", "-c", _BOOT, above]
    return [*python, role, ",".join(map(str, handles)), str(os.getpid()), *wrapper]


def packed(shell: Sequence[str]) -> bytes:
    """Encode the shell's command line for a supervisor: its length, then its arguments separated by NULs.

    Raises:
        ValueError: an argument has a NUL, or cannot be encoded.
    """
    arguments = [os.fsencode(argument) for argument in shell]
    if any(b"\0" in argument for argument in arguments):
        raise ValueError("embedded null byte")
    line = b"\0".join(arguments)
    return len(line).to_bytes(_LENGTH_SIZE, "big") + line


def main(arguments: Sequence[str]) -> None:
    """Run as `command_line` requested; does not return."""
    role, handles, program, *wrapper = arguments
    control, *own = map(int, handles.split(","))
    for handle in own:
        os.set_inheritable(handle, False)
    if role == "guard":
        _guard(control, own, int(program), wrapper)
    _supervise(control, os.getppid(), tree=role == "inside")


def _guard(control: int, own: Sequence[int], program: int, wrapper: Sequence[str]) -> None:
    leash, *signs = own
    adopt_orphans()
    notice_end_of_parent()
    guard = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        for handle in own:
            os.close(handle)
        if wrapper:
            _enter_sandbox(control, wrapper)
        _supervise(control, guard, tree=True)
    # Our copy would hide the end of the supervisor from our program while we are stopped.
    os.close(control)
    ended: set[int] = set()
    family = Family(None, lambda pid, _status: ended.add(pid))
    signals = awake()
    let_go_of_output()
    poll = select.poll()
    poll.register(signals, select.POLLIN)
    poll.register(leash, select.POLLRDHUP)
    deadline: float | None = None
    while not family.over() and supervisor not in ended:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        handles = {handle for handle, _ in poll.poll(None if left is None else wait(left))}
        if signals in handles:
            quiet(signals)
        if deadline is None and (leash in handles or os.getppid() != program):
            deadline = time.monotonic() + GUARD_PATIENCE
            poll.unregister(leash)
    family.kill(signals)
    for handle in signs:
        _give_sign(handle)
    os._exit(0)


def _give_sign(handle: int) -> None:
    """Set the time of an open file, unless its last sign is too old."""
    try:
        if time.time() - os.fstat(handle).st_mtime < MOST_SILENCE:
            os.utime(handle)
    except OSError:
        # Changes without proof stay, and are reported.
        return


def _enter_sandbox(control: int, wrapper: Sequence[str]) -> None:
    try:
        os.execv(wrapper[0], [*wrapper, *command_line("inside", [control])])
    except OSError as error:
        _write_line(control, f"failed {error.errno}")
    os._exit(127)


def _supervise(control: int, parent: int, *, tree: bool) -> None:
    if tree:
        adopt_orphans()
        notice_end_of_parent()
    os.set_inheritable(control, False)
    Supervisor(control, parent, tree=tree).run()
    os._exit(0)


class Supervisor:
    """Starts the shell, and runs until every process of the command has ended."""

    def __init__(self, control: int, parent: int, *, tree: bool) -> None:
        self._control = control
        self._parent = parent
        self._tree = tree
        self._signals = awake()
        self._shell = 0
        self._unfinished = b""
        self._exited = False
        self._left = False
        self._deadline: float | None = None

    def run(self) -> None:
        """Return when every process has ended."""
        # Sent before the shell starts, which could kill us before anything else is sent.
        self._report("here")
        shell = _command_of(self._control)
        if not shell:
            return
        self._shell, problem = spawn(shell, self._report_group)
        if problem:
            self._report(f"failed {problem}")
            return
        self._report("started")
        let_go_of_output()
        family = Family(None if self._tree else self._shell, self._reap)
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while not family.over():
            if self._deadline is not None and time.monotonic() >= self._deadline:
                family.kill(self._signals)
                break
            handles = {handle for handle, _ in poll.poll(self._patience())}
            if self._signals in handles:
                quiet(self._signals)
            if self._control in handles and not self._read_control(family):
                poll.unregister(self._control)
                self._end(family, LAST_GRACE)
            elif os.getppid() != self._parent:
                self._end(family, LAST_GRACE)
        self._report(f"over {int(self._left)}")

    def _patience(self) -> int | None:
        """Milliseconds to wait for an event; the end of a group's last process is none."""
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            return wait(left if self._tree else min(left, _GROUP_PAUSE))
        return None if self._tree or not self._exited else wait(_GROUP_PAUSE)

    def _read_control(self, family: Family) -> bool:
        """Process our program's messages. Whether it is still connected."""
        try:
            received = os.read(self._control, _LONGEST_LINE)
        except OSError:
            received = b""
        *lines, self._unfinished = (self._unfinished + received).split(b"\n")
        for line in lines:
            self._end(family, float(line.removeprefix(b"stop ")))
        return bool(received)

    def _end(self, family: Family, grace: float) -> None:
        """Send TERM to all, and KILL after `grace` seconds, or at an earlier deadline that was set before."""
        deadline = time.monotonic() + grace
        if self._deadline is None:
            self._left = self._exited
            if grace > 0:
                family.signal(signal.SIGTERM)
                # A stopped process takes the signal only once it continues.
                family.signal(signal.SIGCONT)
        self._deadline = deadline if self._deadline is None else min(deadline, self._deadline)

    def _reap(self, pid: int, status: int) -> None:
        if pid == self._shell:
            self._exited = True
            self._report(f"exited {status}")

    def _report_group(self) -> None:
        """Report, from within the shell and before it can do anything, the group that our program has to
        end if we cannot."""
        if not self._tree:
            self._report(f"group {os.getpid()}")

    def _report(self, line: str) -> None:
        _write_line(self._control, line)


def _command_of(control: int) -> list[bytes]:
    """Read the command line that `packed` encoded; empty where our program ends before it is complete."""
    length = int.from_bytes(_exactly(control, _LENGTH_SIZE), "big")
    line = _exactly(control, length)
    return line.split(b"\0") if line else []


def _exactly(control: int, count: int) -> bytes:
    """Read exactly `count` bytes; empty where fewer arrive."""
    found = bytearray()
    while len(found) < count:
        try:
            data = os.read(control, count - len(found))
        except OSError:
            data = b""
        if not data:
            return b""
        found += data
    return bytes(found)


def _write_line(control: int, line: str) -> None:
    try:
        os.write(control, f"{line}\n".encode())
    except OSError:
        # Our program is gone, which is noticed elsewhere.
        return
