"""The table of language servers: which one works on which files, and the program that it is.

Invariant: a program from the project or the active virtual environment is found only where the user allows
the server to run code of the project. The calls block.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import msgspec

from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.search_paths import find_program, is_outside
from cogency_tui.workspace.globs import compiled

_PROJECT_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Directories of a project in which its tools install programs."""

ENVIRONMENTS = (".venv", "venv")
"""Directories of a project that may be its virtual environment."""

_MOST_PACKAGES = 8


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """One server of the table; the fields are those of `LanguageServerSettings`."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    files: Mapping[str, str]
    roots: tuple[str, ...] = ()
    risk: str = ""
    initialization: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    untrusted: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settle: float = 0.0

    def language_of(self, name: str) -> str:
        """The protocol's identifier of the language of a file, by its path with slashes; empty if the server
        does not work on it."""
        fits = (language for pattern, language in self.files.items() if compiled(pattern).fullmatch(name))
        return next(fits, "")

    def root_of(self, path: Path, project: Path) -> Path:
        """The directory that the server works in for a file of the project."""
        for directory in path.parents:
            if any((directory / name).exists() for name in self.roots):
                return directory
            if directory == project:
                break
        return project

    def find(self, project: Path, environ: Mapping[str, str], *, allowed: bool) -> tuple[str, ...] | None:
        """The command line of the program; None if it is not installed. `allowed`: it may be one of the
        project or the active virtual environment."""
        for program, *arguments in self.commands:
            if found := self._program(program, project, environ, allowed=allowed):
                return (found, *arguments)
        return None

    def _program(self, name: str, project: Path, environ: Mapping[str, str], *, allowed: bool) -> str | None:
        if "/" in name:
            path = os.path.expanduser(name)  # noqa: PTH111 (as text)
            inside = not is_outside(path, (project,))
            return shutil.which(path) if os.path.isabs(path) and (allowed or not inside) else None  # noqa: PTH117 (text)
        if allowed:
            places = [str(project / each) for each in _PROJECT_PROGRAMS]
            listed = [each for each in environ.get("PATH", "").split(os.pathsep) if each.startswith("/")]
            return shutil.which(name, path=os.pathsep.join([*places, *listed]))
        return find_program(name, environ)

    def settings_for(self, root: Path, environ: Mapping[str, str], *, allowed: bool) -> Mapping[str, Any]:
        """The configuration that the server is given."""
        given = dict(self.settings) if allowed else _merged(self.settings, self.untrusted)
        return cast("Mapping[str, Any]", _filled(given, _texts(root, environ)))


def load_table(own: Mapping[str, LanguageServerSettings]) -> list[LanguageServer]:
    """The servers of the table, those of the user's settings over the built-in ones."""
    builtin = _builtin()
    servers: list[LanguageServer] = []
    for name in dict.fromkeys((*builtin, *own)):
        layers = [each for each in (builtin.get(name), own.get(name)) if each is not None]
        values: dict[str, Any] = {}
        for layer in layers:
            values |= {
                key: value for key in layer.__struct_fields__ if (value := getattr(layer, key)) is not None
            }
        if not (values.pop("enabled", True) and values.get("commands") and values.get("files")):
            continue
        commands = tuple(tuple(command) for command in values.pop("commands"))
        roots = tuple(values.pop("roots", ()))
        servers.append(LanguageServer(name, commands, roots=roots, **values))
    return servers


@cache
def _builtin() -> Mapping[str, LanguageServerSettings]:
    data = files("cogency_tui.tools.language_servers").joinpath("servers.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, LanguageServerSettings])


def site_packages(directories: list[Path]) -> list[str]:
    """The package directories of virtual environments, found without starting anything of them."""
    found = [path for each in directories for path in sorted(each.glob("lib/python3*/site-packages"))]
    return [str(path) for path in found[:_MOST_PACKAGES] if path.is_dir()]


def _texts(root: Path, environ: Mapping[str, str]) -> Mapping[str, list[str]]:
    """What stands for the names in texts of the settings."""
    environments = [root / each for each in ENVIRONMENTS]
    if active := environ.get("VIRTUAL_ENV"):
        environments.append(Path(active))
    python = find_program("python3", environ) or find_program("python", environ)
    return {
        "{python}": [python] if python else [],
        "{site_packages}": site_packages(environments),
    }


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        there = merged.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(cast("Mapping[str, Any]", there), cast("Mapping[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _filled(value: Any, texts: Mapping[str, list[str]]) -> Any:
    """A value with its names replaced; a text of which there is nothing becomes empty."""
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {key: _filled(each, texts) for key, each in table.items()}
    if isinstance(value, list):
        filled: list[Any] = []
        for each in cast("list[Any]", value):
            filled += texts[each] if isinstance(each, str) and each in texts else [_filled(each, texts)]
        return filled
    if isinstance(value, str) and value in texts:
        return next(iter(texts[value]), "")
    return value
