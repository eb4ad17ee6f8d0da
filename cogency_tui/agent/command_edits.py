"""What one command changes: looked for before and after it, watched in between.

Invariant: a change is recorded once. While a command is waited for, what changes is its own (of several that
run at the same time, that of the first to end); what changes while only commands in the background run is
that of the one started last. Intents tell when the commands of other conversations run, in this process or
another: a change that one of these may have made as well is recorded as shared with its conversation. What
other tools record meanwhile, or are about to, is theirs. A user who edits files while a command runs, in the
background or not, is taken for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.agent.attribution import (
    belongs_to,
    changes_of,
    named_conversations,
    planned_by,
    rivals,
    shared,
    unclaimed,
    written_by_us,
)
from cogency_tui.agent.guarding import Settled, of_guarded, settle_guarded, without_ordinary
from cogency_tui.agent.shadow import ShadowFile
from cogency_tui.errors import CogencyError, StoreError, ToolError, WorkspaceError
from cogency_tui.store.intents import Beside, Shadow, dropping
from cogency_tui.store.versions import Edit, FileChange, Origin
from cogency_tui.tools.blocking import completed, in_thread
from cogency_tui.tools.journaling import ALL, Consent
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.watch import MOST_DIRECTORIES, Watch

if TYPE_CHECKING:
    from cogency_tui.agent.journal import Journal

COLLECTING = 2.0
"""Seconds after which what the watch was told is taken over, and the shadow has a sign of life."""

_MOST_NAMED = 3

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
"""Names that are not told of: caches, and what compilers, editors and `sed -i` write on the way."""


@dataclass(frozen=True, slots=True)
class KeptPaths:
    """What was kept of files that a command is about to destroy.

    `left_out` files of `left_out_size` bytes were not kept: there are too many, or they are too large.
    """

    edits: list[Edit] = field(default_factory=list[Edit])
    left_out: int = 0
    left_out_size: int = 0


@dataclass(slots=True)
class CommandEdits:
    """What a command changed, complete when its block is left; and what was kept of what is at stake.

    `guarded` are those edits that no command makes unasked, `settled` what became of them, where the user had
    not agreed to them. `made_and_removed` and `touched` are paths that it made and removed again, and of
    files that it wrote or touched and that hold what they held. `unwatched` says why these are not known,
    where they are not; `unrecorded` that its edits could not be recorded.
    """

    at_stake: KeptPaths
    edits: list[Edit] = field(default_factory=list[Edit])
    guarded: list[Edit] = field(default_factory=list[Edit])
    settled: Settled = field(default_factory=Settled)
    made_and_removed: list[str] = field(default_factory=list[str])
    touched: list[str] = field(default_factory=list[str])
    unwatched: str = ""
    unrecorded: str = ""
    lasting: Callable[[], Awaitable[object]] | None = None

    def goes_on(self, over: Callable[[], Awaitable[object]]) -> None:
        """The command runs on after its block, until what `over` gives is done: what it changes until then
        is recorded, too."""
        self.lasting = over

    @property
    def put_back(self) -> list[str]:
        """The guarded files that it changed and that were put back."""
        return self.settled.put_back

    @property
    def notes(self) -> list[str]:
        """What no edit says, in words."""
        return [
            *self.settled.notes,
            *([self.unrecorded] if self.unrecorded else []),
            *_told("made and removed again", self.made_and_removed),
            *_told("written or touched, and as before", self.touched),
            *_shared(self.edits),
            *([f"[{self.unwatched} What does not last there is not noted.]"] if self.unwatched else []),
        ]


def unrecorded(error: StoreError) -> str:
    """The note of a call whose changes were made and are not recorded."""
    return f"[This was done; it could not be recorded, and so cannot be reverted: {error}]"


@dataclass(frozen=True, slots=True)
class Call:
    """Whose the changes are."""

    origin: Origin
    id: str
    tool: str


@dataclass(frozen=True, slots=True)
class _Look:
    """What the project was at one moment, the number of the last edit before it, and who worked beside."""

    snapshot: snapshot.Snapshot
    last: int
    beside: Beside

    def described(self, shadow: Shadow) -> Shadow:
        """The shadow of this moment."""
        return replace(shadow, last=self.last, beside=self.beside)


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs since `at`. `also` are files to look at, ignored or not; `intent` is the number of
    its intent; `consent` says what it may change of guarded files."""

    call: Call
    before: _Look
    also: list[str]
    watching: "_Watching"
    intent: int
    at: float
    consent: Consent


