"""The panel of a permission question: shows exactly what a call would do, and takes the answer.

Invariant: a yes counts only after its whole subject was visible in the window at its present size. In a low
window the answers have two pages: only a key on the page that is shown counts.
"""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, ClassVar, cast

from textual.actions import parse
from textual.binding import Binding, BindingType

from cogency_tui.agent.permissions.gate import Answer, Question, Scope
from cogency_tui.tui.kit.dialogs import Drawing
from cogency_tui.tui.questions.docked_question import DOCKED_KEYS, DockedQuestion, Hands
from cogency_tui.tui.questions.question_lines import (
    BACK,
    STOP,
    AnyQuestion,
    Reply,
    Ways,
    answers_to,
    answers_unread,
    draw_question,
    first_page,
    refusals_of,
    second_page,
)
from cogency_tui.tui.questions.reason_field import ReasonField
from cogency_tui.tui.theme_styles import ThemeStyles

_SCOPES: Mapping[str, Scope] = {"turn": "turn", "conversation": "conversation", "always": "always"}


class QuestionPanel(DockedQuestion[Question]):
    """Shows exactly what a call would do, and hands on the answer."""

    ANSWER_KEYS = frozenset("yacAnr")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "y", "answer(True, 'once')", "Yes", show=False, id="question.once", tooltip="Allow this one call"
        ),
        Binding(
            "a",
            "answer(True, 'turn')",
            "All edits this turn",
            show=False,
            id="question.turn",
            tooltip="Allow file changes in the project until the turn ends",
        ),
        Binding(
            "c",
            "answer(True, 'conversation')",
            "For this conversation",
            show=False,
            id="question.conversation",
            tooltip="Allow calls like this until the conversation ends",
        ),
        Binding(
            "shift+a,A",
            "answer(True, 'always')",
            "Always in this project",
            show=False,
            id="question.always",
            tooltip="Always allow calls like this; /permissions lists and revokes the rule",
        ),
        Binding(
            "n", "answer(False, 'once')", "No", show=False, id="question.no", tooltip="Decline this call"
        ),
        Binding(
            "r",
            "reason",
            "No, and say why",
            show=False,
            id="question.reason",
            tooltip="Decline and tell the agent why",
        ),
        *DOCKED_KEYS,
    ]

    def __init__(
        self,
        question: Question,
        hands: Hands,
        *,
        after: "DockedQuestion[Any] | None" = None,
        away: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`after` is the question that the user has just answered. `away`: the screen has keys of its own."""
        super().__init__(
            question,
            hands,
            is_loss=bool(question.losses),
            after=after,
            is_next_edit=after is not None and _is_plain_edit(after.question) and _is_plain_edit(question),
            away=away,
            clock=clock,
        )

    @property
    def _wanted(self) -> Sequence[Reply]:
        return answers_to(self.question)

    @property
    def _given_now(self) -> Sequence[Reply]:
        if self._body.is_seen:
            return answers_to(self.question)
        if self._is_too_small:
            return refusals_of(self.question)[:1]
        return answers_unread(self.question, above=self._body.is_unseen_above)

    def _page(self, answers: Sequence[Reply]) -> Sequence[Reply]:
        """The answers for which the window has room."""
        page = answers
        if self._is_low and not self._is_too_small:
            first = first_page(answers, self._width)
            page = second_page(answers) if self._second_page and first is not answers else first
        return [BACK if each is STOP and self._away else each for each in page]

    def _draw_question(self, width: int, styles: ThemeStyles, ways: Ways) -> Drawing:
        reaches = self._omits_reach
        return draw_question(self.question, width, styles, rows=self._rows - 1, reaches=reaches, ways=ways)

    def _carry_out(self, action: str) -> None:
        allow, scope = cast("tuple[bool, str]", parse(action)[2])
        if self._is_available("answer", (allow, scope)):
            self.action_answer(allow, scope)

    def _is_answer_available(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action not in ("answer", "reason", "turn_page"):
            return True
        expected = f"answer({parameters[0]}, '{parameters[1]}')" if action == "answer" else action
        offered = {answer.action for answer in self._answers}
        return expected in offered and self._is_in_time_for(action) and not self.answered

    def action_answer(self, allow: bool, scope: str) -> None:
        self._give(Answer(allow, _SCOPES.get(scope, "once")))

    def action_refuse(self) -> None:
        reason = self.query_one(ReasonField).value
        self._give(Answer(allow=False, reason=reason.strip()))


def _is_plain_edit(question: AnyQuestion) -> bool:
    """Return whether one answer for all edits of the turn would cover this one as well."""
    if not isinstance(question, Question):
        return False
    return bool(question.turn) and not (question.losses or question.updated)
