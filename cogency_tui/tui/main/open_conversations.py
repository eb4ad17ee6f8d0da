"""The conversations that are open in this program, each on a main screen of its own.

A conversation that does not work gives its screen to the next one, so there is one screen as long as the
user does one thing at a time. One that works keeps it: the next conversation begins on another screen, with
an agent `beside` the first, of the same store and engine, whose mode, model and permissions are its own.

Each main screen is at the bottom of a stack of its own (a mode of Textual's), of which one is shown. The
others go on: turns run, questions wait docked on them, and dialogs stay open, so that the user comes back to
all of it as it was. No question is answered, and no work interrupted, from another screen.

Invariant: no conversation is on two of them.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ScreenStackError
from textual.dom import DOMNode
from textual.notifications import SeverityLevel
from textual.screen import Screen

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.conversation.commands import OtherScreens, Shown
from cogency_tui.tui.kit.partial_screen import PartialScreen
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.status.status_bar import Background
from cogency_tui.tui.switcher.rows import OpenConversation, describe_news
from cogency_tui.tui.terminal.title_and_notifications import State

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.main.screen import MainScreen

_SECONDS = 6.0
"""Seconds for which a notification about a conversation that is not shown stays."""


class OpenConversations:
    """The open conversations of `app`, of which `first` was open at the start.

    `make` creates another main screen. `hold` has the input wait until the function that it returns is
    called: a screen that is not complete cannot handle it. `closed` gets the number of a screen that is gone.
    """

    def __init__(
        self,
        app: App[Any],
        first: "MainScreen",
        make: "Callable[..., MainScreen]",
        hold: Callable[[], Callable[[], None]],
        closed: Callable[[int], None],
    ) -> None:
        self._app = app
        self._make = make
        self._hold = hold
        self._closed = closed
        self._screens: dict[str, MainScreen] = {app.DEFAULT_MODE: first}
        # Textual does not know the mode in which it starts as one that can be left.
        textual: Any = app
        textual._modes[app.DEFAULT_MODE] = lambda: first
        self._note_styles(first)
        self._closing: set[MainScreen] = set()
        self._count = 1
        self._before: MainScreen | None = None
        """The screen that was shown before."""

    @property
    def screens(self) -> "list[MainScreen]":
        """The main screens in the order in which they were opened."""
        return [screen for screen in self._screens.values() if screen not in self._closing]

    @property
    def shown(self) -> "MainScreen":
        """The main screen that is shown, or is below what is shown."""
        return self._screens[self._app.current_mode]

    @property
    def rows(self) -> list[OpenConversation]:
        """The open conversations as they are now."""
        return [self._row(screen) for screen in self.screens]

    def stack_over(self, screen: Screen[Any]) -> tuple[str, Sequence[Screen[Any]]]:
        """The mode and the stack that `screen` is in; those that are shown if it is in none.

        Raises:
            ScreenStackError: the app is closing, and there is none.
        """
        for mode in self._screens:
            if screen in (stack := self._stack(mode)):
                return mode, stack
        if not (stack := self._stack(self._app.current_mode)):
            raise ScreenStackError
        return self._app.current_mode, stack

    def find(self, conversation_id: str) -> "MainScreen | None":
        """The main screen of this conversation."""
        return next((each for each in self.screens if each.bridge.is_of(conversation_id)), None)

    def titles_beside(self, screen: "MainScreen") -> dict[str, str]:
        """The titles of the conversations that are open beside that of `screen`, by id."""
        others = [each for each in self.screens if each is not screen]
        rows = [(id, self._row(each)) for each in others if (id := each.bridge.conversation_id) is not None]
        return {id: row.name for id, row in rows}

    def begin(self, agent: "Agent", then: Shown | None = None) -> None:
        """Begin a conversation on another screen, by the choices of `agent` but for effort and dialect. It
        works in the user's files, even where `agent` works in a copy."""
        beside, moved = _beside(agent.in_project)
        beside.begin_choices()

        def begun(screen: Screen[Any]) -> None:
            if moved:
                screen.notify(moved, markup=False)
            if then is not None:
                then(screen)

        self._add(beside, None, begun)

    def open(self, agent: "Agent", conversation_id: str, then: Shown | None = None) -> None:
        """Open a past conversation on another screen, by the choices of `agent`, as `begin` does."""
        self._add(_beside(agent.in_project)[0], conversation_id, then)

    def open_of(self, agent: "Agent", conversation_id: str, then: Shown | None = None) -> "MainScreen":
        """Open a conversation of an agent of its own on another screen, and return that."""
        return self._add(agent, conversation_id, then)

    def begin_with(self, agent: "Agent", then: Shown | None = None) -> None:
        """Begin a conversation of `agent`, which no other screen has, on another screen."""
        self._add(agent, None, then)

    def open_with(self, agent: "Agent", conversation_id: str, prompt: str, then: Shown | None = None) -> None:
        """Open a past conversation with `agent`, which no other screen has, and send `prompt` in it. A screen
        that has the conversation in a worktree that is gone closes."""
        before = self.find(conversation_id)
        self._add(agent, conversation_id, then, prompt)
        if before is not None:
            self.close(before)

    def leave_worktree(self, root: Path) -> None:
        """Close the conversations in this worktree; if there are no others, begin one in the project."""
        inside = [screen for screen in self.screens if screen.agent.project == root]
        if inside and len(inside) == len(self.screens):
            self._add(inside[0].agent.beside_in(inside[0].agent.home.project), None, None)
        for screen in inside:
            # One that was blank is gone already.
            if screen in self.screens:
                self.close(screen)

    def go_to(self, screen: "MainScreen") -> None:
        """Show the conversation of `screen`, as it was left but for the focus."""
        mode = self._mode_of(screen)
        if mode is None or mode == self._app.current_mode:
            return
        for each in self._stack(mode)[:-1]:
            # The terminal may have another size now; the screen on top is told by Textual.
            each.post_message(events.Resize(self._app.size, self._app.size))
        left = self.shown
        self._show(mode)
        screen.come_back()
        self._drop_blank(left)
        self.refresh()

    def _next_waiting(self) -> "MainScreen | None":
        """The next conversation that waits for an answer, or else has ended unseen."""
        screens = self.screens
        at = screens.index(self.shown) if self.shown in screens else 0
        others = [*screens[at + 1 :], *screens[:at]]
        waiting = (each for each in others if each.state == "waiting")
        ended = (each for each in others if each.is_unread)
        return next(waiting, next(ended, None))

    def _suggested(self) -> str | None:
        """The key of the conversation that the user most likely wants to go to."""
        screens = self.screens
        before = self._before if self._before in screens else None
        waiting = next((each for each in screens if each.state == "waiting" and each is not self.shown), None)
        other = waiting or before or next((each for each in screens if each is not self.shown), None)
        return self._mode_of(other) if other is not None else None

    def show_switcher(self) -> None:
        """List the open conversations, and go to the one that the user chooses."""
        from cogency_tui.tui.switcher.screen import SwitcherScreen

        def chosen(key: str | None) -> None:
            if key is not None and (screen := self._screens.get(key)) and screen not in self._closing:
                self.go_to(screen)

        def close(key: str) -> None:
            if (screen := self._screens.get(key)) is not None:
                self.close(screen)

        self._app.push_screen(SwitcherScreen(lambda: self.rows, close, self._suggested()), chosen)

    def go_to_waiting(self) -> None:
        """Show the next conversation that waits for an answer, or else one that has ended unseen."""
        if (screen := self._next_waiting()) is not None:
            self.go_to(screen)
        else:
            self._app.notify("No other conversation is waiting for you.", markup=False)

    def note_change(self, screen: "MainScreen", before: State) -> None:
        """Follow a change of the state of `screen`; notify the user of one that is not shown."""
        is_news = screen.state != before and screen.state != "working"
        if is_news and screen in self.screens and screen is not self.shown:
            screen.is_unread = screen.is_unread or screen.state == "idle"
            self._report(screen)
        self.refresh()

    def _report(self, screen: "MainScreen") -> None:
        text = describe_news(self._row(screen))
        severity: SeverityLevel = "warning" if screen.state == "waiting" else "information"
        self._app.notify(text, severity=severity, timeout=_SECONDS, markup=False)

    def close(self, screen: "MainScreen") -> None:
        """Close a conversation, which stays in the store; its work is interrupted. One is always open."""
        others = [each for each in self.screens if each is not screen]
        if not others:
            return
        if screen is self.shown:
            self.go_to(self._before if self._before is not None and self._before in others else others[-1])
        if screen in self.screens:
            self._drop(screen)

    def refresh(self) -> None:
        """Show on the screen that is shown, once it is complete, what the others do, and its number as the
        switcher has it."""
        if self.shown.is_complete:
            self.shown.show_others(self.background, self._number_of(self.shown), len(self.screens))

    @property
    def background(self) -> Background:
        """The numbers of the other conversations by state; of failed ones, only those that are unread."""
        rows = [row for row in self.rows if not row.current]
        others = [row.condition for row in rows if row.is_unread or row.condition != "failed"]
        return Background(*(others.count(each) for each in ("waiting", "working", "failed", "done")))

    def _row(self, screen: "MainScreen") -> OpenConversation:
        mode, stack = self.stack_over(screen)
        current = mode == self._app.current_mode
        filled = [each for each in stack if isinstance(each, PartialScreen) and each.is_mounted]
        unsaved = [text for each in filled if (text := each.unsaved)]
        return screen.describe(mode, self._number_of(screen), unsaved, current=current, now=time())

    def _number_of(self, screen: "MainScreen") -> int:
        """The place of an open conversation in the switcher, from 1."""
        screens = self.screens
        return screens.index(screen) + 1 if screen in screens else 0

    def _stack(self, mode: str) -> list[Screen[Any]]:
        # Textual leaves the parameter of `Screen` open.
        app: Any = self._app
        return app.get_screen_stack(mode)

    def _mode_of(self, screen: "MainScreen") -> str | None:
        return next((mode for mode, each in self._screens.items() if each is screen), None)

    def _add(
        self, agent: "Agent", conversation_id: str | None, then: Shown | None, prompt: str = ""
    ) -> "MainScreen":
        mode = f"conversation-{self._count}"
        screen = self._make(
            agent, prompt=prompt, conversation_id=conversation_id, then=then, number=self._count
        )
        self._count += 1
        self._screens[mode] = screen
        self._note_styles(screen)
        app: Any = self._app
        app.add_mode(mode, lambda: screen)
        release, left = self._hold(), self.shown
        self._show(mode)
        screen.call_after_refresh(self._complete, screen, left, release)
        return screen

    def _note_styles(self, screen: "MainScreen") -> None:
        """Note that a screen has the styles of the present theme: otherwise all are restyled to show it."""
        screen._css_update_count = self._app._css_update_count  # pyright: ignore[reportPrivateUsage]

    async def _complete(self, screen: "MainScreen", left: "MainScreen", release: Callable[[], None]) -> None:
        try:
            await screen.open()
        finally:
            release()
        self._drop_blank(left)
        self.refresh()

    def _show(self, mode: str) -> None:
        self._before = self.shown
        self._app.capture_mouse(None)
        self._app.clear_notifications()
        self._app.switch_mode(mode)

    def _drop_blank(self, left: "MainScreen") -> None:
        """Remove the screen that the user has left if there is nothing on it."""
        mode = self._mode_of(left)
        if mode is None or left in self._closing or left is self.shown:
            return
        if left.is_blank and len(self._stack(mode)) == 1:
            self._drop(left)

    def _drop(self, screen: "MainScreen") -> None:
        """Remove the screen of a conversation that is not shown, once its work has ended."""
        self._closing.add(screen)
        self._app.run_worker(partial(self._remove, screen), group="close")
        self.refresh()

    async def _remove(self, screen: "MainScreen") -> None:
        await screen.end()
        mode = self._mode_of(screen)
        if mode is not None:
            del self._screens[mode]
            self._closing.discard(screen)
            await self._app.remove_mode(mode)
            self._closed(screen.number)


