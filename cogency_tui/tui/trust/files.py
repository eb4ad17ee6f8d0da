"""The files that a project brings, filtered by what is typed; Enter shows the text of one."""

import asyncio
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.project.cogency_folder import FOLDER
from cogency_tui.agent.project.started_programs import ABOVE
from cogency_tui.agent.project.surveyed_files import SurveyedFiles
from cogency_tui.agent.project.trust import Survey
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filtered_list_dialog import FilteredListDialog, matches
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.number_format import plural, size
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.trust.screen import fit_project_path


class ReviewFile(NamedTuple):
    """A file, by its path from the project; `mark` is how it stands."""

    path: str
    size: int
    mark: str = ""


def files_of(survey: Survey, project: Path) -> list[ReviewFile]:
    """The files that are compared, those of directories too, changed ones first. Blocks."""
    found: dict[str, ReviewFile] = {}
    surveyed = SurveyedFiles(project)
    for part in survey.parts:
        changed = set(part.changed)
        for entry in part.entries:
            path = (
                entry.name.removeprefix(ABOVE) if entry.name.startswith(ABOVE) else f"{FOLDER}/{entry.name}"
            )
            if path.endswith("/**"):
                mark = "changed" if entry.name in changed else ""
                for name, size_of_it in surveyed.source_files(path.removesuffix("/**")).items():
                    found.setdefault(name, ReviewFile(name, size_of_it, mark and "in changed folder"))
            if entry.kind:
                continue
            found[path] = ReviewFile(path, entry.size, "changed" if entry.name in changed else "")
    return sorted(found.values(), key=lambda file: not file.mark)


def draw_file(file: ReviewFile, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: its path, then its mark and size."""
    right = f"{file.mark}  {size(file.size):>10}"
    room = max(4, width - cells(right) - 1)
    name = fit_project_path(one_line(file.path), room)
    return Line(
        [
            Segment(name + " " * max(1, room - cells(name) + 1), styles("text", on)),
            Segment(right, styles("edit" if file.mark else "dim", on)),
        ]
    )


class TrustFilesScreen(FilteredListDialog[None, ReviewFile]):
    """Lists `files` of `project`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "View", id="trust_files.view", tooltip="Show its text"),
        Binding("escape", "back", "Close", id="trust_files.back", tooltip="Clear the filter, or close"),
        *list_keys("trust_files", without=LETTERS),
    ]
    BOX = "-wide"

    def __init__(self, files: Sequence[ReviewFile], project: Path) -> None:
        rows = SelectList(draw_file, attrgetter("path"), id="trust-files-list")
        rows.notice = "No matching files."
        super().__init__("trust-files", "Files to review", rows)
        self._files = files
        self._project = project

    def on_mount(self) -> None:
        self.rows.show(self._files)
        self.heading.state(plural(len(self._files), "file"))
        self.show_selected()

    def show_matching(self, text: str) -> None:
        self.rows.show([file for file in self._files if matches(file.path, text)], self.rows.key)

    def choices(self) -> list[Choice]:
        view: list[Choice] = [("enter", "view", "open")] if self.rows.row is not None else []
        return [*view, self.closing]

    async def clicked(self) -> None:
        await self.action_open()

    async def action_open(self) -> None:
        from cogency_tui.agent.project.file_review import read_for_review
        from cogency_tui.tui.kit.text_dialog import TextDialog

        self.catch_up()
        file = self.rows.row
        if file is None:
            return
        try:
            text = await asyncio.to_thread(read_for_review, self._project, file.path)
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        else:
            app_of(self).push_screen(TextDialog("trust-file", "Project file", file.path, text))
