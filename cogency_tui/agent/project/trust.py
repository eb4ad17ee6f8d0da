"""The user's decisions to trust projects, and the surveys of what projects bring.

A project brings parts: its `.cogency/` folder, skills (`skill_folders`), and settings files of Claude Code
that have hooks. One decision covers all of them as they are; later each counts for itself: a part of which
a file changes, appears or disappears is inactive until the user reviews it, the others stay active.

Invariant: the files of a part that is not trusted are listed and hashed, and used for nothing else but
to determine which files its MCP servers and hooks are started from, and to show their commands before the
user decides (`planned_commands`). Trust is for a directory by its resolved path and
inode, and for the bytes of its files and those programs at that time; the bytes that are loaded are the very
bytes that were compared. A refusal is for the directory, whatever its contents. The calls block.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from cogency_tui.agent.project.cogency_folder import (
    FOLDER,
    SKILLS,
    FolderEntry,
    entry_of,
    list_files,
    read_files,
)
from cogency_tui.agent.project.file_digests import FileDigests, identity_of, is_settled
from cogency_tui.agent.project.skill_places import home, may_be_in
from cogency_tui.agent.project.started_programs import ABOVE, programs_of, programs_of_hooks
from cogency_tui.agent.project.surveyed_files import SurveyedFiles
from cogency_tui.config import toml_reader
from cogency_tui.config.edit import changing, write_table
from cogency_tui.config.workflows import problem_of
from cogency_tui.errors import ConfigError, UsageError, WorkspaceError, in_words
from cogency_tui.safe_text import one_line
from cogency_tui.workspace.nofollow_access import Directory

if TYPE_CHECKING:
    from cogency_tui.agent.project.skill_folders import SkillFolder

FILE_NAME = "trusted.toml"

SETTINGS_FILES = ("../.claude/settings.json", "../.claude/settings.local.json")
"""Settings of Claude Code, by their names in a survey."""

_HOOKS = b'"hooks"'
"""Without these bytes a settings file has no hooks, and needs no trust."""

_STARTS = " starts "
"""What is between the name of a settings file and that of a program of its hooks."""

NOT_COMPARED = "Not compared: data files that scripts read, and code that they load from elsewhere."

_LARGEST_SETTINGS = 256 << 10
_MOST_NAMED = 3

PartKind: TypeAlias = Literal["folder", "skill", "settings"]

_HEADING = """\
Projects whose .cogency/ files, skills and hooks may be used, and those never to ask about.
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
class Part:
    """What counts by itself: `.cogency/`, a skill's folder, or a settings file; `path` is from the project.

    Names of entries are relative to `.cogency/`. In `.cogency/` those that begin with `../` are the programs
    of its MCP servers and hooks, and the sources beside them; so are all but the first of a settings file.
    `changed` are the files that differ from the trusted ones, missing ones included; `problem` is why it
    cannot be used; `contents` are the bytes of its files, except for those of a skill.
    """

    path: str
    kind: PartKind
    state: TrustState
    entries: tuple[FolderEntry, ...] = ()
    changed: tuple[str, ...] = ()
    problem: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    digests: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Those of its files."""

    @property
    def label(self) -> str:
        """Its last name, for display."""
        return one_line(self.path.rpartition("/")[2])[:64]

    @property
    def is_inactive(self) -> bool:
        """True if a decision of the user would activate it."""
        return not self.problem and self.state in (TrustState.UNKNOWN, TrustState.CHANGED)


@dataclass(frozen=True, slots=True)
class Survey:
    """What a project brings, and the decision on it.

    `problem` is why its `.cogency/` cannot be used, or the decisions cannot be read. `digest` covers all
    files that can be trusted; empty if there are none. `unknown` are commands for which it cannot be
    determined what they start of the project.
    """

    state: TrustState
    parts: tuple[Part, ...] = ()
    problem: str = ""
    digest: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[FolderEntry, ...]:
        """All files."""
        return tuple(entry for part in self.parts for entry in part.entries)

    @property
    def files(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(entry.name for entry in self.entries)

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of all files that differ from the trusted ones."""
        return tuple(name for part in self.parts for name in part.changed)

    @property
    def has_scripts(self) -> bool:
        """True if MCP servers and hooks are started from files of the project."""
        names = (entry.name for part in self.parts if part.kind != "skill" for entry in part.entries)
        return any(name.startswith(ABOVE) and name not in SETTINGS_FILES for name in names)

    @property
    def inactive(self) -> tuple[Part, ...]:
        """The parts that a decision of the user would activate."""
        return tuple(part for part in self.parts if part.is_inactive)

    @property
    def kinds(self) -> list[PartKind]:
        """The kinds of the parts that a decision concerns."""
        parts = self.inactive or [part for part in self.parts if not part.problem]
        return list(dict.fromkeys([part.kind for part in parts]))


