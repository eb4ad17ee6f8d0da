"""The settings screen's access to the settings of an agent, and to the user's file."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cogency_tui.agent.editable_options import (
    Preference,
    Preferences,
    choices_of,
    preferences,
    read_value,
    session_values,
)
from cogency_tui.config.config_file import read_settings
from cogency_tui.config.options import Option
from cogency_tui.errors import ConfigError
from cogency_tui.tui.kit.choice_dialog import ChoiceRow
from cogency_tui.tui.settings.active_theme import Appearance

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class _Change(NamedTuple):
    """A change of the user's file, from one text (None: no file) to another."""

    option: Option
    before: str | None
    after: str


class SettingsDesk:
    """The options of `agent` and `appearance`; `follow` is awaited with the key of each changed one."""

    def __init__(
        self, agent: "Agent", appearance: Appearance, follow: Callable[[str], Awaitable[None]]
    ) -> None:
        self.own = Preferences()
        self._agent = agent
        self._appearance = appearance
        self._follow = follow
        self._changes: list[_Change] = []

    @property
    def can_undo(self) -> bool:
        """True if there is a change to undo."""
        return bool(self._changes)

    def preferences(self) -> list[Preference]:
        """All options with their present values."""
        return preferences(self._agent.configured, session_values(self._agent, self._appearance.chosen))

    def undoing(self) -> tuple[Preference, Any] | None:
        """The option that `undo` restores, and the value that the user's file gives it then; None if there is
        nothing to undo.

        Raises:
            ConfigError: the file was invalid before that change.
        """
        if not self._changes:
            return None
        option, before, _after = self._changes[-1]
        value = option.value_in(read_settings(self.own.path, before or ""))
        return next(each for each in self.preferences() if each.option.key == option.key), value

    def choices(self, preference: Preference) -> Sequence[ChoiceRow]:
        """The values of an option that accepts only a few, with their meanings."""
        option = preference.option
        values = choices_of(option, self._agent.settings)
        meanings = _describe_themes(values) if option.key == "theme" else option.means
        return [ChoiceRow(value, meanings.get(value, ""), value == preference.shown) for value in values]

    def problem(self, option: Option, text: str) -> str:
        """Describe the problem of a value as it is written; empty if it is valid."""
        try:
            read_value(option, text, self._agent.settings)
        except ConfigError as exc:
            problem = exc.advice.removeprefix(f"{option.key}: ")
            return f"{problem[:1].upper()}{problem[1:]}"
        return ""

    async def change(self, option: Option, text: str | None) -> str:
        """Write a value and apply it, or remove it from the file for None; return a remark for the user. What
        was chosen for the session gives way to it.

        Raises:
            CogencyError: the value cannot be written or applied.
        """
        before = await asyncio.to_thread(self.own.text)
        if text is None:
            await asyncio.to_thread(self.own.unset, option.key)
        else:
            await asyncio.to_thread(self.own.set, option.key, text)
        after = await asyncio.to_thread(self.own.text)
        if after is not None and after != before:
            self._changes.append(_Change(option, before, after))
        await asyncio.to_thread(self._agent.reload)
        origin = self._agent.configured.origin(option.key)
        overridden = origin.source not in ("user", "default")
        if not overridden:
            self._agent.use_configured(option.key)
        await self._follow(option.key)
        if overridden:
            return f"Saved. {origin.where} overrides it until you quit."
        return "Saved. Takes effect after a restart." if option.when == "start" else "Saved."

    async def undo(self) -> Option:
        """Put the file back as it was before the last change; return the changed option.

        Raises:
            CogencyError: the file has changed since, or cannot be written or applied.
        """
        option, before, after = self._changes.pop()
        await asyncio.to_thread(self.own.put_back, after, before)
        await asyncio.to_thread(self._agent.reload)
        await self._follow(option.key)
        return option


def _describe_themes(names: Sequence[str]) -> dict[str, str]:
    from cogency_tui.tui.settings.theme_picker import describe_theme_called

    return {name: describe_theme_called(name) for name in names}