class OnOtherScreens(OtherScreens):
    """Shows conversations on other main screens than `screen`."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen

    def begin(self, then: Shown | None = None) -> None:
        open_conversations_of(self._screen).begin(self._screen.agent, then)

    def open(self, conversation_id: str, then: Shown | None = None) -> None:
        open_conversations_of(self._screen).open(self._screen.agent, conversation_id, then)

    def begin_with(self, agent: "Agent", then: Shown | None = None) -> None:
        open_conversations_of(self._screen).begin_with(agent, then)

    def open_with(
        self, agent: "Agent", conversation_id: str, prompt: str = "", then: Shown | None = None
    ) -> None:
        open_conversations_of(self._screen).open_with(agent, conversation_id, prompt, then)

    def leave_worktree(self, root: Path) -> None:
        open_conversations_of(self._screen).leave_worktree(root)

    @property
    def title(self) -> str:
        return self._screen.title_shown

    def go_to(self, conversation_id: str) -> bool:
        if (found := self._find(conversation_id)) is not None:
            open_conversations_of(self._screen).go_to(found)
        return found is not None

    def show_title(self, conversation_id: str, title: str) -> None:
        if (found := self._find(conversation_id)) is not None:
            found.show_title(title)

    def states(self) -> dict[str, State]:
        screens = open_conversations_of(self._screen).screens
        return {id: each.state for each in screens if (id := each.bridge.conversation_id) is not None}

    def close(self, conversation_id: str) -> None:
        if (found := self._find(conversation_id)) is not None:
            open_conversations_of(self._screen).close(found)

    def leave(self, then: Shown | None = None) -> None:
        conversations = open_conversations_of(self._screen)
        conversations.begin(self._screen.agent, then)
        conversations.close(self._screen)

    def _find(self, conversation_id: str) -> "MainScreen | None":
        found = open_conversations_of(self._screen).find(conversation_id)
        return None if found is self._screen else found


class ScratchScreens:
    """Shows conversations of agents of their own on other main screens than `screen`."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen

    def run(
        self,
        agent: "Agent",
        conversation_id: str,
        message: Written,
        rested: Callable[[Screen[Any]], object],
        shown: Callable[[Screen[Any]], object],
        ended: Callable[[], Awaitable[None]],
    ) -> None:
        """Open the conversation of a rerun, and send a message in it. `rested` is called with its screen each
        time that a turn has ended, `shown` for `show_result`, and `ended` is awaited when it is closed."""

        def send(_screen: Screen[Any]) -> None:
            opened.send(message)

        opened = open_conversations_of(self._screen).open_of(agent, conversation_id, send)
        opened.rested = partial(rested, opened)
        opened.show_result = partial(shown, opened)
        opened.ended = ended

    def show_result(self) -> bool:
        """Show what came of a rerun, if `screen` is of one; return whether it is."""
        if self._screen.show_result is None:
            return False
        self._screen.show_result()
        return True

    def is_free(self, conversation_id: str) -> bool:
        """Return whether the user sees this conversation, with nothing above it, and has typed nothing."""
        found = open_conversations_of(self._screen).find(conversation_id)
        return found is not None and found.is_free

    def close(self, conversation_id: str) -> None:
        """Close a conversation."""
        conversations = open_conversations_of(self._screen)
        if (found := conversations.find(conversation_id)) is not None:
            conversations.close(found)


def _beside(agent: "Agent") -> "tuple[Agent, str]":
    """An agent `beside` this one, and what the user should know of it: it works in the project if this one's
    worktree is gone."""
    if not agent.is_worktree_removed:
        return agent.beside(), ""
    other = agent.beside_in(agent.home.project)
    return other, f"Worktree {agent.worktree} was removed. This conversation is in {other.project.name}."


def open_conversations_of(node: DOMNode) -> OpenConversations:
    """The open conversations of the app of `node`."""
    # Only the type of our own app, which imports this module, has them.
    app: Any = app_of(node)
    return app.conversations
