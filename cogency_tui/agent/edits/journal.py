"""The journal: records what tools change in a project, together with the previous contents.

Invariant: the content of a file is stored before it is changed, as far as possible (see `prior_contents`),
and is on the disk for good, with an intent that describes what is about to happen, before anything happens.
Without an intent nothing is changed (`JournalError`). Whatever ends a call (a failure, a time-out, a
cancellation), the changes that it made by then are recorded; if the process ends first, or the store fails,
`settle` records them later. A change is recorded once, though commands and other tools work at the same
time. All conversations of the process share one journal for a project.

Tools reach it through a protocol of theirs (`tools` may not import `agent`), which `CallJournal`
implements:

    class Journal(Protocol):
        def writing(
            self, call: str, tool: str, changes: Sequence[Change]
        ) -> AbstractAsyncContextManager[Recorded]: ...

        def around_command(
            self,
            call: str,
            tool: str,
            at_stake: Sequence[Path] = (),
            consent: Consent = ALL,
        ) -> AbstractAsyncContextManager[CommandEdits]: ...

        @property
        def moved(self) -> MovedFiles: ...

        async def made(self) -> Mapping[Path, Version]: ...

        async def changed_by_others(self, path: Path, seen: Seen | None, now: bytes | None) -> ByOthers: ...
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cogency_tui.agent.edits import prior_contents
from cogency_tui.agent.edits.agent_commits import KnownCommits
from cogency_tui.agent.edits.changes_by_others import (
    Since,
    changed_since,
    commands_running,
    last_own,
    verb_for,
)
from cogency_tui.agent.edits.command_watch import (
    CommandEdits,
    Commands,
    StoredCopies,
    WatchedCall,
    unrecorded,
)
from cogency_tui.agent.edits.crash_snapshot import ShadowFile
from cogency_tui.agent.edits.file_history import BY_USER, histories
from cogency_tui.agent.edits.interrupted_calls import settle
from cogency_tui.agent.edits.prior_contents import Contents, JournalLimits
from cogency_tui.agent.edits.project_lock import writing_files
from cogency_tui.agent.edits.protected_file_restore import refuse_all, settle_protected
from cogency_tui.agent.edits.remote_changes import Merging
from cogency_tui.agent.edits.unrecorded_changes import record_running
from cogency_tui.config.worktree_paths import are_of_one_project
from cogency_tui.errors import JournalError, StoreError
from cogency_tui.protocol.events import Author, ChangedBy
from cogency_tui.store.blobs import Blobs, Cleaned
from cogency_tui.store.edit_records import Edit, FileChange, Origin, Version
from cogency_tui.store.edits import Also, Edits
from cogency_tui.store.intents import Intents, dropping
from cogency_tui.store.prompts_and_drafts import mentioned_digests
from cogency_tui.store.store import Store
from cogency_tui.temporary_files import is_in_one, sweep
from cogency_tui.tools.file_writes import Change
from cogency_tui.tools.journal_protocol import ALL, ByOthers, Consent
from cogency_tui.tools.seen_files import Seen
from cogency_tui.tools.shell.moved_sole_copies import MovedFiles
from cogency_tui.tools.worker_threads import Result, completed, in_thread
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.paths import Workspace

_MOST_EDITS = 200
"""The latest edits of a file that are searched for changes by others."""


class Journal:
    """The journal of the project `workspace`; `store` returns the user's store, opened on first use."""

    def __init__(
        self, workspace: Workspace, store: Callable[[], Awaitable[Store]], limits: JournalLimits | None = None
    ) -> None:
        self.workspace = workspace
        self.limits = limits or JournalLimits()
        self.lock = asyncio.Lock()
        """Held while files are read and changed: no part of this process changes a file that another reads.
        """
        self.commands = Commands(self)
        self.unfinished: dict[int, StoreError] = {}
        """The intents of ended calls that could not be recorded, each with the error."""
        self.postponed: set[int] = set()
        """The intents of interrupted calls for which the user knows that the store cannot record them now."""
        self.store = store
        self.commits = KnownCommits(workspace.root)
        self.moved = MovedFiles()
        self._opened: tuple[Blobs, Contents, ShadowFile] | None = None
        self._rules: Mapping[str, bytes] | None = None
        """The rules of `.gitignore` before the first command."""

    def of(self, conversation: str) -> "CallJournal":
        """The journal for the calls of one conversation."""
        return CallJournal(self, conversation)

    @property
    def root(self) -> str:
        """The project directory, in the form that the store uses."""
        return str(self.workspace.root)

    async def in_history(self, conversation: str, *, elsewhere: bool = False) -> list[Edit]:
        """The edits of a conversation, with those from before its fork.

        Those in the scratch copy of a rerun are in no file of another project, and left out there; unless
        `elsewhere`, so are those in another project. A directory of the same name that is not there is this
        project: it was moved, or is at another place on another machine."""
        found = await (await self.edits()).in_history(conversation)
        others = {
            project
            for project in {edit.origin.project for edit in found} - {self.root}
            if not elsewhere and self._is_other(project)
        }
        return [edit for edit in found if edit.origin.project not in others and not self._is_in_copy(edit)]

    def _is_other(self, project: str) -> bool:
        if are_of_one_project(project, self.root):
            return False
        return Path(project).is_dir() or Path(project).name != self.workspace.root.name

    async def origin(self, conversation: str) -> Origin:
        """The origin of an edit that a call of a conversation makes here now: in this project, also where the
        conversation began in another one."""
        return replace(await (await self.edits()).origin(conversation), project=self.root)

    async def calls_in_copies(self, conversation: str) -> set[str]:
        """The calls of a conversation whose edits `in_history` leaves out."""
        found = await (await self.edits()).in_history(conversation)
        return {edit.call for edit in found if self._is_in_copy(edit)}

    def _is_in_copy(self, edit: Edit) -> bool:
        project = edit.origin.project
        return project != self.root and is_in_one(Path(project), "rerun")

    async def edits(self) -> Edits:
        """The recorded edits.

        Raises:
            StoreError: the store cannot be opened.
        """
        return Edits((await self.store()).database)

    async def intents(self) -> Intents:
        """The recorded intents.

        Raises:
            StoreError: the store cannot be opened.
        """
        return Intents((await self.store()).database)

    async def blobs(self) -> Blobs:
        """The stored contents."""
        return (await self._open())[0]

    async def contents(self) -> Contents:
        """The cached contents of the files; for use under the `lock`, in a thread."""
        return (await self._open())[1]

    async def shadow(self) -> ShadowFile:
        """The state before commands, on the disk; for use under the `lock`, in a thread."""
        return (await self._open())[2]

    async def reading(self, work: Callable[[Contents, Blobs], Result]) -> Result:
        """Run `work` in a thread while no other part of this process changes files; return its result."""
        contents, blobs = await self.contents(), await self.blobs()
        async with self.lock:
            return await in_thread(work, contents, blobs)

    async def alone(self) -> AbstractAsyncContextManager[None]:
        """The block in which no other process writes files of the project; for use under the `lock`."""
        return writing_files((await self.store()).database.path.parent, self.workspace.root)

    async def record(
        self, origin: Origin, call: str, tool: str, changes: Sequence[FileChange], also: Also | None = None
    ) -> list[Edit]:
        """Record changes whose contents are stored, for good; as `Edits.add`."""
        await in_thread((await self.blobs()).sync)
        return await (await self.edits()).add(origin, call, tool, changes, also)

    async def forget(self, intent: int) -> None:
        """Remove an intent that changed nothing, or whose edits are recorded; later if the store fails."""
        try:
            await (await self.intents()).drop(intent)
        except StoreError as error:
            self.unfinished[intent] = error

    async def settle(self) -> list[str]:
        """Record the changes of calls that were interrupted when their process ended, or the store failed.
        Return the notices for the user.

        Raises:
            StoreError: the store cannot be used.
        """
        store = await self.store()
        found = await settle(self)
        store.notices += [notice for notice in found if notice not in store.notices]
        return found

    async def settle_unfinished(self) -> None:
        """Record the changes that calls of this process made when the store failed, before anything else
        changes, so that edits are in the order in which they were made.

        Raises:
            StoreError: they cannot be recorded yet.
        """
        if self.unfinished:
            await self.settle()
        for error in self.unfinished.values():
            raise StoreError(f"The changes of an earlier call cannot be recorded yet: {error}", error.hint)

    async def settle_ended(self) -> None:
        """Record the changes of calls whose process ended while this one runs, so that these are not
        attributed to a concurrent command; then as `settle_unfinished`.

        Raises:
            StoreError: the changes of this process cannot be recorded yet.
        """
        with suppress(StoreError):
            if not all(intent.is_live for intent in await (await self.intents()).below(self.root)):
                await self.settle()
        await self.settle_unfinished()

    async def warm(self) -> None:
        """Read the project's files into the content cache, so that commands need not wait for it."""
        await self.commands.warm()

    async def scan(self) -> None:
        """Record the changes of background commands."""
        await self.commands.scan()

    async def end_turn(self, conversation: str) -> None:
        """Record the changes of background commands and of programs that live on, at the end of a turn."""
        await self.commands.end_turn(conversation)

    async def close(self) -> None:
        """Wait until all changes of the background commands, which have ended, are recorded."""
        await self.commands.close()
        if self._opened is not None and not self.unfinished:
            await in_thread(self._opened[2].close)

    async def clean_up(self) -> Cleaned:
        """Remove contents that no edit and no image refers to (any more); never one that a conversation or a
        draft needs.

        Raises:
            StoreError: they cannot be determined or removed.
        """
        store = await self.store()
        referenced = await (await self.edits()).referenced() | await (await self.intents()).referenced()
        referenced |= await store.image_digests()
        referenced |= await in_thread(mentioned_digests, store.database.path.parent)
        return await in_thread((await self.blobs()).clean, referenced)

    def take(self, also: Sequence[str] = (), rules: Mapping[str, bytes] | None = None) -> snapshot.Snapshot:
        """A snapshot of the project, without the program's own data if that is in it. `rules` are those
        before the first command, if they are known. Blocks.
        """
        without = self._opened[0].directory.parent if self._opened else None
        found = snapshot.take(self.workspace, also, without, self._rules if rules is None else rules)
        if self._rules is None:
            self._rules = found.rules
        return found

    async def _open(self) -> tuple[Blobs, Contents, ShadowFile]:
        data = (await self.store()).database.path.parent
        if self._opened is None:
            blobs = Blobs(data / "blobs", limit=self.limits.largest, quota=self.limits.quota)
            contents = Contents(self.workspace, blobs, self.limits)
            self._opened = blobs, contents, ShadowFile(data, self.workspace.root, blobs)
            await self._sweep()
            if await in_thread(lambda: blobs.crowded):
                await self.clean_up()
        return self._opened

    async def _sweep(self) -> None:
        """Remove the remains of killed processes, except what is to be settled."""
        blobs, _, shadow = await self._open()
        await in_thread(sweep)
        with suppress(StoreError):
            # With a store that can only be read, or only in part, they are removed later.
            await in_thread(blobs.sweep)
            await in_thread(shadow.clean, await (await self.intents()).shadows())


