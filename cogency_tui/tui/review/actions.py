"""The keys of the review that decide: their targets, and the dialogs that precede a decision."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from textual.screen import Screen

from cogency_tui.agent.edits.file_history import hook_of
from cogency_tui.agent.review.conflicts import Choice, Text
from cogency_tui.agent.review.model import ChangedFile, FileKey, Hunk, Target
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import clean, one_line
from cogency_tui.store.edit_records import Edit
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.review.background_decisions import Deciding, describe
from cogency_tui.tui.review.background_reader import target_of
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.file_list import FileList
from cogency_tui.tui.review.open_file import WHOLE_FILE, OpenFile
from cogency_tui.tui.review.picking import Picking
from cogency_tui.tui.review.text_editor import Task
from cogency_tui.tui.terminal.external_editor import at_line
from cogency_tui.tui.terminal.key_order import key_order_of


def undecided(file: OpenFile, but: Collection[str]) -> list[int]:
    """The hunks that are undecided and not among `but`."""
    return [at for at, hunk in enumerate(file.hunks) if hunk.state == "new" and hunk.id not in but]


OpenEditor = Callable[[Task, str, Callable[[str], None]], None]
"""Has a text written below a hunk; the function receives it."""


class Acting:
    """Turns keys into decisions about the changes in `project`, as shown by `view` and `files`; calls
    `reload` when others may have changed a file."""

    def __init__(
        self,
        screen: Screen[Any],
        project: Path,
        view: DiffView,
        files: FileList,
        picking: Picking,
        deciding: Deciding,
        open_editor: OpenEditor,
        reload: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._project = project
        self._view = view
        self._files = files
        self._picking = picking
        self._deciding = deciding
        self._open_editor = open_editor
        self._reload = reload
        self._decided: tuple[FileKey | None, set[str]] = None, set()
        """Hunks of a file that were just decided: their states follow."""
        self.handlers: Mapping[str, Callable[[], None]] = {
            "keep": self.keep,
            "revert": self.revert,
            "revert_last_edit": self.revert_last_edit,
            "revert_file": self.revert_file,
            "revert_turn": self.revert_turn,
            "edit": self.edit,
            "comment": self.comment,
            "undo": self.undo,
            "redo": deciding.redo,
            "settle_ours": partial(self.settle, "ours"),
            "settle_theirs": partial(self.settle, "theirs"),
            "copy": self.copy,
            "open": self.open,
        }

    def keep(self) -> None:
        """Keep the targets."""
        if targets := self._targets():
            self._deciding.keep(targets, visible=self._is_selected(targets))
            self._go_on(targets)

    def revert(self) -> None:
        """Revert the targets."""
        if targets := self._targets():
            self._deciding.revert(targets, visible=self._is_selected(targets))
            self._go_on(targets)

    @property
    def last_edit(self) -> Edit | None:
        """The last edit of the hunk at the cursor, where it can be reverted alone."""
        hunk = self._view.hunk if self._shown is not None else None
        return None if hunk is None or self._files.has_focus else hunk.last_edit

    @property
    def keeps_by_restoring(self) -> bool:
        """True if what would be kept is not in the file, and comes back."""
        hunk = None if self._files.has_focus else self._view.hunk
        target = hunk or self._files.file
        return target is not None and target.state in ("reverted", "gone")

    def revert_last_edit(self) -> None:
        """Revert the last edit of the hunk at the cursor, and not those before it."""
        file, hunk = self._shown, self._view.hunk
        if file is not None and hunk is not None and self.last_edit is not None:
            self._deciding.revert_last_edit(target_of(file.file.key, hunk.id), _of_edit(self.last_edit))
        else:
            self._warn("No hunk of several edits here. n reverts it.")

    def revert_file(self) -> None:
        """Revert all changes of the turn to the file."""
        if file := self._files.file:
            self._deciding.revert([target_of(file.key)])

    def revert_turn(self) -> None:
        """Revert all changes of the turn."""
        if file := self._files.file:
            self._deciding.revert([Target(file.key.turn)])

    def undo(self) -> None:
        """Undo the last decision."""
        self._decided = None, set()
        self._deciding.undo()

    def edit(self) -> None:
        """Edit the lines of the hunk, or those of its conflict."""
        file, hunk = self._shown, self._view.hunk
        if file is None or hunk is None:
            self._warn("No editable lines here. o opens the file.")
            return
        target = target_of(file.file.key, hunk.id)
        if hunk.id in file.conflicts:
            self._edit_conflict(file, hunk)
            return
        task = Task(
            "Edit hunk",
            _where(hunk),
            file.text(hunk),
            "save",
            path=file.file.path,
            line=file.line(hunk),
            above=file.coloring.above(hunk.outline.new[0] + 1),
        )
        # The lines of a reverted hunk are not in the file.
        seen = None if hunk.state == "reverted" else task.text
        self._write_lines(task, target, hunk.id, seen)

    def _write_lines(self, task: Task, target: Target, hunk: str, seen: str | None) -> None:
        """Have the lines of a hunk written, again if they cannot be saved."""

        def save(written: str) -> None:
            again = replace(task, draft=written)
            text = _ended(written)
            self._deciding.edit(target, text, seen, lambda: self._write_lines(again, target, hunk, seen))

        self._write(task, hunk, save)

    def comment(self) -> None:
        """Write a comment about the targets."""
        if targets := self._targets():
            task = Task("Comment", _about(targets), "", "save", short=True)
            self._write(task, self._last_shown(targets), partial(self._deciding.comment, targets))

    def settle(self, choice: Literal["ours", "theirs"]) -> None:
        """Choose a side for the first unsettled place."""
        file, hunk = self._shown, self._view.hunk
        id = hunk.id if hunk else WHOLE_FILE
        if file is None or id not in file.conflicts:
            self._warn("No conflict here.")
            return
        self._choose(file, id, choice)

    def copy(self) -> None:
        """Copy the picked hunks of the shown file, or the one at the cursor, as a patch."""
        file, hunk = self._shown, self._view.hunk
        at_cursor = {hunk.id} if hunk else set[str]()
        hunks = [each for each in file.hunks if each.id in (file.picked or at_cursor)] if file else []
        if file is None or not hunks:
            self._warn("No lines to copy here.")
            return
        app_of(self._screen).copy_to_clipboard("".join(file.diff.patch(hunk) for hunk in hunks))

    def open(self) -> None:
        """Open the present file in the user's editor, at the line of the cursor."""
        if file := self._files.file:
            work = self._screen.run_worker(partial(self._open, file), group="editor", exclusive=True)
            # Letters typed before the editor has the terminal are meant for it: they decide nothing.
            key_order_of(self._screen).drop_while(lambda: not work.is_finished)

    async def _open(self, file: ChangedFile) -> None:
        from cogency_tui.tui.terminal.external_editor import open_outside

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
            self._warn(f"Cannot open {one_line(path)}: {exc.strerror}.")
            return
        if not there:
            self._warn(f"{one_line(path)} no longer exists.")
            return
        try:
            environ, name = at_line(os.environ, str(place), line)
            await open_outside(app_of(self._screen), name, environ)
        except CogencyError as exc:
            self._warn(exc.advice)
        self._reload()

    def _edit_conflict(self, file: OpenFile, hunk: Hunk) -> None:
        merged = file.conflicts[hunk.id].merged
        place = _unsettled(file.choices[hunk.id])
        if merged is None:
            self._warn("No lines to edit here. 1 current version · 2 version before the agent's edit")
            return
        if place is None:
            return
        try:
            ours = merged.conflicts[place].ours.decode()
        except UnicodeDecodeError:
            # Bytes that are not valid text would be lost on writing them back.
            self._warn("These lines are not UTF-8. 1 current version · 2 version before the agent's edit")
            return
        task = Task("Resolve conflict", _where(hunk), ours, "apply", path=file.file.path)
        self._write(task, hunk.id, lambda written: self._choose(file, hunk.id, Text(_ended(written))))

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

    def _write(self, task: Task, hunk: str, take: Callable[[str], None]) -> None:
        """Have a text written below a hunk."""
        if clean(task.text) != task.text:
            self._warn("These lines contain characters that cannot be edited here. o opens the file.")
            return

        def written(text: str) -> None:
            if text or task.text:
                take(text)

        self._open_editor(task, hunk, written)

    @property
    def _shown(self) -> OpenFile | None:
        """The open file, if it is the selected one; None while that is still loading."""
        file, opened = self._files.file, self._view.file
        return opened if file is not None and opened is not None and opened.file.key == file.key else None

    def _targets(self) -> list[Target]:
        """The picked hunks; else the file if the list has the focus, or the hunk at the cursor."""
        file = self._files.file
        if picked := self._picking.targets():
            return picked
        if file is None:
            return []
        if self._files.has_focus:
            return [target_of(file.key)]
        hunk = self._view.hunk
        return [target_of(file.key, hunk.id if hunk else WHOLE_FILE)] if self._shown is not None else []

    def _is_selected(self, targets: Sequence[Target]) -> bool:
        """Return whether all targets are in the selected file."""
        file = self._files.file
        return file is not None and [replace(each, hunks=()) for each in targets] == [target_of(file.key)]

    def _last_shown(self, targets: Sequence[Target]) -> str:
        """The last hunk of the targets in the shown file; the whole file if there is none."""
        file = self._shown
        ids = [id for each in targets for id in each.hunks if file and each.path == file.file.path]
        return next((each.id for each in reversed(file.hunks if file else ()) if each.id in ids), WHOLE_FILE)

    def _go_on(self, targets: Sequence[Target]) -> None:
        """After a decision, go to the next undecided hunk; from a file without any, to a later file's."""
        file, target = self._shown, targets[0]
        self._picking.clear()
        if file is None or not self._is_selected(targets) or not target.hunks:
            return
        key, decided = self._decided
        decided = {*target.hunks, *(decided if key == file.file.key else ())}
        self._decided = file.file.key, decided
        left, place = undecided(file, decided), self._view.place
        if not left:
            self._files.select_undecided()
        elif place is not None and left[-1] > place:
            self._view.go_to(next(at for at in left if at > place))

    def _warn(self, text: str) -> None:
        self._screen.notify(text, severity="warning", markup=False)


def _of_edit(edit: Edit) -> str:
    name = hook_of(edit)
    return f"the edit of hook {one_line(name)}" if name else "the last edit"


def _about(targets: Sequence[Target]) -> str:
    """What a decision is about, unless it is one hunk: a file, or the number of hunks."""
    if len(targets) > 1:
        return describe(targets)
    count = len(targets[0].hunks)
    return plural(count, "hunk") if count > 1 else "" if count else one_line(targets[0].path)


def _unsettled(choices: Sequence[Choice | None]) -> int | None:
    return next((index for index, choice in enumerate(choices) if choice is None), None)


def _where(hunk: Hunk) -> str:
    first, end = hunk.outline.new
    return f"line {first + 1}" if end - first < 2 else f"lines {first + 1}–{end}"


def _ended(text: str) -> str:
    """`text` with a newline at its end, unless it is empty."""
    return f"{text}\n" if text and not text.endswith("\n") else text
