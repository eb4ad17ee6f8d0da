"""What one command changes: looked for before and after it, watched in between.

Invariant: a change is recorded once. While a command is waited for, what changes is its own (of several that
run at the same time, that of the first to end); what changes while only commands in the background run is
that of the one started last. What other tools record meanwhile is theirs. A person who edits files while a
command runs, in the background or not, is taken for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.agent.attribution import changes_of, unclaimed
from cogency_tui.errors import CogencyError, ToolError, WorkspaceError
from cogency_tui.store.versions import Edit, FileChange, Origin
from cogency_tui.tools.blocking import completed, in_thread
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.watch import MOST_DIRECTORIES, Watch

if TYPE_CHECKING:
    from cogency_tui.agent.journal import Journal

_COLLECTING = 2.0
"""Seconds after which what the watch was told is taken over."""

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

    `made_and_removed` and `touched` are paths that it made and removed again, and of files that it wrote or
    touched and that hold what they held. `unwatched` says why these are not known, where they are not.
    """

    at_stake: KeptPaths
    edits: list[Edit] = field(default_factory=list[Edit])
    made_and_removed: list[str] = field(default_factory=list[str])
    touched: list[str] = field(default_factory=list[str])
    unwatched: str = ""
    lasting: Callable[[], Awaitable[object]] | None = None

    def goes_on(self, over: Callable[[], Awaitable[object]]) -> None:
        """The command runs on after its block, until what `over` gives is done: what it changes until then
        is recorded, too."""
        self.lasting = over

    @property
    def notes(self) -> list[str]:
        """What no edit says, in words."""
        return [
            *_told("made and removed again", self.made_and_removed),
            *_told("written or touched, and as before", self.touched),
            *([f"[{self.unwatched} What does not last there is not noted.]"] if self.unwatched else []),
        ]


@dataclass(frozen=True, slots=True)
class Call:
    """Whose the changes are."""

    origin: Origin
    id: str
    tool: str

    @property
    def key(self) -> tuple[str, str]:
        """The conversation and the call."""
        return self.origin.caller, self.id


