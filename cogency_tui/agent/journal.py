"""The journal: what tools change in a project is recorded with what was there before.

Invariant: what a file holds is kept before it is changed, as far as it can be (see `contents`); whatever ends
a call (a failure, a time-out, a cancellation), what it did change by then is recorded; and a change is
recorded once, though commands and other tools work at the same time. One for the project, shared by all
conversations of the process.

Tools reach it through a protocol of theirs (`tools` may not import `agent`), which `CallJournal` fulfils:

    class Journal(Protocol):
        def writing(
            self, call: str, tool: str, changes: Sequence[Change]
        ) -> AbstractAsyncContextManager[None]: ...

        def around_command(
            self, call: str, tool: str, at_stake: Sequence[Path] = ()
        ) -> AbstractAsyncContextManager[CommandEdits]: ...
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cogency_tui.agent import keeping
from cogency_tui.agent.command_edits import Call, CommandEdits, Commands, KeptPaths
from cogency_tui.agent.contents import Contents, Limits
from cogency_tui.store.blobs import Blobs, Cleaned
from cogency_tui.store.conversations import Store
from cogency_tui.store.edits import Edits
from cogency_tui.tools.blocking import completed, in_thread
from cogency_tui.tools.changes import Change
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.paths import Workspace


class Journal:
    """The journal of the project `workspace`; `store` gives the person's store, opened when asked for."""

    def __init__(
        self, workspace: Workspace, store: Callable[[], Awaitable[Store]], limits: Limits | None = None
    ) -> None:
        self.workspace = workspace
        self.limits = limits or Limits()
        self.lock = asyncio.Lock()
        """Held while files are looked at and changed: nobody of us changes one that another looks at."""
        self.commands = Commands(self)
        self.store = store
        self._kept: tuple[Blobs, Contents] | None = None

    def of(self, conversation: str) -> "CallJournal":
        """The journal for the calls in one conversation."""
        return CallJournal(self, conversation)

    async def edits(self) -> Edits:
        """What was recorded.

        Raises:
            StoreError: the store cannot be opened.
        """
        return Edits((await self.store()).database)

    async def blobs(self) -> Blobs:
        """What was kept."""
        return (await self._open())[0]

    async def contents(self) -> Contents:
        """What the files hold; use it under the `lock`, in a thread."""
        return (await self._open())[1]

    async def warm(self) -> None:
        """Remember what the project's files hold, so that commands need not wait for it."""
        await self.commands.warm()

    async def look(self) -> None:
        """Record what commands in the background have changed: at the end of a turn, when it can be seen."""
        await self.commands.look()

    async def close(self) -> None:
        """Wait until all is recorded of the commands in the background, which have ended."""
        await self.commands.close()

    async def clean_up(self) -> Cleaned:
        """Remove contents that no edit refers to (any more); never one that a conversation needs.

        Raises:
            StoreError: they cannot be told or removed.
        """
        referenced = await (await self.edits()).referenced()
        return await in_thread((await self.blobs()).clean, referenced)

    def take(self, also: Sequence[str] = ()) -> snapshot.Snapshot:
        """A snapshot of the project, without our own data should they lie in it. Blocks."""
        return snapshot.take(self.workspace, also, self._kept[0].directory.parent if self._kept else None)

    async def _open(self) -> tuple[Blobs, Contents]:
        directory = (await self.store()).database.path.parent / "blobs"
        if self._kept is None:
            blobs = Blobs(directory, limit=self.limits.kept, quota=self.limits.quota)
            self._kept = blobs, Contents(self.workspace, blobs, self.limits)
            if await in_thread(lambda: blobs.crowded):
                await self.clean_up()
        return self._kept


class CallJournal:
    """Records what the calls of `conversation` change. All methods raise `StoreError`."""

    def __init__(self, journal: Journal, conversation: str) -> None:
        self._journal = journal
        self._conversation = conversation

    @asynccontextmanager
    async def writing(self, call: str, tool: str, changes: Sequence[Change]) -> AsyncGenerator[None]:
        """Record the changes that are made in this block; of one that fails, those that were made."""
        journal = self._journal
        edits, blobs = await journal.edits(), await journal.blobs()
        origin = await edits.origin(self._conversation)

        async def record(*, failed: bool) -> None:
            made = await in_thread(keeping.changed, changes, before, failed, journal.workspace, blobs)
            await edits.add(origin, call, tool, made)

        async with journal.lock:
            before = await in_thread(
                lambda: [keeping.about_to_change(one, journal.workspace, blobs) for one in changes]
            )
            try:
                yield
            except BaseException:
                await completed(record(failed=True))
                raise
            await completed(record(failed=False))

    @asynccontextmanager
    async def around_command(
        self, call: str, tool: str, at_stake: Sequence[Path] = ()
    ) -> AsyncGenerator[CommandEdits]:
        """Record what changes in the project while a command runs in this block.

        `at_stake` are files and directories, resolved, that it is about to destroy: they are kept whole
        within limits, ignored ones too. Whose a change is where others work meanwhile: see `command_edits`.
        """
        commands = self._journal.commands
        origin = await (await self._journal.edits()).origin(self._conversation)
        kept = await self.snapshot_paths(call, tool, at_stake) if at_stake else KeptPaths()
        begun = await commands.begin(Call(origin, call, tool), [edit.path for edit in kept.edits])
        found = CommandEdits(kept)
        try:
            yield found
        finally:
            await completed(commands.end(begun, found))

    async def snapshot_paths(self, call: str, tool: str, paths: Sequence[Path]) -> KeptPaths:
        """Keep what these files, and the files in these directories, hold now.

        Each is recorded as an edit that changes nothing, of the kind `snapshot`, which can be restored.
        """
        journal = self._journal
        edits, contents = await journal.edits(), await journal.contents()
        origin = await edits.origin(self._conversation)
        async with journal.lock:
            found, left_out, size = await in_thread(
                keeping.at_stake, paths, journal.workspace, contents, journal.limits
            )
            return KeptPaths(await edits.add(origin, call, tool, found), left_out, size)
