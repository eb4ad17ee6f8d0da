"""Skills of the user and of a trusted project: which there are, which of them count, and their files.

Places: `skills/` in the configuration folder and in a project's `.cogency/`, `.agents/skills` and
`.claude/skills` in both home and project. Of several with one name the user's counts before the project's,
as with agents and workflows, and the earlier place before the later one.

Invariant: of a project only what is trusted is parsed, and a file of it is given out only if its bytes are
the trusted ones. Nothing outside a skill's directory is given out. What a skill says permits nothing. The
calls block.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path

import msgspec

from cogency_tui.agent.project.custom_files import CustomCommand
from cogency_tui.agent.project.skill_file import LONGEST_DESCRIPTION, SkillFile, read_skill_file
from cogency_tui.agent.project.skill_folders import (
    LARGEST_FILE,
    LARGEST_SKILL_FILE,
    LEFT_OUT,
    MOST_SKILLS,
    SkillFolder,
)
from cogency_tui.agent.project.skill_places import SKILL_FILE, home, own_places
from cogency_tui.agent.project.trust import Trust, TrustState
from cogency_tui.errors import WorkspaceError
from cogency_tui.safe_text import one_line
from cogency_tui.workspace.nofollow_access import Directory, refusals
from cogency_tui.workspace.protected_names import short_path, shown

_MOST_DIRECTORIES = 2_000
_DEEPEST = 3
_MOST_FILES = 500
"""Files of the user's own skill that are listed."""

_CATALOG = 10_000
"""Characters of all descriptions in the prompt, as far as they are cut for it."""

_LENGTHS = (LONGEST_DESCRIPTION, 700, 500, 350, 250, 180, 120, 80)
_SHORTEST = 40
"""Characters to which each is cut, so that all have room."""

_SUMMARY = 70
"""Characters of a description beside the command that starts the skill."""

_COMMAND = re.compile(r"[a-z][a-z0-9-]*")

_HEAD = """\
Skills

Each has instructions for one kind of task. When a task fits one, call skill with its name first, then follow
them as far as the rules above and the user allow. Descriptions are the skills' own words:
"""


class SkillState(Enum):
    """Whether a skill counts, and why not."""

    ACTIVE = "in use"
    SHADOWED = "shadowed"
    UNTRUSTED = "not trusted"
    CHANGED = "changed since it was trusted"
    REFUSED = "not trusted, never asked"
    INVALID = "invalid"
    LINK = "link"


class Skill(msgspec.Struct, frozen=True):
    """A skill that can be used; `place` is its directory: in the project from its root, otherwise in full.
    `root` is where it is opened from, resolved, and `digests` are those of a project's files.
    """

    file: SkillFile
    place: str
    root: str
    own: bool
    digests: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """Its name."""
        return self.file.name

    def instructions(self) -> str:
        """The text of its `SKILL.md`, as it is now, without the front matter.

        Raises:
            WorkspaceError: it cannot be read or used, or has changed since it was trusted.
        """
        try:
            return read_skill_file(self.read(SKILL_FILE), Path(self.place).name).text
        except ValueError as exc:
            raise WorkspaceError(f"The skill {self.name} cannot be used: {exc}.") from exc

    def files(self) -> Sequence[str]:
        """The names of its other files, below its directory; of the user's own some at most."""
        names = self.digests if not self.own else sorted(_files_below(Path(self.root)))
        return [name for name in names if name != SKILL_FILE]

    def read(self, file: str) -> bytes:
        """A file of it.

        Raises:
            WorkspaceError: it does not exist, cannot be read, or has changed since it was trusted.
        """
        limit = LARGEST_SKILL_FILE if file == SKILL_FILE else LARGEST_FILE
        if self.own:
            return self._read_own(file, limit)
        name = self._below(file)
        if name not in self.digests:
            raise self._missing(file)
        *folders, last = name.split("/")
        with (
            refusals(f"{self.place}/{name}"),
            Directory.open(Path(self.root), (*self.place.split("/"), *folders)) as directory,
        ):
            data = directory.read(last, limit)
        if hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise WorkspaceError(
                f"{shown(self.place)}/{shown(name)} has changed since it was trusted.",
                "The user has to review the skill (/trust).",
            )
        return data

    def _read_own(self, file: str, limit: int) -> bytes:
        try:
            path = Path(os.path.realpath(Path(self.root) / file))
        except (OSError, ValueError) as exc:
            raise self._missing(file) from exc
        # A `SKILL.md` may itself be a link to one elsewhere, as dotfile managers make them.
        linked = file == SKILL_FILE and path.name == SKILL_FILE
        if not (self.holds(path) or linked):
            raise self._missing(file)
        with refusals(str(path)), Directory.open(path.parent) as directory:
            return directory.read(path.name, limit)

    def _below(self, file: str) -> str:
        """The name of a project's file below the skill, also of a path from the project or a full one."""
        name = os.path.normpath(file).removeprefix(f"{self.root}/")
        return name if name in self.digests else name.removeprefix(f"{self.place}/")

    def spelled(self, file: str) -> str:
        """The name of a file as it is: skills often name theirs in another case."""
        folded = os.path.normpath(file).casefold()
        names = [name for name in self.files() if name.casefold() == folded]
        return names[0] if len(names) == 1 else file

    def _missing(self, file: str) -> WorkspaceError:
        return WorkspaceError(f"The skill {self.name} has no file {shown(file[:200])}.")

    def holds(self, path: Path) -> bool:
        """Return whether a resolved path is a file or directory of the user's own skill. Hidden ones are
        none: the directory may be a whole repository.
        """
        if not self.own or not path.is_relative_to(self.root):
            return False
        return not any(_is_left_out(part) for part in path.relative_to(self.root).parts)


