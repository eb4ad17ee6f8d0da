"""Keys in the order in which they were typed: each waits until what the one before does is done.

What a key does takes several messages: it opens a screen, or moves the focus, and the keys right after it are
meant for what is there then. Keys that a text field inserts do neither, and are not waited for.

Invariants: a key waits `LIMIT` at most, whatever holds up the one before; one that was typed into a screen
that has closed since is dropped, so that a burst closes one screen.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input, TextArea

from cogency_tui.tui.kit.typed_app import app_of

LIMIT = 0.7
"""Seconds for which a key waits at most. A question accepts none for longer, so that no key answers one that
appeared after it was typed."""

_ROUNDS = 2
"""Rounds through the queues from a widget to the app: the first ends behind the key, which the app may
handle, the second behind the messages that it has caused."""

Typed: TypeAlias = events.Key | events.Paste


class KeyOrder:
    """The keys and pastes of `app`, each given to `pass_on` in its turn.

    `sift` returns the one to pass on in place of the next, None for nothing yet, and `accepts` whether it can
    be handled now; `go_on` is to be called when that has changed.
    """

    def __init__(
        self,
        app: App[Any],
        pass_on: Callable[[Typed], Awaitable[None]],
        sift: Callable[[Typed], Typed | None],
        accepts: Callable[[Typed], bool],
    ) -> None:
        self._app = app
        self._pass_on = pass_on
        self._sift = sift
        self._accepts = accepts
        self._queue: deque[tuple[Typed, Screen[Any]]] = deque()
        self._screens: WeakKeyDictionary[Typed, Screen[Any]] = WeakKeyDictionary()
        self._effect: object = None
        """The effect that the next key waits for."""
        self._limit: asyncio.TimerHandle | None = None
        self._drops: Callable[[], bool] = bool
        """Returns whether input is dropped."""
        self._is_held_up = False
        """True while an effect takes longer than a key waits: none is waited for."""

    async def take(self, event: Typed) -> None:
        """Pass `event`, from the terminal, on in its turn."""
        self._queue.append((event, self._app.screen))
        await self.go_on()

    def put_back(self, event: Typed) -> None:
        """Make `event` the next one, to be sifted again."""
        self._queue.appendleft((event, self._app.screen))

    async def pass_now(self, event: Typed) -> None:
        """Pass `event` on, sifted, before all others."""
        screen, target = self._app.screen, self._place
        self._screens[event] = screen
        await self._pass_on(event)
        if not _is_inserted(event, target):
            self._wait_for_effect(target)

    async def go_on(self) -> None:
        """Pass on what waits, up to a key whose effect is to be waited for."""
        while self._queue and self._effect is None and self._accepts(self._queue[0][0]):
            if self._drops():
                self._queue.clear()
                return
            event, screen = self._queue.popleft()
            if self._is_closed(screen):
                continue
            if (sifted := self._sift(event)) is not None:
                await self.pass_now(sifted)

    def is_for(self, event: Typed, screen: Screen[Any]) -> bool:
        """Return whether `event`, which bubbled up from a widget, is for `screen`, on top now."""
        return self._screens.get(event, screen) is screen

    def drop(self) -> None:
        """Cancel all queued input."""
        self._queue.clear()
        for event in list(self._screens):
            event.prevent_default().stop()

    def drop_while(self, condition: Callable[[], bool]) -> None:
        """Drop all input as long as `condition` holds: it is meant for another program."""
        self._drops = condition

    @property
    def _place(self) -> DOMNode:
        return self._app.focused or self._app.screen

    def _is_closed(self, screen: Screen[Any]) -> bool:
        stacks = self._app._screen_stacks.values()  # pyright: ignore[reportPrivateUsage] (for all modes)
        return not any(screen in stack for stack in stacks)

    def _wait_for_effect(self, target: DOMNode) -> None:
        """Have the next key wait until the key that was passed to `target` has had its effect."""
        effect = object()
        if not self._is_held_up:
            self._effect = effect
            later = asyncio.get_running_loop().call_later
            self._limit = later(LIMIT, self._app.call_later, self._give_up, effect)
        self._begin_round(effect, target, _ROUNDS)

    def _begin_round(self, effect: object, place: DOMNode, rounds: int) -> None:
        over = partial(self._end_round, effect, place, rounds - 1)
        self._pass_by(iter(place.ancestors_with_self), over)

    def _pass_by(self, nodes: Iterator[DOMNode], over: Callable[[], object]) -> None:
        """Go through the queues of `nodes`, the last of which is the app, then call `over`."""
        for node in nodes:
            if node.call_later(self._pass_by, nodes, over):
                return
        self._app.call_later(over)

    async def _end_round(self, effect: object, place: DOMNode, rounds: int) -> None:
        """Begin another round while some are left, or in a new place: a screen is composed first."""
        now = self._place
        if rounds or now is not place:
            self._begin_round(effect, place if rounds else now, rounds or 1)
        else:
            self._is_held_up = False
            await self._end(effect)

    async def _give_up(self, effect: object) -> None:
        if self._effect is effect:
            self._is_held_up = True
            await self._end(effect)

    async def _end(self, effect: object) -> None:
        if self._effect is effect:
            self._effect = None
            if self._limit is not None:
                self._limit.cancel()
            await self.go_on()


def _is_inserted(event: Typed, target: DOMNode) -> bool:
    is_text = isinstance(event, events.Paste) or event.is_printable
    return is_text and isinstance(target, TextArea | Input)


def key_order_of(node: DOMNode) -> KeyOrder:
    """The order of the keys of the app of `node`."""
    # Only the type of our own app, which imports this module, has one.
    app: Any = app_of(node)
    return app.keys
