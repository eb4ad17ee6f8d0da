"""The options as a user sees and changes them, each with its value and origin.

A change is validated against the whole configuration before it is written to the user's file. The rest of
the file is preserved, including comments. The calls block.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from cogency_tui.config.config_file import read_settings
from cogency_tui.config.edit import Value, put_back, set_key
from cogency_tui.config.layers import Configured, Origin
from cogency_tui.config.options import Option, find_option, options
from cogency_tui.config.schema import HistorySettings, ProviderSettings, Settings, config_path
from cogency_tui.config.themes import theme_choices
from cogency_tui.config.toml_reader import loads, read_text
from cogency_tui.config.workflows import problem_of
from cogency_tui.errors import ConfigError, UsageError
from cogency_tui.providers.configured_providers import known_providers
from cogency_tui.safe_text import one_line

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

APPLIED: Mapping[str, str] = {
    "now": "immediately",
    "turn": "with the next message",
    "conversation": "in the next conversation",
    "start": "after a restart",
}
"""When a change of an option applies."""


class Preference(msgspec.Struct, frozen=True):
    """An option and its configured value; `session` is in force instead, where the user has chosen that for
    this session. `own` is the value by the user's file alone. The value of a table is the names of its
    entries.
    """

    option: Option
    value: Any
    origin: Origin
    own: Any
    session: str | None = None

    @property
    def present(self) -> Any:
        """The value in force."""
        return self.value if self.session is None else self.session

    @property
    def shown(self) -> str:
        """The value in force, as it is written."""
        return shown_value(self.present)

    def widened_by(self, value: Any) -> Any:
        """The value from which this one takes a protection away, out of the one in force, the configured one
        and that of the file; None if it does not."""
        given = (self.present, self.value, self.own)
        return next((each for each in given if self.option.widens(value, each)), None)


def preferences(configured: Configured, session: Mapping[str, str] | None = None) -> list[Preference]:
    """All options, in their order, with the values of the `session`."""
    return [_preference(option, configured, session or {}) for option in options().values()]


def session_values(agent: "Agent", theme: str) -> dict[str, str]:
    """The values in force that differ from the configured ones, by the keys of options. The interface has
    chosen `theme`.
    """
    settings, provider = agent.settings, agent.provider
    own = (each.model for each in known_providers(settings, os.environ) if each.name == settings.provider)
    values = {
        "provider": (settings.provider, provider.name),
        "model": (next(own, settings.model), provider.model),
        "mode": (settings.mode, agent.mode),
        "effort": (settings.effort, agent.effort),
        "permissions": (settings.permissions, agent.permissions),
        "dialect": (settings.dialect, agent.dialect or settings.dialect),
        "theme": (settings.theme, theme),
    }
    return {key: present for key, (configured, present) in values.items() if present != configured}


def shown_value(value: Any) -> str:
    """A value as a user writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ", ".join(cast("Sequence[str]", value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def choices_of(
    option: Option, settings: Settings, environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The allowed values of an option, if they are few; some depend on the machine and the configuration."""
    if option.kind == "switch":
        return ("on", "off")
    if option.key == "theme":
        return tuple(theme_choices())
    if option.key == "provider":
        return tuple(provider.name for provider in known_providers(settings, os.environ))
    return option.choices


def read_value(option: Option, text: str, settings: Settings) -> Value:
    """Parse the text that a user has written for an option.

    Raises:
        ConfigError: it is not a value of this option.
    """
    if isinstance(option.default, list):
        return _read_list(option, text)
    try:
        value: Value = option.read(text)
    except ValueError as exc:
        raise ConfigError(f"{option.key}: {exc}.") from exc
    if option.key == "history.url" and value:
        from cogency_tui.team.address import address_of

        _ = address_of(HistorySettings(url=str(value)))
    there = choices_of(option, settings)
    if there and option.kind == "text" and value not in there:
        from difflib import get_close_matches

        near = get_close_matches(str(value), there, n=1)
        suggestion = f'Did you mean "{near[0]}"?' if near else f"Choose one of: {', '.join(there)}"
        raise ConfigError(f'{option.key}: there is no "{value}".', suggestion)
    return value


def _read_list(option: Option, text: str) -> list[str]:
    """Parse a list as the file has it.

    Raises:
        ConfigError: it is none of texts.
    """
    try:
        return msgspec.convert(loads(f"value = {text}")["value"], list[str])
    except (ValueError, KeyError) as exc:
        example = f"For example: cogency-tui config set {option.key} '[\"~/secret/*\"]'"
        raise ConfigError(f"{option.key}: {one_line(text)} is not a list of texts.", example) from exc


class Preferences:
    """The user's configuration file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = config_path() if path is None else path

    def set(self, key: str, text: str) -> tuple[tuple[str, ...], Value]:
        """Write the value of `key`: an option, `keys.ID` or `providers.NAME.KEY`. Return its path in the
        file and its value.

        Raises:
            UsageError: there is no such key.
            ConfigError: the value is not allowed, or the file cannot be read or changed.
        """
        before = read_settings(self.path, read_text(self.path))
        keys, value = _read(key, text, before)
        self._write(keys, value)
        return keys, value

    def unset(self, key: str) -> bool:
        """Remove `key` from the file, so that the default applies; False if it is not in the file.

        Raises:
            UsageError: there is no such key.
            ConfigError: the file cannot be read or changed.
        """
        return self._write(_keys(key), None)

    def text(self) -> str | None:
        """The text of the file; None if there is no file.

        Raises:
            ConfigError: it cannot be read.
        """
        return read_text(self.path) if self.path.exists() else None

    def put_back(self, after: str, before: str | None) -> None:
        """Undo a change that turned the text `before` into `after`, to the letter.

        Raises:
            ConfigError: the file has another text by now, or cannot be read or written.
        """
        put_back(self.path, after, before)

    def _write(self, keys: tuple[str, ...], value: Value | None) -> bool:
        return set_key(self.path, keys, value, partial(read_settings, self.path))


def _preference(option: Option, configured: Configured, session: Mapping[str, str]) -> Preference:
    value = option.value_in(configured.settings)
    if option.kind == "table":
        value = tuple(value)
    own = configured.given("user", option.key)
    own = option.default if own is None else own
    return Preference(option, value, configured.origin(option.key), own, session.get(option.key))


def _keys(key: str) -> tuple[str, ...]:
    """The path of a key in the file.

    Raises:
        UsageError: there is no such key.
    """
    table, _, rest = key.partition(".")
    if table == "keys" and rest:
        return (table, rest)
    name, _, field = rest.rpartition(".")
    if table == "providers" and name:
        return (table, name, field)
    try:
        option = find_option(key)
    except KeyError as exc:
        raise UsageError(f"Nothing can be changed: {exc.args[0]}") from exc
    if option.kind == "table" and not isinstance(option.default, list):
        forms = {"keys": "keys.ID", "providers": "providers.NAME.KEY"}
        way = f"Give {forms[key]}." if key in forms else f"Write [{key}.NAME] tables into the file."
        raise UsageError(f"{key} is a table.", way)
    return option.path


def _read(key: str, text: str, settings: Settings) -> tuple[tuple[str, ...], Value]:
    keys = _keys(key)
    if keys[0] == "keys":
        return keys, text
    if keys[0] != "providers":
        return keys, read_value(options()[key], text, settings)
    field = keys[-1]
    for value in (*_others(text), text):
        if not problem_of({field: value}, ProviderSettings):
            return keys, value
    raise ConfigError(f'provider "{keys[1]}": {problem_of({field: text}, ProviderSettings)}.')


def _others(text: str) -> list[Value]:
    """The other types that a text may be read as."""
    if text.lower() in ("true", "false"):
        return [text.lower() == "true"]
    return [int(text)] if text.isascii() and text.isdecimal() else []
