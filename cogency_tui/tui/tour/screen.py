"""The main screen with the tour's line above the prompt. A step is over when what it suggests was sent."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.tui.commands import is_command
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.dialogs import Confirmation
from cogency_tui.tui.screens.main import MainScreen
from cogency_tui.tui.theming import inks_of
from cogency_tui.tui.tour.bar import TourBar
from cogency_tui.tui.tour.drawing import draw_tour
from cogency_tui.tui.tour.steps import STEPS
from cogency_tui.tui.widgets.prompt import Prompt
from cogency_tui.tui.widgets.prompt_box import PromptBox
from cogency_tui.workspace.names import short_path


class TourScreen(MainScreen):
    """Leaves the project behind if `keeps` is set in the end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f7",
            "tour_write",
            "Tour",
            priority=True,
            id="tour.write",
            tooltip="Write what the tour suggests into the prompt",
        ),
        Binding(
            "shift+f7",
            "tour_skip",
            "Skip a step",
            show=False,
            priority=True,
            id="tour.skip",
            tooltip="Go on with the next step of the tour",
        ),
    ]
    keeps = False
    _sent = False

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, PromptBox):
                yield TourBar(id="tour-bar")
            yield widget

    async def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Go on, where it is what was suggested: with a prompt once it has its answer. What is done with it
        is done by the main screen."""
        bar = self.query_one(TourBar)
        if bar.step < len(STEPS) and event.text.split() == STEPS[bar.step].prompt.split():
            self._sent = not is_command(event.text)
            if not self._sent:
                bar.show(bar.step + 1)

    def on_bridge_turn_changed(self) -> None:
        """The main screen does what is to be done then."""
        if self._sent and not self.bridge.working:
            self.action_tour_skip()

    def action_tour_write(self) -> None:
        step = self.query_one(TourBar).step
        if step < len(STEPS):
            prompt = self.query_one(Prompt)
            prompt.replace_text(STEPS[step].prompt)
            prompt.focus()

    def action_tour_skip(self) -> None:
        # A step that is skipped before its answer has come is not gone on from once more.
        self._sent = False
        bar = self.query_one(TourBar)
        bar.show(min(bar.step + 1, len(STEPS)))

    def _welcome(self, width: int) -> list[Line]:
        return draw_tour(width, inks_of(app_of(self).theme))

    def leave(self, _argument: str = "") -> None:
        place = short_path(self.agent.project)
        question = f"Keep the scratch project in {place}? It is removed otherwise. Esc stays in the tour."

        def decide(yes: bool | None) -> None:
            if yes is not None:
                self.keeps = yes
                app_of(self).exit()

        app_of(self).push_screen(_Leaving(question), decide)


class _Leaving(Confirmation):
    """One may also stay: to remove a project is not what Escape is for."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Stay", id="tour.stay")]
