"""The panel of the model's own questions: shows one with its choices, and takes the answers to all.

A digit chooses, or toggles where several may be chosen; the last is for words of the user's own. The answer
to a single question goes at once, several with Enter once each has one or is skipped.

Invariants: nothing is chosen that the window has not shown, and Enter does what the keys below say.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, ClassVar

from msgspec.structs import replace
from textual import events
from textual.actions import parse
from textual.binding import Binding, BindingType

from cogency_tui.agent.permissions.gate import Inquiry, InquiryAnswer
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.dialogs import Drawing
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.questions.answer_lines import are_in_full
from cogency_tui.tui.questions.docked_question import DockedQuestion, Hands
from cogency_tui.tui.questions.inquiry_lines import (
    ADDING,
    NO_WORDS,
    ONLY_SKIPPING,
    OWN_WORDS,
    PICK,
    REMOVING,
    SEND,
    SKIP,
    SKIPPING,
    TURN,
    Selection,
    draw_inquiry,
    enter_step,
    replies_to,
    widest_replies_to,
)
from cogency_tui.tui.questions.question_lines import BACK, SHORTEST, STOP, Reply, Ways, title_of, words_of
from cogency_tui.tui.questions.reason_field import ReasonField
from cogency_tui.tui.theme_styles import ThemeStyles

_DIGITS = "1234567"
_NO_DIGITS = "089"
"""Those that no question has: they do nothing, as a number beyond the choices of one."""

_SHORT, _LEFT = 20, 5
"""Lines of a window below which the choices take all but these: two of the conversation, and the bars."""


class InquiryPanel(DockedQuestion[Inquiry]):
    """Shows the questions of an inquiry one by one, and hands on the answers."""

    ANSWER_KEYS = frozenset(_DIGITS + _NO_DIGITS + "nr")
    ENTERING = frozenset(
        ("move(1)", "move(-1)", "select(1)", "select(-1)", "scroll(10)", "scroll(-10)"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(digit, f"pick({digit})", f"Choose answer {digit}", show=False, id=f"inquiry.{digit}")
            for digit in _DIGITS
        ),
        Binding(
            "n", "decline", "Skip", show=False, id="inquiry.skip", tooltip="Leave this question unanswered"
        ),
        Binding(
            "r",
            "reason",
            "Skip, and say why",
            show=False,
            id="inquiry.reason",
            tooltip="Leave this question unanswered and tell the agent why",
        ),
        Binding("escape", "back", "Stop", show=False, id="inquiry.stop", tooltip="Stop the turn"),
        Binding("up", "move(-1)", "Previous choice", show=False, id="inquiry.up"),
        Binding("down", "move(1)", "Next choice", show=False, id="inquiry.down"),
        Binding("space", "mark", "Choose, or do not", show=False, id="inquiry.toggle"),
        Binding("enter", "choose", "Choose, or send", show=False, id="inquiry.choose"),
        Binding("right,tab", "select(1)", "Next of the agent's questions", show=False, id="inquiry.next"),
        Binding("left", "select(-1)", "Previous of the agent's questions", show=False, id="inquiry.previous"),
        Binding(
            "shift+tab",
            "select_back",
            "Previous of the agent's questions",
            show=False,
            id="inquiry.back",
        ),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="inquiry.page_up"),
        Binding("pagedown", "scroll(10)", "Page down", show=False, id="inquiry.page_down"),
        Binding("right_square_bracket", "look(1)", "View next question", show=False, id="inquiry.look_next"),
        Binding(
            "left_square_bracket",
            "look(-1)",
            "View previous question",
            show=False,
            id="inquiry.look_previous",
        ),
    ]

    def __init__(
        self,
        question: Inquiry,
        hands: Hands,
        *,
        after: "DockedQuestion[Any] | None" = None,
        away: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`after` is the question that the user has just answered. `away`: the screen has keys of its own."""
        self._at = 0
        """The place of the question that is shown."""
        self._selections = [Selection()] * len(question.questions)
        self._is_own = False
        """True while the user writes an answer in their own words, not why they skip."""
        self._starts: list[int] = []
        """The lines at which the choices begin."""
        self._drafts: dict[tuple[int, bool], str] = {}
        """Words that were not given, by the place of their question and whether they answer it."""
        self._draft_for = (0, False)
        """The field that was open where the question was shown before."""
        self._reenters = False
        """True if the user had entered the question before something covered it, or where it was shown."""
        self._only_enters = False
        """True if the present key only enters the question."""
        self._keeps_in_view = False
        """True if the cursor was moved last, and nothing was scrolled since."""
        super().__init__(question, hands, after=after, away=away, clock=clock)

    def follow(self, other: DockedQuestion[Inquiry]) -> None:
        super().follow(other)
        if isinstance(other, InquiryPanel):
            other._store_draft()
            self._at, self._selections, self._drafts = other._at, other._selections, other._drafts
            self._draft_for = (other._at, other._is_own) if other._reasoning else other._draft_for
            self._reenters = other._entered or other._reenters

    def _open_draft(self) -> None:
        place, own = self._draft_for
        if place == self._at:
            self._open_field(own=own)

    def _store_draft(self) -> None:
        """Keep the words in the field for when it is opened again."""
        if self._reasoning:
            self._drafts[self._at, self._is_own] = self.query_one(ReasonField).value

    def action_back(self) -> None:
        self._store_draft()
        super().action_back()

    def _disturb(self) -> None:
        self._reenters = self._entered or self._reenters
        super()._disturb()

    def _pass_on(self, event: events.Key | events.Paste) -> None:
        self._reenters = False
        super()._pass_on(event)

    def _show_hint(self) -> None:
        before = self._choices.hint
        super()._show_hint()
        if self._choices.hint != before:
            # Beside a hint, the keys that it or the prompt has are not the question's.
            self._offer()

    def _listen(self) -> None:
        self._entered = self._entered or (self._reenters and not self._takes_text)
        super()._listen()

    @property
    def _selection(self) -> Selection:
        return self._selections[self._at]

    @property
    def _last_row(self) -> int:
        """The row for own words."""
        return len(self.question.questions[self._at].choices)

    @property
    def _most(self) -> int:
        # The choices are what it is about, not the conversation.
        height, most = self.screen.size.height, super()._most
        return max(most, height - _LEFT) if height < _SHORT else most

    @property
    def _rows_offered(self) -> int:
        """The number of rows for the cursor."""
        return self._last_row + 1 + self.question.questions[self._at].several

    @property
    def _title(self) -> str:
        return title_of(self._question_shown) if self._looked_at else self.one_line

    @property
    def one_line(self) -> str:
        text = self.question.questions[self._at].question
        return one_line(words_of(self.question, " ".join(text.split())))

    @property
    def _wanted(self) -> Sequence[Reply]:
        led = self._choices.hint is not None
        replies = replies_to(self.question, self._selections, self._at, entered=self._entered, led=led)
        # A key has one name in a window, whatever is offered beside it.
        if are_in_full(widest_replies_to(self.question), self._width):
            return replies
        return [replace(each, label=each.labelled(SHORTEST)) for each in replies]

    @property
    def _while_writing(self) -> Sequence[Reply]:
        if not self._is_own:
            return SKIPPING if self._has_words else ONLY_SKIPPING
        if not self._has_words:
            return REMOVING if self._selection.words else NO_WORDS
        return ADDING if self.question.questions[self._at].several else OWN_WORDS

    @property
    def _given_now(self) -> Sequence[Reply]:
        return [SKIP] if self._is_too_small else self._wanted

    def _page(self, answers: Sequence[Reply]) -> Sequence[Reply]:
        return [BACK if each.action == STOP.action and self._away else each for each in answers]

    def _draw_question(self, width: int, styles: ThemeStyles, ways: Ways) -> Drawing:
        drawing, self._starts = draw_inquiry(self.question, self._selections, self._at, width, styles, ways)
        return drawing

    def _answers_by(self, action: str) -> bool:
        return action.startswith("pick(") or action == "decline"

    def _hold_of(self, action: str) -> float:
        return self.timing.pace.hold

    def _is_answer(self, action: str) -> bool:
        return action in ("pick", "decline", "reason")

    def _carry_out(self, action: str) -> None:
        _where, name, parameters = parse(action)
        if self._is_available(name, parameters):
            self.call_next(self.run_action, action)

    def _is_available(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action == "move":
            return super()._is_available("select", parameters)
        if action in ("choose", "mark", "select_back"):
            return not self.answered and self._entered and self._accepts_keys and not self._looked_at
        return super()._is_available(action, parameters)

    def _is_answer_available(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action not in ("pick", "decline", "reason"):
            return True
        is_offered = not (self._looked_at or self._reasoning or self.answered)
        if action == "pick" and (self._is_too_small or parameters[0] not in range(1, self._last_row + 2)):
            return False
        return is_offered and self._is_in_time_for(action)

    @property
    def _selects_by_scrolling(self) -> bool:
        return False

    def action_pick(self, number: int) -> None:
        """Choose an answer by its number, or toggle it where several may be chosen."""
        if not self._is_available("pick", (number,)):
            return
        row = number - 1
        is_shown = row < len(self._starts) and self._body.has_shown(self._starts[row])
        self._enter()
        self._point_at(row)
        if not is_shown:
            return
        if row == self._last_row:
            self._write_own()
            return
        self._mark(row)
        if not self.question.questions[self._at].several:
            self._go_on(gives=len(self.question.questions) == 1)

    def _mark(self, row: int) -> None:
        """Choose a row, or no longer where several may be chosen."""
        selection = self._selection._replace(skipped=False, reason="")
        if self.question.questions[self._at].several:
            chosen = tuple(sorted({*selection.chosen} ^ {row}))
            self._select(selection._replace(chosen=chosen))
        else:
            self._select(selection._replace(chosen=(row,), words=""))

    def _select(self, selection: Selection) -> None:
        self._selections[self._at] = selection
        self._refresh_body()

    def _refresh_body(self) -> None:
        self._body.redraw()
        self._offer()

    def _point_at(self, row: int) -> None:
        """Move the cursor to a row, and have it in view."""
        self._select(self._selection._replace(cursor=row))
        self.timing.note_selection()
        self._bring_into_view()
        self._keeps_in_view = True

    def _fit(self) -> None:
        super()._fit()
        # Other keys may take a row more.
        self.call_after_refresh(self._keep_in_view)

    def _keep_in_view(self) -> None:
        if self._keeps_in_view:
            self._bring_into_view()

    def on_key(self, event: events.Key) -> None:
        # Textual calls that of the base class as well.
        del event
        self._keeps_in_view = False

    def on_mouse_scroll_up(self) -> None:
        self._keeps_in_view = False

    def on_mouse_scroll_down(self) -> None:
        self._keeps_in_view = False

    def _bring_into_view(self) -> None:
        row, starts, body = self._selection.cursor, self._starts, self._body
        if not 0 <= row < len(starts):
            return
        last = starts[row + 1] if row + 1 < len(starts) else body.virtual_size.height
        if starts[row] < body.scroll_offset.y:
            body.jump(0 if row == 0 else starts[row])
        elif last > body.scroll_offset.y + body.size.height:
            body.jump(min(starts[row], last - body.size.height))

    def _go_on(self, *, gives: bool) -> None:
        """Show the next question that is open; if there is none, hand on the answers if it `gives`."""
        count = len(self._selections)
        places = [(self._at + step) % count for step in range(1, count)]
        open_one = next((place for place in places if not self._selections[place].is_settled), None)
        if open_one is not None:
            self._turn_to(open_one)
        elif gives and self._selection.is_settled:
            answers = tuple(
                selection.answers(question)
                for question, selection in zip(self.question.questions, self._selections, strict=True)
            )
            self._give(InquiryAnswer.of(answers, [each.reason for each in self._selections]))

    def _turn_to(self, place: int) -> None:
        self._at = place
        selection = self._selection
        if selection.is_made and not self.question.questions[place].several:
            # Enter goes on from here; elsewhere it would choose another answer.
            row = selection.chosen[0] if selection.chosen else self._last_row
            self._selections[place] = selection._replace(cursor=row)
        self.timing.note_selection()
        self._body.forget()
        self._body.jump(0)
        self._refresh_body()

    def action_move(self, step: int) -> None:
        """Move the cursor to the next choice, or the one before."""
        if self._reasoning or self._looked_at:
            return
        rows, cursor = self._rows_offered, self._selection.cursor
        self._point_at((cursor + step) % rows if cursor >= 0 else 0 if step > 0 else rows - 1)

    def action_select(self, step: int) -> None:
        """Show the next question, or the one before; of a single one, move the cursor. The key or click that
        enters the question turns to no other."""
        if self._reasoning or self._looked_at:
            return
        if not self._entered:
            self._enter_by("select")
        if len(self._selections) == 1 or self._only_enters:
            if self._only_enters and self._selection.cursor >= 0:
                step = 0
            self._only_enters = False
            self.action_move(step)
        else:
            self._turn_to((self._at + step) % len(self._selections))

    def _enter_by(self, action: str) -> None:
        anew = not self._entered and (self._takes_text or not self._reenters)
        self._only_enters = anew and action.startswith("select")
        super()._enter_by(action)

    def _take_idle(self, event: events.Key) -> None:
        super()._take_idle(event)
        if len(self._selections) > 1:
            # The answers name the way already.
            self._choices.show_remark("")

    def action_mark(self) -> None:
        """Choose the row under the cursor, or no longer."""
        cursor = self._selection.cursor
        if cursor == self._last_row:
            self._write_own()
        elif 0 <= cursor < self._last_row:
            self._mark(cursor)

    def action_choose(self) -> None:
        """Choose the row under the cursor; if it is chosen, show the next open question or hand on all."""
        if not self.timing.is_confirmed:
            self._choices.show_remark(f"{key_name('enter')} was too early")
            return
        several = self.question.questions[self._at].several
        step = enter_step(self.question, self._selections, self._at)
        if step == "write":
            self._write_own()
        elif step in ("answer", "choose"):
            self._mark(self._selection.cursor)
            self.timing.note_selection()
            if not several:
                self._go_on(gives=step == "answer")
        elif step:
            self._go_on(gives=True)
        else:
            how = f"1–{self._last_row + 1} select, n skips" if several else "↑ ↓ select, n skips"
            self._choices.show_remark(f"nothing selected: {how}")

    def action_decline(self) -> None:
        """Skip this question."""
        self._skip("")

    def _skip(self, reason: str) -> None:
        if len(self._selections) == 1:
            self._give(InquiryAnswer(declined=True, reason=reason))
            return
        self._enter()
        self._select(Selection(skipped=True, reason=reason))
        self.timing.note_selection()
        self._go_on(gives=False)

    def _write_own(self) -> None:
        self._open_field(own=True)

    def action_reason(self) -> None:
        self._open_field(own=False)

    def _open_field(self, *, own: bool) -> None:
        field = self.query_one(ReasonField)
        self._is_own = own
        field.placeholder = "Your answer" if own else "Why not?"
        selection = self._selection
        field.value = self._drafts.get((self._at, own), selection.words if own else selection.reason)
        field.cursor_position = len(field.value)
        self._draft = ""
        self._reason(shown=True)

    def action_refuse(self) -> None:
        words = self.query_one(ReasonField).value.strip()
        self._drafts.pop((self._at, self._is_own), None)
        if not self._is_own:
            if len(self._selections) > 1:
                self._reason(shown=False)
            self._skip(words)
            return
        selection = self._selection._replace(skipped=False, reason="")
        chosen = selection.chosen if self.question.questions[self._at].several or not words else ()
        self._select(selection._replace(words=words, chosen=chosen))
        self._reason(shown=False)
        if words:
            self.timing.note_selection()
            several = self.question.questions[self._at].several
            self._go_on(gives=len(self._selections) == 1 and not several)

    def on_click(self, event: events.Click) -> None:
        meta = event.style.meta
        if self._reasoning:
            return
        if TURN in meta and not self.answered:
            self._turn_to(meta[TURN])
        elif SEND in meta and not self._looked_at and self._is_available("pick", (1,)):
            self._enter()
            self._point_at(self._rows_offered - 1)
            self._go_on(gives=True)
        elif PICK in meta and self._is_available("pick", (meta[PICK],)):
            self.action_pick(meta[PICK])
        elif PICK in meta:
            self._choices.show_remark(self._why_no_click(str(meta[PICK])))
        else:
            super().on_click(event)
