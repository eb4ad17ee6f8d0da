"""Guarded files that a command changed though the user had not agreed to it: put back, unless the user keeps
them or they came with commits.

Invariant: what is put back was recorded first, as an edit that is then taken back, so that nothing is lost.
What git writes into the configuration of a repository in ordinary work is no change of a guarded file.
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cogency_tui.agent.brought import brought
from cogency_tui.agent.preview import difference
from cogency_tui.agent.selection import GUARD, taken_back
from cogency_tui.agent.undo import Undo
from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.versions import Edit, FileChange, Version
from cogency_tui.tools.blocking import completed, in_thread
from cogency_tui.tools.git_facts import Repository
from cogency_tui.tools.journaling import Consent, Keeps
from cogency_tui.workspace import guarded
from cogency_tui.workspace.held_directories import Returned
from cogency_tui.workspace.names import in_repository, is_guarded_name, shown
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.journal import Journal

_CURE = (
    "A command changes such files only where the user agrees. Use edit or write for them, which ask first."
)
_CURE_OF_MOVES = "A command moves it only where it names it, and the user agrees."
_LOST = "the repository that it belongs to is not at its place"
_UNASKED = (
    "Nobody can be asked here: leave such files as they are, and say in the answer what should be changed in "
    "them."
)
_ELSEWHERE = "programs start with it"
_LONGEST_CONFIGURATION = 1 << 20
_LONGEST_POINTER = 4096
_POINTER = "gitdir: "
_LINKED = ("worktrees", "modules")
_CONFIGURATIONS = frozenset(("config", "config.worktree"))
_OF_BARE = _CONFIGURATIONS | {"HEAD", "commondir"}

_ADDRESS = re.compile(r"(?!-)(?![\w.+-]*::)(?:(?:https?|ssh|git|file|git\+ssh|ssh\+git)://|(?!\S*://))[^\n]*")
"""An address that git reaches without a program that it would look for by the address."""

_REMOTE = re.compile(r"(?!file:)[^/\n]+:[^\n]*|[\w.-]*")
"""One on another machine, or the name of a remote: what it brings was not made by a program here."""

_TO_ADDRESS = re.compile(r"branch\..+\.(?:remote|pushremote)|remote\..+\.(?:url|pushurl)|submodule\..+\.url")
"""Keys whose values are such addresses."""

_ORDINARY = re.compile(
    r"""
    branch\..+\.(?:merge|rebase|description|gh-merge-base|vscode-merge-base|github-pr-owner-number)
    |remote\..+\.(?:fetch|push|mirror|tagopt|prune|promisor|partialclonefilter|skipdefaultupdate)
    |submodule\.(?:.+\.)?active
    |user\.(?:name|email)
    |core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks
        |autocrlf|eol|safecrlf|sparsecheckout|sparsecheckoutcone|abbrev|quotepath|whitespace|commentchar)
    |extensions\.(?:worktreeconfig|objectformat|partialclone|refstorage|relativeworktrees)
    |(?:advice|color|column|status)\..+
    |branch\.(?:autosetupmerge|autosetuprebase|sort)
    |(?:checkout\.(?:defaultremote|guess)|commit\.(?:cleanup|status|verbose))
    |diff\.(?:algorithm|colormoved|colormovedws|context|indentheuristic|interhunkcontext|mnemonicprefix
        |noprefix|renamelimit|renames|statgraphwidth|submodule)
    |fetch\.(?:all|output|parallel|prune|prunetags|showforcedupdates|writecommitgraph)
    |(?:gc\.(?:auto|autopacklimit|autodetach)|grep\.(?:column|extendedregexp|linenumber|patterntype))
    |(?:help\.autocorrect|index\.version|init\.defaultbranch|lfs\.repositoryformatversion)
    |log\.(?:abbrevcommit|date|decorate|excludedecoration|follow|graphcolors|mailmap)
    |(?:maintenance\.(?:auto|strategy)|pull\.(?:rebase|ff)|rerere\.(?:autoupdate|enabled))
    |merge\.(?:autostash|conflictstyle|directoryrenames|ff|log|renamelimit|renames|stat|suppressdest)
    |push\.(?:autosetupremote|default|followtags|useforceifincludes)
    |rebase\.(?:abbreviatecommands|autosquash|autostash|forkpoint|missingcommitscheck|rebasemerges|stat
        |updaterefs)
    |(?:stash\.show\w+|tag\.sort|versionsort\.suffix|worktree\.guessremote)
    """,
    re.VERBOSE,
)
"""Keys that git and editors write in ordinary work, and that start nothing, whatever their values."""

_ALIAS = re.compile(r"alias\.[\w-]+")
_ALIASED = re.compile(
    r"""
    (?:add|blame|branch|checkout|commit|describe|diff|log|ls-files|rev-parse|shortlog|show|stash|status
        |switch|tag)
    (?:\ (?:-[a-zA-Z]{1,3}|--(?:abbrev-commit|all|amend|branch|cached|color|date|decorate|first-parent
        |format|graph|include-untracked|long|name-only|name-status|no-edit|no-merges|oneline|patch|pretty
        |reverse|short|show-current|sort|staged|stat|topo-order|verbose|word-diff)
        (?:=[\w%:,+./-]+)?|-\d+|HEAD[~^]?\d*|@\{\w+\}))*
    """,
    re.VERBOSE,
)
"""Values of aliases that start nothing but a command of git, with options that start nothing."""

_WORKTREE = "core.worktree\n"
_SUBMODULES = ".gitmodules"
_SUBMODULE_PATH = re.compile(r"submodule\.[^\n]+\.path\n(?!-)")


@dataclass(slots=True)
class Settled:
    """What became of changes of guarded files: `put_back` are their paths, `left` those that could not be,
    `notes` say so."""

    put_back: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])

    def and_then(self, later: "Settled") -> "Settled":
        """Both."""
        return Settled(self.put_back + later.put_back, self.notes + later.notes, self.left + later.left)


def without_ordinary(
    changes: Iterable[FileChange], watched: Collection[str], workspace: Workspace, blobs: Blobs
) -> list[FileChange]:
    """The changes without those that git makes in its own directory in ordinary work. Blocks."""
    return [each for each in changes if each.path not in watched or not _is_gits(each, workspace, blobs)]


def of_guarded(
    edits: Iterable[Edit], watched: Collection[str], workspace: Workspace, covers: Collection[Path] = ()
) -> list[Edit]:
    """The edits that a command may not make unasked; `watched` are guarded paths, `covers` the files and
    directories that the user was asked about. Blocks."""
    covered = {workspace.name_of(path) for path in covers}
    return [
        edit
        for edit in edits
        if any(_is_guarded(path, watched, workspace) and not _is_in(path, covered) for path in _paths(edit))
        and not _went_with_all(edit, workspace)
    ]


def settled_directories(returned: Returned, workspace: Workspace) -> Settled:
    """What became of directories of git that a command moved unasked."""
    settled = Settled()
    for place, now, problem in (*returned.put_back, *returned.left):
        name = shown(workspace.name_of(place))
        where = f"moved to {shown(workspace.name_of(now))}" if now else "removed"
        if problem:
            settled.left.append(name)
            settled.notes.append(
                f"[{name} was {where} without consent, and could not be put back: {problem}. None of its"
                " files was changed for that. Say so in the answer.]"
            )
        elif (place, now, problem) in returned.put_back:
            settled.put_back.append(name)
            settled.notes.append(
                f"[Put back as it was before the command: {name}, {where}. {_CURE_OF_MOVES}]"
            )
    return settled


async def refuse_all(_changed: Sequence[str], _diff: str) -> None:
    """Keeps nothing, and asks nobody."""


async def settle_guarded(
    journal: "Journal", conversation: str, edits: Sequence[Edit], consent: Consent
) -> Settled:
    """Put back what a command changed of guarded files, unless the user wants to keep it, or it came with
    commits that no command has made."""
    if consent.keeps is None or not edits:
        return Settled()
    came: list[Edit] = []
    if consent.brings:
        recorded = await (await journal.edits()).of_conversation(conversation)
        new = _never_accepted(edits, recorded)
        came = await in_thread(brought, edits, journal.workspace, new, journal.commits)
    edits = [edit for edit in edits if edit not in came]
    notes = [f"[Came with the commits: {', '.join(shown(edit.path) for edit in came)}]"] if came else []
    settled = await _settle(journal, conversation, edits, consent.keeps) if edits else Settled()
    settled.notes = [*notes, *settled.notes]
    return settled


def _never_accepted(edits: Sequence[Edit], recorded: Sequence[Edit]) -> list[Edit]:
    """The edits that gave files a content which they did not have before, or which was put back."""
    ids, undone = {edit.id for edit in edits}, taken_back(recorded)
    held = {
        (each.path, side.kind, side.digest)
        for each in recorded
        if each.id not in ids and each.id not in undone and each.tool != GUARD
        for side in (each.before, each.after)
        if side.known
    }
    return [edit for edit in edits if (edit.path, edit.after.kind, edit.after.digest) not in held]


async def _settle(journal: "Journal", conversation: str, edits: Sequence[Edit], keeps: Keeps) -> Settled:
    named = [f"{edit.kind} {shown(edit.path)}" for edit in edits]
    try:
        wanted = await keeps(named, await _differences(journal, edits))
    except BaseException:
        await completed(_put_back(journal, conversation, edits, _CURE))
        raise
    if wanted:
        return Settled(notes=[f"[The user was asked, and keeps this: {', '.join(named)}]"])
    cure = _UNASKED if wanted is None else _CURE
    return await completed(_put_back(journal, conversation, edits, cure))


async def _differences(journal: "Journal", edits: Sequence[Edit]) -> str:
    blobs = await journal.blobs()
    try:
        return await in_thread(lambda: "\n".join(difference(edit, blobs) for edit in edits))
    except StoreError as error:
        return str(error)


async def _put_back(journal: "Journal", conversation: str, edits: Sequence[Edit], cure: str) -> Settled:
    names = {edit.path: shown(edit.path) for edit in edits}
    settled = Settled()
    left = await in_thread(_of_lost_repositories, edits, journal.workspace)
    try:
        ids = {edit.id for edit in edits if edit.path not in left}
        obstacles = await Undo(journal, conversation).put_back(ids) if ids else ()
    except CogencyError as error:
        left |= dict.fromkeys(names, str(error))
    else:
        left |= {each.path: each.reason for each in obstacles}
    settled.put_back = [name for path, name in names.items() if path not in left]
    if settled.put_back:
        why = next((text for edit in edits if (text := guarded.reason(edit.path))), _ELSEWHERE)
        listed = ", ".join(settled.put_back)
        settled.notes.append(f"[Put back as it was before the command: {listed} ({why}). {cure}]")
    for path, reason in left.items():
        settled.left.append(shown(path))
        settled.notes.append(f"[Changed without consent, and could not be put back: {shown(path)}: {reason}]")
    return settled


def _of_lost_repositories(edits: Sequence[Edit], workspace: Workspace) -> dict[str, str]:
    """The paths that belong to a repository which is not at its place, with the reason why they stay: what is
    left of it would be of no use in pieces. Blocks."""
    gone = [edit.old_path or edit.path for edit in edits if edit.old_path or edit.after.kind == "absent"]
    places = {place for path in gone if (place := _git_place(path))}
    lost = {place for place in places if not guarded.is_repository(workspace.root / place)}
    if not lost:
        return {}

    def belongs(path: str) -> bool:
        above = Path(workspace.root, path).parents
        return _is_in(path, lost) or any(map(guarded.is_repository, above))

    return {edit.path: _LOST for edit in edits if any(map(belongs, _paths(edit)))}


def _git_place(path: str) -> str:
    """The `.git` that a path is in; empty where there is none."""
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(*parts[: parts.index(".git") + 1])) if ".git" in parts[:-1] else ""


def _paths(edit: Edit) -> list[str]:
    return [path for path in (edit.path, edit.old_path) if path]


def _is_guarded(path: str, watched: Collection[str], workspace: Workspace) -> bool:
    return path in watched or bool(guarded.reason(path)) or _is_of_bare(path, workspace)


def _is_in(path: str, places: Collection[str]) -> bool:
    return path in places or any(str(above) in places for above in PurePosixPath(path).parents)


def _is_of_bare(path: str, workspace: Workspace) -> bool:
    """Whether it is what leads to programs in a directory that git takes for a repository."""
    parts = PurePosixPath(path).parts
    leads = parts[-1] in _OF_BARE or "hooks" in parts
    return leads and not path.startswith("/") and bool(in_repository(workspace.root, parts))


def _went_with_all(edit: Edit, workspace: Workspace) -> bool:
    """Whether it was removed together with the directory that it was for: nothing is there to be guarded."""
    parts = PurePosixPath(edit.path).parts
    first = next((index for index, part in enumerate(parts) if is_guarded_name(part)), 0)
    return edit.kind == "deleted" and not Path(workspace.root, *parts[:first]).exists()


def _is_gits(change: FileChange, workspace: Workspace, blobs: Blobs) -> bool:
    ordinary = _is_bookkeeping, _is_ordinary_configuration, _moves_submodules
    return any(each(change, workspace, blobs) for each in ordinary)


def _is_ordinary_configuration(change: FileChange, workspace: Workspace, blobs: Blobs) -> bool:
    if not _is_configuration(change.path) or change.old_path or change.after.kind != "file":
        return False
    if change.before.kind == "link" or (
        change.before.kind == "file" and change.before.mode != change.after.mode
    ):
        return False
    added = change.before.kind == "absent"
    sides = change.before, change.after
    before, after = (_demanding(each, workspace, blobs, local=added) for each in sides)
    if "modules" in PurePosixPath(change.path).parts and before is not None and after is not None:
        before, after = (
            [each for each in side if not each.startswith(_WORKTREE)] for side in (before, after)
        )
    return before is not None and before == after


def _moves_submodules(change: FileChange, workspace: Workspace, blobs: Blobs) -> bool:
    """Whether nothing differs in the list of submodules but where they are."""
    if change.path != _SUBMODULES or change.old_path or change.after.kind != "file":
        return False
    before, after = (_settings(each, workspace, blobs) for each in (change.before, change.after))
    if before is None or after is None or change.before.mode != change.after.mode:
        return False
    urls = ([each for each in side if not _SUBMODULE_PATH.match(each)] for side in (before, after))
    return next(urls) == next(urls)


def _is_configuration(path: str) -> bool:
    """Whether git, and nothing else, reads it: a shell would run what the value of a name may hold."""
    parts = PurePosixPath(path).parts
    gits = ".git" in parts or not guarded.reason(path)
    return (parts[-1] in _CONFIGURATIONS and gits) or Path("/", path) in guarded.user_configurations()


def _is_bookkeeping(change: FileChange, workspace: Workspace, blobs: Blobs) -> bool:
    """Whether it is how git links a working tree or a submodule to the repository of the project."""
    paths = [Path(workspace.root, each) for each in (change.path, change.old_path) if each]
    if any(path.name != paths[0].name for path in paths):
        return False
    if change.after.kind == "absent":
        return _is_below(paths[0], _linked(workspace)) and not paths[0].parent.exists()
    if change.after.kind != "file" or any(os.path.lexists(path) for path in paths[1:]):
        return False
    if change.before.kind != "absent" and not change.old_path:
        return False
    text = _small(change.after, blobs)
    if paths[0].name == "commondir":
        linked = _linked(workspace)[:1]
        return text == "../..\n" and [Path(os.path.realpath(paths[0].parent.parent))] == linked
    if paths[0].name != ".git" or not text.startswith(_POINTER):
        return False
    target = paths[0].parent / text.removeprefix(_POINTER).rstrip("\n")
    return "\0" not in text and _is_below(target, _linked(workspace))


def _linked(workspace: Workspace) -> list[Path]:
    """Where the project's repository has what belongs to its other working trees and its submodules."""
    common = Repository(workspace.root).common_directory()
    return [] if common is None else [Path(os.path.realpath(common), each) for each in _LINKED]


