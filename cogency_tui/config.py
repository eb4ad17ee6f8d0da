"""Settings: defaults, then the person's TOML file, then the environment, then flags; frozen when used.

A project's own files set nothing here: a cloned repository must not choose endpoints, keys or
permissions (architecture.md, decisions).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cogency_tui.errors import ConfigError

Mode = Literal["auto", "resume", "replay"]
Dialect = Literal["xml", "delimiter", "action"]
Permissions = Literal["plan", "ask", "edits", "auto"]

MODES: tuple[Mode, ...] = ("auto", "resume", "replay")
DIALECTS: tuple[Dialect, ...] = ("xml", "delimiter", "action")
PERMISSIONS: tuple[Permissions, ...] = ("plan", "ask", "edits", "auto")


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME]` table. `key_env` is the name of a variable, never a key."""

    base_url: str = ""
    model: str = ""
    key_env: str = ""
    api: Literal["chat"] = "chat"
    context_size: Annotated[int, Meta(ge=0)] = 0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All options. Field names are the keys of the configuration file."""

    provider: str = "offline"
    model: str = ""
    mode: Mode = "auto"
    dialect: Dialect = "xml"
    permissions: Permissions = "ask"
    theme: str = "night"
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 50
    output_limit: Annotated[int, Meta(ge=1000)] = 30_000
    payload_limit: Annotated[int, Meta(ge=1000)] = 32 * 1024 * 1024
    first_byte_timeout: Annotated[float, Meta(gt=0)] = 120.0
    idle_timeout: Annotated[float, Meta(gt=0)] = 60.0
    providers: dict[str, ProviderSettings] = {}
    keys: dict[str, str] = {}


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """The person's configuration file; `COGENCY_CONFIG` names another."""
    environ = os.environ if environ is None else environ
    if given := environ.get("COGENCY_CONFIG"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("cogency-tui", appauthor=False)) / "config.toml"


def data_path(environ: Mapping[str, str] | None = None) -> Path:
    """The person's data directory; `COGENCY_DATA` names another."""
    environ = os.environ if environ is None else environ
    if given := environ.get("COGENCY_DATA"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("cogency-tui", appauthor=False))


def load_settings(path: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force: the file at `path` (none is fine) under `flags` whose value is not None.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or holds a key or value that cannot be.
    """
    path = config_path() if path is None else path
    table = _read_table(path)
    try:
        settings = msgspec.convert(table, Settings)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"{path}: {exc}.", "Correct that key, or remove it to use the default.") from exc
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    try:
        return msgspec.convert(msgspec.to_builtins(settings) | given, Settings)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"An option on the command line cannot be: {exc}.") from exc


def _read_table(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as exc:
        message = f"The configuration {path} cannot be read: {exc}."
        raise ConfigError(message, "Check the file, or move it away.") from exc
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        message = f"The configuration {path} is not valid TOML: {exc}."
        raise ConfigError(message, "Correct that line, or move the file away.") from exc
