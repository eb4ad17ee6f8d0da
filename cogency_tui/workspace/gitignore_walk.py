"""The files of a directory tree without ignored ones: by `.gitignore` and the usual names.

Invariant: links to directories are never entered, unreadable entries are skipped, and the rules of a
hostile `.gitignore` cost no more than those of a decent one. An ignored directory is not entered, which is
also git's rule: nothing below it can be included again.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.file_or_link import located
from cogency_tui.workspace.nofollow_access import TEMPORARY_PREFIX, Directory, refusals
from cogency_tui.workspace.paths import Location, Workspace

ALWAYS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".jj",
        "node_modules",
        "bower_components",
        ".venv",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".eggs",
        ".gradle",
        ".terraform",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".parcel-cache",
        ".DS_Store",
        "Thumbs.db",
    }
)
"""Names that are ignored everywhere unless they are requested by name."""

_DEEPEST = 100
_LONGEST_RULES = 1 << 20
_MOST_RULES = 5000
_LONGEST_RULE = 1000
"""Characters of one pattern; a longer one is not applied."""

_BELOW = "(?P<ps_d>/)"
"""Pathspec's expression for a directory and everything in it."""

_DEEP_START = "^(?:.+/)?"
_DEEP = "(?:/.+)?"
"""Pathspec's expression for `**` at the beginning of a pattern, and between two names."""

_OPEN_END = re.compile(r"(/\*\*)(/?)\s*$")
_STARS = re.compile(r"(?:\[\^/\]\*)+")
_BETWEEN_STARS = re.compile(r"\[\^/\]\*((?:(?!\[\^/\]\*|/|\(\?).)+)(?=\[\^/\]\*)")
"""A star, and the text between it and the next star of the same component."""

Kind = Literal["file", "directory", "link", "other"]


class TreeEntry(NamedTuple):
    """An entry of a directory; `path` is relative to the project's root (or absolute, outside), with
    slashes."""

    name: str
    path: str
    kind: Kind


class Level(NamedTuple):
    """A directory of a walk: still open, with its entries, sorted by name, and the names that are ignored
    there."""

    directory: Directory
    path: str
    depth: int
    directories: list[TreeEntry]
    others: list[TreeEntry]
    ignored: list[str]


class WorkspaceTree:
    """The tree of a workspace without ignored files. Listing blocks: call it in a thread.

    With `rules`, which have the form of an earlier tree's `.rules`, these apply in place of the present
    files.
    """

    def __init__(self, workspace: Workspace, rules: Mapping[str, bytes] | None = None) -> None:
        self._workspace = workspace
        self._source = _Source(rules)

    @property
    def rules(self) -> Mapping[str, bytes]:
        """The `.gitignore` files that were read, by the path prefix of their directories."""
        return self._source.read

    def children(self, path: str = ".", most: int | None = None) -> list[TreeEntry]:
        """List one directory: directories first, then the rest, each by name. Of a directory with more than
        `most` entries some are left out.

        Raises:
            WorkspaceError: it is no directory, or cannot be read.
        """
        location = self._workspace.locate(path)
        with self._workspace.open_directory(location) as directory, refusals(location.relative):
            layers = self._layers_above(location)
            found = _listed(directory, self._prefix(location.path), layers, self._source, most)
        return found.directories + found.others

    def walk(self, start: Location, depth: int = _DEEPEST) -> Generator[Level, None, None]:
        """Yield every directory from `start` down to `depth` levels, each before those in it.

        A level's `directory` is open until the next level is requested. Close the iterator.

        Raises:
            WorkspaceError: `start` is no directory, or cannot be read.
        """
        with self._workspace.open_directory(start) as directory:
            layers = self._layers_above(start)
            with refusals(start.relative):
                prefix = self._prefix(start.path)
                listed = _listed(directory, prefix, layers, self._source)
            yield from _walked(directory, prefix, listed, self._source, 1, min(depth, _DEEPEST))

    def ignores(self, path: str) -> bool:
        """Return whether a walk leaves out a path of the journal, which need not exist any more.

        Raises:
            WorkspaceError: it is no such path.
        """
        base, parts = self._workspace.split(located(self._workspace, path))
        layers: tuple[_Layer, ...] = ()
        prefix = self._prefix(base)
        with ExitStack() as opened, refusals(path):
            here: Directory | None = opened.enter_context(Directory.open(base))
            for part in parts:
                layers = layers if here is None else self._source.added(here, prefix, layers)
                prefix += part
                # Whether the last part was a directory, for which there may be other rules, is not known.
                if _ignored(part, f"{prefix}/", layers) or _ignored(part, prefix, layers):
                    return True
                prefix += "/"
                try:
                    here = None if here is None else opened.enter_context(here.child(part))
                except OSError:
                    here = None
        return False

    def _layers_above(self, location: Location) -> "tuple[_Layer, ...]":
        """Collect the rules that apply in a directory from those above it.

        A directory that is requested by name is shown: once a directory on the way is ignored, rules from
        above end.
        """
        base, parts = self._workspace.split(location)
        if not location.inside:
            return ()
        layers: tuple[_Layer, ...] = ()
        prefix = self._prefix(base)
        with ExitStack() as opened, suppress(OSError):
            directory = opened.enter_context(Directory.open(base))
            for part in parts:
                layers = self._source.added(directory, prefix, layers)
                prefix += part
                if _ignored(part, f"{prefix}/", layers):
                    layers = ()
                prefix += "/"
                directory = opened.enter_context(directory.child(part))
        return layers

    def _prefix(self, path: Path) -> str:
        """Return the prefix that makes a name in this directory its path."""
        name = self._workspace.name_of(path)
        return "" if name == "." else f"{name.rstrip('/')}/"


