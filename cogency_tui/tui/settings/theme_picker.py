"""The theme picker: shows each theme as soon as it is selected or typed; Esc restores the former one."""

from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.config.themes import AUTO, Palette, load_palette, theme_choices
from cogency_tui.errors import ConfigError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.settings.active_theme import appearance_of
from cogency_tui.tui.theme_styles import ThemeStyles, theme_styles_of

_NAME, _KIND = 9, 21
_SAMPLES = ("accent", "edit", "good", "bad", "branch", "dim")


def draw_theme(name: str, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list, with a sample of the theme's own colors."""
    head = Segment(f"{fit(name, _NAME):<{_NAME}} ", styles("text", on, "bold"))
    try:
        palette = load_palette(name)
    except ConfigError as exc:
        return Line([head, Segment(f"✗ {fit(one_line(str(exc)), width - _NAME - 3)}", styles("bad", on))])
    kind = Segment(_describe(name, palette).ljust(_KIND), styles("dim", on))
    line = [head, kind, *_sample(theme_styles_of(name))]
    return Line(line if width_of(line) <= width else line[:2])


def _describe(name: str, palette: Palette) -> str:
    if name == AUTO:
        return "follows the terminal"
    if palette.ansi:
        return "terminal colors" if palette.colors.accent != palette.colors.text else "no colors"
    return "dark" if palette.dark else "light"


def describe_theme_called(name: str) -> str:
    """Describe the theme of this name, or its problem, in a few words."""
    try:
        return _describe(name, load_palette(name))
    except ConfigError as exc:
        return f"✗ {one_line(str(exc))}"


def _sample(styles: ThemeStyles) -> list[Segment]:
    """Draw some words in the colors of a theme, on its own surface."""
    return [Segment(" ", styles()), *(Segment(f"{role} ", styles(role)) for role in _SAMPLES)]


class ThemePicker(ListDialog[bool, str]):
    """Changes the theme of the app as the cursor moves; returns True to save it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Cancel", id="theme.back"),
        Binding("enter", "open", "Use", id="theme.use", tooltip="Use this theme until you quit"),
        Binding(
            "ctrl+s",
            "keep",
            "Use and save as default",
            id="theme.keep",
            tooltip="Use this theme and save it in the configuration",
        ),
        *list_keys("theme", without=LETTERS),
        Binding("ctrl+home", "end(-1)", "First", show=False, id="theme.first"),
        Binding("ctrl+end", "end(1)", "Last", show=False, id="theme.last"),
    ]
    AUTO_FOCUS = "FilterField"

    def __init__(self) -> None:
        rows: SelectList[str] = SelectList(self._draw_row, str, id="themes-list")
        rows.notice = "No matching themes."
        super().__init__("themes", "Theme", rows)
        self._field = FilterField(id="themes-filter")
        self._filtered = ""
        self._before = appearance_of(self).chosen

    def parts(self) -> list[Widget]:
        return [self._field, self.rows]

    def on_mount(self) -> None:
        self._show_conversation(True)
        self.rows.show(theme_choices(), self._before)
        self.show_selected()

    def on_unmount(self) -> None:
        self._show_conversation(False)

    def _show_conversation(self, shown: bool) -> None:
        """Hide the dialogs from which this one was opened: the conversation shows the theme."""
        for screen in app_of(self).screen_stack:
            if isinstance(screen, ModalScreen) and screen is not self:
                screen.set_class(shown, "-under-preview")

    def choices(self) -> list[Choice]:
        use: list[Choice] = [("enter", "use", "open"), ("ctrl+s", "use and save as default", "keep")]
        return [*(use if self.rows.row is not None else ()), ("escape", "cancel", "back")]

    async def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()
        await self.moved()

    def catch_up(self) -> None:
        if self._filtered != self._field.value:
            self._filtered = self._field.value
            word = self._filtered.strip().casefold()
            self.rows.show([name for name in theme_choices() if word in name.casefold()], self.rows.key)
            self.show_selected()

    async def action_open(self) -> None:
        await self._choose(keep=False)

    async def action_keep(self) -> None:
        await self._choose(keep=True)

    async def _choose(self, *, keep: bool) -> None:
        self.catch_up()
        await self.moved()
        if self.rows.row is not None:
            self.dismiss(keep)

    async def action_back(self) -> None:
        if appearance_of(self).chosen != self._before:
            await self.run_action(f"app.set_theme({self._before!r})")
        self.dismiss(False)

    def _draw_row(self, name: str, width: int, styles: ThemeStyles, on: str) -> Line:
        mark = Segment("● " if name == self._before else "  ", styles("accent", on))
        return draw_theme(name, width - 2, styles, on).indented(mark)

    async def moved(self) -> None:
        """Show the selected theme; an unusable one is marked in its line."""
        name = self.rows.row
        if name is None:
            return
        try:
            load_palette(name)
        except ConfigError:
            return
        await self.run_action(f"app.set_theme({name!r})")
