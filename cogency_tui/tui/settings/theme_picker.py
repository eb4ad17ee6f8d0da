"""The theme picker: shows each theme as soon as it is selected; Esc restores the former one."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.config.themes import Palette, load_palette, theme_names
from cogency_tui.errors import CogencyError, ConfigError
from cogency_tui.text import one_line
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog
from cogency_tui.tui.kit.lines import Line, fit, width_of
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.settings.appearance import keep_theme
from cogency_tui.tui.theme import Inks, inks_of

_NAME, _KIND = 14, 28
_AROUND = 7
"""Lines of the dialog's title and foot."""

_SAMPLES = ("accent", "edit", "good", "bad", "branch", "dim")
_KEYS: list[Choice] = [
    ("enter", "use", "use"),
    ("k", "use and keep", "keep"),
    ("escape", "as before", "back"),
]


class ThemeChoices(SelectList[str]):
    """Themes, one line each, with a sample of its own colours."""

    def draw_row(self, row: str, on: str) -> Line:
        name = Segment(f"{fit(row, _NAME):<{_NAME}} ", self.inks("text", on, "bold"))
        try:
            palette = load_palette(row)
        except ConfigError as exc:
            room = self.text_width - _NAME - 3
            return Line([name, Segment(f"✗ {fit(one_line(str(exc)), room)}", self.inks("bad", on))])
        kind = Segment(describe_theme(palette).ljust(_KIND), self.inks("dim", on))
        line = [name, kind, *_sample(inks_of(row))]
        return Line(line if width_of(line) <= self.text_width else line[:2])


def describe_theme(palette: Palette) -> str:
    """Describe a theme in a few words."""
    if palette.ansi:
        return "the terminal's own colours" if palette.colors.accent != palette.colors.text else "no colours"
    return "dark" if palette.dark else "light"


def _sample(inks: Inks) -> list[Segment]:
    """Draw some words in the colours of a theme, on its own surface."""
    return [Segment(" ", inks()), *(Segment(f"{role} ", inks(role)) for role in _SAMPLES)]


class ThemePicker(Dialog[None]):
    """Changes the theme of the app as the cursor moves."""

    CSS_PATH = STYLES
    AUTO_FOCUS = ""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "As before", id="theme.back"),
        Binding("enter", "use", "Use it", id="theme.use", tooltip="Use this theme until the program ends"),
        Binding(
            "k", "keep", "Keep it", id="theme.keep", tooltip="Use it, and write it into the configuration"
        ),
        Binding("up", "move(-1)", "Up", show=False, id="theme.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="theme.down"),
        Binding("home", "move(-1000)", "First", show=False, id="theme.first"),
        Binding("end", "move(1000)", "Last", show=False, id="theme.last"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._before = app_of(self).theme
        self._names = theme_names()

    def compose(self) -> ComposeResult:
        with Vertical(id="themes"):
            yield PaneTitle("Theme", id="themes-title")
            yield ThemeChoices(id="themes-list")
            with Vertical(classes="dialog-foot"):
                yield Choices(_KEYS)

    def on_mount(self) -> None:
        place = self._names.index(self._before) if self._before in self._names else 0
        self._list.show(self._names, place)

    def on_resize(self, event: events.Resize) -> None:
        """Leave space for the foot, however many themes there are."""
        self._list.styles.max_height = max(3, event.size.height * 86 // 100 - _AROUND)

    @property
    def _list(self) -> ThemeChoices:
        return self.query_one(ThemeChoices)

    async def on_select_list_chosen(self) -> None:
        await self._preview()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    async def action_move(self, step: int) -> None:
        self._list.move(step)
        await self._preview()

    def action_use(self) -> None:
        self.dismiss(None)

    def action_keep(self) -> None:
        try:
            path = keep_theme(app_of(self).theme)
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        else:
            self.notify(f"The theme is kept in {path}. Everything else in it is as it was.", markup=False)
        self.dismiss(None)

    async def action_back(self) -> None:
        if app_of(self).theme != self._before:
            await self.run_action(f"app.set_theme({self._before!r})")
        self.dismiss(None)

    async def _preview(self) -> None:
        """Show the selected theme; an unusable one is marked in its line."""
        name = self._list.row
        if name is None:
            return
        try:
            load_palette(name)
        except ConfigError:
            return
        await self.run_action(f"app.set_theme({name!r})")
