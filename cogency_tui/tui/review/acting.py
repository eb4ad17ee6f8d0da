"""The keys that decide something: what each is about, and what the person is asked first."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from textual.screen import Screen

from cogency_tui.agent.review.conflicts import Choice, Text
from cogency_tui.agent.review.model import ChangedFile, Hunk, Target
from cogency_tui.errors import CogencyError
from cogency_tui.text import clean, one_line
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.host import app_of
from cogency_tui.tui.review.deciding import Deciding
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.editor_line import at_line
from cogency_tui.tui.review.file_list import FileList
from cogency_tui.tui.review.open_file import WHOLE_FILE, OpenFile
from cogency_tui.tui.review.picking import Picking, next_undecided
from cogency_tui.tui.review.reading import target_of
from cogency_tui.tui.review.writing import Task, WritingScreen


class Acting:
    """Turns keys into decisions about what `view` and `files` show of the changes in `project`."""

    def __init__(
        self,
        screen: Screen[Any],
        project: Path,
        view: DiffView,
        files: FileList,
        picking: Picking,
        deciding: Deciding,
    ) -> None:
        self._screen = screen
        self._project = project
        self._view = view
        self._files = files
        self._picking = picking
        self._deciding = deciding
        self.handlers: Mapping[str, Callable[[], None]] = {
            "keep": self.keep,
            "revert": self.revert,
            "revert_file": self.revert_file,
            "revert_turn": self.revert_turn,
            "edit": self.edit,
            "comment": self.comment,
            "undo": deciding.undo,
            "redo": deciding.redo,
            "settle_ours": partial(self.settle, "ours"),
            "settle_theirs": partial(self.settle, "theirs"),
            "copy": self.copy,
            "open": self.open,
        }

    def keep(self) -> None:
        """Keep what the cursor is on."""
        if target := self._target():
            self._deciding.keep(target)
            self._go_on(target)

    def revert(self) -> None:
        """Take back what the cursor is on."""
        if target := self._target():
            self._deciding.revert(target, tell=not target.hunks)
            self._go_on(target)

    def revert_file(self) -> None:
        """Take back all that the turn did to the file."""
        if file := self._files.file:
            self._deciding.revert(target_of(file.key), tell=True)

    def revert_turn(self) -> None:
        """Take back all that the turn did."""
        if file := self._files.file:
            self._deciding.revert(Target(file.key.turn), tell=True)

    def edit(self) -> None:
        """Have the lines of the hunk edited, or those of its conflict."""
        file, hunk = self._shown, self._view.hunk
        if file is None or hunk is None:
            self._warn("There are no lines here that could be edited. o opens the file.")
            return
        target = target_of(file.file.key, hunk.id)
        if hunk.id in file.conflicts:
            self._edit_conflict(file, hunk)
            return
        text = file.diff.text(hunk)
        about = f"{one_line(file.file.path)}, {_where(hunk)}"
        self._write(
            Task("Edit the hunk", about, text, "keep it so"),
            lambda written: self._deciding.edit(target, _ended(written)),
        )

    def comment(self) -> None:
        """Have a comment written about what the cursor is on."""
        if target := self._target():
            count = len(target.hunks)
            about = one_line(target.path) + (f", {plural(count, 'hunk')}" if count else "")
            task = Task("Comment to the agent", about, "", "tell it with the next message", short=True)
            self._write(task, lambda written: self._deciding.comment(target, written))

    def settle(self, choice: Literal["ours", "theirs"]) -> None:
        """Choose a side for the first place that is not settled."""
        file, hunk = self._shown, self._view.hunk
        id = hunk.id if hunk else WHOLE_FILE
        if file is None or id not in file.conflicts:
            self._warn("There is no conflict here.")
            return
        self._choose(file, id, choice)

    def copy(self) -> None:
        """Copy the picked hunks, or the one of the cursor, as a patch."""
        file, target = self._shown, self._picking.target()
        hunks = [hunk for hunk in file.hunks if target and hunk.id in target.hunks] if file else []
        if file is None or not hunks:
            self._warn("There are no lines here to copy.")
            return
        app_of(self._screen).copy_to_clipboard("".join(file.diff.patch(hunk) for hunk in hunks))

    def open(self) -> None:
        """Open the file of today in the person's editor, at the line of the cursor."""
        if file := self._files.file:
            self._screen.run_worker(partial(self._open, file), group="editor", exclusive=True)

    async def _open(self, file: ChangedFile) -> None:
        from cogency_tui.tui.outside_editor import open_outside

        path, line = file.path, 1
        opened, hunk = self._shown, self._view.hunk
        if opened is not None:
            line = self._view.line_number
            fate = opened.fates.get(hunk.id) if hunk else None
            if hunk is not None and fate is not None and fate.line:
                path, line = fate.path, max(1, fate.line + line - hunk.outline.new[0] - 1)
        place = self._project / path
        try:
            there = place.is_file()
        except OSError as exc:
            self._warn(f"{one_line(path)} cannot be opened: {exc.strerror}.")
            return
        if not there:
            self._warn(f"There is no {one_line(path)} any more.")
            return
        try:
            environ, name = at_line(os.environ, str(place), line)
            await open_outside(app_of(self._screen), name, environ)
        except CogencyError as exc:
            self._warn(exc.advice)

    def _edit_conflict(self, file: OpenFile, hunk: Hunk) -> None:
        merged = file.conflicts[hunk.id].merged
        place = _unsettled(file.choices[hunk.id])
        if merged is None:
            self._warn("There are no lines to write here. 1 leaves what is there now, 2 puts back what was.")
            return
        if place is None:
            return
        try:
            ours = merged.conflicts[place].ours.decode()
        except UnicodeDecodeError:
            # What cannot be read as text would be lost by writing it back.
            self._warn("These lines are no UTF-8. 1 leaves what is there now, 2 puts back what was.")
            return
        task = Task("Settle the conflict", f"{one_line(file.file.path)}, {_where(hunk)}", ours, "take it")
        self._write(task, lambda written: self._choose(file, hunk.id, Text(_ended(written))))

    def _choose(self, file: OpenFile, id: str, choice: Choice) -> None:
        choices = file.choices[id]
        place = _unsettled(choices)
        if place is not None:
            choices[place] = choice
        made: list[Choice] = [each for each in choices if each is not None]
        if len(made) == len(choices):
            self._deciding.settle(target_of(file.file.key, id), file.conflicts[id], made)
        else:
            self._view.renew()

    def _write(self, task: Task, take: Callable[[str], None]) -> None:
        if clean(task.text) != task.text:
            self._warn("There are characters in these lines that cannot be typed here. o opens the file.")
            return

        def written(text: str | None) -> None:
            if text is not None and (text != task.text or task.text):
                take(text)

        app_of(self._screen).push_screen(WritingScreen(task), written)

    @property
    def _shown(self) -> OpenFile | None:
        """The open file, if it is the selected one: another may still be on its way."""
        file, opened = self._files.file, self._view.file
        return opened if file is not None and opened is not None and opened.file.key == file.key else None

    def _target(self) -> Target | None:
        """The file where the list has the focus, else what is picked or has the cursor."""
        file = self._files.file
        if file is None:
            return None
        if self._files.has_focus:
            return target_of(file.key)
        return self._picking.target() if self._shown is not None else None

    def _go_on(self, target: Target) -> None:
        """After a decision the next hunk comes, if there is one."""
        file = self._shown
        self._picking.clear()
        if file is None or not target.hunks:
            return
        place = next_undecided(file, self._view.place, target.hunks)
        if place is not None:
            self._view.go_to(place)

    def _warn(self, text: str) -> None:
        self._screen.notify(text, severity="warning", markup=False)


def _unsettled(choices: Sequence[Choice | None]) -> int | None:
    return next((index for index, choice in enumerate(choices) if choice is None), None)


def _where(hunk: Hunk) -> str:
    first, end = hunk.outline.new
    return f"line {first + 1}" if end - first < 2 else f"lines {first + 1}–{end}"


def _ended(text: str) -> str:
    """`text` with a newline at its end, unless it is empty."""
    return f"{text}\n" if text and not text.endswith("\n") else text
