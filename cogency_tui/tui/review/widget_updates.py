"""Updates the widgets of the review with what was read and decided.

Invariant: through every update the selected file stays selected, and the reading position in place, for as
long as the file exists.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from textual.screen import Screen

from cogency_tui.agent.review.model import ChangedFile, FileKey, Outcome, Overview
from cogency_tui.agent.review.review import Review
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.filter_line import FilterLine
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.review.background_reader import Reading
from cogency_tui.tui.review.diff_annotations import FileTitle, ReviewHeader
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.file_list import FileList
from cogency_tui.tui.review.file_rows import (
    FileRow,
    ListRow,
    first_of,
    made_by,
    place_of,
    place_of_call,
    rows_of,
)
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.review.picking import Picking

_NOTHING = "No changes in this conversation yet. Changes will appear here."
_NO_MATCH = "No changed file matches the filter."


@dataclass(frozen=True, slots=True)
class Widgets:
    """The widgets of the review. Stored, not queried: reading may end while the screen is being closed."""

    header: ReviewHeader
    list_title: PaneTitle
    filter: FilterLine
    files: FileList
    file_title: FileTitle
    view: DiffView


class Showing:
    """Shows `review` on a screen; the changes of `call` come first. `fit_list` is called with a new list,
    `caught_up` when the diff of the selected file is shown."""

    def __init__(
        self,
        screen: Screen[Any],
        review: Review,
        widgets: Widgets,
        call: str,
        picking: Picking,
        *,
        fit_list: Callable[[], None],
        caught_up: Callable[[], None],
    ) -> None:
        self.reading = Reading(screen, self, review)
        self._screen = screen
        self._widgets = widgets
        self._files = widgets.files
        self._view = widgets.view
        self._call = call
        self._picking = picking
        self._overview: Overview | None = None
        self._rows: list[ListRow] = []
        self._goal: FileKey | None = None
        self._entry = 0
        self._earlier: Collection[str] | None = None
        """The hunks in conflict before the decision that raised another conflict, which is not shown yet."""
        self._fit_list = fit_list
        self._caught_up = caught_up
        self._loading = True

    @property
    def can_undo(self) -> bool:
        """True if there is a decision to undo."""
        return self._overview is not None and self._overview.can_undo

    def show_overview(self, overview: Overview) -> None:
        """Show the present list."""
        self._overview = overview
        self._picking.update(overview)
        self._screen.refresh_bindings()
        self._widgets.header.count(overview)
        self.show_list()

    def show_list(self) -> None:
        """Show the filtered list, and the diff of its selected file."""
        if self._overview is None:
            return
        selected = self._files.file
        self._rows = rows_of(self._overview, self._widgets.filter.text)
        place = place_of(self._rows, self._goal or (selected.key if selected else None))
        self._goal = None
        if place is None and self._call:
            place = place_of_call(self._rows, self._call)
        self._files.show_rows(self._rows, first_of(self._rows) if place is None else place)
        self._fit_list()
        self.show_selected()

    def show_selected(self) -> None:
        """Show the diff of the selected file."""
        file, shown = self._files.file, self._view.file
        if file is None:
            self.reading.cancel()
            self._end_loading()
            nothing = not (self._overview and self._overview.groups)
            self._view.say(_NOTHING if nothing else _NO_MATCH)
            if nothing:
                # On a narrow screen an empty list would show nothing at all.
                self._screen.set_focus(self._view)
        elif shown is not None and shown.file.key == file.key and shown.take(file):
            self._view.renew()
            self.reading.add_to(shown)
        else:
            self._loading = True
            self.reading.open(file, again=shown is not None and shown.file.key == file.key)
        self._screen.refresh_bindings()
        self.show_title()

    def show_file(self, file: OpenFile) -> None:
        """Show a diff that was read."""
        shown, target = self._view.file, self._files.file
        if target is None or file.file.key != target.key:
            return
        self._picking.mark(file)
        if shown is not None and shown.file.key == file.file.key:
            file.take_over(shown)
            self._view.renew(file)
        else:
            self._view.open(file, self._first_hunk(file))
        self.reading.add_to(file)
        self.show_title()
        self._end_loading()

    def show_more(self) -> None:
        """Refresh the shown file after more facts were read."""
        self._view.renew()
        if self._earlier is not None and self._view.file is not None:
            self._show_conflict(self._view.file, self._earlier)
        self.show_title()

    def show_wait(self, text: str) -> None:
        """Show that the diff is still loading."""
        self._view.say(text)

    def show_problem(self, error: CogencyError) -> None:
        """Show a read error."""
        self._view.say(error.advice)
        self._end_loading()

    def _end_loading(self) -> None:
        self._loading = False
        self._caught_up()

    def leave(self, way: int) -> None:
        """Go to the next file and its first hunk, or to the previous one and its last."""
        place = self._files.selected
        self._entry = way
        self._files.move(way)
        if self._files.selected == place:
            self._entry = 0

    @property
    def is_behind(self) -> bool:
        """True while the diff of the selected file is loading, and another file or none is shown."""
        file, shown = self._files.file, self._view.file
        if shown is None:
            return self._loading
        return file is not None and shown.file.key != file.key

    def show_title(self) -> None:
        """Show the state of the selected file, and what is picked."""
        file, shown = self._files.file, self._view.file
        opened = shown if shown and file and shown.file.key == file.key else None
        picked = self._picking.describe()
        # Beside the list, the title of the diff has it.
        is_alone = self._screen.has_class("-one")
        self._widgets.list_title.state((picked if is_alone else "") or f"by {self.reading.by}")
        self._files.show_picked(self._picking.files)
        way = "" if self._view.way == "auto" else self._view.way
        self._widgets.file_title.show(file, opened, picked or way)

    def decided(self, outcome: Outcome, follow: bool) -> None:
        """Refresh after a decision; `follow` selects the file that it affected, if that is another. A
        conflict is shown anyway."""
        file = self._files.file
        paths = {edit.path for edit in outcome.edits} if follow else set[str]()
        paths |= {conflict.path for conflict in outcome.conflicts}
        # A comment, or a mark, changes no file.
        edits = {part.edit for part in outcome.about} if follow and not paths else set[int]()
        if file is not None and not _is_affected(file, paths, edits):
            files = (row.file for row in self._rows if isinstance(row, FileRow))
            self._goal = next((each.key for each in files if _is_affected(each, paths, edits)), None)
        shown = self._view.file
        self._earlier = (shown.in_conflict() if shown else ()) if outcome.conflicts else None
        self.reading.refresh()

    def _show_conflict(self, file: OpenFile, earlier: Collection[str]) -> None:
        """Go back to the conflict that the last decision raised, or else to the first one: the cursor moved
        on before it was known."""
        found = [index for index, hunk in enumerate(file.hunks) if hunk.state == "conflict"]
        if found:
            self._earlier = None
            self._view.go_to(
                next((index for index in found if file.hunks[index].id not in earlier), found[0])
            )

    def _first_hunk(self, file: OpenFile) -> int:
        """The hunk to show first: after a move from another file, its nearest end; else one made by the
        call that the review was opened for, or the first undecided one."""
        entry, self._entry = self._entry, 0
        if entry:
            return 0 if entry > 0 else max(0, len(file.hunks) - 1)
        call, self._call = self._call, ""
        own = [index for index, hunk in enumerate(file.hunks) if hunk.state in ("new", "conflict")]
        if call and made_by(file.file, call):
            by_call = (
                i for i, hunk in enumerate(file.hunks) if any(edit.call == call for edit in hunk.edits)
            )
            own = [*by_call, *own]
        return next(iter(own), 0)


def _is_affected(file: ChangedFile, paths: Collection[str], edits: Collection[int]) -> bool:
    return file.path in paths or file.old_path in paths or any(edit.id in edits for edit in file.edits)
