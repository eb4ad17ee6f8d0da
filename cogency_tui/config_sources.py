"""The settings in force: defaults, the person's TOML file, a trusted project's, the environment, flags.

Each lays over those before it, and what it gives is remembered, so that it can be said where a value is from.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from cogency_tui.config import Settings, config_path
from cogency_tui.config_reading import CORRECT, parse_toml, read_settings, read_text
from cogency_tui.errors import ConfigError
from cogency_tui.toml_lines import line_of_key
from cogency_tui.workflow_settings import WorkflowError, check_workflows

_PREFIX = "COGENCY_"

Source = Literal["default", "person", "project", "environment", "flag"]


class Origin(msgspec.Struct, frozen=True):
    """Where a value is from: a file and a line, the name of a variable, a flag; nothing for a default."""

    source: Source = "default"
    where: str = ""


class Layer(msgspec.Struct, frozen=True):
    """What one source gives, by the keys of options; `origin` says where it gives a key."""

    values: Mapping[str, Any]
    origin: Callable[[str], Origin]


class Configured(msgspec.Struct, frozen=True):
    """The settings in force, and the layers that they come from, the first below the others."""

    settings: Settings
    layers: tuple[Layer, ...] = ()

    def origin(self, key: str) -> Origin:
        """Where the value of an option is from."""
        layer = next((each for each in reversed(self.layers) if key in each.values), None)
        return Origin() if layer is None else layer.origin(key)


def load_settings(
    path: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of `configure`, without a project's.

    Raises:
        ConfigError: as there.
    """
    return configure(path, flags=flags, settings=settings, environ=environ).settings


def configure(
    path: Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    project: Layer | None = None,
) -> Configured:
    """The settings in force: the file at `path` (none is fine), what a trusted project gives, the environment
    and, over all of them, the `flags` whose value is not None.

    `settings` stand in for all of these but the flags where they are given.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or something holds a key or value that cannot be.
    """
    environ = os.environ if environ is None else environ
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    layers: list[Layer] = []
    if settings is None:
        path = config_path(environ) if path is None else path
        text = read_text(path)
        settings = read_settings(path, text)
        if table := parse_toml(path, text):
            layers.append(file_layer("person", path, text, dict(_values_in(table))))
        if project is not None:
            settings, narrower = _narrowed(settings, project)
            layers.append(narrower)
        if any(name.startswith(_PREFIX) for name in environ):
            layers.append(_environment(environ))
            settings = _over(settings, layers[-1].values)
    layers.append(Layer(given, _flag))
    return Configured(_over(settings, given), tuple(layers))


def file_layer(source: Source, path: Path, text: str, values: Mapping[str, Any]) -> Layer:
    """What the file at `path` gives, which says it by its `text`."""

    def origin(key: str) -> Origin:
        line = line_of_key(text, tuple(key.split(".")))
        return Origin(source, f"{path}:{line}" if line else str(path))

    return Layer(values, origin)


def _values_in(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from cogency_tui.options import flattened

    return flattened(table)


def _narrowed(settings: Settings, project: Layer) -> tuple[Settings, Layer]:
    """The settings under what a project may give of what it gives, and that."""
    from cogency_tui.options import options

    known = options()
    narrower = {
        key: value
        for key, value in project.values.items()
        if known[key].narrows(value, known[key].value_in(settings))
    }
    return _over(settings, narrower), Layer(narrower, project.origin)


def _environment(environ: Mapping[str, str]) -> Layer:
    """What the environment gives.

    Raises:
        ConfigError: a variable cannot be used.
    """
    from cogency_tui.options import options

    values: dict[str, Any] = {}
    for key, option in options().items():
        if option.variable and (given := environ.get(option.variable)):
            try:
                values[key] = option.read(given)
            except ValueError as exc:
                message = f"{option.variable} in the environment cannot be used: {exc}."
                raise ConfigError(message, "Correct it, or unset it.") from exc
    return Layer(values, lambda key: Origin("environment", options()[key].variable))


def _flag(key: str) -> Origin:
    from cogency_tui.options import options

    return Origin("flag", options()[key].flag)


def _over(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with these values of options.

    Raises:
        ConfigError: one cannot be, or the workflows do not fit together.
    """
    if values:
        from cogency_tui.options import placed

        table = msgspec.to_builtins(settings)
        for key, value in values.items():
            placed(table, key, value)
        try:
            settings = msgspec.convert(table, Settings)
        except msgspec.ValidationError as exc:
            raise ConfigError(f"An option cannot be used: {exc}.") from exc
    try:
        check_workflows(settings.workflows, settings.agents)
    except WorkflowError as exc:
        raise ConfigError(f"A workflow cannot be used: {exc}.", CORRECT) from exc
    return settings
