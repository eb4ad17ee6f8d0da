"""The options as a person sees and changes them: each with its value and where that is from.

What is changed is checked as a whole before it is written into the person's own file, and written so that all
else in the file stays as it is, comments too. The calls block.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from cogency_tui.config import ProviderSettings, Settings, config_path
from cogency_tui.config_file import Value, set_key
from cogency_tui.config_reading import read_settings, read_text
from cogency_tui.config_sources import Configured, Origin
from cogency_tui.errors import ConfigError, UsageError
from cogency_tui.options import Option, find_option, options
from cogency_tui.palettes import theme_names
from cogency_tui.providers.catalog import known_providers
from cogency_tui.workflow_settings import problem_of

APPLIED: Mapping[str, str] = {
    "now": "at once",
    "turn": "from the next message on",
    "conversation": "in the next conversation",
    "start": "at the next start",
}
"""When a change of an option counts."""


class Preference(msgspec.Struct, frozen=True):
    """An option as it is now. A table has as its value the names of what stands in it."""

    option: Option
    value: Any
    origin: Origin

    @property
    def shown(self) -> str:
        """Its value as it is written."""
        return shown_value(self.value)


def preferences(configured: Configured) -> list[Preference]:
    """All options, in their order."""
    return [_preference(option, configured) for option in options().values()]


def shown_value(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def choices_of(
    option: Option, settings: Settings, environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The values that an option may have, where these are few; some are known only here and now."""
    if option.kind == "switch":
        return ("on", "off")
    if option.key == "theme":
        return tuple(theme_names())
    if option.key == "provider":
        return tuple(provider.name for provider in known_providers(settings, os.environ))
    return option.choices


def read_value(option: Option, text: str, settings: Settings) -> Value:
    """The value that a person has written for an option.

    Raises:
        ConfigError: it cannot be.
    """
    try:
        value: Value = option.read(text)
    except ValueError as exc:
        raise ConfigError(f"{option.key}: {exc}.") from exc
    there = choices_of(option, settings)
    if there and option.kind == "text" and value not in there:
        from difflib import get_close_matches

        near = get_close_matches(str(value), there, n=1)
        meant = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(there)}"
        raise ConfigError(f'{option.key}: there is no "{value}".', meant)
    return value


class Preferences:
    """The person's own file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = config_path() if path is None else path

    def set(self, key: str, text: str) -> tuple[tuple[str, ...], Value]:
        """Write what the person wants for `key`: an option, `keys.ID` or `providers.NAME.KEY`; where it
        stands, and its value.

        Raises:
            UsageError: there is no such key.
            ConfigError: it cannot have this value, or the file cannot be read or changed.
        """
        before = read_settings(self.path, read_text(self.path))
        keys, value = _read(key, text, before)
        self._write(keys, value)
        return keys, value

    def unset(self, key: str) -> bool:
        """Take `key` out of the file, so that the default counts; False where it does not stand there.

        Raises:
            UsageError: there is no such key.
            ConfigError: the file cannot be read or changed.
        """
        return self._write(_keys(key), None)

    def _write(self, keys: tuple[str, ...], value: Value | None) -> bool:
        return set_key(self.path, keys, value, partial(read_settings, self.path))


def _preference(option: Option, configured: Configured) -> Preference:
    value = option.value_in(configured.settings)
    if option.kind == "table":
        value = tuple(value)
    return Preference(option, value, configured.origin(option.key))


def _keys(key: str) -> tuple[str, ...]:
    """Where a key stands in the file.

    Raises:
        UsageError: there is none.
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
        raise UsageError(f"Nothing can be set: {exc.args[0]}") from exc
    if option.kind == "table":
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
    """What a text may be beside a text."""
    if text.lower() in ("true", "false"):
        return [text.lower() == "true"]
    return [int(text)] if text.isascii() and text.isdecimal() else []
