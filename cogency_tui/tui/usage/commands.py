"""The command `/usage`: shows the report, and searches past conversations for a row of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.agent.recall.recall import Where
    from cogency_tui.tui.usage.screen import Found


class UsageCommands(FeatureCommands):
    """Runs `/usage` on `screen`; `search` shows the conversations that match a query in a scope."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, search: "Callable[[str, Where], object]") -> None:
        super().__init__(screen, bridge)
        self._search = search

    def handlers(self) -> dict[str, Handler]:
        return {"show_usage": self.show}

    def show(self, by: str = "") -> None:
        """Show the report by this dimension, or by model."""
        from cogency_tui.agent.usage_report import parse_dimensions
        from cogency_tui.tui.usage.screen import UsageScreen

        def found(row: "Found | None") -> None:
            if row is not None:
                self._search(row.query, row.where)

        (dimension,) = parse_dimensions(by or "model")
        recall = self._bridge.agent.recall
        app_of(self._screen).push_screen(UsageScreen(recall.usage, recall.project, dimension), found)
