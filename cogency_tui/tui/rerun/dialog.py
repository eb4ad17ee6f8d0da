"""The dialog that asks how a turn is run again: the model, effort, dialect, check and spending limit."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast, get_args

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from cogency_tui.agent.rerun import RerunChoice
from cogency_tui.config.options import options
from cogency_tui.config.schema import DIALECT_CHOICES, EFFORT_CHOICES
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog, ChoiceRow
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog, DialogBox, DialogTitle
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import dollars
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.models.model import Chosen, ModelList
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.config.schema import DialectChoice, EffortChoice

Field: TypeAlias = Literal["model", "effort", "dialect", "check", "limit"]

_LABELS: dict[Field, str] = {
    "model": "Model",
    "effort": "Reasoning effort",
    "dialect": "Dialect of tool calls",
    "check": "Check command",
    "limit": "Spending limit",
}
_MEANINGS: dict[Field, str] = {
    "model": "Enter chooses a model.",
    "effort": "How hard the model thinks.",
    "dialect": "How the model writes tool calls.",
    "check": "Runs in the files of both turns, e.g. pytest -q.",
    "limit": "Asks before the turn costs more.",
}
_ABOUT = (
    "Runs in a scratch copy of the project's files as they were then, without ignored files or git history. "
    "Your files are only read."
)


class LineField(Input):
    """One line of text."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class LineDialog(Dialog["str | None"]):
    """Returns one line of text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Accept", id="line.accept"),
        Binding("escape", "close", "Cancel", id="line.leave"),
    ]
    AUTO_FOCUS = "#line-field"
    CSS_PATH = STYLES

    def __init__(self, title: str, text: str, placeholder: str) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle(self._title, id="line-title"),
            LineField(self._text, placeholder=self._placeholder, id="line-field"),
            keys=Choices([("enter", "accept", "open"), ("escape", "cancel", "close")]),
            id="line",
            classes="-question",
        )

    def on_mount(self) -> None:
        self.query_one(LineField).cursor_blink = False

    @property
    def unsaved(self) -> str:
        return "" if self.query_one(LineField).value == self._text else "the text"

    def action_open(self) -> None:
        self.dismiss(self.query_one(LineField).value.strip())


class RerunScreen(ListDialog["RerunChoice | None", Field]):
    """Returns how the turn of this number is run again; at first as `agent` is set."""

    BINDING_GROUP_TITLE = "Run again"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "run", "Run", id="rerun.run", tooltip="Run the turn again"),
        Binding("enter,space", "change", "Change", id="rerun.change", tooltip="Change the selected line"),
        Binding("escape,q", "close", "Cancel", id="rerun.close"),
        *list_keys("rerun"),
    ]

    def __init__(self, agent: "Agent", turn: int) -> None:
        rows: SelectList[Field] = SelectList(self._draw_row, str, id="rerun-list")
        super().__init__("rerun", "Run again", rows, Note(self._draw_note, id="rerun-note"))
        self._agent = agent
        self._turn = turn
        self._model = Chosen(agent.provider.name, agent.provider.model)
        self._effort: EffortChoice = agent.effort
        self._dialect: DialectChoice | None = agent.dialect
        self._check = ""
        self._limit: float | None = None

    def on_mount(self) -> None:
        self.heading.state(f"turn {self._turn}")
        self.rows.show(list(get_args(Field)))
        self.show_selected()

    def note_lines(self, height: int) -> int:
        del height
        return 4

    async def clicked(self) -> None:
        await self.moved()

    def choices(self) -> list[Choice]:
        return [("r", "run", "run"), ("enter", "change", "change"), ("escape", "cancel", "close")]

    def action_run(self) -> None:
        self.dismiss(
            RerunChoice(
                self._model.provider,
                self._model.model or None,
                self._effort,
                self._dialect,
                self._limit,
                self._check,
            )
        )

    def action_change(self) -> None:
        """Change the selected line."""
        match self.rows.row:
            case "model":
                models = ModelList(self._agent.settings)
                app_of(self).push_screen(
                    PickerScreen(models, self._model, effort=self._effort), self._use_model
                )
            case "effort":
                self._offer("effort", EFFORT_CHOICES, self._effort)
            case "dialect":
                self._offer("dialect", DIALECT_CHOICES, self._dialect or "")
            case "check":
                self._ask("Check command", self._check, "pytest -q", self._use_check)
            case "limit":
                text = "" if self._limit is None else f"{self._limit:g}"
                self._ask(
                    "Spending limit in USD", text, "Leave empty for that of the settings", self._use_limit
                )
            case None:
                pass

    def _offer(self, key: str, names: tuple[str, ...], current: str) -> None:
        option = options()[key]
        rows = [ChoiceRow(each, option.means.get(each, ""), each == current) for each in names]
        app_of(self).push_screen(ChoiceDialog(option.label, rows), partial(self._use_choice, key))

    def _ask(self, title: str, text: str, placeholder: str, use: Callable[[str | None], None]) -> None:
        app_of(self).push_screen(LineDialog(title, text, placeholder), use)

    def _use_model(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            self._model = chosen
        self.show_selected()
        self.rows.refresh()

    def _use_choice(self, key: str, value: str | None) -> None:
        if value is not None and key == "effort":
            self._effort = cast("EffortChoice", value)
        elif value is not None:
            self._dialect = cast("DialectChoice", value)
        self.rows.refresh()

    def _use_check(self, text: str | None) -> None:
        self._check = self._check if text is None else text
        self.rows.refresh()

    def _use_limit(self, text: str | None) -> None:
        if text is None:
            return
        try:
            self._limit = _amount(text)
        except ValueError:
            self.notify(f"{text!r} is no amount above 0.", severity="warning", markup=False)
        self.rows.refresh()

    def _value_of(self, field: Field) -> str:
        match field:
            case "model":
                return one_line(f"{self._model.provider}/{self._model.model}".rstrip("/"))
            case "effort":
                return self._effort
            case "dialect":
                return self._dialect or "as in the conversation"
            case "check":
                return one_line(self._check) or "none"
            case "limit":
                return "as in the settings" if self._limit is None else dollars(self._limit)

    def _draw_row(self, field: Field, width: int, styles: ThemeStyles, on: str) -> Line:
        label = max(map(cells, _LABELS.values())) + 2
        return Line(
            [
                Segment(f"  {_LABELS[field]:<{label}}", styles("dim", on)),
                Segment(fit(self._value_of(field), max(1, width - label - 2)), styles("text", on)),
            ]
        )

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        field = self.rows.row
        lines = wrap([Segment(_MEANINGS[field], styles("text"))], width) if field else []
        return [*lines, *wrap([Segment(_ABOUT, styles("dim"))], width)]


def _amount(text: str) -> float | None:
    """Read USD; None for an empty text.

    Raises:
        ValueError: it is no amount above 0.
    """
    if not text:
        return None
    if not 0 < (amount := float(text.removeprefix("$"))) < float("inf"):
        raise ValueError
    return amount
