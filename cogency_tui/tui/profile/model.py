"""The profile as the user edits it: each change can be undone, except clearing."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from cogency_tui.store.profile import Fact
from cogency_tui.store.profile_material import LearningState

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class Shown(msgspec.Struct, frozen=True):
    """The profile's contents and state."""

    on: bool
    every: int
    facts: list[Fact]
    state: LearningState
    learning: bool = False
    """True if learning is in progress."""


class ProfileData:
    """The user's profile, for the open conversation of `agent`, None for one that has not begun.

    All methods raise `CogencyError` on failure.
    """

    def __init__(self, agent: "Agent", conversation_id: str | None) -> None:
        self._agent = agent
        self._conversation_id = conversation_id
        self._undoing: list[Callable[[], Awaitable[None]]] = []

    @property
    def can_undo(self) -> bool:
        """True if there is a change to undo."""
        return bool(self._undoing)

    async def shown(self) -> Shown:
        """The present contents of the profile."""
        profile, learning = self._agent.profile, self._agent.learning
        return Shown(profile.on, profile.every, await profile.facts(), await profile.state(), learning)

    async def toggle(self) -> None:
        """Turn on or off learning from the user's messages and passing the facts to the model."""
        if self._agent.profile.on:
            await self._agent.profile.turn_off()
        else:
            await self._agent.remember(self._conversation_id)

    async def write(self, line: str, before: Fact | None) -> None:
        """Write a fact in the user's words, replacing `before` if given."""
        profile = self._agent.profile
        id = await profile.write(line, before)

        async def undo() -> None:
            await profile.forget(id)
            if before is not None:
                await profile.put_back(before)

        self._undoing.append(undo)

    async def forget(self, fact: Fact) -> None:
        """Remove a fact."""
        profile = self._agent.profile
        await profile.forget(fact.id)
        self._undoing.append(lambda: profile.put_back(fact))

    async def undo(self) -> None:
        """Undo the last change."""
        if self._undoing:
            await self._undoing.pop()()

    async def clear(self) -> None:
        """Forget everything, permanently."""
        self._undoing.clear()
        await self._agent.profile.clear()