class ListedSkill(msgspec.Struct, frozen=True):
    """A skill for the user, whether it counts or not. `place` is as the user writes it; `problem` is why it
    does not count, beyond its state. `skill` is None where it was not parsed.
    """

    name: str
    state: SkillState
    own: bool
    place: str
    problem: str = ""
    skill: Skill | None = None

    @property
    def description(self) -> str:
        """Its description, empty where it was not parsed."""
        return self.skill.file.description if self.skill is not None else ""


class SkillFinder:
    """Finds the skills of a user with the configuration `folder` and of a `project` (resolved)."""

    def __init__(self, folder: Path, project: Path, trust: Trust) -> None:
        self._folder = folder
        self._project = project
        self._trust = trust
        self._parsed: dict[tuple[str, str], SkillFile] = {}
        """By the digest of the file and the name of its directory."""

    def find(self) -> tuple[ListedSkill, ...]:
        """All skills: the user's, then the project's, each place by name."""
        found: list[ListedSkill] = []
        active: set[str] = set()
        for listed in (*self._own(), *self._projects()):
            if listed.state is SkillState.ACTIVE:
                if listed.name in active:
                    first = next(each for each in found if each.name == listed.name)
                    problem = f"{first.place} has the same name"
                    found.append(msgspec.structs.replace(listed, state=SkillState.SHADOWED, problem=problem))
                    continue
                active.add(listed.name)
            found.append(listed)
        return tuple(found)

    def _own(self) -> Iterator[ListedSkill]:
        places = own_places(self._folder)
        # A link to a directory around a place would find it again.
        real = [Path(os.path.realpath(place)) for place in places]
        seen = {directory for place in real for directory in (place, *place.parents)}
        budget = iter(range(_MOST_DIRECTORIES))
        count = 0
        for place in places:
            for path in _own_folders(place, seen, budget, 1):
                count += 1
                if count > MOST_SKILLS:
                    problem = f"there are more than {MOST_SKILLS} skills; the rest is not used"
                    yield ListedSkill(path.name, SkillState.INVALID, True, short_path(path), problem)
                    return
                yield self._own_skill(path)

    def _own_skill(self, path: Path) -> ListedSkill:
        root = os.path.realpath(path)
        if (place := home()) is not None and place.is_relative_to(root):
            problem = "its directory is, or contains, your home directory"
            return ListedSkill(one_line(path.name), SkillState.INVALID, True, short_path(path), problem)
        # Read through the same checks as later; the empty file has only the name for messages.
        unread = Skill(SkillFile(one_line(path.name), "", ""), str(path), root, own=True)
        return self._listed(unread, path.name, short_path(path))

    def _projects(self) -> Iterator[ListedSkill]:
        for folder, state in self._trust.skills(self._project):
            name = folder.path.rpartition("/")[2]
            listed = _unparsed(folder, name, state)
            if listed is not None:
                yield listed
                continue
            unread = Skill(
                SkillFile(one_line(name), "", ""), folder.path, str(self._project), False, folder.digests
            )
            yield self._listed(unread, name, folder.path)

    def _listed(self, unread: Skill, name: str, place: str) -> ListedSkill:
        try:
            file = self._parse(unread.read(SKILL_FILE), name)
        except WorkspaceError as exc:
            problem = str(exc).rstrip(".")
            return ListedSkill(one_line(name), SkillState.INVALID, unread.own, place, problem)
        except (ValueError, RecursionError) as exc:
            return ListedSkill(one_line(name), SkillState.INVALID, unread.own, place, str(exc))
        skill = msgspec.structs.replace(unread, file=file)
        return ListedSkill(file.name, SkillState.ACTIVE, unread.own, place, "", skill)

    def _parse(self, data: bytes, folder: str) -> SkillFile:
        key = (hashlib.sha256(data).hexdigest(), folder)
        if key not in self._parsed:
            # The text is read again when it is used.
            self._parsed[key] = msgspec.structs.replace(read_skill_file(data, folder), text="")
        return self._parsed[key]


