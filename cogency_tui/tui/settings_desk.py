"""Where the settings screen reads and writes: the settings of an agent, and the person's file."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cogency_tui.agent.preferences import Preference, Preferences, choices_of, preferences, read_value
from cogency_tui.errors import ConfigError
from cogency_tui.options import Option

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class SettingsDesk:
    """The options of `agent`; `follow` is awaited with the key of each that was changed."""

    def __init__(self, agent: "Agent", follow: Callable[[str], Awaitable[None]]) -> None:
        self.own = Preferences()
        self._agent = agent
        self._follow = follow

    def preferences(self) -> list[Preference]:
        """All options as they are now."""
        return preferences(self._agent.configured)

    def choices(self, option: Option) -> tuple[str, ...]:
        """The values that an option may have, where these are few."""
        return choices_of(option, self._agent.settings)

    def problem(self, option: Option, text: str) -> str:
        """What is wrong with a value as it is written; empty for nothing."""
        try:
            read_value(option, text, self._agent.settings)
        except ConfigError as exc:
            return exc.advice.removeprefix(f"{option.key}: ")
        return ""

    async def change(self, option: Option, text: str | None) -> str:
        """Write a value and go by it, or take it out of the file; what is to be told of it.

        Raises:
            CogencyError: it cannot be.
        """
        if text is None:
            await asyncio.to_thread(self.own.unset, option.key)
        else:
            await asyncio.to_thread(self.own.set, option.key, text)
        await asyncio.to_thread(self._agent.reload)
        await self._follow(option.key)
        origin = self._agent.configured.origin(option.key)
        if origin.source not in ("person", "default"):
            return f"Written. Until the program ends {origin.where} goes before it."
        return "Written. It counts at the next start." if option.when == "start" else ""
