"""The conversation on the main screen, as features see it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from textual.widget import Widget

from cogency_tui.protocol.events import Event, Measure
from cogency_tui.tui.transcript.call_unit import FileChange
from cogency_tui.tui.transcript.units import Transcript, TurnChanges

if TYPE_CHECKING:
    from cogency_tui.agent.review.model import Decision


class Display(Protocol):
    """Shows one transcript on every widget of the main screen."""

    transcript: Transcript

    def show(self, transcript: Transcript, total: Measure) -> None:
        """Show another conversation and its totals."""
        ...

    def take(self, arrived: list[Event]) -> None:
        """Show new events."""
        ...

    def touch(self, units: set[int]) -> None:
        """Show units that are new or have changed."""
        ...

    def measure(self, total: Measure, context: int) -> None:
        """Show new totals, and the `context` tokens that the next request takes."""
        ...

    def show_changes(
        self,
        net: Iterable[FileChange],
        turns: Mapping[int, TurnChanges],
        decisions: "Mapping[str, Decision]",
    ) -> None:
        """Mark the `net` changes in the file tree, in place of those known so far, the changes of these turns
        at their ends, and the decisions about those of calls at their cards."""
        ...

    def follow(self) -> None:
        """Show the end of the conversation, and follow new output."""
        ...

    def show_state(self) -> None:
        """Show the settings in force, the figures, the title and the current activity."""
        ...

    def show_preview(self, preview: Widget) -> None:
        """Show a file preview, a child of the middle pane, in place of the conversation."""
        ...

    def show_conversation(self) -> bool:
        """Show the conversation where a file preview or another pane covers it; return whether one did."""
        ...

    def hold(self, unit: int | None) -> None:
        """Keep a unit and what is above it in sight while the conversation follows its end; None for none."""
        ...

    def await_answer(self, since: float | None) -> None:
        """Show that the user has to answer `since` then, in Unix seconds; None for no more."""
        ...

    def confirm(self, grant: Sequence[str]) -> bool:
        """Show for a while what the user has just allowed for longer than the turn, in the first of these
        texts that fits; return whether there is a line for it on the screen."""
        ...

    def select_call(self, unit: int) -> None:
        """Select the call that is unit `unit` in the tool calls pane, where that is shown."""
        ...

    def go_to_unit(self, unit: int, *, focus: bool = True) -> None:
        """Scroll the conversation to a unit, and `focus` it."""
        ...
