"""What the header says about the project's repository: read from files, or asked of git in the background."""

import asyncio
from pathlib import Path

_LONGEST = 4096


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    for directory in (project, *project.parents):
        git = directory / ".git"
        try:
            if git.is_file():
                git = directory / _line(git).removeprefix("gitdir:").strip()
            head = _line(git / "HEAD")
        except (OSError, UnicodeDecodeError):
            continue
        prefix = "ref: refs/heads/"
        return head.removeprefix(prefix) if head.startswith(prefix) else head[:8]
    return ""


async def is_dirty(project: Path) -> bool:
    """Whether git knows of changes that are not committed; False where it cannot say, or not soon."""
    return await asyncio.to_thread(_is_dirty, project)


def _is_dirty(project: Path) -> bool:
    # Not needed for the first frame.
    from cogency_tui.tools.git_facts import Repository

    return Repository(project).dirty


def _line(path: Path) -> str:
    """What a small file says; opening a FIFO in its place would never end.

    Raises:
        OSError, UnicodeDecodeError: there is no such file, or no text in it.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_LONGEST).decode().strip()
