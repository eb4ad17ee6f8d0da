"""The git worktrees of a repository: made, described, merged into its working tree, and removed.

Invariant: as with every other question to git, nothing runs that the repository's own configuration names.
Where it names filters, files would be checked out and committed without them: nothing is done. The calls
block.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.git.blocking_files import blocked
from cogency_tui.workspace.git.branch import branch_of
from cogency_tui.workspace.git.safe_git import SafeGit
from cogency_tui.workspace.protected_names import shown

BRANCHES = "cogency/"
"""The beginning of the branches of worktrees."""

_IDENTITY = ("EMAIL", *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")))
"""Variables that tell git who commits."""

_PATIENCE = 120.0
_CONFLICT = (1,)
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Unmerged:
    """What only a worktree has: `files` that differ from its last commit, and `commits` of its branch that
    are not in the commit of the main working tree."""

    files: Sequence[str]
    commits: int


class WorkingTree(SafeGit):
    """The working tree at `directory`: the repository's main one, or a worktree."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, _PATIENCE)
        self._environment |= {name: os.environ[name] for name in _IDENTITY if name in os.environ}

    @cached_property
    def problem(self) -> str:
        """Why there can be no worktree of it; empty if there can."""
        top = None if blocked(self.directory) else self._ask("rev-parse", "--show-toplevel")
        if top is None:
            return "This project is not in a git repository."
        if Path(top.removesuffix("\n")) != self.directory:
            return f"This project is a part of the repository {shown(top.strip())}."
        if self.has_filters:
            return (
                "This repository configures filters of its own, which are not run: no worktree of it is made."
            )
        if self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
            return "This repository has no commit yet."
        return ""

    @property
    def has_filters(self) -> bool:
        """True if the repository itself configures filters, or may do so."""
        return self._filters is None or bool(self._filters)

    @property
    def head(self) -> str:
        """The branch that is checked out, or else the beginning of the commit's name."""
        return branch_of(self.directory) or (self._ask("rev-parse", "--short", "HEAD") or "").strip()

    def changed(self) -> list[str]:
        """The files that differ from the last commit, untracked ones included.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot list the uncommitted files.",
            "status",
            *("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"),
        )
        return [entry[3:] for entry in answer.split("\0") if entry]

    def add(self, path: Path, branch: str) -> None:
        """Make a worktree at `path`, with a new branch from the last commit.

        Raises:
            WorkspaceError: git cannot.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._require(
            f"Git could not make a worktree at {shown(str(path))}.",
            *("worktree", "add", "--quiet", "-b", branch, "--", str(path), "HEAD"),
        )

    def has_branch(self, branch: str) -> bool:
        """Return whether there is a branch of this name."""
        return self._ask("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") is not None

    def unmerged(self, other: "WorkingTree", branch: str) -> Unmerged:
        """What only the worktree `other` has.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot count the commits.", "rev-list", "--count", f"HEAD..{branch}", "--"
        )
        return Unmerged(other.changed(), int(answer))

    def commit(self, message: str) -> None:
        """Commit all files that differ from the last commit, unsigned.

        Raises:
            WorkspaceError: git cannot.
        """
        self._require("Git could not stage the files.", "add", "--all")
        self._require(
            "Git could not commit the files. It may not know your name: set user.name and user.email.",
            *("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "-m", message),
        )

    def conflicts(self, branch: str) -> list[str]:
        """The files in which both this tree's commit and a branch changed the same lines.

        Raises:
            WorkspaceError: git has no answer.
        """
        merging = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", branch]
        answer = self._run(merging, self._filters or (), _CONFLICT)
        if answer is None:
            raise WorkspaceError("Git cannot try the merge.", "It needs git 2.38 or later.")
        _tree, *names = answer.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in dict.fromkeys(names) if name]

    def merge(self, branch: str) -> None:
        """Merge a branch into what is checked out; what conflicts with it, or has uncommitted changes here,
        has been asked for before.

        Raises:
            WorkspaceError: git cannot; nothing was changed.
        """
        answer = self._ask("merge", "--quiet", "--no-edit", "--no-verify", "--no-gpg-sign", branch)
        if answer is None:
            self._ask("merge", "--abort")
            raise WorkspaceError(f"Git could not merge {branch}.", f"Run `git merge {branch}` to see why.")

    def changed_by(self, branch: str) -> list[str]:
        """The files that a merge of a branch would change.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot compare the branch.",
            "diff",
            "--name-only",
            "--no-renames",
            "-z",
            f"HEAD...{branch}",
            "--",
        )
        return [name for name in answer.split("\0") if name]

    def remove(self, path: Path, branch: str) -> None:
        """Remove a worktree, whatever it has, and its branch.

        Raises:
            WorkspaceError: git cannot.
        """
        if path.exists():
            self._require(
                f"Git could not remove the worktree at {shown(str(path))}.",
                *("worktree", "remove", "--force", "--force", str(path)),
            )
        self._ask("worktree", "prune")
        if self.has_branch(branch):
            self._require(
                f"Git could not delete the branch {branch}.", "branch", "--quiet", "-D", "--", branch
            )

    def _require(self, message: str, *arguments: str) -> str:
        answer = self._ask(*arguments)
        if answer is None:
            raise WorkspaceError(message)
        return answer


def named(paths: Sequence[str]) -> str:
    """The first few of these paths: `app.py, lib/x.py and 3 more`."""
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(map(shown, paths[:_MOST_NAMED])) + more
