"""Reads the user's configuration file: parses text into settings, and reports each error with its line."""

from pathlib import Path
from typing import Any, cast

import msgspec

from cogency_tui.config import hooks, language_servers, mcp
from cogency_tui.config.schema import (
    AgentSettings,
    BudgetSettings,
    HistorySettings,
    ProviderSettings,
    Settings,
    SpanLimits,
)
from cogency_tui.config.toml_reader import line_of, line_of_key, parse, place
from cogency_tui.config.workflows import WorkflowError, check_workflows, problem_of, read_workflow
from cogency_tui.errors import ConfigError

CORRECT = "Correct it, or remove it."
_CORRECT = "Correct that key, or remove it to use the default."
_TABLES = ("providers", "keys", "agents", "workflows", "mcp", "hooks", "language_servers")


def read_settings(path: Path, text: str) -> Settings:
    """The settings in the `text` of a user's file at `path`.

    Raises:
        ConfigError: it is no TOML, or contains something invalid; with its line.
    """
    if not (table := parse(path, text)):
        return Settings()
    agents = _subtables(table, "agents")
    _check(path, text, table)
    try:
        workflows = {
            name: read_workflow(name, workflow) for name, workflow in _subtables(table, "workflows").items()
        }
        check_workflows(workflows, agents)
    except WorkflowError as exc:
        raise ConfigError(f"{place_of_workflow(path, text, exc)}: {exc}.", CORRECT) from exc
    if "keys" in table:
        table["keys"] = _flattened(_subtables(table, "keys"))
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"{path}: {exc}.", _CORRECT) from exc


def place_of_workflow(path: Path, text: str, error: WorkflowError) -> str:
    """The place of an invalid workflow, or of its step, for a message."""
    keys = ("workflows", error.workflow)
    line = line_of(text, keys) if error.step is None else line_of(text, (*keys, "steps"), error.step)
    return place(path, line)


def place_of_hook(path: Path, text: str, name: str, problem: mcp.Problem) -> str:
    """The place of an invalid hook and the problem, for a message."""
    line = line_of_key(text, ("hooks", name, problem.key) if problem.key else ("hooks", name))
    return f'{place(path, line)}: hook "{name}": {problem.words}'


def check_options(path: Path, text: str, table: dict[str, Any]) -> None:
    """Require that every key is a known option with a valid value.

    Raises:
        ConfigError: naming the first invalid one, with its line.
    """
    _check_table(path, text, table, Settings, ())


def _check_table(
    path: Path, text: str, table: dict[str, Any], kind: type[msgspec.Struct], above: tuple[str, ...]
) -> None:
    subject = f'provider "{above[1]}": ' if kind is ProviderSettings else ""
    for key, value in table.items():
        inner = _kind_below(kind, key)
        if inner is not None and isinstance(value, dict):
            _check_table(path, text, cast("dict[str, Any]", value), inner, (*above, key))
        elif problem := problem_of({key: value}, kind):
            line = line_of_key(text, (*above, key))
            raise ConfigError(f"{place(path, line)}: {subject}{problem}.", _CORRECT)


def _check(path: Path, text: str, table: dict[str, Any]) -> None:
    """Require that a user's file is valid, except for its workflows, which have their own check.

    Raises:
        ConfigError: naming the first invalid key, with its line.
    """
    for name, agent in _subtables(table, "agents").items():
        if problem := problem_of(agent, AgentSettings):
            line = line_of(text, ("agents", name))
            raise ConfigError(f'{place(path, line)}: agent "{name}": {problem}.', CORRECT)
    for name, provider in _subtables(table, "providers").items():
        if not isinstance(provider, dict):
            line = line_of_key(text, ("providers", name))
            raise ConfigError(f'{place(path, line)}: provider "{name}": it must be a table.', CORRECT)
        entries = cast("dict[str, Any]", provider)
        _check_table(path, text, entries, ProviderSettings, ("providers", name))
    for name, server in _subtables(table, "mcp").items():
        if wrong := mcp.problem_in(name, server):
            line = line_of_key(text, ("mcp", name, wrong.key) if wrong.key else ("mcp", name))
            raise ConfigError(f'{place(path, line)}: MCP server "{name}": {wrong.words}.', CORRECT)
    for name, server in _subtables(table, "language_servers").items():
        if wrong := language_servers.problem_in(name, server):
            line = line_of_key(text, ("language_servers", name, *filter(None, [wrong.key])))
            raise ConfigError(f'{place(path, line)}: language server "{name}": {wrong.words}.', CORRECT)
    for name, hook in _subtables(table, "hooks").items():
        if wrong := hooks.problem_in(name, hook):
            raise ConfigError(f"{place_of_hook(path, text, name, wrong)}.", CORRECT)
    whole = {key: value for key, value in table.items() if key not in _TABLES or not isinstance(value, dict)}
    check_options(path, text, whole)


def _kind_below(kind: type[msgspec.Struct], key: str) -> type[msgspec.Struct] | None:
    """The struct of the table below this key, if it is a known one."""
    if kind is Settings:
        return {"budget": BudgetSettings, "history": HistorySettings}.get(key)
    return SpanLimits if kind is BudgetSettings and key in BudgetSettings.__struct_fields__ else None


def _subtables(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The tables under a key; an entry that is no table is left to the check of the whole."""
    found = table.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _flattened(keys: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """`[keys]` by ids: an id with a dot may be written without quotes, and is a table then."""
    flat: dict[str, Any] = {}
    for name, value in keys.items():
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        flat |= {f"{prefix}{name}": value} if inner is None else _flattened(inner, f"{prefix}{name}.")
    return flat
