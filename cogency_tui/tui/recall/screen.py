"""The recall screen: a search field, the conversations found, and a preview of the selected one.

It composes and connects: `background_search` finds, `preview` shows, `conversation_management` changes. A
conversation of the team is pulled before it is opened. It returns the user's destination.
"""

from collections.abc import Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input
from textual.worker import Worker

from cogency_tui.agent.recall.results import Hit, Indexed
from cogency_tui.errors import CogencyError, ConversationGoneError
from cogency_tui.store.store import StoredConversation
from cogency_tui.tui.kit.bar import ButtonBar
from cogency_tui.tui.kit.dialogs import AnsweringScreen
from cogency_tui.tui.kit.footer import Footer, Hints
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.number_format import percent, plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.recall.background_search import Asked, Place, Searching
from cogency_tui.tui.recall.conversation_management import Deed, Opened, Upkeep
from cogency_tui.tui.recall.destination import Destination, travel
from cogency_tui.tui.recall.keys import RECALL_KEYS
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.panes import RecallPanes, chips_of, count_of, wider
from cogency_tui.tui.recall.rename_export_dialogs import RECALL_STYLES
from cogency_tui.tui.recall.row_lines import title_of
from cogency_tui.tui.recall.rows import RecallEntry
from cogency_tui.tui.recall.search_bar import ChipLine, SearchBar, SearchField, filters_in, without
from cogency_tui.tui.terminal.key_order import Typed
from cogency_tui.tui.terminal.pane_letters import PaneLetters

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.recall.team_recall import Pulled, TeamRecall

_SHORT = 24
_REFRESH = 0.5
"""Seconds between two refreshes of the states of open conversations."""

_UNDO = "do('undo')"
_WITHOUT_ROWS = ("scope", "search", "order", "preview", "do('statistics')", "help", "back")
"""What the keys do that need no conversation, the most useful first."""
_SCOPES: tuple[Place, ...] = ("project", "everywhere", "team", "trash")
_LATE = 0.4
"""Seconds of a search of the team's database after which the heading shows that it runs."""


