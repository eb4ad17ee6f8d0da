"""The git worktrees of a project that its conversations work in.

A worktree is a directory and a branch of its own, `cogency/NAME`. It belongs to its project: the project's
conversations include its own, the rules of permissions are those of the project, and so is the trust in its
`.cogency/` and skills, as far as their bytes are the same.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.agent.recall.recall import WAIT, WORK
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.safe_text import one_line
from cogency_tui.temporary_files import is_in_one
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace.git.branch import branch_of
from cogency_tui.workspace.git.worktrees import BRANCHES, Unmerged, WorkingTree, named

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Made:
    """A new worktree at `root`, from the commit of `head`; `left` are the uncommitted files of the project,
    which it does not have."""

    root: Path
    branch: str
    head: str
    left: Sequence[str]


@dataclass(frozen=True, slots=True)
class State:
    """A worktree as it is: made from the branch `origin`, with what it alone has, its `conflicted` files, and
    the merge or the like that is `under_way`."""

    name: str
    origin: str
    lost: Unmerged
    conflicted: Sequence[str] = ()
    under_way: str = ""


@dataclass(frozen=True, slots=True)
class Occupant:
    """A conversation in a worktree, by its title: it `works`, or `waits` for an answer as part of that, its
    background `command` runs, or it is open in the process `pid`; None for this one."""

    title: str
    works: bool
    pid: int | None = None
    command: str = ""
    waits: bool = field(default=False, compare=False)

    @property
    def described(self) -> str:
        """What it does there, for the user."""
        name = f"“{one_line(self.title) or 'New conversation'}”"
        does = f"{name} is working in it" if self.works else f"{name} is open in it"
        if self.waits:
            does = f"{name} is waiting for an answer in it"
        if self.command:
            does = f"`{one_line(self.command)}` of {name} runs in it"
        return does if self.pid is None else f"{does}, in process {self.pid}"

    @property
    def keeps(self) -> bool:
        """True if the worktree cannot be removed meanwhile: it cannot be stopped from this process."""
        return self.pid is not None and (self.works or bool(self.command))


@dataclass(frozen=True, slots=True)
class Losses:
    """What goes with a worktree: what only it has, the `commands` that run in the background, and the
    `occupants`."""

    lost: Unmerged
    commands: Sequence[str] = ()
    occupants: Sequence[Occupant] = ()

    def changes(self, now: "Losses") -> list[str]:
        """What was added or changed since by what there is `now`, for the user."""
        return [*self.lost.changes(now.lost), *self.more_running(now)]

    def more_running(self, now: "Losses") -> list[str]:
        """What was begun since, of what there is `now`, for the user."""
        commands = [f"`{each}` runs in it" for each in now.commands if each not in self.commands]
        return [*commands, *(each.described for each in now.occupants if each not in self.occupants)]


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge into `head`: the number of files that it changed, and whether files were committed before."""

    head: str
    files: int
    committed: bool


class ConflictMarkersError(UsageError):
    """Commits of a worktree have conflict markers in these `files`: they are merged once the user agrees."""

    def __init__(self, name: str, files: Sequence[str]) -> None:
        self.files = files
        have = "has" if len(files) == 1 else "have"
        super().__init__(
            f"Nothing was merged: {named(files)} in the commits of worktree {name} {have} conflict markers.",
            "Have the agent resolve them first.",
        )


