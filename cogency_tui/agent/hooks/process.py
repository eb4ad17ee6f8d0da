"""The process of one run of a hook.

Invariant: it has no terminal and bounded memory for its output; when `run_hook_process` has returned or
raised, none of its processes runs.
"""

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cogency_tui.errors import ToolError
from cogency_tui.tools.bounded_output import HeadAndTail
from cogency_tui.tools.shell.command_execution import RunningCommand
from cogency_tui.tools.worker_threads import completed, in_thread

MOST_OUTPUT = 16 << 20
"""Bytes of output beyond which a hook is stopped."""

_KEPT = 1 << 16
"""Bytes that are stored of each output, from the beginning and from the end."""

_GRACE = 1.0
"""Seconds between TERM and KILL."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a process: its exit status (negative for a signal, None if it is not known or was stopped),
    its output and its errors as text, and the `problem` that ended it otherwise."""

    status: int | None
    output: str
    errors: str
    problem: str = ""


def find_program(name: str, cwd: Path, environ: Mapping[str, str]) -> str:
    """The absolute path of a program that is given by its name, or by its path from `cwd`.

    Raises:
        ToolError: there is none.
    """
    if "/" in name:
        path = str(cwd / Path(name).expanduser())
        found = path if os.access(path, os.X_OK) and not os.path.isdir(path) else None  # noqa: PTH112 (text)
    else:
        entries = environ.get("PATH", os.defpath).split(os.pathsep)
        # A relative entry would find the project's files.
        found = shutil.which(name, path=os.pathsep.join(each for each in entries if each.startswith("/")))
    if found is None:
        raise ToolError(f"{name} was not found, or is not executable.")
    return found


async def run_hook_process(
    words: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    given: bytes,
    seconds: float,
    signs: Path | None = None,
) -> ProcessEnd:
    """Run a program with `given` as its standard input, for at most `seconds`. `signs` is as in
    `Supervised.start`.

    Raises:
        ToolError: it could not be started.
    """
    program = await in_thread(find_program, words[0], cwd, environ)
    output, errors = _Sink(), _Sink()
    source = await in_thread(_as_file, given)
    try:
        running = await RunningCommand.start(
            *([program, *words[1:]], cwd, environ, output.feed),
            source=source,
            errors=errors.feed,
            signs=signs,
        )
    except OSError as exc:
        raise ToolError(f"{words[0]} could not be started: {_reason(exc)}.") from exc
    except ValueError as exc:
        raise ToolError(f"{words[0]} could not be started: an argument has a NUL character.") from exc
    finally:
        os.close(source)
    problem = ""
    try:
        try:
            async with asyncio.timeout(seconds):
                await _first(running.exited, output.full.wait, errors.full.wait)
                await running.settled()
            if output.full.is_set() or errors.full.is_set():
                problem = f"wrote more than {MOST_OUTPUT >> 20} MiB and was stopped"
        except TimeoutError:
            problem = f"timed out after {seconds:g} s and was stopped"
        finally:
            await completed(running.stop(_GRACE))
        status = None if problem else running.status
        return ProcessEnd(status, output.held.text(), errors.held.text(), problem)
    finally:
        running.close()


async def _first(*works: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Return when one of these is done."""
    tasks = [asyncio.create_task(work()) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


class _Sink:
    """The bounded output of one pipe; `full` is set once there is too much."""

    def __init__(self) -> None:
        self.held = HeadAndTail(_KEPT, _KEPT)
        self.full = asyncio.Event()
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MOST_OUTPUT:
            self.full.set()
        else:
            self.held.feed(data)


def _as_file(data: bytes) -> int:
    """The handle of a file without a name, at whose beginning the data are: a program that reads none of it
    keeps no one waiting."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOEXEC:
        return "it is no program; a script needs a first line such as #!/bin/sh"
    if error.errno == errno.E2BIG:
        return "its arguments are too long"
    return error.strerror or str(error)
