"""Questions to the person. Each is a modal screen that returns a typed answer, and changes nothing itself."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar, Literal, TypeAlias

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input

from cogency_tui.agent.permissions import Answer, Question
from cogency_tui.tui.drawing.keys import key_name
from cogency_tui.tui.drawing.lines import Line, width_of, wrap
from cogency_tui.tui.drawing.question import (
    REASONING,
    SMALLEST,
    Drawing,
    Reply,
    answers_to,
    answers_unread,
    draw_question,
    draw_too_small,
    refusals_of,
)
from cogency_tui.tui.host import app_of
from cogency_tui.tui.manners.driver import is_read
from cogency_tui.tui.screens.answering import Dialog
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.answers import Answers
from cogency_tui.tui.widgets.bar import Bar
from cogency_tui.tui.widgets.line_view import LineView

STYLES = Path(__file__).parent.parent / "styles" / "dialogs.tcss"
"""Read when the first dialog is shown."""

PAUSE = 0.8
"""Seconds without a key after which a question takes one as its answer: what is typed before is meant for the
prompt."""

_SCROLLING = frozenset(f"scroll({lines})" for lines in (-10, -1, 1, 10))
_ENTERING = _SCROLLING | {"enter"}

_SHORT = 24
"""Lines of a screen on which a question leaves no room around it."""

Choice: TypeAlias = tuple[str, str, str]
"""A key as it is bound (or signs for several), what it answers, and the action behind it."""

_SCOPES: Mapping[str, Literal["conversation", "always"]] = {
    "conversation": "conversation",
    "always": "always",
}


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
                Segment(self._name_of(key, action), self.inks("accent", "raised", "bold")),
                Segment(f" {label}   ", self.inks("text", "raised")),
            ]
            start = width_of(shown)
            if start + width_of(pair) - 3 > width:
                break
            shown += pair
            self._spans.append((start, start + width_of(pair) - 3, action))
        return shown

    def _name_of(self, key: str, action: str) -> str:
        """The key that does it: the person may have given it another."""
        bound = self.screen.active_bindings
        if key.isascii() and (key not in bound or bound[key].binding.action != action):
            key = next((other for other, each in bound.items() if each.binding.action == action), key)
        return key_name(key)

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

    def redraw(self) -> None:
        """What it says has changed."""
        self.refresh(layout=True)

    def on_resize(self) -> None:
        self._lines = self._draw(self.text_width, self.inks)
        self.resize_column(len(self._lines))
        self.refresh()


class QuestionBody(DialogBody):
    """What a question is about, and whether the window has shown all of its subject."""

    class SubjectSeen(Message):
        """The last line of the subject is rendered."""

    def __init__(self, draw: Callable[[int, Inks], Drawing], *, id: str | None = None) -> None:
        super().__init__(self._lines_of, id=id)
        self._draw_question = draw
        self._drawn_for = 0
        self._subject = range(0)
        self._seen: set[int] = set()

    @property
    def is_seen(self) -> bool:
        """Whether each line of the subject has been in the window as it is now."""
        return bool(self._subject) and self._seen.issuperset(self._subject)

    def forget(self) -> None:
        """Start over: the window is another."""
        self._seen.clear()
        self.redraw()

    def render_lines(self, crop: Region) -> list[Strip]:
        # The compositor renders what is in the window, and nothing else.
        if crop.column_span == (0, self.size.width) and self.size.width >= self.text_width + self.MARGIN:
            self._note(range(self.scroll_offset.y + crop.y, self.scroll_offset.y + crop.bottom))
        return super().render_lines(crop)

    def _note(self, lines: range) -> None:
        seen = self.is_seen
        self._seen.update(lines)
        if self.is_seen and not seen:
            self.post_message(self.SubjectSeen())

    def _lines_of(self, width: int, inks: Inks) -> list[Line]:
        lines, self._subject = self._draw_question(width, inks)
        if width != self._drawn_for:
            self._drawn_for = width
            self._seen.clear()
        return lines


class PermissionQuestion(Dialog[Answer | None]):
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
        Binding(
            "shift+a,A",
            "answer(True, 'always')",
            "Yes, always",
            id="question.always",
            tooltip="Make it a rule, which /permissions lists and takes back",
        ),
        Binding("n,escape", "answer(False, 'once')", "No", id="question.no", tooltip="Refuse this call"),
        Binding(
            "r", "reason", "No, with a reason", id="question.reason", tooltip="Refuse, and tell the model why"
        ),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="question.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="question.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="question.page_up"),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="question.page_down"),
        Binding(
            "tab",
            "enter",
            "Into the question",
            id="question.enter",
            tooltip="Answer without a pause from here on",
        ),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(
        self,
        question: Question,
        *,
        typed: Callable[[events.Key | events.Paste], None] = lambda _event: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Ask `question`; `typed` takes the keys that are not for it."""
        super().__init__()
        self._question = question
        self._typed = typed
        self._shown = False
        """Whether the terminal has taken the question: what was never shown cannot be answered."""
        self.clock = clock
        self._hears_from = clock() + PAUSE
        self._entered = False
        """Whether the user has gone into the question, and its keys need no pause any more."""

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield QuestionBody(self._draw, id="question-body")
            yield Input(placeholder="Why not? Enter sends it to the model", id="question-reason")
            with Vertical(classes="dialog-foot", id="question-foot"):
                yield Answers(answers_to(self._question), id="answers")

    def on_mount(self) -> None:
        self._begin_deaf()
        self.watch(app_of(self), "app_focus", self._begin_deaf, init=False)
        field = self.query_one("#question-reason", Input)
        field.display = False
        field.cursor_blink = False

    def on_resize(self, event: events.Resize) -> None:
        """Leave room for the answers however long the detail is."""
        self.set_class(event.size.height < _SHORT, "-short")
        self.query_one(QuestionBody).forget()
        if not self._reasoning:
            self._begin_deaf()
        self._offer()

    def on_question_body_subject_seen(self) -> None:
        self._offer()

    def _offer(self) -> None:
        """Offer the answers that can be given now, or that a deaf question is about to hear."""
        answers = self.query_one(Answers)
        if self._reasoning:
            answers.offer(REASONING)
        elif answers.deaf and not self._is_too_small:
            answers.offer(answers_to(self._question))
        else:
            answers.offer(self._answers)
        height = self.size.height
        around = 1 if height < _SHORT else 4 + height * 14 // 100
        room = height - answers.count - self._reasoning - around
        self.query_one(QuestionBody).styles.max_height = max(1, room)

    @property
    def _answers(self) -> Sequence[Reply]:
        if self.query_one(QuestionBody).is_seen:
            return answers_to(self._question)
        return refusals_of(self._question)[:1] if self._is_too_small else answers_unread(self._question)

    @property
    def _is_too_small(self) -> bool:
        return self.size.width < SMALLEST.width or self.size.height < SMALLEST.height

    def _begin_deaf(self) -> None:
        """Take no answer until nothing has been typed for a while.

        The same goes for the click that brings the terminal to the front.
        """
        self._hears_from = self.clock() + PAUSE
        self._entered = False
        answers = self.query_one(Answers)
        if not answers.deaf:
            answers.hear(deaf=True)
            self.set_timer(PAUSE, self._end_deaf)

    def _end_deaf(self) -> None:
        if not self._is_shown():
            self._hears_from = self.clock() + PAUSE
        if not self._hears:
            self.set_timer(max(0.0, self._hears_from - self.clock()), self._end_deaf)
            return
        self.query_one(Answers).hear(deaf=False)
        self._offer()
        # By now the other calls of its batch wait as well.
        self.query_one(DialogBody).redraw()

    @property
    def _hears(self) -> bool:
        return self._is_shown() and (self._entered or self.clock() >= self._hears_from)

    def _is_shown(self) -> bool:
        self._shown = self._shown or is_read(app_of(self))
        return self._shown

    @property
    def _reasoning(self) -> bool:
        return self.query_one("#question-reason", Input).display

    def on_key(self, event: events.Key) -> None:
        """Leave to the prompt what is typed in one go, and what is no key of the question."""
        if self._reasoning:
            return
        active = self.active_bindings.get(event.key)
        action = active.binding.action if active is not None and active.node is self else ""
        if action in _ENTERING and not event.is_printable:
            self._enter()
        elif not self._hears or (event.is_printable and not action):
            event.stop()
            event.prevent_default()
            self._begin_deaf()
            self._typed(event)
        elif action in _SCROLLING and not self._entered:
            self._begin_deaf()

    def _enter(self) -> None:
        if self._hears:
            self._entered = True
        else:
            self._begin_deaf()

    def on_paste(self, event: events.Paste) -> None:
        if not self._reasoning:
            self._begin_deaf()
            self._typed(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action not in ("answer", "reason"):
            return True
        wanted = action if action == "reason" else f"answer({parameters[0]}, '{parameters[1]}')"
        return wanted in {answer.action for answer in self._answers} and self._hears

    def on_answers_chosen(self, event: Answers.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_answer(self, allow: bool, scope: str) -> None:
        if self._reasoning and not allow:
            self._reason(shown=False)
            return
        self.dismiss(Answer(allow, _SCOPES.get(scope, "once")))

    def action_reason(self) -> None:
        self._reason(shown=True)

    def _reason(self, *, shown: bool) -> None:
        field = self.query_one("#question-reason", Input)
        field.display = shown
        self.set_focus(field if shown else None)
        self._offer()

    def action_enter(self) -> None:
        """Nothing but what every key does that goes into the question."""

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def action_refuse(self) -> None:
        reason = self.query_one("#question-reason", Input).value
        self.dismiss(Answer(allow=False, reason=reason.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_refuse()

    def _draw(self, width: int, inks: Inks) -> Drawing:
        if self._is_too_small:
            return draw_too_small(width, inks)
        return draw_question(self._question, width, inks)


class Confirmation(Dialog[bool]):
    """One question with yes and no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes", id="confirm.yes"),
        Binding("n,escape", "answer(False)", "No", id="confirm.no"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="confirm.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="confirm.down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="confirmation"):
            yield QuestionBody(self._draw, id="confirmation-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([("y", "yes", "answer(True)"), ("n", "no", "answer(False)")])

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def on_resize(self) -> None:
        self.query_one(QuestionBody).forget()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hear a yes once the whole text was in the window."""
        return parameters != (True,) or self.query_one(QuestionBody).is_seen

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(QuestionBody)
        body.jump(body.scroll_offset.y + lines)

    def _draw(self, width: int, inks: Inks) -> Drawing:
        lines = wrap([Segment(self._text, inks("text"))], width)
        return Drawing(lines, range(len(lines)))
