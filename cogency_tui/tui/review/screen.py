"""The review: changed files on the left, the diff of one on the right, and a key for every decision.

It composes, and passes keys on: `widget_updates` updates the widgets, `actions` decides. The agent may work
meanwhile: `reload` refreshes the screen. Keys typed ahead of a diff that is loading wait for it, in order.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.containers import Horizontal

from cogency_tui.agent.review.review import Review
from cogency_tui.tui.kit.bar import ButtonBar, Surface
from cogency_tui.tui.kit.dialogs import AnsweringScreen, discard
from cogency_tui.tui.kit.filter_line import FilterLine
from cogency_tui.tui.kit.footer import Footer, Hints
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.review.actions import Acting
from cogency_tui.tui.review.background_decisions import Deciding
from cogency_tui.tui.review.diff_annotations import FileTitle, ReviewHeader
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.file_list import FileList
from cogency_tui.tui.review.keys import NARROW_HINTS, REVIEW_HINTS, REVIEW_KEYS
from cogency_tui.tui.review.open_file import WHOLE_FILE
from cogency_tui.tui.review.picking import Picking
from cogency_tui.tui.review.text_editor import ReviewText, Task, TextEditor
from cogency_tui.tui.review.widget_updates import Showing, Widgets
from cogency_tui.tui.terminal.title_and_notifications import State

BOTH_FIT = 96
"""Cells from which list and diff are side by side, which leaves the diff 60 cells of text."""

REVIEW_STYLES = Path(__file__).parent.parent / "styles" / "review.tcss"

_ROOMY = 120
"""Cells from which the list may be wider than a third."""

_CLOSING = ("step_back", "close")
_ON_LIST = (*_CLOSING, "file(1)", "file(-1)", "switch", "to_list", "group", "help")
"""Actions that need no diff."""

_ON_FILE = ("do('keep')", "do('revert')", "do('revert_file')", "do('revert_turn')", "pick")
"""Actions that affect the selected file while the list has the focus."""

_LIST = 30
"""The least width of the list beside the diff."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The user's destination in the conversation: a call, or, if it is not there, a turn."""

    call: str
    turn: int


@dataclass(frozen=True, slots=True)
class ReviewCommand:
    """A command for the main screen."""

    handler: str
    argument: str


