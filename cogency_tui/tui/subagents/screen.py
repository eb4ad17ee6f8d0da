"""The agents of a conversation: their tree on the left, the details of the selected one on the right.

It composes, and passes keys on. While the agent works, `progress` names the conversations with new events;
they are read together, a few times a second at most.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer

from cogency_tui.agent.subagent_tree import AgentNode, SubagentTree
from cogency_tui.errors import CogencyError
from cogency_tui.store.store import Store
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.bar import ButtonBar, Surface
from cogency_tui.tui.kit.dialogs import AnsweringScreen
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.subagents.details import AgentDetails, AgentFiles, Detail
from cogency_tui.tui.subagents.keys import AGENTS_KEYS
from cogency_tui.tui.subagents.tree import AgentList, dollars_of, tokens_of

BOTH_FIT = 96
"""Cells from which both panes are side by side."""

AGENTS_STYLES = Path(__file__).parent.parent / "styles" / "subagents.tcss"

_REST = 0.15
"""Seconds between two readings while agents work."""

_TICK = 1.0
"""Seconds between two refreshes of running times."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """The user's destination: a call, in the conversation or, for `review`, in the review."""

    call: str
    review: bool


@dataclass(frozen=True, slots=True)
class AgentsCommand:
    """A command for the main screen."""

    handler: str
    argument: str