def _is_below(path: Path, directories: Sequence[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(each in real.parents for each in directories)


def _small(version: Version, blobs: Blobs) -> str:
    """What a small file holds; empty where that is not known."""
    if not version.kept or version.size > _LONGEST_POINTER:
        return ""
    return os.fsdecode(blobs.read(version.digest, version.size))


def _is_ordinary(setting: str, *, local: bool) -> bool:
    """Whether a setting is one of ordinary work, with addresses on this machine only where they may be
    `local`. No key holds a newline, a value may."""
    key, newline, value = setting.partition("\n")
    if not newline:
        return False
    if _ALIAS.fullmatch(key):
        return bool(_ALIASED.fullmatch(value))
    if not _TO_ADDRESS.fullmatch(key):
        return bool(_ORDINARY.fullmatch(key))
    return bool(_ADDRESS.fullmatch(value)) and (local or bool(_REMOTE.fullmatch(value)))


def _demanding(version: Version, workspace: Workspace, blobs: Blobs, *, local: bool) -> list[str] | None:
    """The settings that are not ordinary, in their order; None where they are not known."""
    found = _settings(version, workspace, blobs)
    return None if found is None else [each for each in found if not _is_ordinary(each, local=local)]


def _settings(version: Version, workspace: Workspace, blobs: Blobs) -> list[str] | None:
    """All settings of a configuration of git's, in their order; None where they are not known."""
    if version.kind == "absent":
        return []
    if not version.kept or version.size > _LONGEST_CONFIGURATION:
        return None
    return Repository(workspace.root).settings_of(blobs.read(version.digest, version.size))
