"""Which hunks a key is about: the one that the cursor is in, those that were picked, or a whole file."""

from collections.abc import Sequence

from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.review.reading import target_of


class Picking:
    """Picks hunks in `view`. A range goes from where it was begun to where the cursor is, within one file."""

    def __init__(self, view: DiffView) -> None:
        self._view = view
        self._from: tuple[FileKey, int] | None = None
        self._before: set[str] = set()

    @property
    def any(self) -> bool:
        """Whether hunks are picked."""
        return bool(self._view.file and self._view.file.picked)

    def target(self) -> Target | None:
        """The picked hunks, else the one of the cursor, else the file where it has none."""
        file, hunk = self._view.file, self._view.hunk
        if file is None:
            return None
        key = file.file.key
        if file.picked:
            return Target(key.turn, key.path, tuple(each.id for each in file.hunks if each.id in file.picked))
        return target_of(key, hunk.id if hunk else "")

    def toggle(self) -> None:
        """Pick the hunk of the cursor, or leave it."""
        file, hunk = self._view.file, self._view.hunk
        if file and hunk:
            self._from = None
            file.picked ^= {hunk.id}
            self._view.renew()

    def toggle_range(self) -> None:
        """Begin a range with the hunk of the cursor, or end it here."""
        file, place = self._view.file, self._view.place
        if self._begun is not None or file is None or place is None:
            self._from = None
            return
        self._from, self._before = (file.file.key, place), set(file.picked)
        self.follow()

    def follow(self) -> None:
        """The cursor has moved: so has the end of the range."""
        file, place, begun = self._view.file, self._view.place, self._begun
        if file is None or place is None or begun is None:
            self._from = None
            return
        first, last = sorted((begun, place))
        file.picked = self._before | {hunk.id for hunk in file.hunks[first : last + 1]}
        self._view.renew()

    @property
    def _begun(self) -> int | None:
        """The hunk of the file that is shown at which a range was begun."""
        file = self._view.file
        if file is None or self._from is None:
            return None
        key, place = self._from
        return place if key == file.file.key and place < len(file.hunks) else None

    def clear(self) -> None:
        """Pick nothing."""
        self._from = None
        if self._view.file and self._view.file.picked:
            self._view.file.picked = set()
            self._view.renew()


def next_undecided(file: OpenFile, place: int | None, but: Sequence[str]) -> int | None:
    """The first hunk after `place` about which nothing is decided, and which is not among `but`."""
    hunks = enumerate(file.hunks)
    return next(
        (
            index
            for index, hunk in hunks
            if place is not None and index > place and hunk.state == "new" and hunk.id not in but
        ),
        None,
    )