def describe_inactive(survey: Survey) -> str:
    """Describe the parts that are inactive until the user decides, and why; empty if there are none."""
    new = [part for part in survey.inactive if part.state is TrustState.UNKNOWN]
    changed = [part for part in survey.inactive if part.state is TrustState.CHANGED]
    sentences: list[str] = []
    if new:
        names = name_parts(new, folder=f"a {FOLDER}/ folder", skill="the skill")
        sentences.append(f"This project has {names}, inactive until you trust {_them(new)}.")
    if changed:
        them = _them(changed)
        have = "has" if them == "it" else "have"
        names = name_parts(changed)
        sentences.append(f"This project's {names} {have} changed; inactive until you trust {them} again.")
    return " ".join(sentences)


def name_parts(parts: Sequence[Part], folder: str = f"{FOLDER}/", skill: str = "skill") -> str:
    """Name parts in a few words: `.cogency/, 2 skills and hooks`."""
    names = [folder] if any(part.kind == "folder" for part in parts) else []
    skills = [part for part in parts if part.kind == "skill"]
    if skills:
        names.append(f"{len(skills)} skills" if len(skills) > 1 else f"{skill} {skills[0].label}")
    if any(part.kind == "settings" for part in parts):
        names.append("hooks")
    return in_words(names)


def _them(parts: Sequence[Part]) -> str:
    return "it" if len(parts) == 1 and parts[0].kind != "settings" else "them"


