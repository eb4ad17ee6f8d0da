"""Faults at each step of what writes: the process is killed there, or the disk is full from there on.

A step is a call of the system that changes or syncs a file, or either side of a transaction. Run as a program
it does each thing in a directory of its own for each kind of step, and is killed at that step: the processes are
forked from one that has loaded everything.
"""

import asyncio
import errno
import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.store.database import Database
from cogency_tui.store.store import Store
from tests.agent.journaling import Desk, desk_at
from tests.agent.templates import TEMPLATES

CONVERSATION = "c"
CALL = "call-1"
OLD = {"a": "old a\n", "b": "old b\n", "src/d": "old d\n"}

_TAKING_ROOM = ("fsync", "mkdir", "open", "pwrite", "symlink")
_ALIKE = ("/content", "/blobs")
"""Of what only one step counts."""

_CALLS = ("fsync", "link", "mkdir", "open", "pwrite", "rename", "replace", "symlink", "unlink")


class Faults:
    """Counts the steps, and has `act` happen at each from the one numbered `at` on.

    With a `kind` none is counted whose kind is empty, and one of those that are alike.
    """

    def __init__(self, at: int, act: Callable[[str], None], kind: Callable[[str], str] | None = None) -> None:
        self.at = at
        self.armed = False
        self.steps: list[str] = []
        self.since: list[str] = []
        """The steps from that on at which something happened first."""
        self._act = act
        self._kind = kind
        self._kinds = set[str]()
        self._counted = 0

    def install(self, replace: Callable[[Any, str, Any], None] = setattr) -> None:
        """Be there at every step."""
        for name in _CALLS:
            replace(os, name, partial(self._call, name, getattr(os, name)))
        transact = Database._transact  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]

        def stepped(store: Database, work: object, connection: sqlite3.Connection) -> Any:
            return self._transact(partial(transact, store), work, connection)

        replace(Database, "_transact", stepped)

    def step(self, what: str) -> None:
        """One of the steps."""
        if self.armed:
            self.steps.append(what)
            self._counted += self._counts(what)
            if self._counted >= self.at:
                self.since.append(what)
                self._act(what)

    def _counts(self, what: str) -> bool:
        if self._kind is None:
            return True
        kind = self._kind(what)
        is_new = kind not in self._kinds
        self._kinds.add(kind)
        return bool(kind) and (is_new or not kind.endswith(_ALIKE))

    def _call(self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if name != "open" or (len(args) > 1 and args[1] & os.O_CREAT):
            self.step(f"{name} {_named(args[-1] if name in ('rename', 'replace') else args[0])}")
        return call(*args, **kwargs)

    def _transact(self, transact: Callable[..., Any], work: object, connection: sqlite3.Connection) -> Any:
        self.step("transaction")
        result = transact(work, connection)
        if self.armed and self._act is kill:
            self.step("committed")
        return result


def kill(_what: str) -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def fill(what: str) -> None:
    """Let the disk be full: nothing that takes room works, but for moving and removing."""
    if what == "transaction":
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error
    if what.split()[0] in _TAKING_ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def writing(what: str) -> str:
    """The kind of a step that changes what is there: of contents that are kept, one like the other. A kill loses
    nothing that was not synced, so that it is the same before a sync and after it."""
    return "" if what.startswith("fsync") else _generic(what)


def taking_room(what: str) -> str:
    """The kind of a step that a full disk has fail."""
    return _generic(what) if what.split()[0] in ("transaction", *_TAKING_ROOM) else ""


def _generic(what: str) -> str:
    call, _, path = what.partition(" ")
    return f"{call} {re.sub(r'/([0-9a-f]{2}(/[0-9a-f]{62})?|cogency-blob-.*)$', '/content', path)}".rstrip()


def _named(what: object) -> str:
    return str(Path(f"/proc/self/fd/{what}").readlink()) if isinstance(what, int) else str(what)


async def write(desk: Desk, _faults: Faults) -> None:
    """What a tool does: two files changed, one made in a new directory."""
    await desk.write(("a", "new a\n"), ("src/d", "new d\n"), ("new/c", "new c\n"))


async def revert(desk: Desk, _faults: Faults) -> None:
    """An undo of that."""
    await desk.undo.apply(await desk.undo.of_turn())


async def command(desk: Desk, faults: Faults) -> None:
    """What a command does, step by step."""
    async with desk.calls.around_command(CALL, "shell"):
        for work in (
            partial(desk.put, "a", "new a\n"),
            partial(desk.put, "new/c", "new c\n"),
            (desk.root / "b").unlink,
            partial((desk.root / "src/d").rename, desk.root / "src/e"),
        ):
            faults.step("within")
            faults.armed = False
            work()
            faults.armed = True
        faults.step("within")


WORKS: dict[str, Callable[[Desk, Faults], Awaitable[None]]] = {
    "write": write,
    "revert": revert,
    "command": command,
}


async def prepare(desk: Desk, what: str) -> None:
    """The project, and for a revert what is to be reverted; the call that is about to run."""
    for name, text in OLD.items():
        desk.put(name, text)
    if what == "revert":
        await write(desk, Faults(0, kill))
    content = f'{{"name": "{what}", "args": {{}}}}'
    await desk.store.append(
        desk.conversation, {"type": "call", "timestamp": time.time(), "id": CALL, "content": content}
    )


async def _run(base: Path, what: str, at: int) -> None:
    base.mkdir()
    async with desk_at(base / "project", base / "data") as desk:
        await prepare(desk, what)
        faults = Faults(at, kill, writing)
        faults.install()
        faults.armed = True
        await WORKS[what](desk, faults)
        faults.armed = False


async def reopened(base: Path) -> tuple[Store, Desk]:
    """The store and the desk of a process that was killed."""
    store = await Store.open(base / "data")
    (known,) = await store.conversations(limit=2)
    return store, Desk(base / "project", store, known.id, JournalLimits())


def _main(top: Path) -> None:
    TEMPLATES.build_beside(top)
    for what in WORKS:
        (top / what).mkdir()
        for at in count(1):
            process = os.fork()
            if process == 0:
                asyncio.run(_run(top / what / str(at), what, at))
                os._exit(0)
            _, status = os.waitpid(process, 0)
            if status == 0:
                break
            assert os.WTERMSIG(status) == signal.SIGKILL, status


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