class RecallScreen(AnsweringScreen[Destination | None]):
    """Shows the conversations of `agent`; `opened` are those that are open in this program. `ready` returns
    whether files can be restored now, and notifies the user if not; `query` is the first search, in the scope
    `where`. `renamed` gets the id and the new title of a conversation."""

    BINDINGS: ClassVar[list[BindingType]] = RECALL_KEYS
    AUTO_FOCUS = "#recall-field"
    CSS_PATH = RECALL_STYLES
    BLANK = True

    def __init__(
        self,
        agent: "Agent",
        ready: Callable[[], bool],
        opened: Opened,
        *,
        query: str = "",
        where: Place = "project",
        renamed: Callable[[str, str], None] = lambda _id, _title: None,
        clock: Callable[[], float] = time,
    ) -> None:
        super().__init__()
        self._agent = agent
        self._opened = opened
        self._ready = ready
        self._report_title = renamed
        self._query = query
        self._where: Place = where
        self._clock = clock
        self._team: TeamRecall | None = None
        if agent.settings.history.url:
            from cogency_tui.agent.recall import team_recall

            self._team = team_recall.TeamRecall(agent.settings.history, agent.store)
        self._searching = Searching(
            self,
            agent,
            self._team,
            clock,
            found=self._found,
            counted=self._show_count,
            indexed=self.show_index,
            failed=self._failed,
        )
        self._upkeep = Upkeep(
            self, agent, opened, clock, renamed=self._renamed, removed=self._removed, returned=self._returned
        )
        self._letters = PaneLetters(self, self._type_text, lambda: not self._panes.has_focus_within)
        self._count = self._progress = ""
        self._opening = False
        self._pulling: Worker[None] | None = None
        self._pulled = 0
        self._retain: str | None = None

    def key_hints(self) -> Hints:
        """All keys, but no undo where there is nothing to undo; in the trash the one to restore is second. Of
        the team's conversations none is changed, and where nothing was found nothing is opened."""
        shown = [each.action for each in RECALL_KEYS if isinstance(each, Binding) and each.show]
        if not (self._searching.catalogue.rows or self._searching.busy or self._is_in_trash):
            undo = [_UNDO] if self._upkeep.can_undo else []
            return Hints([*_WITHOUT_ROWS[:1], *undo, *_WITHOUT_ROWS[1:]])
        if self._is_in_trash:
            first, *others = (each for each in shown if each not in (_UNDO, "do('trash')"))
            return Hints([first, _UNDO, *others])
        if self._is_in_team:
            return Hints([each for each in shown if not each.startswith("do(")])
        return Hints([each for each in shown if self._upkeep.can_undo or each != _UNDO])

    def key_label(self, action: str) -> str:
        if action == _UNDO:
            return "restore" if self._is_in_trash else ""
        if action != "back":
            return ""
        if self._is_pulling:
            return "cancel"
        return "list" if self._panes.covers else "clear search" if self._is_searching else ""

    @property
    def _is_in_trash(self) -> bool:
        """True if the trash is searched."""
        return self._searching.asked.where == "trash"

    @property
    def _is_in_team(self) -> bool:
        """True if the team's database is searched."""
        return self._searching.asked.where == "team"

    @property
    def _is_pulling(self) -> bool:
        """True while a conversation of the team is pulled."""
        return self._pulling is not None

    @property
    def _is_searching(self) -> bool:
        """True while the field has the focus, and a text."""
        return self.focused is self._field and bool(self._field.value)

    def compose(self) -> ComposeResult:
        yield ScreenHeading("Recall", id="recall-title")
        yield SearchBar(self._query, id="recall-search")
        yield RecallPanes(self._searching, self._clock, self._upkeep.complain, id="recall-panes")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self._panes.preview.reflow())
        self._fit()
        self._show_states()
        self.set_interval(_REFRESH, self._show_states)
        self._ask(Asked(self._query, self._where))
        self.run_worker(self._searching.follow_index, group="recall-index")

    def on_unmount(self) -> None:
        if self._team is not None:
            self._team.close()

    def _show_states(self) -> None:
        self._panes.list.show_states(self._opened.states())

    def on_resize(self, event: events.Resize) -> None:
        del event
        self._fit()

    def _fit(self) -> None:
        size = app_of(self).size
        self.set_class(size.height < _SHORT, "-short")
        self._panes.fit(size.width)

    @property
    def _panes(self) -> RecallPanes:
        return self.query_one(RecallPanes)

    @property
    def _field(self) -> SearchField:
        return self.query_one(SearchField)

    @property
    def _heading(self) -> ScreenHeading:
        return self.query_one(ScreenHeading)

    # The search.

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.refresh_bindings()
        self._catch_up()

    def on_search_field_emptied(self) -> None:
        self.action_scope(wider(self._searching.asked.where))

    def on_chip_line_pressed(self, event: ChipLine.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def action_scope(self, where: Place | None = None) -> None:
        """Search another scope, by default the next one."""
        asked = self._searching.asked
        scopes = [each for each in _SCOPES if each != "team" or self._team is not None]
        if (there := where or scopes[(scopes.index(asked.where) + 1) % len(scopes)]) != asked.where:
            self._ask(asked._replace(where=there))

    def action_order(self) -> None:
        asked = self._searching.asked
        self._ask(asked._replace(order="best" if asked.order == "newest" else "newest"))

    def action_drop(self, start: int) -> None:
        """Remove the filter that starts at this position of the text."""
        field = self._field
        for each in filters_in(field.value):
            if each.start == start:
                field.value = without(field.value, each)
                return

    def on_recall_list_more_requested(self) -> None:
        self._searching.go_on()

    def _catch_up(self) -> None:
        """Search for the text typed so far."""
        text = self._field.value
        if text != self._searching.asked.text:
            self._ask(self._searching.asked._replace(text=text))

    def _ask(self, asked: Asked, retain: str | None = None) -> None:
        self._retain, self._opening = retain, False
        self._stop_pulling()
        was_in_team = self._is_in_team
        self._searching.ask(asked)
        self.query_one(ChipLine).show(chips_of(asked, ()))
        if self._is_in_team:
            self._panes.show_instead("Searching the team's database…")
            self.set_timer(_LATE, self._show_count)
        elif was_in_team:
            self._panes.show_instead("")

    def _found(self, another: bool) -> None:
        if another:
            self.query_one(ChipLine).show(chips_of(self._searching.asked, self._searching.problems))
            self._panes.show_found(self._retain)
        else:
            self._panes.show_more()
        self._show_count()
        if self._opening:
            self._opening = False
            self._go_on(fork=False)

    def _failed(self, error: CogencyError) -> None:
        self._opening = False
        self._panes.show_instead(error.advice)
        self._show_count()
        if not self._is_in_team or self._searching.catalogue.rows:
            self._upkeep.complain(error)

    # The display.

    def _show_count(self) -> None:
        searching = self._searching
        found = searching.catalogue.found
        self._count = count_of(found, searching.total, complete=searching.complete)
        if searching.failed:
            self._count = ""
        elif searching.busy and self._is_in_team:
            self._count = "searching…"
        self._show_facts()
        self.refresh_bindings()

    def show_index(self, state: Indexed | None) -> None:
        """Show the progress of the index while it is built."""
        if state is None or state.done >= state.total:
            self._progress = ""
        else:
            done = percent(state.done / state.total)
            self._progress = f"indexing: {done} of {state.total:,} events"
        self._show_facts()

    def _show_facts(self) -> None:
        if self._is_pulling:
            self._heading.state(f"pulling: {plural(self._pulled, 'event')} (Esc cancels)")
        else:
            self._heading.state(self._progress, self._count)

    def on_descendant_focus(self) -> None:
        self._panes.light()

    def action_preview(self) -> None:
        """Show or hide the preview; on a narrow screen it replaces the list."""
        self._panes.toggle_preview(app_of(self).size.width)

    # The selected conversation.

    def on_select_list_chosen(self, event: RecallList.Chosen) -> None:
        if event.again:
            self.action_open()

    def on_recall_list_left(self) -> None:
        self.set_focus(self._field)

    def action_hit(self, step: int) -> None:
        self._panes.step(step)

    def action_open(self) -> None:
        """Open the selected conversation; text just typed is searched for first."""
        self._catch_up()
        if self._searching.busy and self.focused is self._field:
            self._opening = True
        else:
            self._go_on(fork=False)

    def action_fork(self) -> None:
        self._go_on(fork=True)

    def _go_on(self, *, fork: bool) -> None:
        entry, hit = self._panes.entry, self._panes.hit
        if entry is None:
            return
        id = entry.conversation.id
        within, event = (hit.within, hit.event) if hit else (id, 0)
        if self._is_in_team:
            self._bring(entry, hit, lambda pulled: self._leave(*pulled, fork=fork))
        else:
            self._leave(entry.conversation, within, event, fork=fork)

    def _leave(self, conversation: StoredConversation, within: str, event: int, *, fork: bool) -> None:
        trashed = conversation.trashed is not None
        terms = self._searching.terms
        self.dismiss(Destination(conversation.id, within, event, terms, fork, trashed))

    def action_timeline(self) -> None:
        """Show the timeline of the selected conversation."""

        def show(id: str) -> None:
            travel(self, self._agent, id, self._ready, self.dismiss)

        if (entry := self._panes.entry) is None:
            return
        if self._is_in_team:
            self._bring(entry, None, lambda pulled: show(pulled.conversation.id))
        else:
            show(entry.conversation.id)

    # A conversation of the team.

    def _bring(self, entry: RecallEntry, hit: Hit | None, then: "Callable[[Pulled], object]") -> None:
        """Pull a conversation; `then` receives it, unless the user cancels this."""
        if not self._is_pulling:
            work = partial(self._pull, entry, hit, then)
            self._pulling = self.run_worker(work, group="recall-pull", exclusive=True)
            self._show_pulled(0)
            self.refresh_bindings()

    async def _pull(self, entry: RecallEntry, hit: Hit | None, then: "Callable[[Pulled], object]") -> None:
        assert self._team is not None
        id = entry.conversation.id
        within, event = (hit.within, hit.event) if hit else (id, 0)
        pulled: Pulled | None = None
        try:
            pulled = await self._team.pull(id, within, event, self._show_pulled)
        except CogencyError as exc:
            self._upkeep.complain(exc)
            if isinstance(exc, ConversationGoneError):
                self._removed(id)
        self._end_pulling()
        if pulled is not None and self.is_current:
            then(pulled)
        elif pulled is not None:
            self._upkeep.report(f"“{title_of(entry)}” is here now, in all projects.")

    def _show_pulled(self, events: int) -> None:
        """Show how many events have been pulled."""
        self._pulled = events
        self._show_facts()

    def _end_pulling(self) -> None:
        self._pulling = None
        self._show_facts()
        self.refresh_bindings()

    def _stop_pulling(self) -> None:
        if self._pulling is not None:
            self._pulling.cancel()
            self._end_pulling()

    async def action_do(self, what: Deed) -> None:
        """Run an action, on the selected conversation if it needs one."""
        if what == "undo" and not (self._is_in_trash or self._upkeep.can_undo):
            # Moved there on another visit, or by another program.
            self._upkeep.report("No conversation was moved to the trash here. This is the trash: u restores.")
            self.action_scope("trash")
            return
        await self._upkeep.do(what, self._panes.entry, self._searching.asked.where)

    def _renamed(self, id: str, title: str) -> None:
        self._report_title(id, title)
        self._searching.catalogue.rename(id, title)
        self._panes.list.refresh()
        self._panes.show_selected()

    def _removed(self, id: str) -> None:
        self._show_states()
        self._searching.drop(id)
        self._panes.show_more()
        self._show_count()

    def _returned(self, id: str) -> None:
        self._ask(self._searching.asked, retain=id)

    # The focus and the screen.

    def sift(self, event: Typed) -> Typed | None:
        return self._letters.sift(event)

    def on_paste(self, event: events.Paste) -> None:
        if self._panes.has_focus_within:
            self._type_text(event)

    def _type_text(self, event: Typed) -> None:
        """Give text to the search field, together with the focus; it replaces the text there."""
        self.set_focus(self._field)
        # In the field's queue it is behind the focus, which selects the text to replace.
        self._field.post_message(event.copy() if isinstance(event, events.Key) else events.Paste(event.text))

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def action_enter_list(self, pages: int = 0) -> None:
        """Move the focus from the field to the list."""
        self._panes.enter(pages)

    def action_search(self) -> None:
        self.set_focus(self._field)

    def action_back(self) -> None:
        if self._is_pulling:
            self._stop_pulling()
        elif self._panes.covers:
            self.action_preview()
        elif self._is_searching:
            self._field.value = ""
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_command(self, handler: str, argument: str = "") -> None:
        """Close, and run a command of the palette on the main screen."""
        main = app_of(self).screen_stack[0]
        self.dismiss(None)
        main.call_next(main.run_action, f"command({handler!r}, {argument!r})")

    def action_help(self) -> None:
        """Show the keys that work at the focus."""
        from cogency_tui.tui.help.screen import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen("Recall", collect_keys(self)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that have nothing to act on."""
        del parameters
        if action == "search":
            return not isinstance(self.focused, SearchField)
        if action == "hit":
            return bool(self._searching.terms)
        return True
