"""Finds what a command changes: by a snapshot before and after it, and a watch in between.

Invariant: a change is recorded once. While a command is in the foreground, changes are its own, also those
that the user makes (of several that run at the same time, those of the first to end). Changes while only
background commands run belong to the one started last; unless one of these has the file open for writing,
they are recorded as shared with the user (`USER`), who may have made them. Of a program that lives on after
its answer (an MCP server) only changes of protected files are recorded, until its turn ends. Intents show
when commands of other conversations run, in this process or another: a change that one of these may also
have made is recorded as shared with its conversation, and left to that one alone only if the file was
written while this command did not run, and the watch proves that it had not touched it before. Changes that
other tools record or plan meanwhile are theirs; before they write a file they record what the command has
changed in it (see `unrecorded_changes`). Lines that a command brings back, since it had read the file before
another tool replaced them, are the command's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from cogency_tui.agent.edits.change_attribution import (
    belongs_to,
    changes_of,
    named_conversations,
    planned_by,
    possibly_users,
    rivals,
    shared,
    unclaimed,
    unread_changes_of,
    written_by_us,
)
from cogency_tui.agent.edits.crash_snapshot import ShadowFile
from cogency_tui.agent.edits.protected_file_restore import (
    BY_HAND,
    Settled,
    of_protected,
    settle_directories,
    settle_protected,
    settled_repositories,
    settled_unseen,
    without_ordinary,
)
from cogency_tui.errors import CogencyError, StoreError, ToolError, WorkspaceError
from cogency_tui.store import unseen_notices
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Origin
from cogency_tui.store.intents import Beside, Claim, Intent, Shadow, dropping
from cogency_tui.tools.journal_protocol import ALL, Consent
from cogency_tui.tools.shell.moved_sole_copies import MovedFiles
from cogency_tui.tools.supervision.process_tree import files_written_by
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace import protected_file_discovery, snapshot
from cogency_tui.workspace.file_or_link import located, stamp_of, status
from cogency_tui.workspace.git.directory_restore import GitDirectories, Returned
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_directories import ProtectedDirectories
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.watch import MOST_DIRECTORIES, Watch

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal

COLLECTING = 2.0
"""Seconds between two collections from the watch, each with a sign of life of the shadow."""

_RETAKEN = 2
"""Snapshots that are taken again, at most, because other processes recorded changes meanwhile."""

_MOST_NAMED = 3
_MOST_PROTECTED = 20

_Change = TypeVar("_Change", bound=FileChange)

_NOISE = (
    *(
        "*.py[co]",
        "*.py[co].*",
        ".*cache*",
        "__pycache__",
        "pytest-cache-files-*",
        ".coverage",
        ".coverage.*",
        "*.tsbuildinfo",
        "*.egg-info",
    ),
    *("sed??????", "*.sw[op]", "4913", ".#*", "*~", "*.tmp"),
)
"""Names that are not reported: caches, and temporary files of compilers, editors and `sed -i`."""


class _Outdated(Exception):
    """A snapshot is older than edits of the files that it shows as changed."""


@dataclass(frozen=True, slots=True)
class StoredCopies:
    """The stored copies of files that a command is about to destroy.

    `left_out` files of `left_out_size` bytes were not stored: there are too many, or they are too large.
    """

    edits: list[Edit] = field(default_factory=list[Edit])
    left_out: int = 0
    left_out_size: int = 0


@dataclass(slots=True)
class CommandEdits:
    """The changes of a command, complete when its block ends, and the copies of what is at stake.

    `protected` are those edits that need the user's consent, `settled` the outcome where the user had not
    given it. `made_and_removed` and `touched` are paths that the command created and then deleted, and paths
    of files that it wrote or touched without changing the content. `unwatched` is why these are not known,
    if they are not; `unrecorded` why its edits could not be recorded. `signs` is the file whose time is
    that of its last sign of life.
    """

    at_stake: StoredCopies
    edits: list[Edit] = field(default_factory=list[Edit])
    protected: list[Edit] = field(default_factory=list[Edit])
    settled: Settled = field(default_factory=Settled)
    made_and_removed: list[str] = field(default_factory=list[str])
    touched: list[str] = field(default_factory=list[str])
    unwatched: str = ""
    unrecorded: str = ""
    signs: Path | None = None
    lasting: Callable[[], Awaitable[object]] | None = None
    process: int = 0
    lives_on: bool = False

    def goes_on(self, over: Callable[[], Awaitable[object]], process: int = 0) -> None:
        """Declare that the command, whose topmost `process` this is, runs on after its block, until `over`
        has completed; its changes until then are also recorded.
        """
        self.lasting, self.process = over, process

    def stays(self) -> None:
        """Declare that the program lives on after the block; its changes of protected files until the turn
        ends are also recorded.
        """
        self.lives_on = True

    @property
    def going_on(self) -> bool:
        """True if files may be changed after the block."""
        return self.lasting is not None or self.lives_on

    @property
    def put_back(self) -> list[str]:
        """The protected files that it changed and that were put back, and directories that lead to such
        files.
        """
        return self.settled.put_back

    @property
    def left(self) -> list[str]:
        """The files and directories that could not be put back, in whole or in part."""
        return self.settled.left

    @property
    def notes(self) -> list[str]:
        """Notes for the model on what the edits do not show."""
        return [
            *self.settled.notes,
            *([self.unrecorded] if self.unrecorded else []),
            *_note("created and then deleted", self.made_and_removed),
            *_note("written or touched, but unchanged", self.touched),
            *_shared(self.edits),
            *([f"[{self.unwatched} Short-lived files there are not recorded.]"] if self.unwatched else []),
        ]


def unrecorded(error: StoreError) -> str:
    """The note on a call whose changes were made but not recorded."""
    return f"[The change was made but could not be recorded, so it cannot be reverted: {error}]"


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """The call that the changes belong to."""

    origin: Origin
    id: str
    tool: str

    def made(self, edit: Edit) -> bool:
        """Return whether an edit is of this call."""
        return (edit.origin.caller, edit.call, edit.tool) == (self.origin.caller, self.id, self.tool)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A snapshot of the project, the number of the last edit before it, and the concurrent calls
    (`beside`).
    """

    snapshot: snapshot.Snapshot
    last: int
    beside: Beside

    def described(self, shadow: Shadow) -> Shadow:
        """The shadow of this moment."""
        return replace(shadow, last=self.last, beside=self.beside)


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs since `at`.

    `also` are files to include in snapshots, ignored or not; `intent` is the number of its intent;
    `consent` determines what it may change of protected files, and `covers` is what the user has consented to
    so far; `held` are the directories of git; `signs` is the file with its signs of life.
    """

    call: WatchedCall
    before: _Snapshot
    also: list[str]
    watching: "_Watching"
    intent: int
    at: float
    consent: Consent
    covers: list[Path]
    held: GitDirectories
    signs: Path | None


class Commands:
    """The commands that run in the project of `journal`. All methods raise `StoreError`."""

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self._running: list[Begun] = []
        self._lasting: list[Begun] = []
        self._processes: dict[int, int] = {}
        """The topmost processes of the commands in the background, by their intents."""
        self._living: list[Begun] = []
        """The programs that live on, the last of each conversation in its turn."""
        self._last_snapshot: _Snapshot | None = None
        self._late: list[tuple[Begun, list[Edit]]] = []
        self._directories = ProtectedDirectories(journal.workspace)
        self._settling = asyncio.Lock()
        self._following: set[asyncio.Task[None]] = set()
        self._problem = ""
        self._closing = False
        self._notes: list[str] = []
        """Notes for the result of the next command."""

    async def begin(self, call: WatchedCall, also: list[str], consent: Consent = ALL) -> Begun:
        """Take a snapshot before a command; the caller must call `end`."""
        journal = self._journal
        # Changes that are put back are no part of the state that the command finds.
        await self.scan()
        intents, contents = await journal.intents(), await journal.contents()
        shadow = await journal.shadow()
        watching = _Watching(journal.workspace, shadow)

        def remember(found: snapshot.Snapshot) -> snapshot.Snapshot:
            found = contents.refresh(found)
            contents.store_large()
            watching.begin(found)
            if self._is_idle:
                # A command that failed to begin may have left some.
                self._directories.close()
            self._directories.hold(found.protected)
            return found

        def store(found: snapshot.Snapshot) -> Shadow:
            return shadow.append(found, contents.known, settled=self._settled)

        try:
            async with journal.lock:
                last, before, returned = await self._take(also)
                await self._account(last, before, returned)
                before = await in_thread(remember, before)
                # Concurrent calls up to now may have made what was recorded.
                scan = _Snapshot(before, last, await self._beside())
                described = scan.described(await in_thread(store, before))
                intent = await intents.begin(
                    *(journal.root, call.origin, call.id, call.tool),
                    shadow=described,
                    covers=None if consent.ask is None else consent.covers,
                )
                held = await in_thread(_hold, before)
                covers = [*consent.covers]
                begun = Begun(
                    *(call, scan, also, watching, intent, time.time()),
                    *(consent, covers, held, shadow.path),
                )
                self._running.append(begun)
                contents.retaining = True
        except BaseException:
            await completed(in_thread(watching.end))
            raise
        watching.follow()
        return begun

    async def settle_directories(self, begun: Begun, found: CommandEdits, consent: Consent) -> None:
        """Restore the directories that lead to protected files, unless the command may replace them, before
        searching for its changes in them.
        """
        found.settled += await self._settle_directories(begun, consent)

    async def end(self, begun: Begun, found: CommandEdits) -> None:
        """Record the changes of the command, and report them in `found`."""
        journal, ended = self._journal, time.time()
        await begun.watching.rest()
        touched = await in_thread(begun.watching.end)
        # Nobody writes a file between the snapshot and the record: the edits would not be in their order.
        async with journal.lock, await journal.alone():
            try:
                with suppress(StoreError):
                    # An end that cannot be noted becomes visible with the next record.
                    await (await journal.intents()).end(begun.intent)
                await self._record(begun, found, touched, ended)
            except StoreError as error:
                journal.unfinished[begun.intent] = error
                found.unrecorded = unrecorded(error)
                found.settled += await self._settle_unrecorded(begun.before, begun.also)
            finally:
                self._running.remove(begun)
                if not found.going_on:
                    await self._let_go(begun)
                (await journal.contents()).retaining = bool(self._running)
        if not await in_thread(journal.workspace.root.is_dir):
            found.settled.notes.append("[The project directory no longer exists.]")
        found.unwatched = self._first_time(begun.watching.problem)
        if found.lasting is not None:
            self._lasting.append(begun)
            self._processes[begun.intent] = found.process
            task = asyncio.create_task(self._follow(begun, found.lasting))
            self._following.add(task)
            task.add_done_callback(self._following.discard)
        if found.lives_on:
            earlier = self._living_in(begun.call.origin.conversation)
            self._living.append(begun)
            await self._leave(earlier)

    def before(self, intent: int) -> snapshot.Snapshot | None:
        """The snapshot before the foreground command with this intent; None for one of another process."""
        return next((each.before.snapshot for each in self._running if each.intent == intent), None)

    async def end_turn(self, conversation: str) -> None:
        """Record the changes so far, and attribute no later ones to the programs that live on."""
        await self.scan()
        await self._leave(self._living_in(conversation))

    async def scan(self) -> None:
        """Record the changes since the last snapshot by background commands and by programs that live on."""
        if self._going_on:
            await self._settle_directories_late(self._going_on[-1])
            async with self._journal.lock:
                try:
                    await self._account(*await self._take())
                except StoreError:
                    if self._last_snapshot is not None:
                        found = await self._settle_unrecorded(self._last_snapshot)
                        self._notes += found.notes
                    raise
        await self._settle_late()

    async def scan_before(self, paths: Collection[str]) -> None:
        """Record the changes of background commands if they include files that are about to be written, so
        that the edits of a file are in the order in which they were made.
        """
        previous = self._last_snapshot
        if not self._lasting or previous is None:
            return
        workspace, known = self._journal.workspace, previous.snapshot.files

        def is_outdated(path: str) -> bool:
            with suppress(WorkspaceError):
                there = status(workspace, located(workspace, path))
                return (stamp_of(there) if there else None) != known.get(path)
            return True

        if await in_thread(lambda: any(map(is_outdated, paths))):
            await self.scan()

    async def warm(self) -> None:
        """Read the project's files into the content cache, so that commands need not wait for it."""
        journal = self._journal
        contents = await journal.contents()
        await in_thread(import_module, "watchfiles")
        async with journal.lock:
            last, found, returned = await self._take()
            await self._account(last, found, returned)
            await in_thread(contents.refresh, found)
        left = True
        while left:
            # In small steps, so that a command waits only briefly.
            async with journal.lock:
                left = await in_thread(contents.store_some)

    async def close(self) -> None:
        """Wait until the last changes of the background commands, which have ended, are recorded."""
        self._closing = True
        while self._following:
            await asyncio.wait(self._following)

    async def _take(
        self, also: Sequence[str] = (), ended: Begun | None = None
    ) -> tuple[int, snapshot.Snapshot, Returned]:
        """Take a snapshot; return it with the number of the last edit: no edit up to that number is missing
        from it. Git directories that a command moved, one that has `ended` or one that goes on, are put
        back first.
        """
        last = await (await self._journal.edits()).last()
        begun = [*self._going_on, *([ended] if ended else [])]
        returned = await in_thread(self._put_directories_back, begun)
        return last, await in_thread(self._journal.take, also), returned

    def _put_directories_back(self, begun: Iterable[Begun]) -> Returned:
        """Blocks."""
        consents = [each.consent for each in (*self._running, *self._going_on)]

        def may_move(place: Path) -> bool:
            return any(each.allows(place) for each in consents)

        found = Returned()
        for each in begun:
            returned = each.held.put_back(may_move)
            found.put_back += returned.put_back
            found.left += returned.left
        return found

    async def _beside(self) -> Beside:
        """The calls that worked in the project during a snapshot."""
        journal = self._journal
        # In this order: an intent that ends in between has become edits up to the number.
        intents = await (await journal.intents()).below(journal.root)
        calls = frozenset((each.origin.caller, each.call) for each in intents)
        return Beside(calls, await (await journal.edits()).last())

    async def _settle_unrecorded(self, scan: _Snapshot, also: Sequence[str] = ()) -> Settled:
        """Report the protected files that differ from a snapshot if the store cannot record them: none is
        put back.
        """
        journal, before = self._journal, scan.snapshot

        def changed() -> list[str]:
            after = journal.take(also)
            changes = unread_changes_of(snapshot.differences(journal.workspace, before, after))
            return [each.path for each in self._protected(changes, before, after)]

        paths = await in_thread(changed)
        if not paths:
            return Settled()
        listed = _named(paths, _MOST_PROTECTED)
        await self._notify(
            f"A command changed {listed}, which could not be recorded, so it was not restored. Check the "
            "change before you start another shell or program."
        )
        note = f"[Changed without approval, and could not be restored: {listed}. {BY_HAND}]"
        return Settled(left=[*map(shown, paths)], notes=[note])

    async def _notify(self, notice: str) -> None:
        """Show the user a notice, now or at the next start of the program, even if the store fails."""
        with suppress(StoreError):
            store = await self._journal.store()
            if notice not in store.notices:
                store.notices.append(notice)
                await in_thread(unseen_notices.add, store.database.path.parent, notice)

    async def _settle_late(self) -> None:
        """Settle the changes of protected files by background commands."""
        while self._late:
            begun, edits = self._late.pop()
            if edits and self._closing:
                # No user can be asked any more, and the user may have made the change.
                named = ", ".join(shown(edit.path) for edit in edits)
                notice = f"{named} changed while a command ran in the background. Check the change."
                (await self._journal.store()).notices.append(notice)
            else:
                found = await settle_protected(self._journal, begun.call.origin.caller, edits, begun.consent)
                await self._note_late(begun, found)

    async def _settle_directories_late(self, begun: Begun) -> None:
        """Settle the changes, since the last snapshot, of the directories that lead to protected files."""
        if not self._closing:
            await self._note_late(begun, await self._settle_directories(begun, begun.consent))
            return
        # As in `_settle_late`.
        for change in await in_thread(self._directories.changes):
            notice = (
                f"While a command ran in the background, a program {change.description}. Check the change."
            )
            (await self._journal.store()).notices.append(notice)

    async def _settle_directories(self, begun: Begun, consent: Consent) -> Settled:
        beside = [*self._running, *self._going_on]
        keeps_changes = None if any(each.consent.ask is None for each in beside) else consent.ask
        covers = [path for each in beside for path in each.covers]
        async with self._settling:
            settled, stay = await settle_directories(self._directories, keeps_changes, covers)
        begun.covers.extend(stay)
        return settled

    async def _note_late(self, begun: Begun, found: Settled) -> None:
        who = "A command in the background" if begun in self._lasting else begun.call.tool
        self._notes += [f"[{who}: {note[1:]}" for note in found.notes]
        if found.left:
            named = ", ".join(found.left)
            notice = f"{who} changed {named}, which could not be restored. Check the change."
            (await self._journal.store()).notices.append(notice)

    @property
    def _going_on(self) -> list[Begun]:
        """The commands that may change files in the background, those that live on first."""
        return [*self._living, *self._lasting]

    @property
    def _destinations(self) -> set[str]:
        """The remotes and addresses that running commands name themselves."""
        return {word for each in (*self._running, *self._going_on) for word in each.consent.destinations}

    def _without_ordinary(
        self, changes: Sequence[FileChange], before: snapshot.Snapshot, after: snapshot.Snapshot, blobs: Blobs
    ) -> list[FileChange]:
        workspace = self._journal.workspace
        return without_ordinary(
            changes, before.protected, after.protected, workspace, blobs, self._destinations
        )

    def _living_in(self, conversation: str) -> list[Begun]:
        return [each for each in self._living if each.call.origin.conversation == conversation]

    async def _leave(self, living: Iterable[Begun]) -> None:
        """Stop watching these programs."""
        for begun in living:
            async with self._journal.lock:
                self._living.remove(begun)
                await self._let_go(begun)
            await self._journal.forget(begun.intent)

    def _protected(self, edits: list[_Change], *snapshots: snapshot.Snapshot) -> list[_Change]:
        """The changes that need the user's consent, unless the user has consented to those of a running
        command. Blocks.
        """
        consents = [each.consent for each in (*self._running, *self._going_on)]
        if any(each.ask is None for each in consents):
            return []
        watched = frozenset[str]().union(*(each.protected for each in snapshots))
        return of_protected(edits, watched, self._journal.workspace, self._covers)

    def _unseen(self, before: snapshot.Snapshot, after: snapshot.Snapshot) -> Settled:
        """A report of the directories of protected files that can no longer be read, unless the user
        consented to that. Blocks.
        """
        consents = [each.consent for each in (*self._running, *self._going_on)]
        if any(each.ask is None for each in consents):
            return Settled()
        directories = snapshot.lost_from_view(before, after)
        return settled_unseen(directories, self._journal.workspace, self._covers)

    @property
    def _covers(self) -> list[Path]:
        """The paths that the user has consented to for running commands."""
        return [path for each in (*self._running, *self._lasting) for path in each.covers]

    async def _record(self, begun: Begun, found: CommandEdits, touched: "_Touched", ended: float) -> None:
        returned = Returned()
        for is_last in (*[False] * _RETAKEN, True):
            try:
                await self._record_once(begun, found, touched, ended, returned, is_last=is_last)
            except _Outdated:
                continue
            return

    async def _record_once(
        self,
        begun: Begun,
        found: CommandEdits,
        touched: "_Touched",
        ended: float,
        returned: Returned,
        *,
        is_last: bool,
    ) -> None:
        """Record the changes, as `returned` shows the directories that an earlier attempt has put back.

        Raises:
            _Outdated: another process has recorded changes of the same files meanwhile; not if it `is_last`.
        """
        journal = self._journal
        contents, blobs = await journal.contents(), await journal.blobs()
        origin, before = begun.call.origin, begun.before.snapshot
        last, after, again = await self._take(begun.also, begun)
        returned.put_back += again.put_back
        returned.left[:] = again.left
        before, after, earlier = await in_thread(
            snapshot.relocated, before, after, journal.workspace, returned.moves
        )

        def compare() -> tuple[list[FileChange], snapshot.Snapshot, list[str], list[str]]:
            differences = snapshot.differences(journal.workspace, before, after, touched.paths)
            changes = changes_of(differences, contents, journal.limits.left, earlier)
            _note_moved(differences, changes, journal.moved)
            changes = self._without_ordinary(changes, before, after, blobs)
            read = snapshot.restamped(journal.workspace, after, [each.path for each in changes])
            return changes, read, *snapshot.passing(journal.workspace, touched.paths, before, after)

        changes, read, gone, there = await in_thread(compare)
        ours = await in_thread(written_by_us, changes, journal.workspace, blobs, before.began)
        others: list[Edit] = []

        paths = {path for each in changes for path in (each.path, each.old_path) if path}

        def claim(recorded: Sequence[Edit], intents: Sequence[Intent]) -> list[FileChange]:
            late = (edit for edit in recorded if edit.id > last)
            if not is_last and any(paths & {edit.path, edit.old_path} for edit in late):
                raise _Outdated
            others[:] = [*recorded, *planned_by(intents, changes), *ours]
            elsewhere = rivals(intents, origin.conversation)
            # The time of a file is that of its last write: one that may have been touched before may be ours
            # as well.
            own = [
                each
                for each in changes
                if not touched.rules_out(each.path) or not belongs_to(elsewhere, each, after, begun.at, ended)
            ]
            # What another wrote after the snapshot may be in the contents, which were read later.
            return shared(elsewhere, unclaimed(own, others, begun.before.beside, last), read, ended)

        found.edits = await self._add(begun, begun.before, claim, going_on=found.going_on)
        found.protected = await in_thread(self._protected, found.edits, before, after)
        found.settled += settled_repositories(returned, journal.workspace)
        found.settled += await in_thread(self._unseen, before, after)
        found.settled.notes += self._notes
        self._notes = []
        if self._going_on or found.going_on:
            self._last_snapshot = _Snapshot(after, last, await self._beside())
            if found.going_on:
                await self._move(begun, self._last_snapshot)
        covered = {path for each in (*changes, *others) for path in (each.path, each.old_path)}
        covered |= {journal.workspace.name_of(each.now) for each in returned.put_back if each.now}
        found.made_and_removed = [path for path in gone if path not in covered]
        found.touched = [path for path in there if path not in covered]

    async def _follow(self, begun: Begun, over: Callable[[], Awaitable[object]]) -> None:
        try:
            with suppress(ToolError):
                # It has ended, and its state is no longer known.
                await over()
            with suppress(CogencyError):
                # No caller waits for it to whom a failing store could be reported.
                await self.scan()
                await (await self._journal.intents()).drop(begun.intent)
        finally:
            async with self._journal.lock:
                self._lasting.remove(begun)
                self._processes.pop(begun.intent, None)
                await self._let_go(begun)

    async def _let_go(self, begun: Begun) -> None:
        """Release what is held for a command and, if it was the last one, for all. The caller holds the
        lock.
        """
        await in_thread(begun.held.close)
        if self._is_idle:
            await in_thread(self._journal.commits.end, begun.consent.brings)
            await in_thread(self._directories.close)

    async def _account(self, last: int, after: snapshot.Snapshot, returned: Returned) -> None:
        """Attribute the changes since the last snapshot to the background command started last, unless a
        foreground command runs. The caller holds the lock; the arguments are from `_take`.
        """
        previous, journal = self._last_snapshot, self._journal
        self._notes += settled_repositories(returned, journal.workspace).notes
        if not self._going_on or previous is None or self._running:
            return
        begun, contents, blobs = self._going_on[-1], await journal.contents(), await journal.blobs()
        origin, is_background = begun.call.origin, bool(self._lasting)
        running = rivals(await (await journal.intents()).below(journal.root), origin.conversation)
        if any(rival.is_live and rival.ended is None for rival in running):
            # Another process runs a foreground command.
            return

        def compare() -> list[FileChange]:
            before, now, earlier = snapshot.relocated(
                previous.snapshot, after, journal.workspace, returned.moves
            )
            found = snapshot.differences(journal.workspace, before, now)
            changes = changes_of(found, contents, journal.limits.left, earlier)
            _note_moved(found, changes, journal.moved)
            changes = self._without_ordinary(changes, before, now, blobs)
            # Other changes while the model thinks may be the user's.
            return changes if is_background else self._protected(changes, before, now)

        changes = await in_thread(compare)
        began = previous.snapshot.began
        ours = await in_thread(written_by_us, changes, journal.workspace, blobs, began)
        written = await in_thread(self._written) if changes else frozenset[tuple[int, int]]()

        def claim(recorded: Sequence[Edit], intents: Sequence[Intent]) -> list[FileChange]:
            others = [*recorded, *planned_by(intents, changes), *ours]
            left = unclaimed(changes, others, previous.beside, last)
            found = shared(rivals(intents, origin.conversation), left, after, time.time())
            return possibly_users(found, after, written) if is_background else found

        made = await self._add(begun, previous, claim, going_on=True)
        self._late.append((begun, await in_thread(self._protected, made, previous.snapshot, after)))
        await self._note_late(begun, await in_thread(self._unseen, previous.snapshot, after))
        self._last_snapshot = _Snapshot(after, last, await self._beside())
        for each in self._going_on:
            await self._move(each, self._last_snapshot)

    def _written(self) -> frozenset[tuple[int, int]]:
        """The files that commands in the background have open for writing. Blocks."""
        processes = [process for process in self._processes.values() if process]
        return frozenset(file for process in processes for file in files_written_by(process))

    async def _add(self, begun: Begun, scan: _Snapshot, claim: Claim, *, going_on: bool) -> list[Edit]:
        """Record the changes since the `scan` that a command can claim and, unless it is `going_on`, its end.
        Return all its edits since then, with those that others have recorded for it (see
        `unrecorded_changes`).
        """
        call, journal = begun.call, self._journal
        also = None if going_on else dropping(begun.intent)
        earlier: list[Edit] = []

        def noting(recorded: Sequence[Edit], intents: Sequence[Intent]) -> Iterable[FileChange]:
            earlier[:] = [edit for edit in recorded if edit.id > scan.beside.last and call.made(edit)]
            return claim(recorded, intents)

        await in_thread((await journal.blobs()).sync)
        source = call.origin, call.id, call.tool
        made = await (await journal.intents()).record(journal.root, scan.last, source, noting, also)
        return [*earlier, *made]

    async def _move(self, begun: Begun, scan: _Snapshot) -> None:
        """Move the start of a background command to now, so that its later changes are found if the process
        is killed.
        """
        journal = self._journal
        contents, shadow = await journal.contents(), await journal.shadow()

        def describe() -> Shadow:
            contents.refresh(scan.snapshot)
            return scan.described(shadow.append(scan.snapshot, contents.known, settled=self._settled))

        await (await journal.intents()).move(begun.intent, await in_thread(describe))

    @property
    def _is_idle(self) -> bool:
        return not (self._running or self._going_on)

    @property
    def _settled(self) -> bool:
        """True if no command refers to an earlier shadow than the last: background commands are moved."""
        return not (self._running or self._journal.unfinished)

    def _first_time(self, problem: str) -> str:
        """The problem, unless it has been reported before."""
        covered, self._problem = self._problem, self._problem or problem
        return "" if covered else problem