class AgentsScreen(AnsweringScreen[ShownCall | AgentsCommand | None]):
    """Shows the agents of `tree`, with that of `call` selected.

    `working` returns whether a turn is running; `review_key` the name of the key for the review; `waits`
    whether a call of the conversation waits for the user. Files in the directory `project` are named relative
    to it.
    """

    BINDINGS = AGENTS_KEYS
    AUTO_FOCUS = ""
    BLANK = True
    CSS_PATH: ClassVar = [AGENTS_STYLES]

    def __init__(
        self,
        tree: SubagentTree,
        store: Callable[[], Awaitable[Store]],
        working: Callable[[], bool],
        review_key: Callable[[], str | None],
        waits: Callable[[str], bool] = lambda _call: False,
        *,
        project: str,
        title: str = "",
        call: str = "",
        clock: Callable[[], float] = time,
    ) -> None:
        super().__init__()
        self._tree = tree
        self._working = working
        self._clock = clock
        self._call = call
        self._header = ScreenHeading("Agents", title, id="agents-header")
        self._tree_title = PaneTitle("Agents", id="agents-tree-title")
        self._list = AgentList(waits, id="agents-tree")
        self._details = AgentDetails(
            tree, store, self._complain, review_key, project=project, clock=clock, id="agents-details"
        )
        self._root: AgentNode | None = None
        self._pending: set[str] | None = set()
        """The conversations to read; None for all."""
        self._reading = False
        self._ticker: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal(id="agents-panes"):
            with Surface(id="agents-left"):
                yield self._tree_title
                yield self._list
            yield self._details
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit()
        self.set_focus(self._list)
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self._details.reflow())
        self._ticker = self.set_interval(_TICK, self._tick, pause=True)
        self.reload()

    def on_resize(self, event: events.Resize) -> None:
        del event
        self._fit()
        self.call_after_refresh(self._show_columns)

    def reload(self) -> None:
        """Read all that is new."""
        self._pending = None
        self._read_soon()

    def progress(self, ids: Collection[str]) -> None:
        """Read what is new of the conversations with these ids."""
        if self._pending is not None:
            self._pending.update(ids)
        self._read_soon()

    def _read_soon(self) -> None:
        if not self._reading:
            self._read()

    def _read(self) -> None:
        """Read now, and again after a rest if there is more to read by then."""
        changed, self._pending = self._pending, set()
        self._reading = changed is None or bool(changed)
        if self._reading:
            self.run_worker(self._show_changes(changed), group="agents-read")

    async def _show_changes(self, changed: Collection[str] | None) -> None:
        await self._read_tree(changed)
        self.set_timer(_REST, self._read)

    async def _read_tree(self, changed: Collection[str] | None) -> None:
        try:
            root = await self._tree.read(changed, working=self._working())
        except CogencyError as exc:
            if self._root is None:
                self.dismiss(None)
            self._complain(exc)
            return
        if root is not None:
            self._show(root)

    def _show(self, root: AgentNode) -> None:
        self._root = root
        self._list.show_tree(root, self._clock())
        if self._call:
            self._list.select_call(self._call)
            self._call = ""
        self._show_columns()
        self._describe(root)
        self._show_selected()
        if self._ticker is not None:
            runs = any(each.running for each in (root, *root.below()))
            (self._ticker.resume if runs else self._ticker.pause)()

    def _describe(self, root: AgentNode) -> None:
        """Show the number of sub-agents, and what all agents used together."""
        below = [*root.below()]
        states = self._list.running
        working = [f"{count} {each}" for each in ("running", "waiting") if (count := states.count(each))]
        total = self._list.total
        self._header.state(
            f"{tokens_of(total)} tokens" if total else "",
            dollars_of(total) if total else "",
            plural(len(below), "sub-agent") if below else "no sub-agents",
            *(working or ("",)),
        )

    def _show_selected(self) -> None:
        if (row := self._list.agent) is not None:
            self._details.show_agent(row.node, self._list.state_of(row))
        self.refresh_bindings()

    def _show_columns(self) -> None:
        self._tree_title.note(self._list.column_names())

    def _tick(self) -> None:
        """Advance running times, unless another screen covers them."""
        if self.is_active:
            self._list.tick(self._clock())
            if (row := self._list.agent) is not None:
                self._details.tick(self._list.frame, self._list.state_of(row))
            if self._root is not None:
                self._describe(self._root)

    def on_select_list_selected(self, event: AgentList.Selected) -> None:
        event.stop()
        self._show_selected()

    def on_select_list_chosen(self, event: AgentList.Chosen) -> None:
        event.stop()
        if event.again:
            self.action_enter()

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def on_conversation_agent_requested(self, event: Conversation.AgentRequested) -> None:
        self._list.select_call(event.call)

    def on_conversation_review_requested(self, event: Conversation.ReviewRequested) -> None:
        self.dismiss(ShownCall(event.call, review=True))

    def on_agent_files_review_requested(self, event: AgentFiles.ReviewRequested) -> None:
        self.dismiss(ShownCall(event.call, review=True))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._tree_title.light(event.widget is self._list)
        self._details.light()
        if event.widget in (self._list, self._details.target):
            self.set_class(event.widget is not self._list, "-detail")

    def action_detail(self, detail: Detail) -> None:
        """Show a detail, and focus it."""
        self._details.turn(detail)
        self.action_enter()

    def action_enter(self) -> None:
        """Go to the details of the selected agent."""
        # On a narrow screen they are hidden, and cannot have the focus, until they replace the tree.
        self.add_class("-detail")
        self.set_focus(self._details.target)

    def action_switch(self) -> None:
        if self._list.has_focus:
            self.action_enter()
        else:
            self.action_tree()

    def action_tree(self) -> None:
        """Go to the tree."""
        self.remove_class("-detail")
        self.set_focus(self._list)

    def action_locate(self) -> None:
        """Show the call of the selected agent in the conversation."""
        if (row := self._list.agent) is not None and row.top:
            self.dismiss(ShownCall(row.top, review=False))

    def action_review(self) -> None:
        """Review the changes of the selected agent."""
        if (row := self._list.agent) is not None and row.node.files:
            self.dismiss(ShownCall(row.node.files[0].call, review=True))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        row = self._list.agent
        if action == "tree":
            return self._is_tree_covered and not self.selections
        if action == "locate":
            return row is not None and bool(row.top)
        if action == "review":
            return row is not None and bool(row.node.files)
        return super().check_action(action, parameters)

    def action_help(self) -> None:
        from cogency_tui.tui.help.screen import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen("Agents", collect_keys(self)))

    def action_step_back(self) -> None:
        """Clear the selection, or close."""
        if self.selections:
            self.clear_selection()
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_command(self, handler: str, argument: str = "") -> None:
        """Pass a command from the palette to the main screen."""
        self.dismiss(AgentsCommand(handler, argument))

    @property
    def _is_tree_covered(self) -> bool:
        return self.has_class("-one") and self.has_class("-detail")

    def _complain(self, error: CogencyError) -> None:
        self.notify(error.advice, severity="error", markup=False)

    def _fit(self) -> None:
        size = app_of(self).size
        self.set_class(size.width < BOTH_FIT, "-one")
        self.set_class(size.height < 24, "-short")