class Trusted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One trusted project, with the SHA-256 of each file of `.cogency/`, of the skills and of the settings
    files; `added` is the day, in UTC.
    """

    path: str
    inode: int
    files: dict[str, str]
    added: str = ""
    skills: dict[str, str] = {}
    settings: dict[str, str] = {}
    declined: dict[str, str] = {}
    """Parts that the user has left off since, each with a digest of its files: others of them are asked
    about."""

    def of(self, kind: PartKind, name: str) -> dict[str, str]:
        """The files of a part; `name` is what a survey calls it."""
        if kind == "folder":
            # Earlier versions counted its skills among them.
            return {file: digest for file, digest in self.files.items() if not file.startswith(f"{SKILLS}/")}
        if kind == "skill":
            return {file: digest for file, digest in self.skills.items() if file.startswith(f"{name}/")}
        programs = f"{name}{_STARTS}"
        return {
            file: digest
            for file, digest in self.settings.items()
            if file == name or file.startswith(programs)
        }

    @property
    def all_files(self) -> list[str]:
        """The names of all files."""
        settings = {file.rpartition(_STARTS)[2] for file in self.settings}
        return sorted({*self.files, *self.skills, *settings})


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
    """The user's decisions, in the file at `path`. A worktree of the project `main` without one of its own
    has that of the project, as far as its files are the same."""

    def __init__(self, path: Path, main: Path | None = None) -> None:
        self.path = path
        self._main = main
        self._file_digests = FileDigests()
        self._read: tuple[tuple[int, ...], Decisions] | None = None
        """The decisions, and the identity of the file that they were read from."""

    def survey(self, project: Path) -> Survey:
        """The current state of a project (resolved)."""
        found = self._find(project)
        if not found:
            return Survey(TrustState.NOTHING)
        problem = next((part.problem for part in found if part.kind == "folder"), "")
        unknown = tuple(dict.fromkeys(command for part in found for command in part.unknown))
        digest = _digest(found)
        known: Trusted | None = None
        try:
            known = self._known(project)
        except ConfigError as exc:
            problem, digest = exc.advice, ""
        refused = known is None and self._is_refused(project)
        parts = tuple(_compared(part, known, is_refused=refused) for part in found)
        state = _overall(parts, known, is_refused=refused, has_problem=bool(problem))
        return Survey(state, parts, problem, digest, unknown)

    def contents(self, project: Path) -> Mapping[str, bytes]:
        """The current files of `.cogency/` and the settings files that are trusted, by the names that a
        survey gives them.
        """
        surveyed = SurveyedFiles(project, self._file_digests)
        found = [*self._find_folder(project, surveyed), *_find_settings(project, surveyed)]
        known = self._known_safely(project) if found else None
        contents: dict[str, bytes] = {}
        for part in found:
            if part.is_trusted_by(known):
                contents |= part.contents
        return contents

    def skills(self, project: Path) -> "list[tuple[SkillFolder, TrustState]]":
        """The skill folders of a project, each with its own state of trust; links have none."""
        folders = self._skill_folders(project)
        known = self._known_safely(project) if folders else None
        refused = bool(folders) and known is None and self._is_refused(project)
        return [(folder, _state_of_skill(folder, known, is_refused=refused)) for folder in folders]

    def _skill_folders(self, project: Path) -> "list[SkillFolder]":
        if not may_be_in(project):
            return []
        from cogency_tui.agent.project.skill_folders import find_skill_folders

        return find_skill_folders(project, self._file_digests)

    def trust(self, project: Path, seen: Survey) -> None:
        """Trust a project as it is now, if that is what was `seen`.

        Raises:
            ConfigError: the decisions cannot be read, are invalid, or cannot be written.
            UsageError: a file has changed since, and needs another review.
            WorkspaceError: none of its contents can be used.
        """
        found = self._find(project)
        usable = [part for part in found if not part.problem]
        if found and not usable:
            raise WorkspaceError(found[0].problem)
        if _digest(found) != seen.digest:
            raise _changed(found, seen)
        files: dict[PartKind, dict[str, str]] = {"folder": {}, "skill": {}, "settings": {}}
        for part in usable:
            files[part.kind] |= part.digests
        trusted = Trusted(
            str(project),
            project.stat().st_ino,
            files["folder"],
            _today(),
            files["skill"],
            files["settings"],
        )
        with changing(self.path):
            others = self.decisions().without(project)
            self._write(Decisions([*others.projects, trusted], others.refused))

    def decline(self, project: Path, seen: Survey) -> None:
        """Leave the inactive parts off as they were `seen`, and do not ask about these contents again; the
        trusted ones stay trusted. Nothing of a project without any is trusted or asked about again.

        Raises:
            ConfigError: the decisions cannot be read, are invalid, or cannot be written.
            UsageError: a file has changed since, and needs another review.
        """
        known = self._known(project)
        if known is None:
            self.refuse(project)
            return
        found = self._find(project)
        if _digest(found) != seen.digest:
            raise _changed(found, seen)
        inactive = {part.path for part in seen.inactive}
        declined = {part.name: _digest([part]) for part in found if part.path in inactive}
        kept = msgspec.structs.replace(
            known, path=str(project), inode=project.stat().st_ino, declined={**known.declined, **declined}
        )
        with changing(self.path):
            others = self.decisions().without(project)
            self._write(Decisions([*others.projects, kept], others.refused))

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

    def _find(self, project: Path) -> "list[_Found]":
        folders = self._skill_folders(project)
        surveyed = SurveyedFiles(project, self._file_digests)
        return [
            *self._find_folder(project, surveyed),
            *(_skill_part(folder) for folder in folders if not folder.link),
            *_find_settings(project, surveyed),
        ]

    @staticmethod
    def _find_folder(project: Path, surveyed: SurveyedFiles) -> "Iterator[_Found]":
        """The `.cogency/` folder, if there is one with files."""
        try:
            contents = read_files(project)
        except WorkspaceError as exc:
            yield _Found(FOLDER, FOLDER, "folder", list_files(project), problem=exc.advice)
            return
        if not contents:
            return
        programs = programs_of(project, contents, surveyed)
        entries = [FolderEntry(name, len(data)) for name, data in contents.items()]
        entries += [FolderEntry(name, file.size, file.kind) for name, file in programs.files.items()]
        digests = {name: _hash(data) for name, data in contents.items()}
        digests |= {name: program.digest for name, program in programs.files.items()}
        yield _Found(
            FOLDER,
            FOLDER,
            "folder",
            tuple(entries),
            digests,
            contents,
            programs.problem,
            programs.unknown,
        )

    def _current(self) -> Decisions:
        """The decisions, which are not parsed again while the file is the same: they are needed at each turn,
        and skills may have many files.
        """
        try:
            identity = identity_of(self.path.stat())
        except OSError:
            return self.decisions()
        if self._read is None or self._read[0] != identity:
            decisions = self.decisions()
            self._read = (identity, decisions) if is_settled(identity) else None
            return decisions
        return self._read[1]

    def _known_safely(self, project: Path) -> Trusted | None:
        try:
            return self._known(project)
        except ConfigError:
            return None

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
        projects = self._current().projects
        for place in self._places(project):
            key = (str(place), place.stat().st_ino)
            if found := next((one for one in projects if (one.path, one.inode) == key), None):
                return found
        return None

    def _places(self, project: Path) -> list[Path]:
        """The project, and the main one whose decision counts for it."""
        return [project] if self._main is None or self._main == project else [project, self._main]

    def _is_refused(self, project: Path) -> bool:
        try:
            refused = self._current().refused
            places = {(str(each), each.stat().st_ino) for each in self._places(project)}
        except (ConfigError, OSError):
            return False
        return any((one.path, one.inode) in places for one in refused)

    def _write(self, decisions: Decisions) -> None:
        table: dict[str, Any] = {key: value for key, value in msgspec.to_builtins(decisions).items() if value}
        write_table(self.path, _HEADING, table)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class _Found:
    """A part of a project as it is now; `name` is what a survey calls it."""

    name: str
    path: str
    kind: PartKind
    entries: tuple[FolderEntry, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    problem: str = ""
    unknown: tuple[str, ...] = ()

    def is_trusted_by(self, known: Trusted | None) -> bool:
        """Return whether its files are those that were trusted."""
        return known is not None and not self.problem and known.of(self.kind, self.name) == self.digests


def _skill_part(folder: "SkillFolder") -> _Found:
    # Names are relative to `.cogency/`.
    inside = folder.path.startswith(f"{FOLDER}/")
    name = folder.path.removeprefix(f"{FOLDER}/") if inside else f"{ABOVE}{folder.path}"
    entries = tuple(FolderEntry(f"{name}/{each.name}", each.size, each.kind) for each in folder.entries)
    digests = {f"{name}/{file}": digest for file, digest in folder.digests.items()}
    return _Found(name, folder.path, "skill", entries, digests, problem=folder.problem)


def _state_of_skill(folder: "SkillFolder", known: Trusted | None, *, is_refused: bool) -> TrustState:
    if folder.link:
        return TrustState.NOTHING
    return _compared(_skill_part(folder), known, is_refused=is_refused).state


def _find_settings(project: Path, surveyed: SurveyedFiles) -> Iterator[_Found]:
    """The settings files with hooks. In a home directory they are the user's own."""
    if project == home():
        return
    for name in SETTINGS_FILES:
        path = name.removeprefix(ABOVE)
        folder, file = path.split("/")
        try:
            with Directory.open(project, (folder,)) as directory:
                data = directory.read(file, _LARGEST_SETTINGS)
        except FileNotFoundError:
            continue
        except WorkspaceError as exc:
            yield _Found(name, path, "settings", (_unusable(project, name),), problem=exc.advice)
            continue
        except OSError:
            # A link, or a directory that cannot be entered: there are no settings that could count.
            continue
        if _HOOKS in data:
            yield _settings_part(name, data, surveyed)


