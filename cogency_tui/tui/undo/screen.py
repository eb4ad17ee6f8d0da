"""The dialog that previews an undo or redo, file by file, for the user's confirmation."""

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.dialogs import Choice, Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.diff import DiffLayout
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock, Stack
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_preview import Plan

_VERBS = {"undo": "Revert", "redo": "Restore"}


class UndoScreen(ReadingScreen[bool]):
    """Shows the changes of `plan`, under `title`, or one that names its turn, begun by `prompt`.

    Returns True on confirmation.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Apply", id="undo.yes"),
        Binding("enter", "read_on", "Scroll, then apply", id="undo.read_on"),
        Binding("n", "close", "Cancel", id="undo.no"),
    ]

    def __init__(self, plan: "Plan", title: str = "", prompt: str = "") -> None:
        super().__init__()
        self._plan = plan
        self._title = title or _describe(plan)
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle(self._title, id="undo-title"),
            DialogBody(self._draw, id="undo-body"),
            keys=Choices(self._choices()),
            id="undo",
        )

    def on_mount(self) -> None:
        facts = [plural(len(self._plan.changes), "file"), one_line(self._prompt)]
        self.query_one(DialogTitle).state(" · ".join(filter(None, facts)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action != "accept" or not self._plan.obstacles

    def action_accept(self) -> None:
        self.dismiss(True)

    def action_read_on(self) -> None:
        """Scroll on; apply the plan where its end is visible. One that cannot be applied is closed."""
        body = self.query_one(DialogBody)
        if body.scroll_offset.y < body.max_scroll_y:
            self.action_scroll(max(1, body.page - 1))
        elif self._plan.obstacles:
            self.action_close()
        else:
            self.action_accept()

    def _choices(self) -> list[Choice]:
        if self._plan.obstacles:
            return [("escape", "close", "close")]
        return [("y", "apply", "accept"), ("n", "cancel", "close")]

    def _draw(self, width: int, styles: ThemeStyles) -> LayoutBlock:
        diff = "".join(planned.diff for planned in self._plan.changes)
        summary = self._draw_summary(width, styles)
        blocks: list[LayoutBlock] = [Fixed(summary[1:])]
        if diff:
            blocks += [Fixed([BLANK] if summary else []), DiffLayout(diff, width, styles, headed=True)]
        return Stack(blocks)

    def _draw_summary(self, width: int, styles: ThemeStyles) -> list[Line]:
        """Draw what the changes leave out, each below a blank line."""
        # Not needed for the first frame.
        from cogency_tui.agent.edits.undo_preview import left_out

        plan = self._plan
        lines: list[Line] = []
        for obstacle in plan.obstacles:
            text = f"✗ {one_line(obstacle.path)}: {reveal(obstacle.reason)}"
            lines += [BLANK, *wrap([Segment(text, styles("bad"))], width)]
        if plan.obstacles:
            message = "Nothing was changed. `cogency-tui edits revert --path …` reverts the other files."
            lines += [BLANK, *wrap([Segment(message, styles("dim"))], width)]
        for path in plan.for_good:
            text = f"{one_line(path)} is too large to store: its current content cannot be restored."
            lines += [BLANK, *wrap([Segment(text, styles("bad"))], width)]
        if plan.left:
            lines += [BLANK, *wrap([Segment(reveal(left_out(plan.left)), styles("dim"))], width)]
        return lines


def _describe(plan: "Plan") -> str:
    """What applying `plan` does, in a few words."""
    verb = _VERBS.get(plan.tool, plan.tool)
    return (
        f"{verb} the changes from turn {plan.turn}" if plan.turn else f"{verb} the changes of the last undo"
    )
