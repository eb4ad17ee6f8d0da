"""Keys and pastes that no widget has worked on yet, wherever they are queued."""

from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from textual import events
from textual.screen import Screen

Typed: TypeAlias = events.Key | events.Paste


class PendingInput:
    """Each key and paste is for the screen that was on top when it came, and for no other."""

    def __init__(self) -> None:
        self._screens: WeakKeyDictionary[Typed, Screen[Any]] = WeakKeyDictionary()

    def is_for(self, event: Typed, screen: Screen[Any]) -> bool:
        """Whether `event`, from the terminal or bubbled from a widget, is for `screen`, on top now."""
        if not event.is_forwarded:
            self._screens[event] = screen
        return self._screens.get(event, screen) is screen

    def drop(self) -> None:
        """Have what is queued do nothing any more."""
        for event in list(self._screens):
            event.prevent_default().stop()
