"""The places of the git worktrees in which conversations work: beside the data directory, not in the project.

Invariant: the conversations of a project and of its worktrees, removed ones included, can be told by their
directories alone.
"""

import os
from hashlib import sha256
from pathlib import Path

_DIGITS = 8
_SUFFIX = "-worktrees"


def worktrees_of(data: Path, project: str) -> Path:
    """The directory of the worktrees of a project (resolved), given the data directory."""
    return _directory(data) / _name(project)


def is_worktree(data: Path, project: str) -> bool:
    """Return whether a project directory is, or was, a worktree of another."""
    return Path(project).parent.parent == _directory(data)


def is_worktree_of(path: Path, project: str) -> bool:
    """Return whether `path` is, or was, a worktree of a project (resolved), of any data directory."""
    return path.parent.name == _name(project) and path.parent.parent.name.endswith(_SUFFIX)


def are_of_one_project(one: str, other: str) -> bool:
    """Return whether two directories (resolved) are a project and a worktree of it, or two worktrees of one,
    of any data directory."""
    first, second = Path(one), Path(other)
    if is_worktree_of(first, other) or is_worktree_of(second, one):
        return True
    return first.parent == second.parent and first.parent.parent.name.endswith(_SUFFIX)


def _name(project: str) -> str:
    return f"{project.rpartition('/')[2]}-{sha256(os.fsencode(project)).hexdigest()[:_DIGITS]}"


def _directory(data: Path) -> Path:
    return data.with_name(f"{data.name}{_SUFFIX}")
