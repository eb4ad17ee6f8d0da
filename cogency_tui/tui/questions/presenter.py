"""Questions, for permission or of the model: docked on the screen that the user has before them, and marked
at their call.

A question is on whatever full screen is on top. On the main screen it takes the focus, and rows from what it
is about. On any other, where letters mean something else, it is one line: `? Edit app.py   F6 to answer`, and
all keys are the screen's. F6 opens it there; then all keys are the question's, until it is answered, or F6 or
Esc closes it again. Under a dialog, it is one line there, and waits until the dialog is closed.
"""

from collections.abc import Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from textual import events
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.prompt import Prompt

if TYPE_CHECKING:
    from cogency_tui.agent.permissions.gate import Answer, InquiryAnswer, Question, Scope
    from cogency_tui.tui.questions.announcement import Announcement
    from cogency_tui.tui.questions.docked_question import DockedQuestion, Hands
    from cogency_tui.tui.questions.question_lines import AnyQuestion

_LINGER = 0.15
"""Seconds for which an answered or withdrawn question stays: mostly the next one follows at once, in the same
place."""


_ABOVE = "#prompt-box, #footer"
"""What a question is docked above."""


class Questions:
    """Asks on `screen`, the main one, and on those over it, of which `top` returns the topmost.

    `changed` is called as the agent starts and stops waiting for the user; `typed` receives input that is not
    meant for a question; `stop` stops the turn.
    """

    def __init__(
        self,
        screen: Screen[Any],
        display: Display,
        changed: Callable[[], None],
        typed: Callable[[events.Key | events.Paste], None],
        stop: Callable[[], None],
        top: Callable[[], Screen[Any]],
    ) -> None:
        self._screen = screen
        self._top = top
        self._typed = typed
        self._display = display
        self._changed = changed
        self._stop = stop
        self._asked: list[Bridge.Asked] = []
        self._panel: DockedQuestion[Any] | None = None
        self._line: Announcement | None = None
        """The question in a dialog."""
        self._origin: Widget | None = None

    def ask(self, asked: Bridge.Asked) -> None:
        """Show a question, or have it wait for those before it."""
        if asked.answer.done():
            return
        if not self._asked:
            self._display.await_answer(time())
        self._asked.append(asked)
        if found := self._display.transcript.call_with(asked.question.call_id):
            found[1].ask(time())
            self._display.touch({found[0]})
            self._display.hold(found[0])
        self._changed()
        self.place()

    @property
    def pending(self) -> str:
        """What the agent asks for; empty if nothing."""
        return self._asked[0].question.summary if self._asked else ""

    def withdraw(self) -> None:
        """Remove the questions whose answers are no longer needed."""
        for asked in [each for each in self._asked if each.answer.done()]:
            self._settle(asked)
        if self._panel is not None and not self._asked:
            # The same question may follow at once, about a file that has changed.
            self._panel.withdraw()
            self._screen.set_timer(_LINGER, self._remove_answered)
        else:
            self.place()

    def place(self) -> None:
        """Show the first question on the screen on top, in a dialog as one line; remove it from any other."""
        top = self._top()
        asked = self._asked[0] if self._asked else None
        is_dialog = isinstance(top, ModalScreen) and top.is_active
        self._announce(top if is_dialog else None, asked)
        if isinstance(top, ModalScreen):
            return
        panel = self._panel
        if panel is None or asked is None or panel.screen is not top or panel.question is not asked.question:
            self._replace(top, asked)
        else:
            panel.resume()

    def _announce(self, dialog: Screen[Any] | None, asked: Bridge.Asked | None) -> None:
        """Show the question as one line in `dialog`, if there are both; remove it from any other."""
        from cogency_tui.tui.questions.announcement import Announcement

        line, self._line = self._line, None
        if line is not None and line.is_attached:
            if asked is not None and line.question is asked.question and line.screen is dialog:
                self._line = line
                return
            line.remove()
        if dialog is not None and asked is not None:
            text = partial(self._one_line_of, asked.question)
            self._line = Announcement(asked.question, text, in_dialog=True, id="dialog-question")
            dialog.mount(self._line)

    def _one_line_of(self, question: "AnyQuestion") -> str:
        """What is asked, in one line: of several questions the one that the user is at."""
        from cogency_tui.tui.questions.question_lines import one_line_of

        panel = self._panel
        return panel.one_line if panel is not None and panel.question is question else one_line_of(question)

    @property
    def count(self) -> int:
        """The number of questions that wait for an answer."""
        return 1 + len(self._asked[0].question.round().waiting) if self._asked else 0

    @property
    def has_focus(self) -> bool:
        """True if the question on the main screen has the focus."""
        panel = self._panel
        return panel is not None and panel.screen is self._screen and panel.has_focus_within

    def focus(self) -> bool:
        """Focus the question on the screen on top; return whether there is one that has no focus yet."""
        panel = self._panel
        if panel is None or panel.answered or panel.screen is not app_of(self._screen).screen:
            return False
        if panel.has_focus_within:
            return False
        panel.action_take_focus()
        return True

    def enter_or_leave(self) -> None:
        """Focus the question on the screen on top, or go back from it to that screen."""
        if not self.focus() and self._panel is not None:
            self._panel.leave()

    def _replace(self, top: Screen[Any], asked: Bridge.Asked | None) -> None:
        """Mount the question on `top` in place of the one before."""
        from cogency_tui.tui.questions.docked_question import Hands

        old, self._panel = self._panel, None
        with app_of(self._screen).batch_update():
            if old is not None and (asked is None or old.screen is not top):
                self._give_focus_back(old)
            if asked is not None:
                hands = Hands(
                    lambda answer: self._answer(asked, answer),
                    self._type,
                    self._stop,
                    self._is_drafting,
                    self._has_escape,
                    self._show_cursor if top is self._screen else lambda _shown: None,
                    self._show_call,
                )
                after, away = old if old is not None and old.is_given else None, top is not self._screen
                self._panel = panel = _panel_of(asked.question, hands, after, away=away)
                if old is not None and old.question is asked.question:
                    panel.follow(old)
                self._mount(panel, top, after=old)
                self._show_call(asked.question)
            if old is not None:
                # Only once it is in no frame any more: Textual would draw it without a screen.
                old.display = False
                old.screen.call_after_refresh(old.remove)

    def _mount(
        self, panel: "DockedQuestion[Any]", top: Screen[Any], *, after: "DockedQuestion[Any] | None"
    ) -> None:
        """Mount a question; it has the focus on the main screen, and where the user has just answered one."""
        top.mount(panel, before=top.query(_ABOVE).first())
        if top is self._screen:
            self._remember(top.focused)
            top.set_focus(panel)
        elif after is not None and after.screen is top and after.has_focus_within:
            panel.origin = after.origin
            top.set_focus(panel)

    def _remember(self, focused: Widget | None) -> None:
        """Remember where the focus goes back to, unless it is in a question."""
        if focused is not None and not any(
            node.has_class("question") for node in focused.ancestors_with_self
        ):
            self._origin = focused

    def _give_focus_back(self, panel: "DockedQuestion[Any]") -> None:
        if panel.has_focus_within:
            origin = self._origin if panel.screen is self._screen else panel.origin
            panel.screen.set_focus(origin if origin and origin.is_attached else None)

    def _answer(self, asked: Bridge.Asked, answer: "Answer | InquiryAnswer") -> None:
        """Pass the answer to the waiting agent, and name what it allows from now on."""
        from cogency_tui.agent.permissions.gate import Answer, Question

        if isinstance(answer, Answer) and answer.allow and isinstance(asked.question, Question):
            self._confirm(asked.question, answer.scope)
        if not asked.answer.done():
            asked.answer.set_result(answer)
        self._settle(asked)
        self._screen.set_timer(_LINGER, self._remove_answered)

    def _confirm(self, question: "Question", scope: "Scope") -> None:
        """Name what an answer allows from now on: in the line of the activity, or where that is not shown, in
        a notification."""
        from cogency_tui.tui.questions.question_lines import describe_grant

        texts = describe_grant(question, scope)
        if texts and not self._display.confirm(texts):
            app_of(self._screen).notify(f"{texts[-1]} · /permissions to revoke", markup=False)

    def _remove_answered(self) -> None:
        if not self._asked:
            self.place()

    def _settle(self, asked: Bridge.Asked) -> None:
        """Forget a question, and mark its call as decided."""
        if asked in self._asked:
            self._asked.remove(asked)
        if found := self._display.transcript.call_with(asked.question.call_id):
            found[1].decide()
            self._display.touch({found[0]})
            self._display.hold(None)
        if not self._asked:
            self._display.await_answer(None)
        if not self._asked and (calls := self._display.transcript.calls):
            # The newest call: the pane follows new ones again.
            self._display.select_call(calls[-1])
        self._changed()

    def _show_call(self, question: "AnyQuestion") -> None:
        """Select the call of a question in the tool calls pane."""
        if found := self._display.transcript.call_with(question.call_id):
            self._display.select_call(found[0])

    def _is_drafting(self) -> bool:
        """Return whether the prompt has text, to which letters therefore belong."""
        return self._screen.is_active and bool(self._screen.query_one(Prompt).text)

    def _has_escape(self) -> bool:
        """Return whether a text in the prompt has a use for Esc: Vim's insert mode, or open suggestions."""
        prompt = self._screen.query_one(Prompt)
        return self._is_drafting() and (prompt.vim_mode == "insert" or bool(prompt.binds("escape")))

    def _show_cursor(self, shown: bool) -> None:
        self._screen.query_one(Prompt).show_typing(on=shown)

    def _type(self, event: events.Key | events.Paste) -> None:
        """Take input for the prompt; on other screens there is none."""
        if self._screen.is_active:
            self._typed(event)


def _panel_of(
    question: "AnyQuestion", hands: "Hands", after: "DockedQuestion[Any] | None", *, away: bool
) -> "DockedQuestion[Any]":
    """The panel for a kind of question."""
    from cogency_tui.agent.permissions.gate import Inquiry

    if isinstance(question, Inquiry):
        from cogency_tui.tui.questions.inquiry_panel import InquiryPanel

        return InquiryPanel(question, hands, after=after, away=away)
    from cogency_tui.tui.questions.panel import QuestionPanel

    return QuestionPanel(question, hands, after=after, away=away)
