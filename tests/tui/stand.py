"""A stand for one widget: the app's style sheets and themes around it, and nothing else."""

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.widget import Widget

from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.main.features import PANES_STYLES
from cogency_tui.tui.theme_styles import DEFAULT, load_palette, textual_theme, variables


class Stand(App[None]):
    """Shows `widget` as large as the screen."""

    CSS_PATH: ClassVar = [
        PANES_STYLES.with_name(name) for name in ("main.tcss", "panes.tcss", "textual.tcss")
    ]
    CSS = "#stand > * { width: 1fr !important; height: 1fr; margin: 0 !important; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self._widget = widget
        self.use(DEFAULT)

    def compose(self) -> ComposeResult:
        with Surface(id="stand"):
            yield self._widget

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def use(self, name: str) -> None:
        """Take another theme."""
        self.register_theme(textual_theme(load_palette(name)))
        self.theme = name

    def action_set_theme(self, name: str) -> None:
        self.use(name)