def _hold(before: snapshot.Snapshot) -> GitDirectories:
    """Hold the git directories that were found. Blocks."""
    return GitDirectories(
        directory
        for git in before.repositories
        for directory in protected_file_discovery.directories_of_repository(git)
    )


def _note_moved(
    differences: Iterable[snapshot.Difference], changes: Iterable[FileChange], moved: MovedFiles
) -> None:
    """Note the files that are gone and have no stored copy."""
    stamps = {each.path: each.before for each in differences if each.after is None}
    for change in changes:
        stamp = stamps.get(change.path)
        if stamp is not None and change.kind == "deleted" and not change.before.kept:
            moved.add(change.path, stamp)


@dataclass(frozen=True, slots=True)
class _Touched:
    """The paths below `root`, as the journal names them, that were touched while a command ran, and the
    directories, by full path, of which no touched entry is missing.
    """

    root: Path
    paths: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()

    def rules_out(self, path: str) -> bool:
        """Return whether nothing touched a path: the watch was on its directory, which was not replaced."""
        above = PurePosixPath(path).parents
        is_watched = str(self.root / above[0]) in self.directories
        return is_watched and self.paths.isdisjoint([path, *map(str, above)])


class _Watching:
    """A watch over the directories of a project while a command runs."""

    def __init__(self, workspace: Workspace, shadow: ShadowFile) -> None:
        self.problem = ""
        self._shadow = shadow
        self._workspace = workspace
        self._watch: Watch | None = None
        self._collecting: asyncio.Task[None] | None = None

    def begin(self, before: snapshot.Snapshot) -> None:
        """Blocks."""
        try:
            self._watch = Watch(self._workspace.root / directory for directory in before.directories)
            if not self._watch.whole:
                self.problem = f"Only {MOST_DIRECTORIES:,} of the project's directories are watched."
        except WorkspaceError as error:
            self.problem = str(error)

    def follow(self) -> None:
        """Collect from the watch at intervals, and give a sign of life each time."""
        self._collecting = asyncio.create_task(self._collect())

    async def rest(self) -> None:
        """Stop collecting, so that `end` can be called in a thread."""
        if self._collecting is not None:
            self._collecting.cancel()
            await asyncio.wait([self._collecting])

    def end(self) -> _Touched:
        """End the watch; return what was touched. Blocks."""
        self._shadow.touch()
        root = self._workspace.root
        if self._watch is None:
            return _Touched(root)
        paths = frozenset(self._workspace.name_of(Path(path)) for path in self._watch.end())
        return _Touched(root, paths, self._watch.directories if self._watch.complete else frozenset())

    async def _collect(self) -> None:
        while True:
            await asyncio.sleep(COLLECTING)
            await in_thread(self._shadow.touch)
            if self._watch is not None:
                await in_thread(self._watch.collect)


def _note(what: str, paths: Sequence[str]) -> list[str]:
    paths = [path for path in paths if not _noise(path)]
    return [f"[{what}: {_named(paths)}]"] if paths else []


def _shared(edits: Iterable[Edit]) -> list[str]:
    """A note for each set of conversations whose commands may have made the same changes."""
    paths: dict[tuple[str, ...], list[str]] = {}
    for edit in edits:
        if edit.shared_with:
            paths.setdefault(edit.shared_with, []).append(edit.path)
    return [
        f"[changed while a command of {named_conversations(others)} ran in this project, which may have done"
        f" it: {_named(own)}]"
        for others, own in paths.items()
    ]


def _named(paths: Sequence[str], most: int = _MOST_NAMED) -> str:
    names = ", ".join(shown(path) for path in paths[:most])
    return names + (f" and {len(paths) - most:,} more" if len(paths) > most else "")


def _noise(path: str) -> bool:
    """Return whether a path is a cache or a temporary file of a program."""
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NOISE)
