"""What the project brings, and whether the person trusts it. Nothing but a key of its own says yes."""

from typing import ClassVar, Literal, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.agent.trust import Standing, Survey
from cogency_tui.tui.drawing.question import Drawing
from cogency_tui.tui.drawing.trust import describe_survey, draw_survey
from cogency_tui.tui.screens.dialogs import STYLES, Choice, Choices, QuestionBody
from cogency_tui.tui.screens.permissions import OWN_STYLES
from cogency_tui.tui.screens.reading import ReadingScreen
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.pane_title import PaneTitle

Decision: TypeAlias = Literal["trust", "refuse", "withdraw"]

_ESSENTIAL = 5
"""Lines of what the project brings that the window shows before trust is heard."""

_TRUST: Choice = ("t", "trust it", "decide('trust')")
_LATER: Choice = ("n", "not now", "close")
_NEVER: Choice = ("v", "never ask here", "decide('refuse')")
_WITHDRAW: Choice = ("w", "trust it no more", "decide('withdraw')")
_CLOSE: Choice = ("escape", "close", "close")


class TrustScreen(ReadingScreen[Decision]):
    """Returns what was decided about what was surveyed; None for not now, which Enter is too. `problem` is
    why what is trusted cannot be used."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "decide('trust')", "Trust it", id="trust.trust", tooltip="Use what it brings as it is"),
        Binding("n", "close", "Not now", id="trust.later", tooltip="Use nothing of it, and ask next time"),
        Binding(
            "v", "decide('refuse')", "Never ask", id="trust.never", tooltip="Use nothing of it, ever, unasked"
        ),
        Binding(
            "w", "decide('withdraw')", "Trust no more", id="trust.withdraw", tooltip="Use nothing of it again"
        ),
    ]
    CSS_PATH: ClassVar = [STYLES, OWN_STYLES]

    def __init__(self, survey: Survey, problem: str = "") -> None:
        super().__init__()
        self._survey = survey
        self._problem = problem

    def compose(self) -> ComposeResult:
        with Vertical(id="trust"):
            yield PaneTitle("What this project brings", id="trust-title")
            yield QuestionBody(self._draw, id="trust-body")
            with Vertical(classes="dialog-foot"):
                yield Choices(self._choices())

    def on_mount(self) -> None:
        self.query_one(PaneTitle).state(describe_survey(self._survey))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "decide":
            return True
        if parameters == ("trust",) and not self.query_one(QuestionBody).is_seen:
            return False
        return any(offered == f"decide({parameters[0]!r})" for _key, _label, offered in self._choices())

    def action_decide(self, decision: Decision) -> None:
        self.dismiss(decision)

    def _choices(self) -> list[Choice]:
        match self._survey.standing:
            case Standing.TRUSTED:
                return [_WITHDRAW, _CLOSE]
            case Standing.REFUSED:
                return [_TRUST, _CLOSE] if self._survey.digest else [_CLOSE]
            case Standing.NOTHING:
                return [_CLOSE]
            case _:
                # What cannot be used cannot be trusted either.
                return [*([_TRUST] if self._survey.digest else []), _LATER, _NEVER]

    def _draw(self, width: int, inks: Inks) -> Drawing:
        lines = draw_survey(self._survey, self._problem, width, inks)
        return Drawing(lines, range(min(len(lines), _ESSENTIAL)))
