"""A question docked below what it is about: its text, its answers, and the keys that count.

Invariants: no key counts before its `AnswerTiming` allows that, nor while the prompt has text, unless the
user has entered the question, and only once the terminal has taken the frame; a question is answered once.
Only the key for words, which decides nothing yet, counts at once in a question that follows an answer.

The key of an answer that is too early, or not offered, does nothing, and a remark beside the answers says so.
Any other key that does not count goes to the prompt, which has the cursor as long as none does. Those of
answers, to this or any question, go there only with another key after them: alone they were an answer, and
not the beginning of a text. Enter and Tab in an empty prompt begin none either: unless they are held, they
delay no key that enters the question. The other way round, the letter of an answer counts once no other
letter has followed for its hold, a longer one if it reaches beyond this call: "actually" allows nothing.

On a screen whose own letters mean something, the question is one line until the user enters it with F6; then
its keys alone count, until it is answered or left with F6.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical
from textual.css.scalar import Scalar
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.agent.permissions.gate import Inquiry
from cogency_tui.tui.kit.dialogs import Drawing, QuestionBody
from cogency_tui.tui.kit.footer import Hints
from cogency_tui.tui.kit.held_letter import HeldLetter
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.questions.announcement import Announcement
from cogency_tui.tui.questions.answer_lines import Answers, MoreLine, rows_of
from cogency_tui.tui.questions.answer_timing import BURST, HOLD, AnswerTiming
from cogency_tui.tui.questions.question_lines import (
    ENTER,
    LOOK,
    ONLY_DECLINING,
    REASONING,
    RETURN,
    SMALLEST,
    AnyQuestion,
    Reply,
    Ways,
    answers_looking,
    draw_question,
    draw_reaches,
    draw_too_small,
    one_line_of,
    title_of,
    why_no_other,
)
from cogency_tui.tui.questions.reason_field import ReasonField
from cogency_tui.tui.terminal.driver import is_read
from cogency_tui.tui.theme_styles import ThemeStyles

Asked = TypeVar("Asked", bound=AnyQuestion)

_SCROLLING = frozenset(f"scroll({lines})" for lines in (-10, -1, 1, 10))
_SCROLL_LETTERS = frozenset(("j", "k", "space"))
_IDLE = frozenset(("enter", "tab", "left", "right"))
"""Keys that do nothing in an empty prompt."""

_HELD = frozenset(("left", "right"))
"""Those of them that are often held: after one a question takes its pause again."""

_LOW, _NARROW = 14, 40
"""Lines and cells of a window below which the panel takes all of it but the row of the prompt; of others it
takes half the lines."""

_TIGHT = 30
"""Lines of a window below which the prompt beside the panel has no space around it."""

_LEAST = 4
"""Lines of a question that are to be visible beside its answers with how far they reach."""

_BESIDE = 7
"""Cells of a window's width that are not for the panel's text: its margins and its bar."""

_BELOW = "#prompt-box, #footer"
"""What keeps a row below a panel that takes the rest of the window."""


DOCKED_KEYS: Sequence[BindingType] = (
    Binding("escape", "back", "Stop", show=False, id="question.stop", tooltip="Stop the turn"),
    Binding("up,k", "scroll(-1)", "Scroll up", show=False, id="question.up"),
    Binding("down,j", "scroll(1)", "Scroll down", show=False, id="question.down"),
    Binding("pageup", "scroll(-10)", "Page up", show=False, id="question.page_up"),
    Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="question.page_down"),
    Binding(
        "right,tab",
        "select(1)",
        "Next answer",
        show=False,
        id="question.next",
        tooltip="Select the next answer (Enter confirms)",
    ),
    Binding("left", "select(-1)", "Select the previous answer", show=False, id="question.previous"),
    Binding("shift+tab", "select_back", "Select the previous answer", show=False, id="question.back"),
    Binding(
        "enter",
        "choose",
        "Confirm the selected answer",
        show=False,
        id="question.choose",
    ),
    Binding(
        "right_square_bracket",
        "look(1)",
        "View next question",
        show=False,
        id="question.look_next",
        tooltip="View the next waiting question; the first is answered first",
    ),
    Binding(
        "left_square_bracket",
        "look(-1)",
        "View previous question",
        show=False,
        id="question.look_previous",
        tooltip="View the waiting question before, or the one to answer",
    ),
    Binding(
        "question_mark",
        "turn_page",
        "More answers",
        show=False,
        id="question.more",
        tooltip="Show the answers that do not fit",
    ),
)
"""The keys of every question."""


@dataclass(frozen=True)
class Hands:
    """Functions that a panel calls: with the answer, with input that is not meant for it, and where the user
    stops the turn. `is_drafting` returns whether that input has begun a text, and `has_escape` whether this
    has a use for Esc. `show_cursor` shows whether input goes there, and `shown` gets the question that is
    shown, which may be one that waits.
    """

    answered: Callable[[Any], object]
    typed: Callable[[events.Key | events.Paste], object] = lambda _event: None
    stopped: Callable[[], object] = lambda: None
    is_drafting: Callable[[], bool] = lambda: False
    has_escape: Callable[[], bool] = lambda: False
    show_cursor: Callable[[bool], object] = lambda _shown: None
    shown: Callable[[Any], object] = lambda _question: None


class DockedQuestion(Vertical, Generic[Asked], can_focus=True):
    """Shows a question, and hands on its answer; each kind of question has its own answers and their keys."""

    BINDING_GROUP_TITLE = "Question"
    ANSWER_KEYS: ClassVar[frozenset[str]]
    """The keys of answers, to this question or another one."""
    ENTERING: ClassVar[frozenset[str]] = _SCROLLING | {"select(1)", "select(-1)"}
    """The actions by which a key that is no letter enters the question."""

    def __init__(
        self,
        question: Asked,
        hands: Hands,
        *,
        is_loss: bool = False,
        after: "DockedQuestion[Any] | None" = None,
        is_next_edit: bool = False,
        away: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`after` is the question that the user has just answered; `is_next_edit`: both are plain edits.
        `is_loss`: a yes destroys something. `away`: the screen has keys of its own.
        """
        super().__init__(classes="question")
        self.question = question
        self._is_loss = is_loss
        self._hands = hands
        # Bindings are checked before a panel is composed.
        self._body = QuestionBody(self._draw, id="question-body")
        self._choices = Answers((), id="answers")
        self._away = away
        self.origin: Widget | None = None
        """The widget from which the user entered the question."""
        self._second_page = False
        """True while the other answers are shown, where there is no room for all."""
        self._looked_at = 0
        """The number of the waiting question that is shown instead; 0 for none."""
        self._rows = 0
        """Lines of the question that the window has room for beside all answers."""
        self._omits_reach = False
        self._shown = False
        """True if the terminal has taken the question: one that was never shown cannot be answered."""
        self.answered = False
        """True once the question takes no answer any more."""
        self.is_given = False
        """True once the user has answered."""
        self.clock = clock
        self.timing = AnswerTiming(
            lambda: self.clock(),
            is_loss=is_loss,
            after=after.timing if after is not None else None,
            is_next_edit=is_next_edit,
        )
        self._entered = False
        """True if the user has entered the question, so that its keys need no pause."""
        self._continues = after is not None and after.is_entered
        """True if the user entered the question before this one, until a key goes to the prompt."""
        self._is_left = False
        """True while the focus is elsewhere, but in the window."""
        self._reasoning = False
        """True while the user writes a reason for a no."""
        self._draft = ""
        """What they had written where the question was shown before; the field begins with it."""
        self._held = HeldLetter(self)
        """The letter of an answer that is held back."""
        self._scrolls = False
        """True after a letter that scrolled, until another key or a pause: the next one scrolls, too."""

    def compose(self) -> ComposeResult:
        yield Announcement(self.question, lambda: self.one_line, id="question-line")
        yield self._body
        yield MoreLine(self._body, lambda: self._title, id="question-more")
        yield ReasonField(placeholder="Why not?", id="question-reason")
        yield self._choices

    @property
    def one_line(self) -> str:
        """What is asked, in one line."""
        return one_line_of(self.question)

    @property
    def _title(self) -> str:
        return title_of(self._question_shown)

    def on_mount(self) -> None:
        self.set_class(self._is_loss, "-danger")
        self._body.can_focus = False
        self.query_one(ReasonField).display = False
        self._is_left = self.screen.focused is not self
        self._show_hint()
        self._begin_deaf()
        self._offer()
        self.watch(app_of(self), "app_focus", self._disturb, init=False)
        self.watch(self._body, "scroll_y", self._offer_unread, init=False)
        self._window = self.screen.size
        screen: Any = self.screen
        screen.screen_layout_refresh_signal.subscribe(self, self._follow_window)
        if self._draft and not self._away:
            self._open_draft()

    def follow(self, other: "DockedQuestion[Asked]") -> None:
        """Go on from `other`, which has shown this question on another screen: keep what the user did."""
        self._draft = other._written

    @property
    def _written(self) -> str:
        """The words that the user has not sent."""
        return self.query_one(ReasonField).value if self._reasoning else self._draft

    def _open_draft(self) -> None:
        """Show the field with the words of before."""
        self.action_reason()

    def on_unmount(self) -> None:
        self.screen.remove_class("-question-alone", "-question-tight", "-question-foot")

    def _follow_window(self, screen: Screen[Any]) -> None:
        if screen.size != self._window:
            self._window = screen.size
            self.begin_anew()

    def begin_anew(self) -> None:
        """Require that the question is seen again, from its beginning, since the window has changed."""
        self._body.forget()
        self._body.jump(0)
        self.resume()

    def resume(self) -> None:
        """Begin the pause again, since something covered the question. What was seen before, was seen."""
        if not self._reasoning:
            self._disturb()
        self._offer()

    def on_question_body_subject_seen(self) -> None:
        self.timing.show()
        self._offer()

    def _offer(self) -> None:
        """Offer the answers that can be given now, or once the question accepts keys."""
        answers = self._choices
        if self._reasoning:
            answers.offer(self._while_writing)
        elif answers.deaf and not (self._is_too_small or self._looked_at):
            answers.offer(self._page(self._wanted))
        else:
            answers.offer(self._answers)
        self._fit()

    def _offer_unread(self) -> None:
        """Offer the way to what is not seen yet, without drawing the question again."""
        hidden = self._choices.deaf or self._reasoning or self._looked_at
        if not (hidden or self._body.is_seen):
            self._choices.offer(self._answers)

    @property
    def _answers(self) -> Sequence[Reply]:
        """The answers that can be given now, and are shown."""
        return self._page(self._possible)

    @property
    def _wanted(self) -> Sequence[Reply]:
        """All answers."""
        raise NotImplementedError

    @property
    def _while_writing(self) -> Sequence[Reply]:
        """The answers while the user writes."""
        return REASONING if self._has_words else ONLY_DECLINING

    @property
    def _has_words(self) -> bool:
        """True if the field for words is not blank."""
        return bool(self.query_one(ReasonField).value.strip())

    @property
    def _given_now(self) -> Sequence[Reply]:
        """The answers that can be given now, while the question itself is shown."""
        raise NotImplementedError

    def _page(self, answers: Sequence[Reply]) -> Sequence[Reply]:
        """The answers for which the window has room."""
        raise NotImplementedError

    def _draw_question(self, width: int, styles: ThemeStyles, ways: Ways) -> Drawing:
        """Draw the question itself; `ways` lead to others."""
        raise NotImplementedError

    def _carry_out(self, action: str) -> None:
        """Give the answer whose key was held back, if it still can be given."""
        raise NotImplementedError

    def _is_answer_available(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether an action that answers is available."""
        raise NotImplementedError

    def action_refuse(self) -> None:
        """Answer with the words in the field."""
        raise NotImplementedError

    @property
    def _possible(self) -> Sequence[Reply]:
        if self._looked_at:
            return answers_looking(self.question, self._looked_at)
        return self._given_now

    @property
    def _is_too_small(self) -> bool:
        window = self.screen.size
        return window.width < SMALLEST.width or window.height < SMALLEST.height

    @property
    def _is_low(self) -> bool:
        return self.screen.size.height < _LOW

    @property
    def _is_alone(self) -> bool:
        return self._is_low or self.screen.size.width < _NARROW

    @property
    def _width(self) -> int:
        """The cells of a line of the panel."""
        return max(8, self.screen.size.width - _BESIDE)

    @property
    def _most(self) -> int:
        """The lines that the panel may take."""
        height = self.screen.size.height
        if not self._is_alone:
            return height // 2 + 1
        return height if self._is_too_small else height - bool(self.screen.query(_BELOW))

    def _announce(self) -> bool:
        """Show the question in one line where the user has not entered it; return whether it is."""
        announced = self._away and self._is_left
        if announced:
            self.query_one(Announcement).refresh()
        self.set_class(announced, "-announced")
        self.screen.set_class(self._is_alone and not announced, "-question-alone")
        self.screen.set_class(self._away and not self._is_too_small, "-question-foot")
        self.screen.set_class(self.screen.size.height < _TIGHT, "-question-tight")
        return announced

    def _fit(self) -> None:
        """Divide the rows that the panel may take between the question and its answers."""
        if self._announce():
            return
        body, answers, width, most = self._body, self._choices, self._width, self._most
        wanted = self._wanted
        needed, omits_reach = rows_of(wanted, width)
        reaches = len(draw_reaches(wanted, width, Style.null())) if omits_reach else 0
        # Beside the answers, it does not scroll away.
        answers.spells_reach = omits_reach and not self._is_low and needed + reaches <= most - _LEAST
        offers_reach = any(each.reach for each in self._page(wanted))
        omits_reach = self._is_low or (omits_reach and not answers.spells_reach)
        self._omits_reach = offers_reach and omits_reach
        needed += reaches if answers.spells_reach else 0
        # What is drawn depends on the window and the page, not on the answers that are offered at the moment.
        self._rows = most - (1 if self._is_low else needed)
        answers.tight = self._is_low
        # In the smallest window the last answers are out of sight, not the question.
        rows = 1 if self._is_low and not self._second_page else min(answers.rows(width), most - 2)
        room = most - rows - self._reasoning
        lines = body.prepare(width)
        more = lines > room > 2
        _set_height(answers, rows)
        _set_height(body, max(1, min(lines, room - more)))
        self.query_one(MoreLine).display = more

    def _disturb(self) -> None:
        """Accept no answer for a while, since the user may have been elsewhere.

        This also covers the click that brings the terminal to the front.
        """
        self.timing.break_rhythm()
        self._begin_deaf()

    def _begin_deaf(self) -> None:
        """Accept no answer until no key was pressed for a while."""
        self.timing.begin_pause()
        self._entered = False
        self._choices.unselect()
        if not self._choices.deaf:
            self._show_deaf(True)
            self._end_deaf_in(self.timing.pace.pause)

    def _show_deaf(self, deaf: bool) -> None:
        """Show whether keys are answers, or go to the prompt."""
        self._choices.accept_keys(deaf=deaf)
        self._show_cursor()

    def _show_cursor(self) -> None:
        self._hands.show_cursor(self.has_focus and self._choices.deaf and not self.answered)

    def _watch_has_focus(self, _focus: bool) -> None:
        self._show_cursor()

    def _end_deaf_in(self, seconds: float) -> None:
        # A timer of Textual's that is late before it starts never fires.
        asyncio.get_running_loop().call_later(seconds, self.call_next, self._end_deaf)

    def _end_deaf(self) -> None:
        if self.answered or not self.is_attached:
            return
        if not self._is_shown():
            self.timing.begin_pause()
        self._show_hint()
        if not self._accepts_keys:
            self._end_deaf_in(self.timing.wait(drafting=self._is_drafting))
            return
        self._listen()

    def _listen(self) -> None:
        """Show that keys are accepted."""
        self.timing.passed_on = self._scrolls = False
        self._show_hint()
        self._show_deaf(False)
        # By now other calls of the same answer may wait as well.
        self._offer()

    @property
    def _accepts_keys(self) -> bool:
        if self._entered:
            return self._is_shown()
        return self._may_be_entered and not self._is_drafting

    @property
    def _may_be_entered(self) -> bool:
        return self._is_shown() and not self.timing.is_paused

    def _is_shown(self) -> bool:
        self._shown = self._shown or is_read(app_of(self))
        return self._shown

    def on_focus(self) -> None:
        was_announced, self._is_left = self._away and self._is_left, False
        self._show_hint()
        if was_announced:
            self.resume()
        self._fit()

    def _show_hint(self) -> None:
        """Show the key that leads to the answers, where letters go elsewhere."""
        drafting = not self._entered and self._takes_text
        self._choices.show_hint(RETURN if self._is_left else ENTER if drafting else None)

    def on_blur(self) -> None:
        """Show the way back, unless the whole window has lost the focus."""
        if app_of(self).app_focus and not self._reasoning:
            self._is_left = True
            self._show_hint()
            self._fit()

    def on_key(self, event: events.Key) -> None:
        """Pass input typed in one go, and keys that are not the question's, to the prompt."""
        if self._reasoning:
            return
        found = self.screen.active_bindings.get(event.key)
        active = found if found is not None and found.enabled else None
        action = active.binding.action if active is not None and active.node is self else ""
        if active is not None and (active.node is app_of(self) or self._is_for_main_screen(event, active)):
            return
        if action == "back" and (self._entered or not self._hands.has_escape()):
            return
        self._choices.show_remark("")
        self.timing.forget_old(event)
        if self._goes_on(event):
            return
        if self._is_idle(event, action):
            event.stop()
            event.prevent_default()
            self._take_idle(event)
        elif self._enters(event, action):
            self._enter_by(action)
        elif self._is_for_prompt(event, action, bound=active is not None):
            event.stop()
            event.prevent_default()
            self._take_other(event)
        elif action in _SCROLLING and not self._entered:
            self._take_scroll(event, action)
        elif self._answers_by(action) and event.is_printable and not self._entered:
            event.stop()
            event.prevent_default()
            self._take_answer(event, action)

    def _is_idle(self, event: events.Key, action: str) -> bool:
        """Return whether a key does nothing: with an empty prompt, one that is not the question's now."""
        if event.key not in _IDLE or self._takes_text or self.timing.has_early:
            return False
        return not action or (not self._entered and self.timing.is_repeated(event))

    def _take_idle(self, event: events.Key) -> None:
        """Pass on a key that does nothing. It delays the next one only if it may be held."""
        if event.key in _HELD or self.timing.is_repeated(event):
            self._begin_deaf()
        self.timing.note_idle(event)
        self._hands.typed(event)
        if self._accepts_keys:
            self._choices.show_way(ENTER)

    def _enters(self, event: events.Key, action: str) -> bool:
        """Return whether a key enters the question: with a text in the prompt, the arrows are for that."""
        is_key = action in self.ENTERING and not event.is_printable
        return is_key and (event.key == ENTER.key or not self._takes_text)

    def _answers_by(self, action: str) -> bool:
        """Return whether an action answers at once."""
        return action.startswith("answer(")

    def _hold_of(self, action: str) -> float:
        """The seconds for which the letter of an answer is held back."""
        return self.timing.hold_of(action)

    def _take_answer(self, event: events.Key, action: str) -> None:
        """Give an answer, unless another letter follows at once, or its key was pressed too early."""
        if not self._is_in_time(event):
            self._hold_back(event)
            return
        # From here on the key counts as the last answer, after which a rhythm begins.
        hold = self._hold_of(action)
        self.timing.note(event)
        self._held.hold(event, hold, partial(self._carry_out, action))

    def _take_scroll(self, event: events.Key, action: str) -> None:
        """Scroll; by a letter only if none follows at once, or one has scrolled before."""
        if not event.is_printable or self._scrolls:
            self._scrolls = True
            self._begin_deaf()
            return
        event.stop()
        event.prevent_default()
        self._held.hold(event, HOLD, partial(self._scroll_held, action))

    def _scroll_held(self, action: str) -> None:
        self._scrolls = True
        self._begin_deaf()
        self.call_next(self.run_action, action)

    def _take_other(self, event: events.Key) -> None:
        """Hold back a key that is rather an answer; pass any other to the prompt."""
        if event.key in self.ANSWER_KEYS and not self._takes_text:
            self._hold_back(event)
            return
        if event.key == ENTER.key and self._takes_text and not self._hands.has_escape():
            self._choices.show_remark(f"wait, then press {key_name(event.key)}")
        self._begin_deaf()
        self._pass_on(event)

    def _hold_back(self, event: events.Key) -> None:
        """Answer nothing by a key of an answer, and say why; with a text after it, it begins that."""
        is_early = not self._is_in_time(event)
        self._choices.show_remark(self._why_nothing(event, is_early=is_early))
        if is_early and self._is_loss:
            self._begin_deaf()
        self._scrolls = False
        self.timing.keep(event)
        self.timing.note(event, is_early=is_early)

    def _why_nothing(self, event: events.Key, *, is_early: bool) -> str:
        if is_early:
            return self.timing.remark_on(event)
        return f"{event.key} is not offered{'' if self._body.is_seen else ' yet'}"

    def _is_in_time(self, event: events.Key) -> bool:
        """Return whether a key was pressed when keys are accepted, and not right after that of an answer."""
        return self._accepts_keys and (self._entered or self.timing.is_in_time(event))

    def _goes_on(self, event: events.Key) -> bool:
        """Handle a key after a letter that is held back: another letter goes on with a text, any other key
        confirms the answer. Return whether one is held back.
        """
        if not self._held:
            return False
        if event.key == self._held.key and event.key in _SCROLL_LETTERS:
            self._held.run()
            return False
        event.stop()
        event.prevent_default()
        if not event.is_printable and event.time - self._held.since > BURST:
            self._held.run()
        elif (held := self._held.release()) is not None:
            self._join(held, event)
        return True

    def _join(self, held: events.Key, event: events.Key) -> None:
        """Take the letter of an answer and the one right after it for a text, or for a key that repeats."""
        if held.key == event.key or not event.is_printable:
            self._hold_back(held)
            return
        self._begin_deaf()
        self.timing.keep(held)
        self.timing.passed_on = True
        self._pass_on(event)

    def _is_for_main_screen(self, event: events.Key, active: ActiveBinding) -> bool:
        """Return whether a key of the main screen counts at once, since it is no text: Shift+Tab."""
        return not self._away and active.node is self.screen and not event.is_printable

    def _is_for_prompt(self, event: events.Key, action: str, *, bound: bool) -> bool:
        """Return whether a key, `bound` to this `action` if any, is the prompt's."""
        if action == "reason":
            return self._accepts_keys and not self._is_in_time(event)
        if action in _SCROLLING and self._scrolls:
            return False
        return not self._accepts_keys or (not action and (event.is_printable or not bound))

    def _pass_on(self, event: events.Key | events.Paste) -> None:
        """Pass input to the prompt, after what was held back."""
        self._scrolls = self._continues = False
        self.timing.passed_on = True
        for each in (*self.timing.release(), event):
            self._hands.typed(each)
        self._show_hint()

    @property
    def _takes_text(self) -> bool:
        """True while the user writes a text for the prompt."""
        return self.timing.passed_on or self._is_drafting

    @property
    def _is_drafting(self) -> bool:
        """True if keys are for a text in the prompt: not once the user has turned from it to the answers."""
        return not self._continues and self._hands.is_drafting()

    @property
    def is_entered(self) -> bool:
        """True if the user has entered this question, or the one before it."""
        return self._entered or self._continues

    def _enter_by(self, action: str) -> None:
        """Enter the question by the key of an action."""
        self._enter()

    def _enter(self) -> None:
        if self._accepts_keys or self._may_be_entered:
            self._entered = True
            self._listen()
        else:
            self._begin_deaf()

    def on_paste(self, event: events.Paste) -> None:
        if not self._reasoning:
            event.stop()
            self._begin_deaf()
            self._pass_on(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return None for an action that is not available at the moment: the help lists it. Without a
        selection, Shift+Tab is the screen's."""
        return self._is_available(action, parameters) or (False if action == "select_back" else None)

    def _is_available(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action == "back":
            return not self.answered
        if action == "look":
            return self._accepts_keys and bool(self.question.round().waiting)
        if action == "select":
            # It enters the question, even while letters go to a text in the prompt.
            return not self.answered and (self._accepts_keys or self._may_be_entered)
        if action in ("choose", "select_back"):
            return not self.answered and self._accepts_keys and self._choices.selected is not None
        return self._is_answer_available(action, parameters)

    def _is_in_time_for(self, action: str) -> bool:
        """Return whether an action that answers may come now, or the one for words, which decides nothing."""
        return self._accepts_keys or (action == "reason" and self.timing.follows and not self._takes_text)

    def on_answers_chosen(self, event: Answers.Chosen) -> None:
        event.stop()
        if self._is_loss and self.timing.is_paused:
            # As an early key: clicks in a rhythm allow no loss.
            self._begin_deaf()
        _where, action, parameters = parse(event.action)
        if self._is_answer(action) and not self._is_available(action, parameters):
            self._choices.show_remark(self._why_no_click(event.key))
        self.call_next(self.run_action, event.action)

    def _is_answer(self, action: str) -> bool:
        """Return whether an action, without its parameters, is an answer or begins one."""
        return action in ("answer", "reason")

    def _why_no_click(self, key: str) -> str:
        """Say why a click on the answer with this key did nothing."""
        if self._is_drafting:
            return f"press {key_name(ENTER.key)}, then {key_name(key)}"
        return f"{key_name(key)} was too early"

    def _give(self, answer: object) -> None:
        """Hand on the answer, once."""
        if not self.answered:
            self.is_given = True
            self.withdraw()
            self._hands.answered(answer)

    def withdraw(self) -> None:
        """Take no answer any more."""
        self.answered = True
        self._show_deaf(True)

    def action_back(self) -> None:
        """Leave the reason; without one go back to the screen that has keys of its own, or stop the turn."""
        self._held.release()
        if self._reasoning:
            self._reason(shown=False)
        elif self._away:
            self.leave()
        else:
            self._hands.stopped()

    def action_select(self, step: int) -> None:
        if not self._reasoning:
            self._choices.select(step)
            self.timing.note_selection()

    def action_select_back(self) -> None:
        self.action_select(-1)

    def action_choose(self) -> None:
        chosen = self._choices.selected
        if chosen is not None and self.timing.is_confirmed:
            self.call_next(self.run_action, chosen.action)
        elif chosen is not None:
            self._choices.show_remark(f"{key_name('enter')} was too early")

    def action_reason(self) -> None:
        self._reason(shown=True)

    def _reason(self, *, shown: bool) -> None:
        field = self.query_one(ReasonField)
        self._reasoning = field.display = shown
        if shown and self._draft:
            field.value = self._draft
            field.cursor_position = len(self._draft)
        self._draft = ""
        self.screen.set_focus(field if shown else self)
        self._offer()

    def action_take_focus(self) -> None:
        """Enter the question."""
        self.origin = self.screen.focused
        self.screen.set_focus(self)

    def leave(self) -> None:
        """Go back to where the user entered the question from; on the main screen, panes have that key."""
        if not self._away:
            return
        origin = self.origin
        self.screen.set_focus(origin if origin is not None and origin.is_attached else None)

    def action_turn_page(self) -> None:
        self._second_page = not self._second_page
        self._choices.unselect()
        self._body.jump(0)
        # How far the answers reach is drawn only on their page, and to be seen before they are offered.
        self._fit()
        self._offer()

    def key_hints(self) -> Hints:
        """On a screen with keys of its own, only the way back: those of the screen do nothing."""
        return Hints(["focus_question"] if self._away else [], alone=self._away)

    def on_announcement_pressed(self, event: Announcement.Pressed) -> None:
        event.stop()
        self.action_take_focus()

    def action_look(self, step: int) -> None:
        """Show another waiting question, or the asked one again."""
        place = max(0, min(self._looked_at + step, len(self.question.round().waiting)))
        if place == self._looked_at:
            self._choices.show_remark(why_no_other(self._question_shown, step))
            return
        self._looked_at, body = place, self._body
        body.forget()
        body.jump(0)
        self._offer()
        self._hands.shown(self._question_shown)

    @property
    def _question_shown(self) -> AnyQuestion:
        """The asked question, or the waiting one that is shown instead."""
        waiting = self.question.round().waiting
        looks = 0 < self._looked_at <= len(waiting)
        return waiting[self._looked_at - 1] if looks else self.question

    def on_click(self, event: events.Click) -> None:
        step = event.style.meta.get(LOOK)
        if step is not None and not self._reasoning:
            self.action_look(step)

    def on_more_line_pressed(self, event: MoreLine.Pressed) -> None:
        event.stop()
        self.action_scroll(event.lines)

    def action_scroll(self, lines: int) -> None:
        body, page = self._body, self._body.size.height
        if lines > 0 and self._entered and self._selects_by_scrolling:
            self.action_select(1)
        # A page that is longer than the window would leave out lines.
        body.jump(body.scroll_offset.y + max(-page, min(lines, page)))

    @property
    def _selects_by_scrolling(self) -> bool:
        """True if there is nothing left to scroll, and no answer selected. A loss takes a key of its own."""
        body = self._body
        is_read = body.is_seen and not self._looked_at and body.scroll_offset.y >= body.max_scroll_y
        return is_read and self._choices.selected is None and not self._is_loss

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer what Enter does with the words in the field."""
        event.stop()
        if self._reasoning:
            self._offer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_refuse()

    def _draw(self, width: int, styles: ThemeStyles) -> Drawing:
        if self._is_too_small:
            return draw_too_small(width, styles)
        waiting = len(self.question.round().waiting)
        if (other := self._question_shown) is not self.question:
            ways = Ways(previous=True, next=self._looked_at < waiting)
            return Drawing(self._draw_other(other, width, styles, ways), range(0))
        self._looked_at = 0
        return self._draw_question(width, styles, Ways(next=waiting > 0))

    def _draw_other(self, other: AnyQuestion, width: int, styles: ThemeStyles, ways: Ways) -> list[Line]:
        """Draw a question that waits."""
        if not isinstance(other, Inquiry):
            return draw_question(other, width, styles, rows=self._rows, ways=ways).lines
        from cogency_tui.tui.questions.inquiry_lines import Selection, draw_inquiry

        nothing = [Selection()] * len(other.questions)
        return draw_inquiry(other, nothing, 0, width, styles, ways)[0].lines


def _set_height(widget: Widget, lines: int) -> None:
    # Assigning even the present height triggers a new layout.
    if widget.styles.inline.get_rule("height", None) != Scalar.from_number(lines):
        widget.styles.height = lines
