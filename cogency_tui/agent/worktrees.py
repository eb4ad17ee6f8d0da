"""The git worktrees of a project that its conversations work in.

A worktree is a directory and a branch of its own, `cogency/NAME`. It belongs to its project: the project's
conversations include its own, the rules of permissions are those of the project, and so is the trust in its
`.cogency/` and skills, as far as their bytes are the same.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    """A worktree as it is: made from the branch `origin`, with what it alone has."""

    name: str
    origin: str
    lost: Unmerged


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

    def find(self, name: str) -> Path | None:
        """The worktree of this name. Blocks."""
        return self._agent.worktrees_directory / name if name in self.names() else None

    async def state(self, root: Path) -> State:
        """Read how a worktree is.

        Raises:
            WorkspaceError: git has no answer.
        """
        origin = await in_thread(lambda: WorkingTree(root).origin)
        return State(root.name, origin, await self.unmerged(root))

    async def make(self, name: str) -> Made:
        """Make a worktree, by default of the first free name.

        Raises:
            UsageError: it cannot have this name, or there can be none.
            WorkspaceError: git cannot make it.
        """
        return await completed(in_thread(self._make, name))

    def _make(self, name: str) -> Made:
        if is_in_one(self._main.directory, "rerun"):
            raise UsageError("A rerun works in a scratch copy, which can have no worktree.")
        if problem := self._main.problem:
            advice = "A worktree needs the top directory of a repository with a commit."
            raise UsageError(problem, "" if self._main.has_filters else advice)
        name = name or self._free_name()
        root, branch = self._agent.worktrees_directory / name, f"{BRANCHES}{name}"
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"A worktree cannot be named “{one_line(name)}”.", "Use letters, digits, - and _."
            )
        if root.exists() or self._main.has_branch(branch):
            raise UsageError(f"There is a worktree {name} already.", "Choose another name.")
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
            UsageError: there is nothing to merge, or lines or uncommitted files conflict. Nothing was merged.
            WorkspaceError: git cannot.
        """
        journal = self._agent.journal
        async with journal.lock, await journal.alone():
            return await completed(in_thread(self._merge, root, title, accepted))

    def _merge(self, root: Path, title: str, accepted: Collection[str]) -> Merged:
        main, tree, branch = self._main, WorkingTree(root), _branch(root)
        if problem := tree.problem or main.problem:
            raise UsageError(problem, "Merge the branch yourself.")
        _require_settled(tree, root.name)
        if (origin := tree.origin) and origin != main.head:
            raise UsageError(
                f"Nothing was merged: worktree {root.name} was made from {origin}, "
                f"but {main.head} is checked out in {main.directory.name}.",
                f"Check out {origin} first, or run `git merge {branch}` yourself.",
            )
        message = one_line(title)[:_LONGEST_MESSAGE] or f"Work in {root.name}"
        is_dirty = bool(tree.changed())
        commit = tree.trial(message) if is_dirty else branch
        files = main.changed_by(commit)
        if not files:
            raise UsageError(f"Nothing to merge: {branch} has no change that {main.head} lacks.")
        if conflicts := main.conflicts(commit):
            raise UsageError(
                f"Nothing was merged: {named(conflicts)} conflict{'s' * (len(conflicts) == 1)} with "
                f"{main.head}.",
                f"Have the agent merge {main.head} into {branch} first."
                + " The repository's own merge drivers are not run." * main.has_merge_drivers,
            )
        if blocking := sorted(set(files) & set(main.changed())):
            is_one = len(blocking) == 1
            raise UsageError(
                f"Nothing was merged: {named(blocking)} {'has' if is_one else 'have'} uncommitted changes in "
                f"{main.directory.name}.",
                f"Commit or stash {'it' if is_one else 'them'} first.",
            )
        if (marked := main.marked_by(commit, set(files))) and not set(marked) <= set(accepted):
            raise ConflictMarkersError(root.name, marked)
        if is_dirty:
            tree.commit(message)
        try:
            main.merge(branch)
        except WorkspaceError as exc:
            committed = f" Its files are committed in {branch}." if is_dirty else ""
            raise WorkspaceError(f"{exc}{committed}", exc.hint) from exc
        return Merged(main.head, len(files), is_dirty)

    async def remove(self, root: Path) -> None:
        """Remove a worktree, whatever it has, and its branch; what runs in it is stopped.

        Raises:
            WorkspaceError: git cannot.
        """
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


def _branch(root: Path) -> str:
    return f"{BRANCHES}{root.name}"
