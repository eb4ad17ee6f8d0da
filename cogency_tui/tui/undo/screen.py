"""The dialog that previews an undo or redo, file by file, for the user's confirmation."""

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.dialogs import (
    Choice,
    Choices,
    Confirmation,
    DialogBody,
    DialogBox,
    DialogTitle,
    ReadingScreen,
)
from cogency_tui.tui.kit.diff import DiffLayout
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock, Stack
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import counted, plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_preview import Deviation, Plan

_VERBS = {"undo": "Revert", "redo": "Reapply"}
_DONE = {"Revert": "reverted", "Reapply": "reapplied"}


class UndoScreen(ReadingScreen["Plan"]):
    """Shows the changes of `plan`, under `title`, or one that names its turn, begun by `prompt`.

    Returns the plan to apply: without its obstacles, or, once the user has confirmed that, the one that
    overwrites the changes of others.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Apply", id="undo.yes"),
        Binding("o", "overwrite", "Overwrite", id="undo.overwrite"),
        Binding("enter", "read_on", "Scroll, then apply", id="undo.read_on"),
        Binding("n", "close", "Cancel", id="undo.no"),
    ]

    def __init__(self, plan: "Plan", title: str = "", prompt: str = "") -> None:
        super().__init__()
        self._plan = plan
        self._title = title or _describe(plan)
        self._verb = "Restore" if title else _VERBS.get(plan.tool, "Apply")
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle(self._title, id="undo-title"),
            DialogBody(self._draw, id="undo-body"),
            keys=Choices(self._choices()),
            id="undo",
        )

    def on_mount(self) -> None:
        counts = (len(self._plan.changes), "file"), (len(self._blocked), "conflict")
        facts = [*(plural(count, noun) for count, noun in counts if count), one_line(self._prompt)]
        self.query_one(DialogTitle).state(" · ".join(filter(None, facts)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        if action == "overwrite":
            return self._plan.overwriting is not None
        return action != "accept" or self._is_applicable

    @property
    def _is_applicable(self) -> bool:
        """True if the plan does anything without overwriting. An undo that finds nothing in the files is
        recorded at least, so that the next one goes further back.
        """
        plan = self._plan
        return bool(plan.changes or (plan.unchanged and self._verb in _DONE and not self._blocked))

    def action_accept(self) -> None:
        self.dismiss(self._plan.unobstructed)

    def action_overwrite(self) -> None:
        """Apply the plan that overwrites the changes of others, once the user has confirmed it."""
        files = plural(len(self._overwritten), "file")
        question = Confirmation(self._question(), yes=f"overwrite {files}", no="cancel")
        app_of(self).push_screen(question, self._overwrite)

    def _overwrite(self, confirmed: bool | None) -> None:
        if confirmed:
            self.dismiss(self._plan.overwriting)

    def action_read_on(self) -> None:
        """Scroll on; apply the plan where its end is visible, unless it loses content for good. One that
        cannot be applied is closed."""
        body = self.query_one(DialogBody)
        if body.scroll_offset.y < body.max_scroll_y:
            self.action_scroll(max(1, body.page - 1))
        elif not self._is_applicable:
            self.action_close()
        elif not self._plan.for_good:
            self.action_accept()

    @property
    def _blocked(self) -> "list[Deviation]":
        """The files in which nothing is restored without overwriting."""
        changed = {each.change.path for each in self._plan.changes}
        return [each for each in self._plan.deviations if each.path not in changed]

    @property
    def _overwritten(self) -> "list[Deviation]":
        return [each for each in self._plan.deviations if each.is_restorable]

    def _choices(self) -> list[Choice]:
        choices: list[Choice] = []
        if self._is_applicable:
            choices.append(("y", self._accept_label(), "accept"))
        if self._overwritten:
            also = "also " if self._is_applicable else ""
            choices.append(("o", f"{also}overwrite {plural(len(self._overwritten), 'file')}", "overwrite"))
        label = "cancel" if choices else "close"
        return [*choices, ("n" if choices else "escape", label, "close")]

    def _accept_label(self) -> str:
        count = len(self._plan.changes)
        return f"{self._verb.lower()} {plural(count, 'file')}" if count else f"mark as {_DONE[self._verb]}"

    def _question(self) -> str:
        """The question before overwriting, which names what is lost."""
        files = ", ".join(map(_with_lost, self._overwritten))
        return f"Overwrite {files}? /redo restores the current contents."

    def _draw(self, width: int, styles: ThemeStyles) -> LayoutBlock:
        summary = self._draw_summary(width, styles)
        blocks: list[LayoutBlock] = [Fixed(summary[1:])]
        if diff := "".join(planned.diff for planned in self._plan.changes):
            blocks += [Fixed([BLANK] if summary else []), DiffLayout(diff, width, styles, headed=True)]
        if diff := self._overwriting_diff():
            label = wrap([Segment("Changes if overwritten:", styles("dim"))], width)
            blocks += [Fixed([BLANK, *label, BLANK]), DiffLayout(diff, width, styles, headed=True)]
        return Stack(blocks)

    def _overwriting_diff(self) -> str:
        overwriting, paths = self._plan.overwriting, {each.path for each in self._overwritten}
        changes = overwriting.changes if overwriting else ()
        return "".join(planned.diff for planned in changes if planned.change.path in paths)

    def _draw_summary(self, width: int, styles: ThemeStyles) -> list[Line]:
        """Draw what the changes leave out, each below a blank line."""
        # Not needed for the first frame.
        from cogency_tui.agent.edits.undo_preview import left_out

        plan = self._plan
        blocked = self._blocked
        lines: list[Line] = [BLANK] if plan.deviations else []
        for each in plan.deviations:
            role, text = ("bad", self._obstacle(each)) if each in blocked else ("edit", _staying(each))
            lines += wrap([Segment(text, styles(role))], width)
        if text := self._nothing_to_do():
            lines += [BLANK, *wrap([Segment(text, styles("dim"))], width)]
        for path in plan.for_good:
            text = f"{one_line(path)} is too large to save; its current content will be lost."
            lines += [BLANK, *wrap([Segment(text, styles("bad"))], width)]
        if plan.left:
            lines += [BLANK, *wrap([Segment(reveal(left_out(plan.left)), styles("dim"))], width)]
        return lines

    def _obstacle(self, file: "Deviation") -> str:
        """Why a file is not restored, and what overwriting it would do."""
        effect = f" Overwriting loses {counted(*file.lost)}." if file.is_restorable and any(file.lost) else ""
        if file.is_missing:
            effect = " Overwriting creates it again." if file.is_restorable else ""
        return f"✗ {one_line(file.path)}: {reveal(file.reason)}.{effect}"

    def _nothing_to_do(self) -> str:
        """The files that no longer contain the changes, so that there is nothing to do in them."""
        others = {each.path for each in self._plan.deviations}
        paths = [one_line(each.path) for each in self._plan.unchanged if each.path not in others]
        if not (self._is_applicable or others):
            return "Files already match this point."
        nothing = f"Nothing to {self._verb.lower()} in {', '.join(paths)}"
        return f"{nothing}: the changes are no longer there." if paths else ""


def _staying(file: "Deviation") -> str:
    """Why a file is restored only in part."""
    return f"≠ {_with_lost(file)}: {reveal(file.reason)}; that change remains."


def _with_lost(file: "Deviation") -> str:
    """The path of a file, and the number of lines that others changed in it."""
    is_counted = any(file.lost) and not file.is_missing
    return one_line(file.path) + (f" ({counted(*file.lost)})" if is_counted else "")


def _describe(plan: "Plan") -> str:
    """What applying `plan` does, in a few words."""
    verb = _VERBS.get(plan.tool, plan.tool)
    return (
        f"{verb} the changes from turn {plan.turn}" if plan.turn else f"{verb} the changes of the last undo"
    )