_UNUSABLE = {
    SkillState.CHANGED: "changed since it was trusted",
    SkillState.UNTRUSTED: "is not trusted",
    SkillState.REFUSED: "is not trusted",
    SkillState.INVALID: "cannot be used",
}


def describe_unusable(name: str, listed: Sequence[ListedSkill]) -> str:
    """Why there is no command for a skill of this name, without a full stop; empty if there is no skill."""
    found = next((each for each in listed if each.name == name and each.state in _UNUSABLE), None)
    if found is None:
        return ""
    reason = f": {found.problem}" if found.problem else ""
    return f"The skill {name} {_UNUSABLE[found.state]}{reason}"


def active_skills(listed: Sequence[ListedSkill]) -> dict[str, Skill]:
    """The skills that count, by name."""
    return {
        each.name: each.skill for each in listed if each.state is SkillState.ACTIVE and each.skill is not None
    }


def request_for(name: str) -> str:
    """The message that asks the model to use a skill."""
    return f"Use the skill {name}."


def lead_of_request(name: str) -> str:
    """The beginning of such a message with arguments, which follow it."""
    return f"Use the skill {name}: "


def requested_arguments(name: str, message: str) -> str | None:
    """The arguments with which a message of the user's asks for a skill; None if it does not."""
    message = f"{message} "
    for beginning in (lead_of_request(name), f"{request_for(name)} ", f"{request_for(name)}\n"):
        if message.startswith(beginning):
            return message[len(beginning) :].strip()
    return None


def skill_commands(skills: Mapping[str, Skill]) -> dict[str, CustomCommand]:
    """The skills as slash commands: each sends a message that names the skill."""
    return {
        name: CustomCommand(
            name,
            request_for(name),
            _cut(skill.file.description, _SUMMARY),
            "[TEXT]",
            group="Skills",
            lead=lead_of_request(name),
        )
        for name, skill in skills.items()
        if skill.file.invocable and _COMMAND.fullmatch(name)
    }


def describe_skills(skills: Mapping[str, Skill]) -> str:
    """Names and descriptions for the system prompt, the same bytes for the same skills; empty without any.

    A description is one line of JSON: nothing in it can pass for its end or for another line.
    """
    shown_ones = [skill for _name, skill in sorted(skills.items()) if not skill.file.hidden]
    if not shown_ones:
        return ""
    longest = _longest([len(skill.file.description) for skill in shown_ones])
    lines = [
        f"- {skill.name} (the {'user' if skill.own else 'project'}'s): "
        + json.dumps(_cut(skill.file.description, longest), ensure_ascii=False)
        for skill in shown_ones
    ]
    return _HEAD + "\n" + "\n".join(lines)


def _longest(lengths: Sequence[int]) -> int:
    """The number of characters to which descriptions are cut, so that all have room."""
    for longest in _LENGTHS:
        if sum(min(length, longest) for length in lengths) <= _CATALOG:
            return longest
    return _SHORTEST


def _cut(text: str, length: int) -> str:
    """Cut a text at a word."""
    if len(text) <= length:
        return text
    return f"{text[:length].rsplit(' ', 1)[0]} …"


def _unparsed(folder: SkillFolder, name: str, state: TrustState) -> ListedSkill | None:
    """A skill of a project that does not count; None for one that does."""
    if folder.link:
        return ListedSkill(one_line(name), SkillState.LINK, False, folder.path, f"link to {folder.link}")
    states = {
        TrustState.TRUSTED: SkillState.ACTIVE,
        TrustState.CHANGED: SkillState.CHANGED,
        TrustState.REFUSED: SkillState.REFUSED,
    }
    found = SkillState.INVALID if folder.problem else states.get(state, SkillState.UNTRUSTED)
    if found is SkillState.ACTIVE:
        return None
    return ListedSkill(one_line(name), found, False, folder.path, folder.problem)


def _own_folders(place: Path, seen: set[Path], budget: Iterator[int], depth: int) -> Iterator[Path]:
    """The directories with a `SKILL.md`, each once; links are followed, for the user made them."""
    try:
        paths = sorted(place.iterdir())
    except OSError:
        return
    for path in paths:
        if path.name in LEFT_OUT or not path.is_dir() or next(budget, None) is None:
            continue
        real = Path(os.path.realpath(path))
        if real in seen:
            continue
        seen.add(real)
        if os.path.lexists(path / SKILL_FILE):
            yield path
        elif depth < _DEEPEST:
            yield from _own_folders(path, seen, budget, depth + 1)


def _files_below(root: Path) -> Iterator[str]:
    found = 0
    for directory, folders, names in islice(os.walk(root), _MOST_DIRECTORIES):
        folders[:] = sorted(name for name in folders if not _is_left_out(name))
        for name in sorted(names):
            if not _is_left_out(name):
                found += 1
                if found > _MOST_FILES:
                    return
                yield (Path(directory) / name).relative_to(root).as_posix()


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name in LEFT_OUT
