"""The last line: the keys that work at the focus, generated from the bindings."""

from typing import Any

from rich.segment import Segment
from textual.binding import ActiveBinding
from textual.dom import DOMNode

from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.typed_app import app_of


class Footer(ButtonBar):
    """Shows the visible bindings; the focused pane's own come first. It is blank until they are known."""

    _known = False

    def on_mount(self) -> None:
        screen: Any = self.screen
        screen.bindings_updated_signal.subscribe(self, self._update)

    def segments(self, width: int) -> list[Segment]:
        if not self._known:
            return []
        return self.lay([self._part(each, at) for at, each in enumerate(self._shown())], width)

    def _update(self, _screen: object) -> None:
        self._known = True
        self.refresh()

    def _shown(self) -> list[ActiveBinding]:
        """The bindings, without those that repeat an action under another key."""
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
            Segment(key_name(binding.key), self.theme_styles("text", "background")),
            Segment(f" {binding.description.lower()}", self.theme_styles("dim", "background")),
        ]
        # The screen does not define the focused widget's own actions.
        namespace = "app." if each.node is app_of(self) else "" if each.node is self.screen else "focused."
        tooltip = f"{binding.tooltip or binding.description} ({key_name(binding.key)})"
        return Part(segments, tooltip, f"{namespace}{binding.action}", "   " if at else "")
