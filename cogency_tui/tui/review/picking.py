"""The selection of hunks that the keys of the review act on; it spans files.

Invariant: a hunk that is no longer in the review is not selected.
"""

from collections.abc import Collection, Sequence

from cogency_tui.agent.review.model import ChangedFile, FileKey, Overview, Target
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.open_file import WHOLE_FILE, OpenFile


class Picking:
    """Picks hunks in `view`, and all of a file.

    A range extends from its first hunk to the cursor, within one file.
    """

    def __init__(self, view: DiffView) -> None:
        self._view = view
        self._picked: dict[FileKey, set[str]] = {}
        """The hunks by their file; `WHOLE_FILE` for one without hunks."""
        self._files: Sequence[ChangedFile] = ()
        self._from: tuple[FileKey, int] | None = None
        self._before: set[str] = set()

    @property
    def any(self) -> bool:
        """True if hunks are picked."""
        return bool(self._picked)

    @property
    def files(self) -> Collection[FileKey]:
        """The files with picked hunks."""
        return self._picked.keys()

    def describe(self) -> str:
        """The number of picked hunks, and of their files unless it is the shown one; empty if there are
        none."""
        count = sum(map(len, self._picked.values()))
        shown = {self._view.file.file.key} if self._view.file else set[FileKey]()
        others = f" in {plural(len(self._picked), 'file')}" if self._picked.keys() - shown else ""
        return f"{count} selected{others}" if count else ""

    def targets(self) -> list[Target]:
        """The picked hunks, file by file in the order of the review."""
        return [_target(file, self._picked[file.key]) for file in self._files if file.key in self._picked]

    def mark(self, file: OpenFile) -> None:
        """Show in an open file which of its hunks are picked."""
        file.picked = self._picked.get(file.file.key, set())

    def update(self, overview: Overview) -> None:
        """Unpick the hunks that are not in the review any more."""
        self._files = [file for group in overview.groups for file in group.files]
        found = {file.key: file for file in self._files}
        for key, picked in list(self._picked.items()):
            ids = _ids(found[key]) if key in found else ()
            self._put(key, picked.intersection(ids))

    def toggle(self) -> None:
        """Pick the hunk at the cursor, or unpick it; in a file without hunks, that."""
        file, hunk = self._view.file, self._view.hunk
        if file:
            self._from = None
            key = file.file.key
            self._put(key, self._picked.get(key, set()) ^ {hunk.id if hunk else WHOLE_FILE})

    def toggle_file(self, file: ChangedFile) -> None:
        """Pick all hunks of a file, or unpick them if all are picked."""
        self._from = None
        ids = set(_ids(file))
        self._put(file.key, set() if self._picked.get(file.key) == ids else ids)

    def toggle_range(self) -> None:
        """Begin a range with the hunk at the cursor, or end it here."""
        file, place = self._view.file, self._view.place
        if self._begun is not None or file is None or place is None:
            self._from = None
            return
        key = file.file.key
        self._from, self._before = (key, place), self._picked.get(key, set())
        self.follow()

    def follow(self) -> None:
        """Move the end of the range to the cursor."""
        file, place, begun = self._view.file, self._view.place, self._begun
        if file is None or place is None or begun is None:
            self._from = None
            return
        first, last = sorted((begun, place))
        self._put(file.file.key, self._before | {hunk.id for hunk in file.hunks[first : last + 1]})

    def clear(self) -> None:
        """Unpick all hunks."""
        self._from = None
        for key in list(self._picked):
            self._put(key, set())

    @property
    def _begun(self) -> int | None:
        """The first hunk of the range in the shown file."""
        file = self._view.file
        if file is None or self._from is None:
            return None
        key, place = self._from
        return place if key == file.file.key and place < len(file.hunks) else None

    def _put(self, key: FileKey, picked: set[str]) -> None:
        """Pick these hunks of a file, and no others."""
        self._picked.pop(key, None)
        if picked:
            self._picked[key] = picked
        if (file := self._view.file) and file.file.key == key:
            self.mark(file)
            self._view.renew()


def _ids(file: ChangedFile) -> list[str]:
    return [hunk.id for hunk in file.hunks] or [WHOLE_FILE]


def _target(file: ChangedFile, picked: Collection[str]) -> Target:
    hunks = tuple(hunk.id for hunk in file.hunks if hunk.id in picked)
    return Target(file.key.turn, file.key.path, hunks, file.key.replaced)
