"""The smallest Textual app that one can type into: the yardstick for the start."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield TextArea()


if __name__ == "__main__":
    Bare().run()
