"""The git worktrees of a project that its conversations work in.

A worktree is a directory and a branch of its own, `cogency/NAME`. It belongs to its project: the project's
conversations include its own, the rules of permissions are those of the project, and so is the trust in its
`.cogency/` and skills, as far as their bytes are the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.tools.worker_threads import completed, in_thread
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
class Merged:
    """A merge into `head`: the number of files that it changed, and whether files were committed before."""

    head: str
    files: int
    committed: bool


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

    async def make(self, name: str) -> Made:
        """Make a worktree, by default of the first free name.

        Raises:
            UsageError: it cannot have this name, or there can be none.
            WorkspaceError: git cannot make it.
        """
        return await completed(in_thread(self._make, name))

    def _make(self, name: str) -> Made:
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

    async def merge(self, root: Path, title: str) -> Merged:
        """Commit what is uncommitted in a worktree under `title`, and merge its branch into the project.

        Raises:
            UsageError: there is nothing to merge, or lines or uncommitted files conflict. Nothing was merged.
            WorkspaceError: git cannot.
        """
        journal = self._agent.journal
        async with journal.lock, await journal.alone():
            return await completed(in_thread(self._merge, root, title))

    def _merge(self, root: Path, title: str) -> Merged:
        main, tree, branch = self._main, WorkingTree(root), _branch(root)
        if problem := tree.problem:
            raise UsageError(problem, "Merge the branch yourself.")
        is_dirty = bool(tree.changed())
        if is_dirty:
            tree.commit(one_line(title)[:_LONGEST_MESSAGE] or f"Work in {root.name}")
        files = main.changed_by(branch)
        committed = f" Its files are committed in {branch}." if is_dirty else ""
        if not files:
            raise UsageError(f"Nothing to merge: {branch} has no change that {main.head} lacks.")
        if conflicts := main.conflicts(branch):
            raise UsageError(
                f"Nothing was merged: {named(conflicts)} conflict{'s' * (len(conflicts) == 1)} with "
                f"{main.head}.{committed}",
                f"Have the agent merge {main.head} into {branch} first.",
            )
        if blocking := sorted(set(files) & set(main.changed())):
            is_one = len(blocking) == 1
            raise UsageError(
                f"Nothing was merged: {named(blocking)} {'has' if is_one else 'have'} uncommitted changes in "
                f"{main.directory.name}.{committed}",
                f"Commit or stash {'it' if is_one else 'them'} first.",
            )
        main.merge(branch)
        return Merged(main.head, len(files), is_dirty)

    async def remove(self, root: Path) -> None:
        """Remove a worktree, whatever it has, and its branch; what runs in it is stopped.

        Raises:
            WorkspaceError: git cannot.
        """
        await self._agent.close_worktree(root)
        await completed(in_thread(self._main.remove, root, _branch(root)))


def _branch(root: Path) -> str:
    return f"{BRANCHES}{root.name}"
