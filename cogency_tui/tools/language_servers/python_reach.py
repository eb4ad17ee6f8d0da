"""Finds what leads a Python type checker out of the project: links, settings, and imports from above.

It reads whatever the code imports, and puts names, types and values of it into its messages.

Invariant: what cannot be determined counts as leading outside. Installed packages (`site-packages`) are not
searched, but a virtual environment that belongs to the repository counts. The calls block.
"""

import ast
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from cogency_tui.safe_text import one_line
from cogency_tui.tools.language_servers.table import ENVIRONMENTS, site_packages
from cogency_tui.workspace.git.repository_queries import Repository

MOST_ENTRIES = 20_000
"""Entries of the project that are searched."""

_LARGEST = 2 << 20
_LARGEST_NEW = 64 << 20
"""Bytes of files that are read in one search, beside those that it knows already."""

_SUFFIXES = (".py", ".pyi")
_SETTINGS = ("pyrightconfig.json", "pyproject.toml")
_INSTALLED = ("site-packages", "dist-packages")
_SOURCES = ("extraPaths", "stubPath", "typeshedPath", "root")
_PATHS = (*_SOURCES, "venvPath", "include", "baselineFile")
_FROM = re.compile(r"\bfrom((?:[\s\\]*\.)+)")
_NAMES = re.compile(r"[\s\\\w.]*")
_IMPORT = re.compile(r"\bimport\b")
_LONGEST_NAMES = 1000
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LONGEST_NAME = 80


class _LeadsOutside(Exception):
    """Something leads outside; the text says what."""


class _Unsearched(Exception):
    """The project cannot be searched; the text says why."""


