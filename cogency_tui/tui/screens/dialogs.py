"""Questions to the person. Each is a modal screen that returns a typed answer, and changes nothing itself."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from cogency_tui.agent.permissions import Answer, Question
from cogency_tui.text import one_line, reveal
from cogency_tui.tui.drawing.diff import draw_diff, looks_like_diff
from cogency_tui.tui.drawing.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.host import app_of
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.bar import Bar
from cogency_tui.tui.widgets.line_view import LineView

STYLES = Path(__file__).parent.parent / "styles" / "dialogs.tcss"
"""Read when the first dialog is shown."""

DEAF = 0.4
"""Seconds for which a question hears no key: what was typed for something else must not answer it."""


Choice: TypeAlias = tuple[str, str, str]
"""A key, what it answers, and the action behind it."""

_ANSWERS: list[Choice] = [
    ("y", "once", "answer(True, 'once')"),
    ("a", "for this conversation", "answer(True, 'conversation')"),
    ("n", "no", "answer(False, 'once')"),
    ("r", "no, with a reason", "reason"),
]
_REASONING: list[Choice] = [
    ("enter", "no, for this reason", "refuse"),
    ("esc", "back", "answer(False, 'once')"),
]


class Choices(Bar):
    """The possible answers, by key and by click."""

    SURFACE = "raised"

    class Chosen(Message):
        """The answer with this action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, choices: list[Choice], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._choices = choices
        self._spans: list[tuple[int, int, str]] = []

    def offer(self, choices: list[Choice]) -> None:
        """Offer other answers."""
        self._choices = choices
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        shown: list[Segment] = []
        self._spans = []
        for key, label, action in self._choices:
            pair = [
                Segment(key, self.inks("accent", "raised", "bold")),
                Segment(f" {label}   ", self.inks("text", "raised")),
            ]
            start = width_of(shown)
            if start + width_of(pair) - 3 > width:
                break
            shown += pair
            self._spans.append((start, start + width_of(pair) - 3, action))
        return shown

    def on_click(self, event: events.Click) -> None:
        for start, end, action in self._spans:
            if start <= event.x < end:
                self.post_message(self.Chosen(action))


class DialogBody(LineView):
    """Lines that scroll, made for the width that there is."""

    def __init__(self, draw: Callable[[int, Inks], list[Line]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._lines: list[Line] = []

    def line_at(self, y: int) -> Line | None:
        return self._lines[y] if y < len(self._lines) else None

    def surface_at(self, y: int) -> str:
        return "surface"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        self._lines = self._draw(max(8, width - 2 * self.MARGIN), self.inks)
        return len(self._lines)

    def on_resize(self) -> None:
        self._lines = self._draw(self.text_width, self.inks)
        self.resize_column(len(self._lines))
        self.refresh()


class PermissionQuestion(ModalScreen[Answer | None]):
    """Shows exactly what a call would do, and returns the answer; None if nobody waits for it any more."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True, 'once')", "Yes, once", id="question.once", tooltip="Allow this one call"),
        Binding(
            "a",
            "answer(True, 'conversation')",
            "Yes, for this conversation",
            id="question.conversation",
            tooltip="Allow calls like this until the conversation ends",
        ),
        Binding("n,escape", "answer(False, 'once')", "No", id="question.no", tooltip="Refuse this call"),
        Binding(
            "r", "reason", "No, with a reason", id="question.reason", tooltip="Refuse, and tell the model why"
        ),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="question.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="question.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="question.page_up"),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="question.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, question: Question, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._question = question
        self._clock = clock
        self._hears_from = clock() + DEAF

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield DialogBody(self._draw, id="question-body")
            yield Input(placeholder="Why not? Enter sends it to the model", id="question-reason")
            with Vertical(classes="dialog-foot"):
                yield Choices(_ANSWERS)

    def on_mount(self) -> None:
        self._begin_deaf()
        self.watch(app_of(self), "app_focus", self._begin_deaf, init=False)
        field = self.query_one("#question-reason", Input)
        field.display = False
        field.cursor_blink = False

    def on_resize(self, event: events.Resize) -> None:
        """Leave room for the answers however long the detail is."""
        self.query_one(DialogBody).styles.max_height = max(3, event.size.height * 86 // 100 - 6)

    def _begin_deaf(self) -> None:
        """What is pressed in the first moments was meant for something else.

        The same goes for the click that brings the terminal to the front.
        """
        self._hears_from = self._clock() + DEAF

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action not in ("answer", "reason") or self._clock() >= self._hears_from

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_answer(self, allow: bool, scope: str) -> None:
        field = self.query_one("#question-reason", Input)
        if field.display and not allow:
            field.display = False
            self.query_one(Choices).offer(_ANSWERS)
            self.set_focus(None)
            return
        self.dismiss(Answer(allow, "conversation" if scope == "conversation" else "once"))

    def action_reason(self) -> None:
        field = self.query_one("#question-reason", Input)
        field.display = True
        field.focus()
        self.query_one(Choices).offer(_REASONING)

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def action_refuse(self) -> None:
        reason = self.query_one("#question-reason", Input).value
        self.dismiss(Answer(allow=False, reason=reason.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_refuse()

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        question = self._question
        verb = {"write": "change files", "command": "run a command"}.get(question.effect, "read")
        head = [
            Segment("? ", inks("edit", attributes="bold")),
            Segment(one_line(question.tool), inks("text", attributes="bold")),
            Segment(f" wants to {verb}", inks("text")),
        ]
        lines = [
            Line(head),
            *wrap([Segment(f"Asked because {reveal(question.reason)}.", inks("dim"))], width),
        ]
        detail = question.detail.rstrip("\n")
        if question.effect != "command" or not detail:
            lines += [
                BLANK,
                *wrap([Segment(reveal(question.summary), inks("text", attributes="bold"))], width),
            ]
        if not detail:
            return lines
        if looks_like_diff(detail):
            return [*lines, BLANK, *draw_diff(detail, width, inks)]
        mark = "$ " if question.effect == "command" else ""
        return [*lines, BLANK, *wrap([Segment(mark + reveal(detail), inks("edit"))], width)]


class Confirmation(ModalScreen[bool]):
    """One question with yes and no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes", id="confirm.yes"),
        Binding("n,escape", "answer(False)", "No", id="confirm.no"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="confirmation"):
            yield DialogBody(self._draw, id="confirmation-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([("y", "yes", "answer(True)"), ("n", "no", "answer(False)")])

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        return wrap([Segment(self._text, inks("text"))], width)
