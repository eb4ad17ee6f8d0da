"""opencode's snapshots: trees of a project before and after each step of an answer, in a git repository that
is the program's own.

It keeps them for a week. Nothing that a repository's configuration names is run.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from cogency_tui.agent.importers.records import entries
from cogency_tui.workspace.git.safe_git import SafeGit

_LONGEST = 1 << 20
_LONGEST_ALL = 64 << 20
"""Bytes of a file, and of all that are read for a session."""

_MOST_REPOSITORIES = 20
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?:[^\n\0]+")


def name_of(tree: str, root: str, path: str) -> str:
    """Return git's name of a file in a tree of the project at `root`; empty if it has none."""
    inside = path.removeprefix(f"{root.rstrip('/')}/")
    name = f"{tree}:{inside}"
    return name if root and inside != path and _NAME.fullmatch(name) else ""


def read_snapshots(directory: Path, names: Collection[str]) -> dict[str, bytes]:
    """Read files of trees, by git's names of them, from the repositories in `directory`; those that are gone
    are left out."""
    found: dict[str, bytes] = {}
    for repository in _repositories(directory) if names else ():
        found |= _Snapshots(repository).files(sorted(name for name in names if name not in found))
    return found


def _repositories(directory: Path) -> Iterator[Path]:
    inner = [Path(entry.path) for entry in entries(directory)[:_MOST_REPOSITORIES]]
    for each in (directory, *inner):
        if (each / "HEAD").is_file() and (each / "objects").is_dir():
            yield each


class _Snapshots(SafeGit):
    """A repository of snapshots."""

    def files(self, names: Sequence[str]) -> dict[str, bytes]:
        listed = self._contents("--batch-check=%(objecttype) %(objectsize)", names).splitlines()
        chosen: list[str] = []
        room = _LONGEST_ALL
        for name, line in zip(names, listed, strict=False):
            kind, _, size = line.partition(b" ")
            if kind == b"blob" and size.isdigit() and int(size) <= min(_LONGEST, room):
                room -= int(size)
                chosen.append(name)
        answer = self._contents("--batch=%(objectsize)", chosen)
        found: dict[str, bytes] = {}
        at = 0
        for name in chosen:
            size, _, _ = answer[at : at + 20].partition(b"\n")
            if not size.isdigit():
                break
            at += len(size) + 1
            found[name] = answer[at : at + int(size)]
            at += int(size) + 1
        return found

    def _contents(self, form: str, names: Sequence[str]) -> bytes:
        if not names:
            return b""
        asked = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogatepass")
        return self._run(["--git-dir=.", "cat-file", form], stdin=asked) or b""
