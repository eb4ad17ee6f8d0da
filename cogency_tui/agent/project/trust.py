"""The user's decisions to trust projects, and the surveys of their `.cogency/` directories.

Invariant: the files of a project that is not trusted are listed and hashed, and used for nothing else but
to determine which files its MCP servers are started from. Trust is for a directory by its resolved path and
inode, and for the bytes of its files and those programs at that time: if one changes, appears or
disappears, the user is asked again; the bytes that are loaded are the very bytes that were compared. A
refusal is for the directory, whatever its contents. The calls block.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, cast

import msgspec

from cogency_tui.agent.project.cogency_folder import FOLDER, FolderEntry, list_files, read_files
from cogency_tui.agent.project.mcp_server_sources import Programs, programs_of
from cogency_tui.config import toml_reader
from cogency_tui.config.edit import changing, write_table
from cogency_tui.config.workflows import problem_of
from cogency_tui.errors import ConfigError, UsageError, WorkspaceError

FILE_NAME = "trusted.toml"

_HEADING = """\
Projects whose .cogency/ files may be used, and those never to ask about.
Written by cogency-tui, which does not preserve comments."""
_MEND = "Correct the file or move it away; until then no project is trusted."


class TrustState(Enum):
    """A project's state of trust."""

    NOTHING = "there is nothing to trust"
    UNKNOWN = "not trusted"
    CHANGED = "changed since it was trusted"
    TRUSTED = "trusted"
    REFUSED = "not trusted, never asked"

    @property
    def label(self) -> str:
        """The state in words for the user; its value is a part of JSON output."""
        return "not trusted, never ask" if self is TrustState.REFUSED else self.value


@dataclass(frozen=True, slots=True)
class Survey:
    """The contents of a project's `.cogency/`, and the decision on it.

    `changed` are the files that differ from the trusted ones, missing ones included; `problem` is why none
    of them can be used. `digest` covers all files. Entries that begin with `../` are the programs of MCP
    servers and the sources beside them; `unknown` are commands for which it cannot be determined what they
    start of the project.
    """

    state: TrustState
    entries: tuple[FolderEntry, ...] = ()
    changed: tuple[str, ...] = ()
    problem: str = ""
    digest: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(entry.name for entry in self.entries)


class Trusted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One trusted project, with the SHA-256 of each file; `added` is the day, in UTC."""

    path: str
    inode: int
    files: dict[str, str]
    added: str = ""


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One refused project; `added` is the day, in UTC."""

    path: str
    inode: int
    added: str = ""


class Decisions(msgspec.Struct, frozen=True):
    """All decisions of the user."""

    projects: Sequence[Trusted] = ()
    refused: Sequence[Refused] = ()

    def without(self, project: Path) -> "Decisions":
        """The decisions on other projects."""
        path = str(project)
        return Decisions(
            [each for each in self.projects if each.path != path],
            [each for each in self.refused if each.path != path],
        )


