"""The profile as the person changes it: each change can be taken back, but for an end of everything."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from cogency_tui.store.lessons import State
from cogency_tui.store.profile import Fact

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class Shown(msgspec.Struct, frozen=True):
    """What there is to see."""

    on: bool
    every: int
    facts: list[Fact]
    state: State
    learning: bool = False
    """Whether something is being learned just now."""


class ProfileBook:
    """The profile of the person, for the conversation of `agent` that is open, None for one not begun.

    All methods raise `CogencyError` where something cannot be done.
    """

    def __init__(self, agent: "Agent", conversation_id: str | None) -> None:
        self._agent = agent
        self._conversation_id = conversation_id
        self._undoing: list[Callable[[], Awaitable[None]]] = []

    @property
    def can_undo(self) -> bool:
        """Whether something was changed."""
        return bool(self._undoing)

    async def shown(self) -> Shown:
        """All that there is now."""
        profile, learning = self._agent.profile, self._agent.learning
        return Shown(profile.on, profile.every, await profile.facts(), await profile.state(), learning)

    async def toggle(self) -> None:
        """Learn from the person's words and tell the model, or not any more."""
        if self._agent.profile.on:
            await self._agent.profile.turn_off()
        else:
            await self._agent.remember(self._conversation_id)

    async def write(self, line: str, before: Fact | None) -> None:
        """Put the person's words into the profile, in the place of a fact where there is one."""
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
        """Take the last change back."""
        if self._undoing:
            await self._undoing.pop()()

    async def clear(self) -> None:
        """Forget everything, for good."""
        self._undoing.clear()
        await self._agent.profile.clear()
