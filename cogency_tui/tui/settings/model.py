"""The settings screen's access to the settings of an agent, and to the user's file."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cogency_tui.agent.editable_options import Preference, Preferences, choices_of, preferences, read_value
from cogency_tui.config.options import Option
from cogency_tui.errors import ConfigError

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class SettingsDesk:
    """The options of `agent`; `follow` is awaited with the key of each changed one."""

    def __init__(self, agent: "Agent", follow: Callable[[str], Awaitable[None]]) -> None:
        self.own = Preferences()
        self._agent = agent
        self._follow = follow

    def preferences(self) -> list[Preference]:
        """All options with their present values."""
        return preferences(self._agent.configured)

    def choices(self, option: Option) -> tuple[str, ...]:
        """The values of an option that accepts only a few."""
        return choices_of(option, self._agent.settings)

    def problem(self, option: Option, text: str) -> str:
        """Describe the problem of a value as it is written; empty if it is valid."""
        try:
            read_value(option, text, self._agent.settings)
        except ConfigError as exc:
            return exc.advice.removeprefix(f"{option.key}: ")
        return ""

    async def change(self, option: Option, text: str | None) -> str:
        """Write a value and apply it, or remove it from the file for None; return a remark for the user.

        Raises:
            CogencyError: the value cannot be written or applied.
        """
        if text is None:
            await asyncio.to_thread(self.own.unset, option.key)
        else:
            await asyncio.to_thread(self.own.set, option.key, text)
        await asyncio.to_thread(self._agent.reload)
        await self._follow(option.key)
        origin = self._agent.configured.origin(option.key)
        if origin.source not in ("person", "default"):
            return f"Saved. {origin.where} overrides it until you quit."
        return "Saved. Takes effect at the next start." if option.when == "start" else ""