@dataclass(slots=True)
class Recorded:
    """The notes on changes that were made, complete when their block ends."""

    notes: list[str] = field(default_factory=list[str])


class CallJournal:
    """Records the changes of the calls of `conversation`."""

    def __init__(self, journal: Journal, conversation: str) -> None:
        self._journal = journal
        self._conversation = conversation

    @property
    def moved(self) -> MovedFiles:
        """The files that commands in the project removed, and of which there is no stored copy."""
        return self._journal.moved

    async def made(self) -> Mapping[Path, Version]:
        """The contents that only the calls of this turn wrote, in files that did not exist before, or were
        as the last commit has them.
        """
        journal = self._journal
        edits = await journal.edits()
        origin = await edits.origin(self._conversation)
        began = await edits.began(origin.conversation)
        if began is None:
            return {}
        found = histories(await edits.of_conversation(origin.conversation, turn=origin.turn))
        found = [each for each in found if not each.is_replaced]
        blobs = await journal.blobs()
        return await in_thread(prior_contents.made_since, began, found, journal.workspace, blobs)

    async def changed_by_others(self, path: Path, seen: Seen | None, now: bytes | None) -> ByOthers:
        """Find who has changed a file since the conversation has `seen` it, or else since its own last
        change of it: other conversations and sub-agents, the user, or other programs.
        """
        journal, caller = self._journal, self._conversation
        async with journal.lock:
            # What another conversation of this process writes now is recorded when its lock is free.
            pass
        name, digest = journal.workspace.name_of(path), "" if now is None else hashlib.sha256(now).hexdigest()
        edits = await (await journal.edits()).of_project(journal.root, path=name, limit=_MOST_EDITS)
        edits = [edit for edit in reversed(edits) if edit.kind != "snapshot"]
        if seen is not None:
            since = changed_since(name, edits, caller, seen.digest.hex(), seen.at, digest)
        elif (own := last_own(edits, caller)) is not None:
            since = changed_since(name, edits, caller, own.after.digest, own.timestamp, digest)
        else:
            return ByOthers()
        changes = await self._named(since, name, path)
        before = None
        if since.known is not None:
            before = await in_thread((await journal.blobs()).read, since.known.digest, since.known.size)
        return ByOthers(changes, verb_for(name, since.edits, digest), before, since.after_own)

    async def _named(self, since: Since, name: str, path: Path) -> list[ChangedBy]:
        """Name the authors of these changes, each once with the last of theirs."""
        journal, caller = self._journal, self._conversation
        store = await journal.store()
        own = (await (await journal.edits()).origin(caller)).conversation
        found: dict[tuple[str, str], ChangedBy] = {}

        async def add(by: Author, id: str, at: float) -> None:
            stored = await store.conversation(id) if id else None
            found.pop((by, id), None)
            found[by, id] = {"path": name, "by": by, "title": stored.title if stored else "", "at": at}

        for edit in since.edits:
            origin = edit.origin
            if edit.is_possibly_users:
                await add("background", "", edit.timestamp)
            elif edit.tool in BY_USER:
                await add("user", "" if origin.conversation == own else origin.conversation, edit.timestamp)
            elif origin.conversation == own != origin.caller:
                await add("subagent", origin.caller, edit.timestamp)
            else:
                await add("conversation", origin.conversation, edit.timestamp)
        if since.unrecorded:
            at = await in_thread(_changed_at, path)
            running = commands_running(await (await journal.intents()).below(journal.root), caller)
            for intent in running:
                await add("command", intent.origin.conversation, at)
            if not running:
                await add("program", "", at)
        return list(found.values())

    @asynccontextmanager
    async def writing(self, call: str, tool: str, changes: Sequence[Change]) -> AsyncGenerator[Recorded]:
        """Record the changes that are made in this block; of one that fails, those that were made.

        Raises:
            JournalError: they cannot be recorded beforehand; the block does not begin.
        """
        journal = self._journal
        paths = [journal.workspace.name_of(each.location.path) for each in changes]
        with _beforehand("Nothing was changed"):
            await journal.settle_unfinished()
            await journal.commands.scan_before(paths)
            alone = await journal.alone()
        async with journal.lock, alone:
            with _beforehand("Nothing was changed"):
                await record_running(journal, paths)
                blobs, intents = await journal.blobs(), await journal.intents()
                origin = await journal.origin(self._conversation)
                planned = await in_thread(prior_contents.planned, changes, journal.workspace, blobs)
                intent = await intents.begin(journal.root, origin, call, tool, planned)
            recorded = Recorded()

            async def record(*, failed: bool) -> None:
                try:
                    made = await in_thread(prior_contents.made, changes, planned, failed, journal.workspace)
                    await journal.record(origin, call, tool, made, dropping(intent))
                except StoreError as error:
                    journal.unfinished[intent] = error
                    recorded.notes.append(unrecorded(error))

            try:
                yield recorded
            except BaseException:
                await completed(record(failed=True))
                raise
            await completed(record(failed=False))

    @asynccontextmanager
    async def around_command(
        self,
        call: str,
        tool: str,
        at_stake: Sequence[Path] = (),
        consent: Consent = ALL,
        *,
        is_next: bool = False,
    ) -> AsyncGenerator[CommandEdits]:
        """Record the project's changes while a command runs in this block; with `is_next` in the turn that
        follows.

        `at_stake` are files and directories, resolved, that it is about to destroy: they are stored whole
        within limits, ignored ones included. Its changes of protected files are put back unless `consent`
        covers them, or lets them stay; the user is not asked about a command that did not end by itself.
        For the attribution of changes beside concurrent work see `command_watch`.

        Raises:
            JournalError: its changes cannot be recorded; the block does not begin.
        """
        commands = self._journal.commands
        with _beforehand("The command was not run"):
            await self._journal.settle_ended()
            origin = await self._journal.origin(self._conversation)
            origin = replace(origin, turn=origin.turn + 1) if is_next else origin
            copies = await self.snapshot_paths(call, tool, at_stake) if at_stake else StoredCopies()
            await in_thread(self._journal.commits.begin, consent.brings)
            merging = await in_thread(Merging, self._journal.workspace.root, consent.brings)
            begun = await commands.begin(
                WatchedCall(origin, call, tool), [edit.path for edit in copies.edits], consent
            )
        found = CommandEdits(copies, signs=begun.signs)
        try:
            yield found
            await commands.settle_directories(begun, found, consent)
        except BaseException:
            refusing = replace(consent, ask=refuse_all, brings=None)
            await completed(commands.settle_directories(begun, found, refusing))
            await completed(commands.end(begun, found))
            await completed(self._settle(found, refusing))
            raise
        await completed(commands.end(begun, found))
        await self._note_merged(found, merging)
        await self._settle(found, consent)

    async def _note_merged(self, found: CommandEdits, merging: Merging) -> None:
        if not await in_thread(merging.has_moved):
            return
        # A merge that cannot be noted counts as the command's own change.
        with suppress(StoreError):
            edits = await self._journal.edits()
            recorded = await edits.of_conversation(self._conversation)
            await edits.note_merged(await in_thread(merging.merged, found.edits, recorded))

    async def _settle(self, found: CommandEdits, consent: Consent) -> None:
        found.settled += await settle_protected(self._journal, self._conversation, found.protected, consent)

    async def snapshot_paths(self, call: str, tool: str, paths: Sequence[Path]) -> StoredCopies:
        """Store the current contents of these files, and of the files in these directories.

        Each is recorded as an edit that changes nothing, of the kind `snapshot`, which can be restored.
        """
        journal = self._journal
        contents = await journal.contents()
        origin = await journal.origin(self._conversation)
        async with journal.lock:
            found, left_out, size = await in_thread(
                prior_contents.at_stake, paths, journal.workspace, contents, journal.limits
            )
            return StoredCopies(await journal.record(origin, call, tool, found), left_out, size)


def _changed_at(path: Path) -> float:
    """When a file was written, in Unix seconds; now if it is gone."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()


@contextmanager
def _beforehand(what: str) -> Generator[None]:
    """Raise `JournalError` for an action that cannot be recorded beforehand: it does not happen."""
    try:
        yield
    except StoreError as error:
        message = f"{what}: it could not be recorded, so it could not be reverted either. {error}"
        raise JournalError(message, error.hint, brief=f"{message} {error.hint}".strip()) from error
