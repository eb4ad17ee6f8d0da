"""The places of the git worktrees in which conversations work: beside the data directory, not in the project.

Invariant: the conversations of a project and of its worktrees, removed ones included, can be told by their
directories alone.
"""

import os
from hashlib import sha256
from pathlib import Path

_DIGITS = 8


def worktrees_of(data: Path, project: str) -> Path:
    """The directory of the worktrees of a project (resolved), given the data directory."""
    name = f"{project.rpartition('/')[2]}-{sha256(os.fsencode(project)).hexdigest()[:_DIGITS]}"
    return _directory(data) / name


def is_worktree(data: Path, project: str) -> bool:
    """Return whether a project directory is, or was, a worktree of another."""
    return Path(project).parent.parent == _directory(data)


def _directory(data: Path) -> Path:
    return data.with_name(f"{data.name}-worktrees")