class ReviewScreen(AnsweringScreen[Jump | ReviewCommand | None]):
    """The review of the conversation called `title`, in `project`; the changes of `call` come first."""

    BINDINGS = REVIEW_KEYS
    BINDING_GROUP_TITLE = "Reviewing"
    AUTO_FOCUS = ""
    BLANK = True
    CSS_PATH: ClassVar = [REVIEW_STYLES]

    def __init__(self, review: Review, project: Path, title: str = "", call: str = "") -> None:
        super().__init__()
        self._widgets = Widgets(
            ReviewHeader(title, id="review-header"),
            PaneTitle("Changed files", id="review-files-title"),
            FilterLine("path, state, kind or prompt", id="review-filter"),
            FileList(id="review-files"),
            FileTitle(id="review-file-title"),
            DiffView(id="review-diff"),
        )
        self._files, self._view = self._widgets.files, self._widgets.view
        self._picking = Picking(self._view)
        self._showing = Showing(
            self,
            review,
            self._widgets,
            call,
            self._picking,
            fit_list=self.fit_list,
            caught_up=self._act_in_order,
        )
        self._typed: deque[str] = deque()
        deciding = Deciding(self, review, self._showing.decided)
        self._editor = TextEditor(self._fit_editor, self._close_editor, id="writing")
        self._written = WHOLE_FILE
        self._acting = Acting(
            self,
            project,
            self._view,
            self._files,
            self._picking,
            deciding,
            self._open_editor,
            self.reload,
        )
        self._hinted = (False, False)
        """The state that the keys in the footer were shown for."""
        self._straight = bool(call)
        self._left = Surface(id="review-left")

    @property
    def unsaved(self) -> str:
        return self._editor.unsaved

    def compose(self) -> ComposeResult:
        widgets = self._widgets
        yield widgets.header
        with Horizontal(id="review-panes"):
            with self._left:
                yield widgets.list_title
                yield widgets.filter
                yield widgets.files
            with Surface(id="review-right"):
                yield widgets.file_title
                yield widgets.view
                yield self._editor
        yield Footer(id="footer")

    def key_hints(self) -> Hints:
        dispensable = [] if self._showing.can_undo else ["do('undo')"]
        self._hinted = self._to_hint()
        dispensable += [] if self._acting.last_edit else ["do('revert_last_edit')"]
        hints = NARROW_HINTS if self.has_class("-one") else REVIEW_HINTS
        return Hints([each for each in hints if each not in dispensable])

    def _to_hint(self) -> tuple[bool, bool]:
        return self._acting.last_edit is not None, self._acting.keeps_by_restoring

    def key_label(self, action: str) -> str:
        if action == "do('keep')":
            return "restore" if self._acting.keeps_by_restoring else ""
        return "clear selection" if action == "step_back" and self._picking.any else ""

    def on_mount(self) -> None:
        size = app_of(self).size
        self._fit(size.width, size.height)
        self.set_focus(self._files if size.width < BOTH_FIT and not self._straight else self._view)
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self._view.renew())
        self.reload()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width, event.size.height)

    def reload(self) -> None:
        """Refresh the screen, after a possible change."""
        self._showing.reading.refresh()

    def report_state(self, state: State) -> None:
        """Show whether the agent works, or waits for the user."""
        self._widgets.header.report_state(state)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        in_diff = event.widget is self._view or isinstance(event.widget, ReviewText)
        self._widgets.file_title.light(in_diff)
        self._widgets.list_title.light(not in_diff)
        self.set_class(in_diff, "-diff")

    def on_key(self, event: events.Key) -> None:
        """Queue the key behind those before it. Closing, pressed again, does not wait for the diff."""
        event.stop()
        bound = self.active_bindings.get(event.key)
        if bound is not None and bound.binding.action in _CLOSING and event.key in self._typed:
            self._typed.clear()
        self._typed.append(event.key)
        self._act_in_order()

    def _act_in_order(self) -> None:
        if self._typed:
            app_of(self).call_next(self._act)

    async def _act(self) -> None:
        """Run the queued keys, up to one that acts on a diff that is still loading."""
        while self._typed:
            bound = self.active_bindings.get(self._typed[0]) if self.is_active else None
            if bound is not None and self._waits(bound):
                return
            key = self._typed.popleft()
            if bound is not None:
                # A binding may pass its key on to the next one: Textual has no public way to it.
                await app_of(self)._check_bindings(key)  # pyright: ignore[reportPrivateUsage]

    def _waits(self, bound: ActiveBinding) -> bool:
        """True if the key acts on the diff of the selected file, and that is not shown yet."""
        action = bound.binding.action
        on_diff = bound.node in (self, self._view) and action not in _ON_LIST
        return on_diff and self._showing.is_behind and not (self._files.has_focus and action in _ON_FILE)

    def on_select_list_selected(self) -> None:
        self._showing.show_selected()

    def on_select_list_chosen(self) -> None:
        self.set_focus(self._view)

    def on_diff_view_moved(self) -> None:
        self._picking.follow()
        self._showing.show_title()
        if self._to_hint() != self._hinted:
            self.refresh_bindings()

    def on_filter_line_changed(self) -> None:
        self._showing.show_list()

    def on_filter_line_moved(self, event: FilterLine.Moved) -> None:
        self._files.move(event.step)

    def on_filter_line_accepted(self) -> None:
        self.set_focus(self._view if self._files.file else self._files)

    def on_filter_line_left(self) -> None:
        self.set_focus(self._files)

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow little else while a text is written: it could be lost. What acts on a file needs one."""
        if self._editor.is_open and action not in ("step_back", "help", "command"):
            return False
        acts_on_file = action in ("enter", "sides") or (
            action == "do" and parameters[0] not in ("undo", "redo")
        )
        return self._files.file is not None if acts_on_file else True

    def action_do(self, what: str) -> None:
        """Decide, or ask for what the decision needs."""
        self._acting.handlers[what]()

    def action_hunk(self, step: int) -> None:
        """Go to another hunk; after the last one of a file, to the next file's first."""
        self.set_focus(self._view)
        file, place = self._view.file, self._view.place
        if file is None or place is None or not 0 <= place + step < len(file.hunks):
            self._showing.leave(step)
        else:
            self._view.go_to(place + step)

    def action_line(self, step: int) -> None:
        """Move the cursor of the diff by a line; from the last one of a file, to the next file."""
        if self._view.is_at_end(step):
            self._showing.leave(step)
        else:
            self._view.move_cursor(step)

    def action_file(self, step: int) -> None:
        self._files.move(step)

    def action_enter(self) -> None:
        """Open the fold; else go to the call that made the hunk."""
        view = self._view
        if view.fold is not None:
            view.unfold(view.fold)
        elif view.file is not None:
            edits = view.hunk.edits if view.hunk else view.file.file.edits
            self.dismiss(Jump(edits[-1].call, edits[-1].origin.turn))

    def action_pick(self) -> None:
        """Select the hunk at the cursor, or all of the file in the list; or clear that."""
        file = self._files.file
        if self._files.has_focus and file is not None:
            self._picking.toggle_file(file)
        else:
            self._picking.toggle()
        self._show_picks()

    def action_range(self) -> None:
        self._picking.toggle_range()
        self._show_picks()

    def _show_picks(self) -> None:
        self._showing.show_title()
        self.refresh_bindings()

    def action_sides(self) -> None:
        self._view.turn()
        self._showing.show_title()

    def action_folds(self) -> None:
        self._view.toggle_folds()

    def action_group(self) -> None:
        """Group by turn, or by file."""
        reading = self._showing.reading
        reading.by = "file" if reading.by == "turn" else "turn"
        reading.refresh()

    def action_filter(self) -> None:
        self.set_class(False, "-diff")
        self._widgets.filter.open()

    def action_switch(self) -> None:
        self.set_focus(self._files if self._view.has_focus else self._view)

    def action_to_list(self) -> None:
        self.set_focus(self._files)

    def action_help(self) -> None:
        from cogency_tui.tui.help.screen import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen("Review", collect_keys(self)))

    def action_step_back(self) -> None:
        """Return to the text that is written, clear the selection or the picks, or show the covered list;
        else close.
        """
        if self._editor.is_open:
            self._editor.resume()
        elif self.selections:
            self.clear_selection()
        elif self._picking.any:
            self._picking.clear()
            self._show_picks()
        elif self.has_class("-one") and self._view.has_focus and self._files.file is not None:
            self.set_focus(self._files)
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_command(self, handler: str, argument: str = "") -> None:
        """Pass a command from the palette to the main screen; ask first if that loses a text."""
        discard(self, self.unsaved, lambda: self.dismiss(ReviewCommand(handler, argument)))

    def _open_editor(self, task: Task, hunk: str, take: Callable[[str], None]) -> None:
        """Have a text written below a hunk."""
        self.set_class(True, "-diff")
        self._written = hunk
        self._editor.begin(task, take)
        self._fit_editor()

    def _fit_editor(self) -> None:
        if self._editor.is_open:
            self._view.inset(self._editor, self._written, self._editor.rows)

    def _close_editor(self) -> None:
        self._view.clear_inset()
        self.set_focus(self._view)

    def fit_list(self) -> None:
        """Make the list as wide as its names, and leave the diff most of the screen."""
        width = app_of(self).size.width
        most = width * 2 // 5 if width >= _ROOMY else width // 3
        self._left.styles.width = (
            max(_LIST, min(self._files.natural_width, most)) if width >= BOTH_FIT else "1fr"
        )

    def _fit(self, width: int, height: int) -> None:
        self.fit_list()
        self.set_class(width < BOTH_FIT, "-one")
        self._showing.show_title()
        self.refresh_bindings()
        self.set_class(height < 24, "-short")
