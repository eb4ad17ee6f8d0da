"""The last line: the keys that work where the focus is, made from the bindings themselves."""

from typing import Any

from rich.segment import Segment
from textual.binding import ActiveBinding
from textual.dom import DOMNode

from cogency_tui.tui.drawing.keys import key_name
from cogency_tui.tui.host import app_of
from cogency_tui.tui.widgets.button_bar import ButtonBar, Part


class Footer(ButtonBar):
    """Shows those bindings that are to be shown: what the focused pane has of its own comes first."""

    def on_mount(self) -> None:
        screen: Any = self.screen
        screen.bindings_updated_signal.subscribe(self, self._update)

    def segments(self, width: int) -> list[Segment]:
        return self.lay([self._part(each, at) for at, each in enumerate(self._shown())], width)

    def _update(self, _screen: object) -> None:
        self.refresh()

    def _shown(self) -> list[ActiveBinding]:
        """The bindings, without those that do the same by another key."""
        wider: list[DOMNode] = [self.screen, app_of(self)]
        shown: dict[str, ActiveBinding] = {}
        for each in self.screen.active_bindings.values():
            if each.enabled and each.binding.show and each.binding.description:
                shown.setdefault(each.binding.action, each)

        def reach(each: ActiveBinding) -> int:
            return wider.index(each.node) + 1 if each.node in wider else 0

        return sorted(shown.values(), key=reach)

    def _part(self, each: ActiveBinding, at: int) -> Part:
        binding = each.binding
        segments = [
            Segment(key_name(binding.key), self.inks("text", "background")),
            Segment(f" {binding.description.lower()}", self.inks("dim", "background")),
        ]
        # The focused widget's own actions are not the screen's.
        namespace = "app." if each.node is app_of(self) else "" if each.node is self.screen else "focused."
        said = f"{binding.tooltip or binding.description} ({key_name(binding.key)})"
        return Part(segments, said, f"{namespace}{binding.action}", "   " if at else "")