class Commands:
    """The commands that run in the project of `journal`. All methods raise `StoreError`."""

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self._running: list[Begun] = []
        self._lasting: list[Begun] = []
        self._looked: _Look | None = None
        self._late: list[tuple[Begun, list[Edit]]] = []
        self._following: set[asyncio.Task[None]] = set()
        self._problem = ""
        self._closing = False
        self._notes: list[str] = []
        """What is to be said with the next command."""

    async def begin(self, call: Call, also: list[str], consent: Consent = ALL) -> Begun:
        """Look at the project before a command; `end` has to be called."""
        journal = self._journal
        intents, contents = await journal.intents(), await journal.contents()
        shadow = await journal.shadow()
        watching = _Watching(journal.workspace, shadow)

        def prepare(found: snapshot.Snapshot) -> Shadow:
            contents.refresh(found)
            contents.keep_large()
            watching.begin(found)
            return shadow.append(found, contents.known, settled=self._settled)

        try:
            async with journal.lock:
                last, before = await self._take(also)
                await self._account(last, before)
                look = _Look(before, last, await self._beside())
                described = look.described(await in_thread(prepare, before))
                intent = await intents.begin(journal.root, call.origin, call.id, call.tool, shadow=described)
                begun = Begun(call, look, also, watching, intent, time.time(), consent)
                self._running.append(begun)
                contents.retaining = True
        except BaseException:
            await completed(in_thread(watching.end))
            raise
        watching.follow()
        return begun

    async def end(self, begun: Begun, found: CommandEdits) -> None:
        """Record what the command has changed, and say so in `found`."""
        journal, ended = self._journal, time.time()
        await begun.watching.rest()
        touched = await in_thread(begun.watching.end)
        async with journal.lock:
            try:
                with suppress(StoreError):
                    # What cannot be noted is seen with what is recorded next.
                    await (await journal.intents()).end(begun.intent)
                await self._record(begun, found, touched, ended)
            except StoreError as error:
                journal.unfinished[begun.intent] = error
                found.unrecorded = unrecorded(error)
            finally:
                self._running.remove(begun)
                if not (self._running or self._lasting or found.lasting):
                    await in_thread(journal.commits.end, begun.consent.brings)
                (await journal.contents()).retaining = bool(self._running)
        found.unwatched = self._first_time(begun.watching.problem)
        if found.lasting is not None:
            self._lasting.append(begun)
            task = asyncio.create_task(self._follow(begun, found.lasting))
            self._following.add(task)
            task.add_done_callback(self._following.discard)

    async def look(self) -> None:
        """Record what commands in the background have changed since it was looked last."""
        if self._lasting:
            async with self._journal.lock:
                await self._account(*await self._take())
        await self._settle_late()

    async def warm(self) -> None:
        """Remember what the project's files hold, so that commands need not wait for it."""
        journal = self._journal
        contents = await journal.contents()
        await in_thread(import_module, "watchfiles")
        async with journal.lock:
            last, found = await self._take()
            await self._account(last, found)
            await in_thread(contents.refresh, found)
        left = True
        while left:
            # In small steps: a command need not wait for long.
            async with journal.lock:
                left = await in_thread(contents.keep_some)

    async def close(self) -> None:
        """Wait until the last changes of the commands in the background, which have ended, are recorded."""
        self._closing = True
        while self._following:
            await asyncio.wait(self._following)

    async def _take(self, also: Sequence[str] = ()) -> tuple[int, snapshot.Snapshot]:
        """The number of the last edit, and what the project is then: no edit up to that number is missing."""
        last = await (await self._journal.edits()).last()
        return last, await in_thread(self._journal.take, also)

    async def _beside(self) -> Beside:
        """Who has worked in the project while it was looked at."""
        journal = self._journal
        # In this order: an intent that goes in between has become edits up to the number.
        intents = await (await journal.intents()).below(journal.root)
        calls = frozenset((each.origin.caller, each.call) for each in intents)
        return Beside(calls, await (await journal.edits()).last())

    async def _settle_late(self) -> None:
        """Settle what commands in the background have changed of guarded files."""
        while self._late:
            begun, edits = self._late.pop()
            if edits and self._closing:
                # Nobody is there to be asked, and the user may have made the change.
                named = ", ".join(shown(edit.path) for edit in edits)
                notice = f"{named} changed while a command ran in the background. Look whether you want that."
                (await self._journal.store()).notices.append(notice)
            else:
                found = await settle_guarded(self._journal, begun.call.origin.caller, edits, begun.consent)
                self._notes += [f"[A command in the background: {note[1:]}" for note in found.notes]

    def _guarded(self, edits: list[Edit], *looks: snapshot.Snapshot) -> list[Edit]:
        """The edits that no command may make unasked, unless the user has agreed to those of one that runs.
        Blocks."""
        consents = [each.consent for each in (*self._running, *self._lasting)]
        if any(each.keeps is None for each in consents):
            return []
        watched = frozenset[str]().union(*(each.guarded for each in looks))
        covers = [path for each in consents for path in each.covers]
        return of_guarded(edits, watched, self._journal.workspace, covers)

    async def _record(self, begun: Begun, found: CommandEdits, touched: set[str], ended: float) -> None:
        journal = self._journal
        contents, blobs = await journal.contents(), await journal.blobs()
        origin, before = begun.call.origin, begun.before.snapshot
        last, after = await self._take(begun.also)

        def compare() -> tuple[list[FileChange], list[str], list[str]]:
            differences = snapshot.differences(journal.workspace, before, after, touched)
            changes = changes_of(differences, contents, journal.limits.left)
            watched = before.guarded | after.guarded
            changes = without_ordinary(changes, watched, journal.workspace, blobs)
            return changes, *snapshot.passing(journal.workspace, touched, before, after)

        changes, gone, there = await in_thread(compare)
        others, intents = await (await journal.intents()).since(
            journal.root, origin.project, begun.before.last
        )
        ours = await in_thread(written_by_us, changes, journal.workspace, blobs, before.began)
        others, elsewhere = (
            [*others, *planned_by(intents, changes), *ours],
            rivals(intents, origin.conversation),
        )
        own = [change for change in changes if not belongs_to(elsewhere, change, after, begun.at, ended)]
        own = shared(elsewhere, unclaimed(own, others, begun.before.beside, last), after, ended)
        found.edits = await self._add(begun, own, going_on=found.lasting is not None)
        found.guarded = await in_thread(self._guarded, found.edits, before, after)
        found.settled.notes, self._notes = self._notes, []
        if self._lasting or found.lasting is not None:
            self._looked = _Look(after, last, await self._beside())
            if found.lasting is not None:
                await self._move(begun, self._looked)
        told = {path for each in (*changes, *others) for path in (each.path, each.old_path)}
        found.made_and_removed = [path for path in gone if path not in told]
        found.touched = [path for path in there if path not in told]

    async def _follow(self, begun: Begun, over: Callable[[], Awaitable[object]]) -> None:
        try:
            with suppress(ToolError):
                # It has ended, and nothing is known of it any more.
                await over()
            with suppress(CogencyError):
                # Nobody waits for it who could be told of a store that fails.
                await self.look()
                await (await self._journal.intents()).drop(begun.intent)
        finally:
            self._lasting.remove(begun)
            if not (self._running or self._lasting):
                await in_thread(self._journal.commits.end, begun.consent.brings)

    async def _account(self, last: int, after: snapshot.Snapshot) -> None:
        """Record what has changed since the last look for the command in the background started last, unless
        others run for which somebody waits. The lock is held; `last` and `after` are from `_take`."""
        looked, journal = self._looked, self._journal
        if not self._lasting or looked is None or self._running:
            return
        begun, contents, blobs = self._lasting[-1], await journal.contents(), await journal.blobs()
        origin = begun.call.origin
        others, intents = await (await journal.intents()).since(journal.root, origin.project, looked.last)
        elsewhere = rivals(intents, origin.conversation)
        if any(rival.is_live and rival.ended is None for rival in elsewhere):
            # A command that another process waits for.
            return

        def compare() -> list[FileChange]:
            found = snapshot.differences(journal.workspace, looked.snapshot, after)
            changes = changes_of(found, contents, journal.limits.left)
            watched = looked.snapshot.guarded | after.guarded
            return without_ordinary(changes, watched, journal.workspace, blobs)

        changes = await in_thread(compare)
        began = looked.snapshot.began
        ours = await in_thread(written_by_us, changes, journal.workspace, blobs, began)
        changes = unclaimed(changes, [*others, *planned_by(intents, changes), *ours], looked.beside, last)
        made = await self._add(begun, shared(elsewhere, changes, after, time.time()), going_on=True)
        self._late.append((begun, await in_thread(self._guarded, made, looked.snapshot, after)))
        self._looked = _Look(after, last, await self._beside())
        for each in self._lasting:
            await self._move(each, self._looked)

    async def _add(self, begun: Begun, changes: list[FileChange], *, going_on: bool) -> list[Edit]:
        """Record what a command changed, and unless it is `going_on`, that it is over."""
        call, also = begun.call, None if going_on else dropping(begun.intent)
        return await self._journal.record(call.origin, call.id, call.tool, changes, also)

    async def _move(self, begun: Begun, look: _Look) -> None:
        """Have what a command in the background changes from now on found, should the process be killed."""
        journal = self._journal
        contents, shadow = await journal.contents(), await journal.shadow()

        def describe() -> Shadow:
            contents.refresh(look.snapshot)
            return look.described(shadow.append(look.snapshot, contents.known, settled=self._settled))

        await (await journal.intents()).move(begun.intent, await in_thread(describe))

    @property
    def _settled(self) -> bool:
        """Whether no command refers to an earlier shadow than the last: those in the background are moved."""
        return not (self._running or self._journal.unfinished)

    def _first_time(self, problem: str) -> str:
        """The problem, unless it has been told."""
        told, self._problem = self._problem, self._problem or problem
        return "" if told else problem


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
        """Take over what the watch is told, and give a sign of life, from time to time."""
        self._collecting = asyncio.create_task(self._collect())

    async def rest(self) -> None:
        """Take nothing over any more, so that `end` can be called in a thread."""
        if self._collecting is not None:
            self._collecting.cancel()
            await asyncio.wait([self._collecting])

    def end(self) -> set[str]:
        """The paths in the journal that were touched. Blocks."""
        if self._watch is None:
            return set()
        return {self._workspace.name_of(Path(path)) for path in self._watch.end()}

    async def _collect(self) -> None:
        while True:
            await asyncio.sleep(COLLECTING)
            await in_thread(self._shadow.touch)
            if self._watch is not None:
                await in_thread(self._watch.collect)


def _told(what: str, paths: Sequence[str]) -> list[str]:
    paths = [path for path in paths if not _noise(path)]
    return [f"[{what}: {_named(paths)}]"] if paths else []


def _shared(edits: Iterable[Edit]) -> list[str]:
    """What commands of other conversations may have changed, for each set of these."""
    paths: dict[tuple[str, ...], list[str]] = {}
    for edit in edits:
        if edit.shared_with:
            paths.setdefault(edit.shared_with, []).append(edit.path)
    return [
        f"[changed while a command of {named_conversations(others)} ran in this project, which may have done"
        f" it: {_named(own)}]"
        for others, own in paths.items()
    ]


def _named(paths: Sequence[str]) -> str:
    names = ", ".join(shown(path) for path in paths[:_MOST_NAMED])
    return names + (f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else "")


def _noise(path: str) -> bool:
    """Whether it is a cache, or a file that a program only has while it works."""
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NOISE)
