"""The commands `/undo` and `/redo`: previewed, and applied only on the user's confirmation."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.undo.outcome import describe_undo

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_preview import Plan


async def preview(screen: Screen[Any], plan: "Plan", title: str = "", prompt: str = "") -> "Plan | None":
    """Preview a plan under a title, or one that names its turn, begun by `prompt`; return what the user
    confirms, or None.
    """
    from cogency_tui.tui.undo.screen import UndoScreen

    return await app_of(screen).push_screen_wait(UndoScreen(plan, title, prompt))


class UndoCommands(FeatureCommands):
    """Undoes and redoes turns, in the conversation of the bridge. `changed` is called afterwards."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, changed: Callable[[], None]) -> None:
        super().__init__(screen, bridge)
        self._changed = changed

    def handlers(self) -> dict[str, Handler]:
        return {"undo": partial(self._begin, redo=False), "redo": partial(self._begin, redo=True)}

    def _begin(self, _argument: str, *, redo: bool) -> None:
        """Preview the change, if no work is running."""
        if self.idle() and (conversation_id := self.begun()) is not None:
            self._screen.run_worker(self._ask(conversation_id, redo=redo), group="undo")

    async def _ask(self, conversation_id: str, *, redo: bool) -> None:
        try:
            undo = await self._bridge.agent.undo(conversation_id)
            plan = await (undo.redo() if redo else undo.of_turn())
            chosen = await preview(self._screen, plan, prompt=await undo.prompt(plan.turn))
            if chosen is None:
                return
            done = await undo.record(await undo.apply(chosen, for_good=True, agreed=True))
        except CogencyError as exc:
            self.complain(exc)
            return
        self._changed()
        self.say(f"{describe_undo(done)} ({'/undo reverts' if redo else '/redo reapplies'})")
