"""Which branch the project is on, read from the repository's own files: nothing is run."""

from pathlib import Path

_HEAD = "ref: refs/heads/"
_LONGEST = 4096


def branch_of(project: Path) -> str:
    """The branch that is checked out where `project` is; empty without a repository or a branch."""
    for directory in (project, *project.parents):
        place = directory / ".git"
        try:
            if place.is_file():
                # A worktree's or a submodule's: it says where its own files are.
                named = place.read_text("utf-8", "replace")[:_LONGEST].removeprefix("gitdir:").strip()
                place = directory / named
            if not place.is_dir():
                continue
            with (place / "HEAD").open(encoding="utf-8", errors="replace") as head:
                line = head.read(_LONGEST).strip()
        except (OSError, ValueError):
            return ""
        return line.removeprefix(_HEAD) if line.startswith(_HEAD) else ""
    return ""
