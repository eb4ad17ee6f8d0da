"""Settings: defaults, then the person's TOML file, then the environment, then flags; frozen when used.

A project's own files set nothing here: a cloned repository must not choose endpoints, keys or
permissions (architecture.md, decisions).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from cogency_tui.errors import ConfigError
from cogency_tui.toml_lines import line_of
from cogency_tui.workflow_settings import (
    WorkflowError,
    WorkflowSettings,
    check_workflows,
    problem_of,
    read_workflow,
)

Mode = Literal["auto", "resume", "replay"]
Dialect = Literal["xml", "delimiter", "action"]
Permissions = Literal["plan", "ask", "edits", "auto"]

_CORRECT = "Correct that key, or remove it to use the default."
_MEND = "Correct it, or remove it."

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


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[agents.NAME]` table: a sub-agent.

    Without `provider` and `model` it uses those of who calls it, without `tools` all of its tools.
    `permissions` is the most that it may do; it never may do more than who calls it.
    """

    description: str = ""
    instructions: str = ""
    provider: str = ""
    model: str = ""
    permissions: Permissions = "auto"
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 20
    tools: list[str] | None = None


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
    agents: dict[str, AgentSettings] = {}
    workflows: dict[str, WorkflowSettings] = {}


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


def load_settings(
    path: Path | None = None, flags: Mapping[str, Any] | None = None, settings: Settings | None = None
) -> Settings:
    """The settings in force: the file at `path` (none is fine) under `flags` whose value is not None.

    `settings` stand in for the file where they are given.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or holds a key or value that cannot be.
    """
    settings = _read_settings(config_path() if path is None else path) if settings is None else settings
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    try:
        settings = msgspec.convert(msgspec.to_builtins(settings) | given, Settings)
        check_workflows(settings.workflows, settings.agents)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"An option cannot be used: {exc}.") from exc
    except WorkflowError as exc:
        raise ConfigError(f"A workflow cannot be used: {exc}.", _MEND) from exc
    return settings


def _read_settings(path: Path) -> Settings:
    text = _read_text(path)
    table = _parse(path, text)
    agents = _subtables(table, "agents")
    for name, agent in agents.items():
        if problem := problem_of(agent, AgentSettings):
            place = _place(path, line_of(text, ("agents", name)))
            raise ConfigError(f'{place}: agent "{name}": {problem}.', _MEND)
    try:
        workflows = {
            name: read_workflow(name, workflow) for name, workflow in _subtables(table, "workflows").items()
        }
        check_workflows(workflows, agents)
    except WorkflowError as exc:
        keys = ("workflows", exc.workflow)
        line = line_of(text, keys) if exc.step is None else line_of(text, (*keys, "steps"), exc.step)
        raise ConfigError(f"{_place(path, line)}: {exc}.", _MEND) from exc
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"{path}: {exc}.", _CORRECT) from exc


def _place(path: Path, line: int) -> str:
    return f"{path}, line {line}" if line else str(path)


def _subtables(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The tables under a key; what is none is left to the check of the whole."""
    found = table.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        message = f"The configuration {path} cannot be read: {exc}."
        raise ConfigError(message, "Check the file, or move it away.") from exc


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        message = f"The configuration {path} is not valid TOML: {exc}."
        raise ConfigError(message, "Correct that line, or move the file away.") from exc
