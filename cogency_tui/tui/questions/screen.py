"""The dialog of a permission question: shows exactly what a call would do, and returns the answer."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.tui.kit.dialogs import STYLES, Dialog, DialogBody, Drawing, QuestionBody
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.questions.question_lines import (
    REASONING,
    SMALLEST,
    Reply,
    answers_to,
    answers_unread,
    draw_question,
    draw_too_small,
    refusals_of,
)
from cogency_tui.tui.terminal.driver import is_read
from cogency_tui.tui.theme_styles import ThemeStyles

PAUSE = 0.8
"""Seconds without a key before a question accepts one: earlier keys are meant for the prompt."""

_SCROLLING = frozenset(f"scroll({lines})" for lines in (-10, -1, 1, 10))
_ENTERING = _SCROLLING | {"enter"}

_SHORT = 24
"""Lines of a screen below which a question leaves no space around it."""

_SCOPES: Mapping[str, Literal["conversation", "always"]] = {
    "conversation": "conversation",
    "always": "always",
}


class PermissionQuestion(Dialog[Answer | None]):
    """Shows exactly what a call would do, and returns the answer; None if it is no longer needed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True, 'once')", "Yes", id="question.once", tooltip="Allow this one call"),
        Binding(
            "a",
            "answer(True, 'conversation')",
            "For this conversation",
            id="question.conversation",
            tooltip="Allow calls like this until the conversation ends",
        ),
        Binding(
            "shift+a,A",
            "answer(True, 'always')",
            "Always in this project",
            id="question.always",
            tooltip="Add a rule; /permissions lists and revokes it",
        ),
        Binding("n,escape", "answer(False, 'once')", "No", id="question.no", tooltip="Decline this call"),
        Binding(
            "r",
            "reason",
            "No, and tell the agent why",
            id="question.reason",
            tooltip="Decline and tell the agent why",
        ),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="question.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="question.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="question.page_up"),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="question.page_down"),
        Binding(
            "tab",
            "enter",
            "Focus the question",
            id="question.enter",
            tooltip="Accept answers without a pause",
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
        """Ask `question`; `typed` receives the keys that are not meant for it."""
        super().__init__()
        self._question = question
        self._typed = typed
        self._shown = False
        """True if the terminal has taken the question: one that was never shown cannot be answered."""
        self.clock = clock
        self._accepts_from = clock() + PAUSE
        self._entered = False
        """True if the user has entered the question, so that its keys need no pause."""

    def compose(self) -> ComposeResult:
        with Vertical(id="question", classes="dialog"):
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
        """Leave space for the answers, however long the detail is."""
        self.set_class(event.size.height < _SHORT, "-short")
        self.query_one(QuestionBody).forget()
        if not self._reasoning:
            self._begin_deaf()
        self._offer()

    def on_question_body_subject_seen(self) -> None:
        self._offer()

    def _offer(self) -> None:
        """Offer the answers that can be given now, or once the question accepts keys."""
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
        """Accept no answer until no key was pressed for a while.

        This also covers the click that brings the terminal to the front.
        """
        self._accepts_from = self.clock() + PAUSE
        self._entered = False
        answers = self.query_one(Answers)
        if not answers.deaf:
            answers.accept_keys(deaf=True)
            self.set_timer(PAUSE, self._end_deaf)

    def _end_deaf(self) -> None:
        if not self._is_shown():
            self._accepts_from = self.clock() + PAUSE
        if not self._accepts_keys:
            self.set_timer(max(0.0, self._accepts_from - self.clock()), self._end_deaf)
            return
        self.query_one(Answers).accept_keys(deaf=False)
        self._offer()
        # By now other calls of the same batch may wait as well.
        self.query_one(DialogBody).redraw()

    @property
    def _accepts_keys(self) -> bool:
        return self._is_shown() and (self._entered or self.clock() >= self._accepts_from)

    def _is_shown(self) -> bool:
        self._shown = self._shown or is_read(app_of(self))
        return self._shown

    @property
    def _reasoning(self) -> bool:
        return self.query_one("#question-reason", Input).display

    def on_key(self, event: events.Key) -> None:
        """Pass input typed in one go, and keys that are not the question's, to the prompt."""
        if self._reasoning:
            return
        active = self.active_bindings.get(event.key)
        action = active.binding.action if active is not None and active.node is self else ""
        if action in _ENTERING and not event.is_printable:
            self._enter()
        elif not self._accepts_keys or (event.is_printable and not action):
            event.stop()
            event.prevent_default()
            self._begin_deaf()
            self._typed(event)
        elif action in _SCROLLING and not self._entered:
            self._begin_deaf()

    def _enter(self) -> None:
        if self._accepts_keys:
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
        expected = action if action == "reason" else f"answer({parameters[0]}, '{parameters[1]}')"
        return expected in {answer.action for answer in self._answers} and self._accepts_keys

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
        """Do nothing more: the key has already entered the question."""

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def action_refuse(self) -> None:
        reason = self.query_one("#question-reason", Input).value
        self.dismiss(Answer(allow=False, reason=reason.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_refuse()

    def _draw(self, width: int, styles: ThemeStyles) -> Drawing:
        if self._is_too_small:
            return draw_too_small(width, styles)
        return draw_question(self._question, width, styles)
