"""The losses of a command, as facts, and in words."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

LossKind = Literal["changed", "untracked", "ignored", "unversioned", "directory", "other"]
"""The kind of what is lost: changes of files that git has in an older version; files that git could have and
does not, that its rules ignore, or that no repository has; whole directories, whatever git has of them; and
anything else (commits, a device)."""

_NAMED = 5
"""Paths of one loss that its description names."""

_ADJECTIVES: dict[LossKind, str] = {
    "untracked": "untracked ",
    "ignored": "git-ignored ",
    "unversioned": "unversioned ",
}
"""Why git cannot restore the files of a loss, where its verb does not say it."""


class LostPath(NamedTuple):
    """A file; or a directory with the number of `files` in it, or with at least so many."""

    name: str
    files: int | None = None
    at_least: bool = False

    def __str__(self) -> str:
        if self.files is None:
            return self.name
        count = f"{self.files:,}{'+' if self.at_least else ''} file{'' if self.files == 1 else 's'}"
        return f"{self.name.rstrip('/')}/ ({count})"


class Loss(NamedTuple):
    """What a command would destroy, of one kind: `paths`; or what only `text` describes, a noun phrase."""

    kind: LossKind
    paths: tuple[LostPath, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        """The loss as a clause: `permanently deletes 2 untracked files: a, b`."""
        if self.kind == "other":
            return f"permanently deletes {self.text}"
        verb = "discards uncommitted changes in" if self.kind == "changed" else "deletes"
        return f"permanently {verb} {self._extent()}"

    def _extent(self) -> str:
        """The paths with their number and kind: `the directory docs/ (7 files)`."""
        noun, names = f"{_ADJECTIVES.get(self.kind, '')}{_noun(self.paths)}", _named(self.paths)
        return f"the {noun} {names}" if len(self.paths) == 1 else f"{len(self.paths):,} {noun}: {names}"

    @property
    def sentence(self) -> str:
        """The loss as a sentence."""
        clause = str(self)
        return f"{clause[0].upper()}{clause[1:]}."


def describe_losses(losses: Sequence[Loss]) -> str:
    """Describe losses as one clause."""
    return "; ".join(map(str, losses))


def _named(paths: Sequence[LostPath]) -> str:
    rest = len(paths) - _NAMED
    return ", ".join(map(str, paths[:_NAMED])) + (f" and {rest:,} more" if rest > 0 else "")


def _noun(paths: Sequence[LostPath]) -> str:
    directories = sum(path.files is not None for path in paths)
    if len(paths) == 1:
        return "directory" if directories else "file"
    if not directories:
        return "files"
    return "directories" if directories == len(paths) else "files and directories"