class PythonReach:
    """Searches the project at `project` (resolved). Files are read again once they have changed."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._files: dict[str, tuple[tuple[int, ...], int]] = {}
        self._exact: dict[tuple[int, ...], int] = {}
        self._recorded: dict[Path, bool] = {}

    def outside(self, root: Path, file: Path | None = None) -> str:
        """Explain what leads a server in `root` outside, as it is shown `file`; empty if nothing does."""
        try:
            self._check_environments(root)
            self._check_tree(file)
        except _LeadsOutside as exc:
            return f"would read files outside the project ({exc})"
        except _Unsearched as exc:
            return f"may read files outside the project ({exc})"
        except (OSError, ValueError, RecursionError):
            return "may read files outside the project (some of its files cannot be read)"
        return ""

    def _check_environments(self, root: Path) -> None:
        for directory in site_packages([root / name for name in ENVIRONMENTS]):
            if not self._is_inside(directory):
                raise _LeadsOutside(f"{self._name(directory)} is a link")
        if root not in self._recorded:
            self._recorded[root] = Repository(root).records(ENVIRONMENTS)
        if self._recorded[root]:
            raise _LeadsOutside("its virtual environment is part of the repository")

    def _check_tree(self, file: Path | None) -> None:
        new, left = _LARGEST_NEW, MOST_ENTRIES
        # Through a link a file is nearer to the top; one leads through each link at most once.
        nearer = 0
        imports: list[tuple[str, int]] = []
        open_above = set(file.parents) if file is not None else set[Path]()
        pending = [str(self._project)]
        while pending:
            directory = pending.pop()
            with os.scandir(directory) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        raise _Unsearched("it has too many files to search")
                    is_source = entry.name.endswith(_SUFFIXES)
                    if entry.is_symlink():
                        if entry.is_dir() or is_source or entry.name in _SETTINGS:
                            nearer += max(0, self._check_link(entry.path))
                    elif entry.is_dir():
                        if not _is_skipped(entry.name) or Path(entry.path) in open_above:
                            pending.append(entry.path)
                    elif entry.is_file() and is_source:
                        dots, read = self._dots(entry)
                        new -= read
                        if new < 0:
                            raise _Unsearched("it has too much code to search")
                        if dots > 1:
                            imports.append((entry.path, dots))
                    elif entry.name in _SETTINGS:
                        self._check_settings(Path(entry.path))
        for path, dots in imports:
            if dots > self._depth(path) - nearer and self._exact_dots(path) > self._depth(path) - nearer:
                raise _LeadsOutside(f"{self._name(path)} imports from above it")

    def _dots(self, entry: os.DirEntry[str]) -> tuple[int, int]:
        """The most dots before a module that a file imports from, and the bytes that were read for that."""
        found = entry.stat()
        stamp = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
        known = self._files.get(entry.path)
        if known is not None and known[0] == stamp:
            return known[1], 0
        if found.st_size > _LARGEST:
            raise _Unsearched(f"{self._name(entry.path)} is too large to search")
        with open(entry.path, "rb") as file:  # noqa: PTH123 (text is faster)
            data = file.read(_LARGEST)
        dots = most_dots(data.decode("utf-8", "replace")) if b"from" in data else 0
        self._files[entry.path] = (stamp, dots)
        return dots, len(data)

    def _exact_dots(self, path: str) -> int:
        """The most dots before a module in the code of a file, without its comments and strings."""
        stamp, dots = self._files[path]
        if stamp not in self._exact:
            text = Path(path).read_bytes().decode("utf-8", "replace")
            try:
                tree = ast.parse(text)
                levels = [each.level for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
                self._exact[stamp] = max(levels, default=0)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                # A type checker goes on after an error.
                self._exact[stamp] = dots
        return self._exact[stamp]

    def _check_link(self, link: str) -> int:
        """Check a link; return by how much its target is deeper than it is."""
        target = os.path.realpath(link)
        if Path(target).exists() and (not self._is_inside(target) or self._is_unsearched(target)):
            raise _LeadsOutside(f"{self._name(link)} is a link to {one_line(target)[:_LONGEST_NAME]}")
        return self._depth(target) - self._depth(link)

    def _check_settings(self, path: Path) -> None:
        if path.stat().st_size > _LARGEST:
            raise _Unsearched(f"{self._name(path)} is too large to search")
        text = path.read_text("utf-8-sig")
        for table in _tables(path.name, text):
            self._check_table(table, path)

    def _check_table(self, table: Mapping[str, Any], path: Path) -> None:
        if "extends" in table:
            raise _LeadsOutside(f"{self._name(path)} extends others")
        for key in _PATHS:
            for value in _texts(table.get(key)):
                place = os.path.realpath(path.parent / value)
                odd = value.startswith("~") or "$" in value or "\\" in value
                unsearched = key in _SOURCES and self._is_inside(place) and self._is_unsearched(place)
                if odd or unsearched or not self._is_inside(place):
                    raise _LeadsOutside(f"{key} in {self._name(path)}")
        for value in _texts(table.get("venv")):
            environment = path.parent / (next(iter(_texts(table.get("venvPath"))), ".")) / value
            self._check_environment(environment)
        environments = table.get("executionEnvironments")
        for each in cast("list[Any]", environments) if isinstance(environments, list) else ():
            if isinstance(each, dict):
                self._check_table(cast("dict[str, Any]", each), path)

    def _check_environment(self, environment: Path) -> None:
        """Check the directories that an environment adds to the packages."""
        for directory in site_packages([environment]):
            if not self._is_inside(directory):
                raise _LeadsOutside(f"{self._name(directory)} is a link")
            for path in Path(directory).glob("*.pth"):
                for line in path.read_text("utf-8", "replace").splitlines():
                    added = line.strip()
                    is_path = added and not added.startswith(("#", "import ", "import\t"))
                    if is_path and not self._is_inside(os.path.join(directory, added)):  # noqa: PTH118 (text)
                        raise _LeadsOutside(f"{self._name(path)} adds {one_line(added)[:_LONGEST_NAME]}")

    def _depth(self, path: str) -> int:
        """The number of names from the project to a path."""
        return path.count(os.sep) - str(self._project).count(os.sep)

    def _is_inside(self, path: str | Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._project)

    def _is_unsearched(self, path: str) -> bool:
        return any(map(_is_skipped, Path(path).relative_to(self._project).parts))

    def _name(self, path: str | Path) -> str:
        return one_line(str(Path(path).relative_to(self._project)))[:_LONGEST_NAME]


def most_dots(text: str) -> int:
    """The most dots before a module in the imports of a text. Comments and strings count as code."""
    most = 0
    for found, following in pairwise((*_FROM.finditer(text), None)):
        dots = found[1].count(".") if found else 0
        if found is None or dots <= max(most, 1):
            continue
        next_one = following.start() if following else len(text)
        end = min(next_one, found.end() + _LONGEST_NAMES)
        names = _NAMES.match(text, found.end(), end)
        words = names[0] if names else ""
        is_cut = found.end() + len(words) == end < len(text)
        if is_cut or _IMPORT.search(words):
            most = dots
    return most


def _is_skipped(name: str) -> bool:
    """Return whether a directory has no modules of the project: its name is not one of a module's, or what
    is there was installed."""
    return name.startswith(".") or name in _INSTALLED


def _tables(name: str, text: str) -> Iterator[Mapping[str, Any]]:
    """The settings of the type checker in a file.

    Raises:
        ValueError: they cannot be read.
    """
    found: list[object]
    if name == "pyproject.toml":
        # A quoted key may be written with escapes.
        tool = tomllib.loads(text).get("tool") if "pyright" in text or "\\" in text else None
        tools = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
        found = [tools.get("pyright"), tools.get("basedpyright")]
    else:
        found = [json.loads(_TOKEN.sub(lambda token: token[1] or " ", text))]
    yield from (cast("dict[str, Any]", each) for each in found if isinstance(each, dict))


def _texts(value: object) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]