class _Layer(NamedTuple):
    """The rules of one `.gitignore`: runs of patterns of one kind, the last one first."""

    prefix: int
    runs: tuple[tuple[bool, re.Pattern[str]], ...]


class _Listed(NamedTuple):
    """The entries of one directory, and the rules that apply there."""

    directories: list[TreeEntry]
    others: list[TreeEntry]
    ignored: list[str]
    layers: tuple[_Layer, ...]


def _walked(
    directory: Directory, prefix: str, listed: _Listed, source: "_Source", depth: int, deepest: int
) -> Generator[Level, None, None]:
    yield Level(directory, prefix, depth, listed.directories, listed.others, listed.ignored)
    if depth >= deepest:
        return
    for entry in listed.directories:
        path = f"{entry.path}/"
        try:
            child = directory.child(entry.name)
        except OSError:
            continue
        with child:
            try:
                below = _listed(child, path, listed.layers, source)
            except OSError:
                continue
            yield from _walked(child, path, below, source, depth + 1, deepest)


def _listed(
    directory: Directory,
    prefix: str,
    layers: "tuple[_Layer, ...]",
    source: "_Source",
    most: int | None = None,
) -> _Listed:
    found = directory.entries(most)
    if len(found) == most or source.is_given or any(entry.name == ".gitignore" for entry in found):
        layers = source.added(directory, prefix, layers)
    directories: list[TreeEntry] = []
    others: list[TreeEntry] = []
    ignored: list[str] = []
    for entry in found:
        name = entry.name
        path = prefix + name
        try:
            is_directory = entry.is_dir(follow_symlinks=False)
            if _ignored(name, f"{path}/" if is_directory else path, layers):
                ignored.append(name)
                continue
            if is_directory:
                directories.append(TreeEntry(name, path, "directory"))
                continue
            kind: Kind = "file"
            if not entry.is_file(follow_symlinks=False):
                kind = "link" if entry.is_symlink() else "other"
        except OSError:
            # It is gone, or its status cannot be read.
            continue
        others.append(TreeEntry(name, path, kind))
    directories.sort(key=_by_name)
    others.sort(key=_by_name)
    return _Listed(directories, others, ignored, layers)


def _by_name(entry: TreeEntry) -> tuple[str, str]:
    return entry.name.casefold(), entry.name


def _ignored(name: str, path: str, layers: "Sequence[_Layer]") -> bool:
    if name in ALWAYS or name.startswith(TEMPORARY_PREFIX):
        return True
    for layer in reversed(layers):
        below = path[layer.prefix :]
        for included, pattern in layer.runs:
            if pattern.match(below):
                return included
    return False


class _Source:
    """The source of a directory's rules: its `.gitignore`, or the given rules."""

    def __init__(self, given: Mapping[str, bytes] | None) -> None:
        self._given = given
        self.read: dict[str, bytes] = {}

    @property
    def is_given(self) -> bool:
        """True if rules are given, so that present files do not matter."""
        return self._given is not None

    def added(self, directory: Directory, prefix: str, layers: "tuple[_Layer, ...]") -> "tuple[_Layer, ...]":
        """Add a directory's own rules to those that apply above it."""
        data = self._of(directory, prefix)
        if not data:
            return layers
        self.read[prefix] = data
        runs = _runs(data.decode("utf-8-sig", "replace").splitlines()[:_MOST_RULES])
        return (*layers, _Layer(len(prefix), runs)) if runs else layers

    def _of(self, directory: Directory, prefix: str) -> bytes:
        if self._given is not None:
            return self._given.get(prefix, b"")
        try:
            return directory.read(".gitignore", _LONGEST_RULES)
        except (OSError, WorkspaceError):
            # Missing, a link or a FIFO, or longer than any decent one: no rules.
            return b""


def _runs(lines: list[str]) -> tuple[tuple[bool, re.Pattern[str]], ...]:
    """Convert patterns to few regular expressions: consecutive ones of the same kind become one."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    runs: list[tuple[bool, list[str]]] = []
    for line in lines:
        if len(line) > _LONGEST_RULE:
            continue
        try:
            # "a/**" matches the content of a, but not a itself, which has to stay open for patterns with
            # "!".
            line = _OPEN_END.sub(r"\1/*\2", line)
            source, included = GitIgnoreSpecPattern.pattern_to_regex(line)
            if source is None or included is None:
                continue
            re.compile(source)
        except (ValueError, re.error):
            continue
        # A pattern matches the entry itself: entries in an ignored directory are never checked.
        source = source.replace(_BELOW, "/$")
        source = source if source.startswith("^") else f".*{source}"
        source = _atomic(source)
        if runs and runs[-1][0] == included:
            runs[-1][1].append(source)
        else:
            runs.append((included, [source]))
    return tuple((included, re.compile("|".join(sources))) for included, sources in reversed(runs))


def _atomic(source: str) -> str:
    """Rewrite a pattern of pathspec's so that it takes linear time.

    A piece between two stars, or between two `**`, is matched at its first fit: that always suffices, so it
    is never retried.
    """
    source = _BETWEEN_STARS.sub(r"(?>[^/]*?\1)", _STARS.sub("[^/]*", source))
    first, *others = source.split(_DEEP)
    if first.startswith(_DEEP_START):
        first = f"(?:[^/]+/)*?{first.removeprefix(_DEEP_START)}"
        first = f"^(?>{first}(?=/))" if others else f"^{first}"
    for index, part in enumerate(others, 1):
        part = f"(?:/[^/]+)*?{part}"
        first += part if index == len(others) else f"(?>{part}(?=/))"
    return first
