"""The conversation pane by itself, in an app that does what the main screen would do for it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from cogency_tui import tui
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.find_bar import FindBar, FindCount
from cogency_tui.tui.conversation.pane import ConversationPane
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.theme_styles import textual_theme, variables
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.scripted import EPOCH


class PaneApp(App[None]):
    """Shows a transcript, and keeps what is copied and wanted."""

    CSS_PATH: ClassVar = [
        Path(tui.__file__).parent / "styles" / name for name in ("main.tcss", "panes.tcss", "textual.tcss")
    ]
    ENABLE_SELECT_AUTO_SCROLL = True

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.copied: list[str] = []
        self.wanted: list[Message] = []
        self._transcript = transcript
        self.show_theme(DEFAULT)

    def compose(self) -> ComposeResult:
        conversation = Conversation(
            lambda _width: [], review_key=lambda: "F5", clock=lambda: EPOCH, id="conversation"
        )
        yield ConversationPane(conversation, id="middle")

    def on_mount(self) -> None:
        view = self.query_one(Conversation)
        view.show(self._transcript)
        view.focus()

    def show_theme(self, name: str) -> None:
        """Draw in this theme from now on."""
        self.register_theme(textual_theme(load_palette(name)))
        self.theme = name
        for view in self.query(Conversation) if self.is_running else ():
            view.reflow()

    def action_set_theme(self, name: str) -> None:
        self.show_theme(name)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    def on_conversation_fork_requested(self, event: Conversation.ForkRequested) -> None:
        self.wanted.append(event)

    def on_conversation_review_requested(self, event: Conversation.ReviewRequested) -> None:
        self.wanted.append(event)

    def on_conversation_links_requested(self, event: Conversation.LinksRequested) -> None:
        self.wanted.append(event)


class Reader:
    """Reads in the pane by keys."""

    def __init__(self, pilot: Pilot[Any], app: PaneApp) -> None:
        self.pilot = pilot
        self.app = app

    @property
    def view(self) -> Conversation:
        return self.app.query_one(Conversation)

    @property
    def rows(self) -> list[str]:
        """The lines in view."""
        return shown(self.view).split("\n")

    @property
    def text(self) -> str:
        return shown(self.view)

    @property
    def marked(self) -> list[str]:
        """The lines that the cursor is on."""
        return [row.removeprefix("▎").strip() for row in self.rows if row.startswith("▎")]

    @property
    def count(self) -> str:
        """What is said of the finds; nothing where none are looked for."""
        bar = self.app.query_one(FindBar)
        return shown(self.app.query_one(FindCount)).strip() if bar.display else ""

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def find(self, text: str) -> None:
        """Write `text` into the field, which is opened."""
        await self.press("slash", *("space" if key == " " else key for key in text))
        await cast("Any", self.app.workers).wait_for_complete()
        await self.pilot.pause()

    async def feed(self, *events: Event) -> None:
        """More comes in."""
        self.view.update_units(self.view.transcript.feed(events))
        await self.pilot.pause()


def shown(widget: Widget) -> str:
    """The text that a line-API widget shows now."""
    size = widget.size
    strips = widget.render_lines(Region(0, 0, size.width, size.height))
    assert all(strip.cell_length == size.width for strip in strips)
    return "\n".join(strip.text.rstrip() for strip in strips)


@asynccontextmanager
async def reading(events: Sequence[Event], size: tuple[int, int] = (60, 24)) -> AsyncGenerator[Reader]:
    """The pane over what these events make."""
    app = PaneApp(fed(events))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Reader(pilot, app)


def fed(events: Sequence[Event]) -> Transcript:
    """The transcript that `events` make, which nothing more comes to."""
    transcript = Transcript()
    transcript.feed(events)
    transcript.close()
    return transcript