class Worktrees:
    """The worktrees of the project of `agent`, which may work in one of them itself."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent.home
        self._main = WorkingTree(agent.home.project)

    def names(self) -> list[str]:
        """The names of those that are there. Blocks."""
        directory = self._agent.worktrees_directory
        if not directory.is_dir():
            return []
        return sorted(path.name for path in directory.iterdir() if (path / ".git").is_file())

    @property
    def problem(self) -> str:
        """Why there can be no worktree of the project; empty if there can. Blocks."""
        return self._main.problem

    def find(self, name: str) -> Path | None:
        """The worktree of this name. Blocks."""
        return self._agent.worktrees_directory / name if name in self.names() else None

    async def state(self, root: Path) -> State:
        """Read how a worktree is.

        Raises:
            WorkspaceError: git has no answer.
        """
        lost = await self.unmerged(root)

        def read() -> State:
            tree = WorkingTree(root)
            return State(root.name, tree.origin, lost, tree.conflicted(), tree.under_way)

        return await in_thread(read)

    async def make(self, name: str) -> Made:
        """Make a worktree, by default of the first free name.

        Raises:
            UsageError: it cannot have this name, or there can be none.
            WorkspaceError: git cannot make it.
        """
        return await completed(in_thread(self._make, name))

    def _make(self, name: str) -> Made:
        if is_in_one(self._main.directory, "rerun"):
            raise UsageError("A rerun works in a scratch copy, which cannot have worktrees.")
        if problem := self._main.problem:
            advice = "Start in the top directory of a repository that has a commit."
            raise UsageError(problem, "" if self._main.has_filters else advice)
        name = name or self._free_name()
        root, branch = self._agent.worktrees_directory / name, f"{BRANCHES}{name}"
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"A worktree cannot be named “{one_line(name)}”.", "Use letters, digits, - and _."
            )
        if root.exists() or self._main.has_branch(branch):
            if root.exists():
                raise UsageError(f"There is a worktree {name} already.", "Choose another name.")
            raise UsageError(
                f"There is a branch {branch} already.",
                "Choose another name, or merge or delete the branch with git first.",
            )
        self._main.add(root, branch)
        if origin := branch_of(self._main.directory):
            WorkingTree(root).note_origin(origin)
        return Made(root, branch, self._main.head, self._main.changed())

    def _free_name(self) -> str:
        numbers = (f"tree-{number}" for number in range(1, 10_000))
        directory = self._agent.worktrees_directory
        free = (
            name
            for name in numbers
            if not (directory / name).exists() and not self._main.has_branch(f"{BRANCHES}{name}")
        )
        return next(free)

    async def unmerged(self, root: Path) -> Unmerged:
        """What only the worktree at `root` has.

        Raises:
            WorkspaceError: git has no answer.
        """
        return await in_thread(self._main.unmerged, WorkingTree(root), _branch(root))

    async def merge(self, root: Path, title: str, accepted: Collection[str] = ()) -> Merged:
        """Commit what is uncommitted in a worktree under `title`, and merge its branch into the project, with
        conflict markers in the `accepted` files.

        Raises:
            ConflictMarkersError: other files have them in a commit. Nothing was merged.
            UsageError: there is nothing to merge, lines or uncommitted files conflict, or a conversation
                works or a background command runs in it. Nothing was merged.
            WorkspaceError: git cannot.
        """
        occupants = await self.occupants(root)
        if working := [each for each in occupants if each.works]:
            raise UsageError(
                f"Nothing was merged: {working[0].described}.", "Interrupt it, or wait until it ends."
            )
        running = [f"`{each}` runs in it" for each in self._commands(root)]
        if running := [*running, *(each.described for each in occupants if each.command)]:
            raise UsageError(f"Nothing was merged: {running[0]}.", "Stop it, or wait until it ends.")
        journal = self._agent.journal
        async with journal.lock, await journal.alone():
            return await completed(in_thread(self._merge, root, title, accepted))

    def _merge(self, root: Path, title: str, accepted: Collection[str]) -> Merged:
        main, tree, branch = self._main, WorkingTree(root), _branch(root)
        if problem := tree.problem or main.problem:
            by_hand = (
                f"Commit the files of {root.name}, and run `git merge {branch}` in {main.directory.name}."
            )
            raise UsageError(problem, by_hand if tree.has_filters or main.has_filters else "")
        _require_settled(tree, root.name)
        if (origin := tree.origin) and origin != main.head:
            raise UsageError(
                f"Nothing was merged: worktree {root.name} was made from {origin}, "
                f"but {main.head} is checked out in {main.directory.name}.",
                _advise_on_branch(tree, main, branch),
            )
        message = one_line(title)[:_LONGEST_MESSAGE] or f"Work in {root.name}"
        is_dirty = bool(tree.changed())
        commit = tree.trial(message) if is_dirty else branch
        files = main.changed_by(commit)
        if not files:
            raise UsageError(f"Nothing to merge: {branch} has no changes that {main.head} lacks.")
        if conflicts := main.conflicts(commit):
            raise UsageError(
                f"Nothing was merged: {named(conflicts)} conflict{'s' * (len(conflicts) == 1)} with "
                f"{main.head}.",
                f"Have the agent merge {main.head} into {branch} first."
                + " The repository's own merge drivers are not run." * main.has_merge_drivers,
            )
        untracked = main.untracked_by(commit, files)
        if blocking := sorted((set(files) & set(main.changed())).difference(untracked)):
            is_one = len(blocking) == 1
            raise UsageError(
                f"Nothing was merged: {named(blocking)} {'has' if is_one else 'have'} uncommitted changes in "
                f"{main.directory.name}.",
                f"Commit or stash {'it' if is_one else 'them'} first.",
            )
        if untracked:
            is_one = len(untracked) == 1
            raise UsageError(
                f"Nothing was merged: {named(untracked)} {'is' if is_one else 'are'} untracked in "
                f"{main.directory.name} and would be overwritten.",
                f"Move or delete {'it' if is_one else 'them'} first.",
            )
        if (marked := main.marked_by(commit, set(files))) and not set(marked) <= set(accepted):
            raise ConflictMarkersError(root.name, marked)
        if is_dirty:
            tree.commit(message)
        try:
            main.merge(branch)
        except WorkspaceError as exc:
            committed = f" Its files are committed in {branch}." if is_dirty else ""
            raise WorkspaceError(f"{exc.sentence}{committed}", exc.hint) from exc
        return Merged(main.head, len(files), is_dirty)

    async def occupants(self, root: Path) -> list[Occupant]:
        """The conversations that work in a worktree, and those that other processes have open there.

        Raises:
            StoreError: the store cannot be read.
        """
        store, found = await self._agent.store(), list[Occupant]()
        inside = self._agent.working_in(root)
        at_work, waiting = (inside.at_work, inside.waiting) if inside is not None else ((), ())
        for id in at_work:
            known = await store.conversation(id)
            found.append(Occupant(known.title if known else "", works=True, waits=id in waiting))
        for mark in await self._agent.recall.open_elsewhere():
            known = await store.conversation(mark.conversation)
            if known is not None and known.project == str(root):
                works, waits = WORK in mark.uses, WAIT in mark.uses
                found.append(Occupant(known.title, works, mark.pid, waits=waits))
        for mark in await self._agent.recall.commands_elsewhere():
            known = await store.conversation(mark.conversation)
            if known is not None and known.project == str(root):
                found.append(Occupant(known.title, works=False, pid=mark.pid, command=mark.command))
        return found

    async def require_removable(self, root: Path) -> None:
        """Require that no other process works in a worktree: that cannot be stopped from here.

        Raises:
            StoreError: the store cannot be read.
            UsageError: another does.
        """
        if keeping := [each for each in await self.occupants(root) if each.keeps]:
            raise UsageError(f"Nothing was removed: {keeping[0].described}.", "End it there first.")

    async def losses(self, root: Path) -> Losses:
        """What would be lost or stopped if a worktree were removed.

        Raises:
            StoreError: the store cannot be read.
            UsageError: another process works in it.
            WorkspaceError: git has no answer.
        """
        await self.require_removable(root)
        occupants = tuple(await self.occupants(root))
        return Losses(await self.unmerged(root), tuple(self._commands(root)), occupants)

    def _commands(self, root: Path) -> list[str]:
        """The background commands that run in a worktree here."""
        inside = self._agent.working_in(root)
        background = inside.background if inside is not None else None
        return background.commands() if background is not None else []

    async def stop(self, root: Path) -> None:
        """Stop the conversations that work in a worktree here, and the background commands."""
        if (inside := self._agent.working_in(root)) is None:
            return
        await inside.stop_all()
        if (background := inside.background) is not None:
            for each in background.listed():
                if each.ended is None:
                    await background.stop(each.id, by_user=True)

    async def remove(self, root: Path) -> None:
        """Remove a worktree, whatever it has, and its branch; what runs in it here is stopped.

        Raises:
            StoreError: the store cannot be read.
            UsageError: another process works in it.
            WorkspaceError: git cannot.
        """
        await self.require_removable(root)
        await self._agent.close_worktree(root)
        await completed(in_thread(self._main.remove, root, _branch(root)))


def _require_settled(tree: WorkingTree, name: str) -> None:
    """Require that nothing in a worktree is in the middle of a merge, or has its markers.

    Raises:
        UsageError: something is, or has.
    """
    what = tree.under_way
    if conflicted := tree.conflicted():
        during = f" of a {what}" if what else ""
        raise UsageError(
            f"Nothing was merged: {named(conflicted)} in worktree {name} "
            f"{'has' if len(conflicted) == 1 else 'have'} unresolved conflicts{during}.",
            "Have the agent resolve and commit them first.",
        )
    if what:
        raise UsageError(
            f"Nothing was merged: a {what} is in progress in worktree {name}.",
            "Have the agent finish or abort it first.",
        )
    if marked := tree.marked():
        raise UsageError(
            f"Nothing was merged: {named(marked)} in worktree {name} "
            f"{'has' if len(marked) == 1 else 'have'} conflict markers.",
            "Have the agent resolve them first.",
        )


def _advise_on_branch(tree: WorkingTree, main: WorkingTree, branch: str) -> str:
    """What to do if the main working tree has another branch than the one that `tree` was made from."""
    where = main.directory.name
    commit = f"commit the files of worktree {tree.directory.name} and " if tree.changed() else ""
    merge = f"{commit}run `git merge {branch}` in {where}"
    if main.has_branch(tree.origin):
        return f"Run `git switch {tree.origin}` in {where} first. To merge into {main.head}, {merge}."
    return f"There is no branch {tree.origin} any more. To merge into {main.head}, {merge}."


def _branch(root: Path) -> str:
    return f"{BRANCHES}{root.name}"