def _unusable(project: Path, name: str) -> FolderEntry:
    """The entry of a settings file that cannot be read."""
    folder, file = name.removeprefix(ABOVE).split("/")
    with suppress(OSError), Directory.open(project, (folder,)) as directory:
        entry = entry_of(name, directory.status(file))
        return replace(entry, kind=entry.kind or "unusable")
    return FolderEntry(name, kind="unusable")


def _settings_part(name: str, data: bytes, surveyed: SurveyedFiles) -> "_Found":
    # Loaded where there are such settings.
    from cogency_tui.agent.hooks.claude_settings import command_lines

    lines = command_lines(data)
    idle = {*lines} - {*command_lines(data, running=True)}
    programs = programs_of_hooks(surveyed.project, lines, surveyed, idle)
    entries = [FolderEntry(name, len(data))]
    entries += [FolderEntry(file, program.size, program.kind) for file, program in programs.files.items()]
    digests = {name: _hash(data)}
    digests |= {f"{name}{_STARTS}{file}": program.digest for file, program in programs.files.items()}
    path = name.removeprefix(ABOVE)
    contents = {name: data}
    return _Found(
        name, path, "settings", tuple(entries), digests, contents, programs.problem, programs.unknown
    )


def _compared(part: _Found, known: Trusted | None, *, is_refused: bool) -> Part:
    """A part with its own state of trust."""
    state, changed = TrustState.REFUSED if is_refused else TrustState.UNKNOWN, ()
    if known is not None and not part.problem:
        trusted = known.of(part.kind, part.name)
        names = dict.fromkeys((*trusted, *part.digests))
        changed = tuple(
            name.removeprefix(f"{part.name}{_STARTS}")
            for name in names
            if trusted.get(name) != part.digests.get(name)
        )
        if not changed:
            state = TrustState.TRUSTED
        elif part.name in known.declined and known.declined[part.name] == _digest([part]):
            state = TrustState.REFUSED
        elif trusted:
            state = TrustState.CHANGED
    return Part(part.path, part.kind, state, part.entries, changed, part.problem, part.contents, part.digests)


