"""The settings in force: defaults, the user's TOML file, a trusted project's, the environment, flags.

Each layer overrides those before it, and its values are recorded, so that the origin of a value can be
shown.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from cogency_tui.config.config_file import CORRECT, read_settings
from cogency_tui.config.schema import Settings, config_path
from cogency_tui.config.toml_reader import line_of_key, parse, read_text
from cogency_tui.config.workflows import WorkflowError, check_workflows
from cogency_tui.errors import ConfigError

_PREFIX = "COGENCY_"

Source = Literal["default", "user", "project", "environment", "flag"]


class Origin(msgspec.Struct, frozen=True):
    """The origin of a value: a file and a line, the name of a variable, a flag; nothing for a default."""

    source: Source = "default"
    where: str = ""


class Layer(msgspec.Struct, frozen=True):
    """The values of one source, by the keys of options; `origin` returns where it sets a key."""

    values: Mapping[str, Any]
    origin: Callable[[str], Origin]


class Configured(msgspec.Struct, frozen=True):
    """The settings in force, and the layers that they come from, lowest first."""

    settings: Settings
    layers: tuple[Layer, ...] = ()

    def origin(self, key: str) -> Origin:
        """The origin of an option's value."""
        layer = next((each for each in reversed(self.layers) if key in each.values), None)
        return Origin() if layer is None else layer.origin(key)

    def given(self, source: Source, key: str) -> Any:
        """The value that this source gives an option; None if it gives none."""
        layers = (each for each in self.layers if key in each.values and each.origin(key).source == source)
        return next((each.values[key] for each in layers), None)


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
    """The settings in force: the file at `path` (which may be missing), a trusted project's options, the
    environment and, over all of them, the `flags` whose value is not None.

    If given, `settings` replace all of these except the flags.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or a source has an unknown key or an invalid value.
    """
    environ = os.environ if environ is None else environ
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    layers: list[Layer] = []
    if settings is None:
        path = config_path(environ) if path is None else path
        text = read_text(path)
        settings = read_settings(path, text)
        if table := parse(path, text):
            layers.append(file_layer("user", path, text, dict(_values_in(table))))
        if project is not None:
            settings, narrower = _narrowed(settings, project)
            layers.append(narrower)
        if any(name.startswith(_PREFIX) for name in environ):
            layers.append(_environment(environ))
            settings = _over(settings, layers[-1].values)
    layers.append(Layer(given, _flag))
    return Configured(_over(settings, given), tuple(layers))


def file_layer(source: Source, path: Path, text: str, values: Mapping[str, Any]) -> Layer:
    """The layer of the file at `path` with this `text`."""

    def origin(key: str) -> Origin:
        line = line_of_key(text, tuple(key.split(".")))
        return Origin(source, f"{path}:{line}" if line else str(path))

    return Layer(values, origin)


def _values_in(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from cogency_tui.config.options import flattened

    return flattened(table)


def _narrowed(settings: Settings, project: Layer) -> tuple[Settings, Layer]:
    """The settings with those values of the project that it may set, and the layer of these values."""
    from cogency_tui.config.options import options

    known = options()
    narrower = {
        key: value
        for key, value in project.values.items()
        if known[key].narrows(value, known[key].value_in(settings))
    }
    return _over(settings, narrower), Layer(narrower, project.origin)


def _environment(environ: Mapping[str, str]) -> Layer:
    """The layer of the environment.

    Raises:
        ConfigError: a variable cannot be used.
    """
    from cogency_tui.config.options import options

    values: dict[str, Any] = {}
    for key, option in options().items():
        if option.variable and (given := environ.get(option.variable)):
            try:
                values[key] = option.read(given)
            except ValueError as exc:
                message = f"The environment variable {option.variable} is invalid: {exc}."
                raise ConfigError(message, "Correct it, or unset it.") from exc
    return Layer(values, lambda key: Origin("environment", options()[key].variable))


def _flag(key: str) -> Origin:
    from cogency_tui.config.options import options

    return Origin("flag", options()[key].flag)


def _over(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with these values of options.

    Raises:
        ConfigError: one is invalid, or the workflows do not fit together.
    """
    if values:
        from cogency_tui.config.options import placed

        table = msgspec.to_builtins(settings)
        for key, value in values.items():
            placed(table, key, value)
        try:
            settings = msgspec.convert(table, Settings)
        except msgspec.ValidationError as exc:
            raise ConfigError(f"An option is invalid: {exc}.") from exc
    try:
        check_workflows(settings.workflows, settings.agents)
    except WorkflowError as exc:
        raise ConfigError(f"A workflow is invalid: {exc}.", CORRECT) from exc
    return settings