@dataclass(frozen=True, slots=True)
class _Look:
    """What the project was at one moment, and the number of the last edit then."""

    snapshot: snapshot.Snapshot
    last: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs. `also` are files to look at, ignored or not; `beside` are the calls of commands
    that ran when it began."""

    call: Call
    before: _Look
    also: list[str]
    beside: frozenset[tuple[str, str]]
    watching: "_Watching"


class Commands:
    """The commands that run in the project of `journal`. All methods raise `StoreError`."""

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self._running: list[Call] = []
        self._lasting: list[Call] = []
        self._looked: _Look | None = None
        self._following: set[asyncio.Task[None]] = set()
        self._problem = ""

    async def begin(self, call: Call, also: list[str]) -> Begun:
        """Look at the project before a command; `end` has to be called."""
        journal = self._journal
        edits, contents = await journal.edits(), await journal.contents()
        watching = _Watching(journal.workspace)

        def prepare(found: snapshot.Snapshot) -> None:
            contents.refresh(found)
            contents.keep_large()
            watching.begin(found)

        try:
            async with journal.lock:
                before = await in_thread(journal.take, also)
                await self._account(before)
                await in_thread(prepare, before)
                beside = frozenset(other.key for other in self._running)
                begun = Begun(call, _Look(before, await edits.last()), also, beside, watching)
                self._running.append(call)
                contents.retaining = True
        except BaseException:
            await completed(in_thread(watching.end))
            raise
        watching.follow()
        return begun

    async def end(self, begun: Begun, found: CommandEdits) -> None:
        """Record what the command has changed, and say so in `found`."""
        journal = self._journal
        await begun.watching.rest()
        touched = await in_thread(begun.watching.end)
        async with journal.lock:
            try:
                await self._record(begun, found, touched)
            finally:
                self._running.remove(begun.call)
                (await journal.contents()).retaining = bool(self._running)
        found.unwatched = self._first_time(begun.watching.problem)
        if found.lasting is not None:
            self._lasting.append(begun.call)
            task = asyncio.create_task(self._follow(begun.call, found.lasting))
            self._following.add(task)
            task.add_done_callback(self._following.discard)

    async def look(self) -> None:
        """Record what commands in the background have changed since it was looked last."""
        if self._lasting:
            async with self._journal.lock:
                await self._account(await in_thread(self._journal.take))

    async def warm(self) -> None:
        """Remember what the project's files hold, so that commands need not wait for it."""
        journal = self._journal
        contents = await journal.contents()
        await in_thread(import_module, "watchfiles")
        async with journal.lock:
            found = await in_thread(journal.take)
            await self._account(found)
            await in_thread(contents.refresh, found)
        left = True
        while left:
            # In small steps: a command need not wait for long.
            async with journal.lock:
                left = await in_thread(contents.keep_some)

    async def close(self) -> None:
        """Wait until the last changes of the commands in the background, which have ended, are recorded."""
        while self._following:
            await asyncio.wait(self._following)

    async def _record(self, begun: Begun, found: CommandEdits, touched: set[str]) -> None:
        journal = self._journal
        edits, contents = await journal.edits(), await journal.contents()

        def look() -> tuple[snapshot.Snapshot, list[FileChange], list[str], list[str]]:
            before, after = begun.before.snapshot, journal.take(begun.also)
            differences = snapshot.differences(journal.workspace, before, after, touched)
            changes = changes_of(differences, contents, journal.limits.left)
            return after, changes, *snapshot.passing(journal.workspace, touched, before, after)

        after, changes, gone, there = await in_thread(look)
        others = await edits.since(begun.call.origin.project, begun.before.last)
        found.edits = await self._add(begun.call, unclaimed(changes, others, begun.beside))
        if self._lasting or found.lasting is not None:
            self._looked = _Look(after, await edits.last())
        told = {path for each in (*changes, *others) for path in (each.path, each.old_path)}
        found.made_and_removed = [path for path in gone if path not in told]
        found.touched = [path for path in there if path not in told]

    async def _follow(self, call: Call, over: Callable[[], Awaitable[object]]) -> None:
        try:
            with suppress(ToolError):
                # It has ended, and nothing is known of it any more.
                await over()
            with suppress(CogencyError):
                # Nobody waits for it who could be told of a store that fails.
                await self.look()
        finally:
            self._lasting.remove(call)

    async def _account(self, after: snapshot.Snapshot) -> None:
        """Record what has changed since the last look for the command in the background started last, unless
        others run for which somebody waits. The lock is held."""
        looked, journal = self._looked, self._journal
        if not self._lasting or looked is None or self._running:
            return
        call, contents, edits = self._lasting[-1], await journal.contents(), await journal.edits()

        def compare() -> list[FileChange]:
            found = snapshot.differences(journal.workspace, looked.snapshot, after)
            return changes_of(found, contents, journal.limits.left)

        changes = await in_thread(compare)
        others = await edits.since(call.origin.project, looked.last) if changes else []
        await self._add(call, unclaimed(changes, others))
        self._looked = _Look(after, await edits.last())

    async def _add(self, call: Call, changes: list[FileChange]) -> list[Edit]:
        return await (await self._journal.edits()).add(call.origin, call.id, call.tool, changes)

    def _first_time(self, problem: str) -> str:
        """The problem, unless it has been told."""
        told, self._problem = self._problem, self._problem or problem
        return "" if told else problem


class _Watching:
    """A watch over the directories of a project while a command runs."""

    def __init__(self, workspace: Workspace) -> None:
        self.problem = ""
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
        """Take over what the watch is told, from time to time."""
        if self._watch is not None:
            self._collecting = asyncio.create_task(self._collect(self._watch))

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

    async def _collect(self, watch: Watch) -> None:
        while True:
            await asyncio.sleep(_COLLECTING)
            await in_thread(watch.collect)


def _told(what: str, paths: Sequence[str]) -> list[str]:
    paths = [path for path in paths if not _noise(path)]
    if not paths:
        return []
    names = ", ".join(shown(path) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return [f"[{what}: {names}{more}]"]


def _noise(path: str) -> bool:
    """Whether it is a cache, or a file that a program only has while it works."""
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NOISE)
