"""The current branch of the project, read from the repository's own files: nothing is run."""

from pathlib import Path

_BRANCH = "ref: refs/heads/"
_LONGEST = 4096


def branch_of(project: Path) -> str:
    """Return the branch that is checked out in `project`; empty without a repository or a branch."""
    head = head_of(project)
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else ""


def head_of(project: Path) -> str:
    """Return the content of `HEAD` in `project`: `ref: …`, or the name of a commit; empty without a
    repository."""
    for directory in (project, *project.parents):
        place = directory / ".git"
        try:
            if place.is_file():
                # The file of a worktree or a submodule, which names the directory with its own files.
                place = directory / _line(place).removeprefix("gitdir:").strip()
            return _line(place / "HEAD")
        except (OSError, ValueError):
            continue
    return ""


def _line(path: Path) -> str:
    """Read a small file; opening a FIFO in its place would never end.

    Raises:
        OSError, UnicodeDecodeError: there is no such file, or it is binary.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_LONGEST).decode().strip()
