"""A project with a journal, and what tools and persons do in it: real files, real commands."""

import asyncio
import os
import signal
import stat
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cogency_tui.agent.edits.journal import CallJournal, Journal
from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.agent.review.review import Review
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.reviews import Part
from cogency_tui.store.store import Store
from cogency_tui.tools import file_writes
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.paths import Workspace
from tests.agent.templates import TEMPLATES

Tree = dict[str, tuple[int, bytes]]


class Desk:
    """One conversation in one project."""

    def __init__(self, root: Path, store: Store, conversation: str, limits: JournalLimits) -> None:
        self.root = root
        self.store = store
        self.conversation = conversation
        self.workspace = Workspace(root)
        self.journal = Journal(self.workspace, self._store, limits)
        self.calls: CallJournal = self.journal.of(conversation)
        self.undo = Undo(self.journal, conversation)
        self._number = 0

    async def _store(self) -> Store:
        return self.store

    async def say(self) -> None:
        """The person's message: the next turn begins."""
        await self.store.append(
            self.conversation, {"type": "user", "timestamp": time.time(), "content": "go on"}
        )

    def put(self, name: str, data: bytes | str, mode: int | None = None) -> Path:
        """What a person does, by hand."""
        return put(self.root, name, data, mode)

    async def write(self, *files: tuple[str, bytes | str]) -> None:
        """What a tool does that writes files."""
        made: list[file_writes.Change] = []
        for name, data in files:
            location = self.workspace.locate(name)
            before = file_writes.load(self.workspace, location)
            after = data.encode() if isinstance(data, str) else data
            made.append(file_writes.Change(location, before, after, diff.unified(None, None, name)))
        self._number += 1
        async with self.calls.writing(f"call-{self._number}", "write", made):
            await in_thread(file_writes.apply, self.workspace, made)

    async def run(self, command: str, *at_stake: str, timeout: float = 60.0) -> list[Edit]:
        """What the shell does; what it changed."""
        self._number += 1
        paths = [self.root / name for name in at_stake]
        async with self.calls.around_command(f"call-{self._number}", "shell", paths) as found:
            await _run(command, self.root, timeout)
        return found.edits

    async def edits(self, *, turn: int | None = None, path: str | None = None) -> list[Edit]:
        """What was recorded in the conversation."""
        edits = await self.journal.edits()
        return await edits.of_conversation(self.conversation, turn=turn, path=path)

    @property
    def review(self) -> Review:
        """A review that knows nothing but what the store has."""
        return Review(self.journal, self._store, self.conversation)

    async def revert_hunks(self, edit: Edit, *ids: str) -> None:
        """Revert these hunks of an edit in the review of its turn."""
        file = await self.review.file(FileKey(edit.origin.turn, edit.path))
        wanted = {Part(edit.id, id) for id in ids}
        hunks = tuple(hunk.id for hunk in file.hunks if wanted.intersection(hunk.parts)) or ids
        await self.review.revert(Target(edit.origin.turn, edit.path, hunks))

    async def told(self) -> list[tuple[str, str]]:
        """The edits so far, as kind and path."""
        return [(edit.kind, edit.path) for edit in await self.edits()]

    def tree(self) -> Tree:
        """Every file and link of the project, with modes."""
        found: Tree = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if path.is_symlink():
                found[name] = (0, os.fsencode(path.readlink()))
            elif path.is_file():
                found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
            elif path.is_dir():
                found[f"{name}/"] = (0, b"")
        return found


def put(root: Path, name: str, data: bytes | str, mode: int | None = None) -> Path:
    """Write a file below `root`, and the directories that it lies in."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if mode is not None:
        path.chmod(mode)
    return path


@asynccontextmanager
async def desk_at(root: Path, data: Path, limits: JournalLimits | None = None) -> AsyncGenerator[Desk]:
    """A desk in a conversation of its own, whose first turn has begun."""
    root.mkdir(exist_ok=True)
    TEMPLATES.copy_store(data)
    async with await Store.open(data) as store:
        conversation = await store.create_conversation(
            os.path.realpath(root), dialect="xml", provider="offline", model="m"
        )
        desk = Desk(root, store, conversation.id, limits or JournalLimits())
        await desk.say()
        yield desk


async def _run(command: str, directory: Path, timeout: float) -> None:
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command, cwd=directory, start_new_session=True, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await asyncio.wait_for(process.wait(), timeout)
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def settle() -> None:
    """Let the files be older than the clock of the file system can tell apart."""
    time.sleep(0.06)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens outside."""
    while not condition():  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(0.005)


async def orphan(desk: Desk, data: Path) -> None:
    """Have the one command that runs be of a process that is gone, and its guard have seen it end."""
    (shadow,) = (data / "shadows").iterdir()
    os.utime(shadow)
    gone = shadow.rename(shadow.with_name(f"{1 << 22}-{'0' * 12}-{'0' * 8}"))
    sql = "UPDATE intents SET started = 'long ago', shadow = ?"
    await desk.store.database.write(lambda connection: connection.execute(sql, (gone.name,)))
