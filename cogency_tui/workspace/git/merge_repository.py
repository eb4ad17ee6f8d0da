"""Git's merges of a file, in a repository of their own. The calls block."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cogency_tui.workspace.git.repository_queries import Repository

_PARTS = (("base", b""), ("ours", b"from :1\n"), ("theirs", b"from :1\n"))
"""The branches of which one is merged into another, and the origin of each."""

_CONFLICT = (1,)
_CONFLICTS = range(1, 128)
"""Their number is the exit status of `git merge-file`."""


class MergingRepository(Repository):
    """A new repository in a directory that git has only for merges."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._attributes = directory / ".git/info/attributes"
        self._run(["init", "--quiet", "--template="])

    def merged(self, ours: bytes, base: bytes, theirs: bytes, *, union: bool) -> bytes | None:
        """Merge the changes from `base` to `theirs` into `ours`: with marks where both changed the same
        lines, or with all of these in a `union`. None where git has no answer."""
        texts = {"base": base, "ours": ours, "theirs": theirs}
        commits = b"".join(
            b"commit refs/heads/%b\nmark :%d\ncommitter a <a> 0 +0000\ndata 0\n%bM 100644 inline file\n"
            b"data %d\n%b\n" % (name.encode(), mark, parent, len(texts[name]), texts[name])
            for mark, (name, parent) in enumerate(_PARTS, 1)
        )
        try:
            self._attributes.parent.mkdir(exist_ok=True)
            self._attributes.write_bytes(b"* merge=union\n" if union else b"")
        except OSError:
            return None
        if self._run(["fast-import", "--quiet", "--force"], stdin=commits) is None:
            return None
        merging = ["merge-tree", "--write-tree", "--no-messages", "ours", "theirs"]
        if tree := self._run(merging, ["merge.conflictStyle=merge"], _CONFLICT):
            return self._run(["cat-file", "blob", f"{tree.split()[0].decode()}:file"])
        return self._in_files(texts, union=union)

    def _in_files(self, texts: Mapping[str, bytes], *, union: bool) -> bytes | None:
        """Merge with a git older than 2.38, which merges trees in working trees only."""
        try:
            for name, text in texts.items():
                (self.directory / name).write_bytes(text)
        except OSError:
            return None
        flags = ["--union"] if union else []
        return self._run(["merge-file", "--stdout", *flags, "ours", "base", "theirs"], also=_CONFLICTS)


@contextmanager
def merging_repository() -> Generator[MergingRepository]:
    """Create a repository for merges while the block runs."""
    with TemporaryDirectory() as directory:
        yield MergingRepository(Path(directory))