class Trust:
    """The user's decisions, in the file at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def survey(self, project: Path) -> Survey:
        """The current state of a project (resolved)."""
        try:
            contents = read_files(project)
        except WorkspaceError as exc:
            state = TrustState.REFUSED if self._is_refused(project) else TrustState.UNKNOWN
            return Survey(state, list_files(project), problem=exc.advice)
        if not contents:
            return Survey(TrustState.NOTHING)
        programs = programs_of(project, contents)
        unknown = programs.unknown
        found = _digests(contents, programs)
        entries = tuple(FolderEntry(name, len(data)) for name, data in contents.items())
        entries += tuple(
            FolderEntry(name, program.size, program.kind) for name, program in programs.files.items()
        )
        digest = _digest(found)
        try:
            known = self._known(project)
        except ConfigError as exc:
            return Survey(TrustState.UNKNOWN, entries, problem=exc.advice, unknown=unknown)
        if known is None:
            state = TrustState.REFUSED if self._is_refused(project) else TrustState.UNKNOWN
            return Survey(state, entries, digest=digest, unknown=unknown)
        if known.files == found:
            return Survey(TrustState.TRUSTED, entries, digest=digest, unknown=unknown)
        names = dict.fromkeys((*known.files, *found))
        changed = tuple(name for name in names if known.files.get(name) != found.get(name))
        return Survey(TrustState.CHANGED, entries, changed, digest=digest, unknown=unknown)

    def contents(self, project: Path) -> Mapping[str, bytes]:
        """The current files of a project if it is trusted; none of any other."""
        try:
            found = read_files(project)
            known = self._known(project) if found else None
        except (WorkspaceError, ConfigError):
            return {}
        if known is None or known.files != _digests(found, programs_of(project, found)):
            return {}
        return found

    def trust(self, project: Path, seen: Survey) -> None:
        """Trust a project as it is now, if that is what was `seen`.

        Raises:
            ConfigError: the decisions cannot be read, are invalid, or cannot be written.
            UsageError: a file has changed since, and needs another review.
            WorkspaceError: the contents cannot be used.
        """
        contents = read_files(project)
        found = _digests(contents, programs_of(project, contents))
        if _digest(found) != seen.digest:
            raise UsageError(f"{project / FOLDER} changed during the review.", "Review it again.")
        trusted = Trusted(str(project), project.stat().st_ino, found, _today())
        with changing(self.path):
            others = self.decisions().without(project)
            self._write(Decisions([*others.projects, trusted], others.refused))

    def refuse(self, project: Path) -> None:
        """Refuse trust to a project, and never ask about it.

        Raises:
            ConfigError: the decisions cannot be read, are invalid, or cannot be written.
        """
        refused = Refused(str(project), project.stat().st_ino, _today())
        with changing(self.path):
            others = self.decisions().without(project)
            self._write(Decisions(others.projects, [*others.refused, refused]))

    def revoke(self, project: Path) -> bool:
        """Remove the decision on a project, and ask about it again; whether there was one.

        Raises:
            ConfigError: the decisions cannot be read, are invalid, or cannot be written.
        """
        with changing(self.path):
            before = self.decisions()
            left = before.without(project)
            if left == Decisions(list(before.projects), list(before.refused)):
                return False
            self._write(left)
            return True

    def decisions(self) -> Decisions:
        """All decisions, including those on other projects.

        Raises:
            ConfigError: the file cannot be read, or is invalid.
        """
        text = toml_reader.read_text(self.path)
        table = toml_reader.parse(self.path, text)
        projects = self._entries(text, table, "projects", Trusted)
        refused = self._entries(text, table, "refused", Refused)
        if table:
            raise ConfigError(f'{self.path}: unknown key "{next(iter(table))}".', _MEND)
        return Decisions(
            [msgspec.convert(entry, Trusted) for entry in projects],
            [msgspec.convert(entry, Refused) for entry in refused],
        )

    def _entries(self, text: str, table: dict[str, Any], key: str, kind: type[msgspec.Struct]) -> list[Any]:
        """Remove the tables under a key from `table`; each is valid as a `kind`."""
        found: Any = table.pop(key, [])
        if not isinstance(found, list):
            raise ConfigError(f'{self.path}: "{key}" must be a list of tables.', _MEND)
        entries = cast("list[Any]", found)
        for index, entry in enumerate(entries):
            if problem := problem_of(entry, kind):
                place = toml_reader.place(self.path, toml_reader.line_of(text, (key,), index))
                raise ConfigError(f"{place}: {key}, entry {index + 1}: {problem}.", _MEND)
        return entries

    def _known(self, project: Path) -> Trusted | None:
        inode = project.stat().st_ino
        projects = self.decisions().projects
        return next((one for one in projects if (one.path, one.inode) == (str(project), inode)), None)

    def _is_refused(self, project: Path) -> bool:
        try:
            refused = self.decisions().refused
            inode = project.stat().st_ino
        except (ConfigError, OSError):
            return False
        return any((one.path, one.inode) == (str(project), inode) for one in refused)

    def _write(self, decisions: Decisions) -> None:
        table: dict[str, Any] = {key: value for key, value in msgspec.to_builtins(decisions).items() if value}
        write_table(self.path, _HEADING, table)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _digests(files: Mapping[str, bytes], programs: Programs) -> dict[str, str]:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return digests | {name: program.digest for name, program in programs.files.items()}


def _digest(digests: Mapping[str, str]) -> str:
    """One digest for all; empty if there are none."""
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest() if digests else ""
