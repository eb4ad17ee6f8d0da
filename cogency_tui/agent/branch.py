"""Which branch the project is on, read from the repository's own files: nothing is run."""

from pathlib import Path

_BRANCH = "ref: refs/heads/"
_LONGEST = 4096


def branch_of(project: Path) -> str:
    """The branch that is checked out where `project` is; empty without a repository or a branch."""
    head = head_of(project)
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else ""


def head_of(project: Path) -> str:
    """What `HEAD` says where `project` is: `ref: …`, or the name of a commit; empty without a repository."""
    for directory in (project, *project.parents):
        place = directory / ".git"
        try:
            if place.is_file():
                # A worktree's or a submodule's: it says where its own files are.
                place = directory / _line(place).removeprefix("gitdir:").strip()
            return _line(place / "HEAD")
        except (OSError, ValueError):
            continue
    return ""


def _line(path: Path) -> str:
    """What a small file says; opening a FIFO in its place would never end.

    Raises:
        OSError, UnicodeDecodeError: there is no such file, or no text in it.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_LONGEST).decode().strip()