def _file_of(name: str) -> str:
    """The path from the project of a file that a survey calls this."""
    return name.removeprefix(ABOVE) if name.startswith(ABOVE) else f"{FOLDER}/{name}"


def _changed(found: Sequence[_Found], seen: Survey) -> UsageError:
    """The error that files have changed since they were `seen`."""
    before = {name: digest for part in seen.parts for name, digest in part.digests.items()}
    now = {name: digest for part in found for name, digest in part.digests.items()}
    differ = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    files = list(dict.fromkeys(_file_of(name.rpartition(_STARTS)[2]) for name in differ))
    # A directory of sources is one entry, named by a pattern.
    files = [file for file in files if not file.endswith("*")] or files
    names = in_words([*map(one_line, files)], _MOST_NAMED) or FOLDER
    return UsageError(f"{names} changed during the review.", "Review it again.")


def _overall(
    parts: Sequence[Part], known: Trusted | None, *, is_refused: bool, has_problem: bool
) -> TrustState:
    if is_refused:
        return TrustState.REFUSED
    if known is None or has_problem:
        return TrustState.UNKNOWN
    return TrustState.CHANGED if any(part.is_inactive for part in parts) else TrustState.TRUSTED


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest(found: Sequence[_Found]) -> str:
    """One digest for all that can be trusted; empty if there is nothing."""
    digests = sorted(item for part in found if not part.problem for item in part.digests.items())
    return _hash(repr(digests).encode()) if digests else ""
