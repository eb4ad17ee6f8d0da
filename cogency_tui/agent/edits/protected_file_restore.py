"""Puts back protected files that a command changed without the user's consent, unless the user keeps the
changes or they came with commits; the directories that lead to these files come first.

Invariant: the content of a file that is put back was recorded first, as an edit that is then reverted, so
that nothing is lost; what is in the place of a file or directory is moved aside, except for links. Git's
writes to the configuration of a repository in ordinary work do not count as changes of a protected file.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from cogency_tui.agent.edits.committed_protected_files import RecordedContents, brought
from cogency_tui.agent.edits.file_history import GUARD
from cogency_tui.agent.edits.git_config_risks import leads_elsewhere, loses, section_of
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.edits.undo_selection import undone_edits
from cogency_tui.errors import CogencyError, StoreError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.tools.journal_protocol import AskToKeep, Consent
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.directory_listing import MOST_ENTRIES, Listing
from cogency_tui.workspace.git.directory_restore import Returned
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_directories import (
    ProtectedDirectories,
    Replaced,
    close_directories,
    make_way,
    open_directories,
)
from cogency_tui.workspace.protected_names import in_repository, is_instruction_file, is_protected_name, shown

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal

_CURE = (
    "Commands may change such files only with the user's approval. Use edit or write for them, which ask "
    "first."
)
_CURE_OF_MOVES = "A command may move it only if it names it and the user approves."
_LOST = "the repository that it belongs to has been moved"
_UNASKED = (
    "No user is available to approve it: leave such files as they are, and list the changes they need in "
    "your answer."
)
_NAMED = "A command may replace such a directory only if it names it and the user approves."
_UNCOMMITTED = "Do not commit it, and report it to the user."
BY_HAND = "It stays changed: report it to the user, who must check it before another shell or program starts."
_ELSEWHERE = "it decides what programs run"
_MOST_ROUNDS = 40
"""Nested directories that are put back."""

_LONGEST_CONFIGURATION = 1 << 20
_LONGEST_POINTER = 4096
_LONGEST_INSTRUCTIONS = 1 << 20
_POINTER = "gitdir: "
_CONFIGURATIONS = frozenset(("config", "config.worktree"))
_OF_BARE = _CONFIGURATIONS | {"HEAD", "commondir"}

_ADDRESS = re.compile(r"(?!-)(?![\w.+-]*::)(?:(?:https?|ssh|git|file|git\+ssh|ssh\+git)://|(?!\S*://))[^\n]*")
"""An address that git reaches without a helper program named by the address."""

_REMOTE = re.compile(r"(?!file:)[^/\n]+:[^\n]*|[\w.-]*")
"""An address on another machine, or the name of a remote: no program here made what it brings."""

_TO_ADDRESS = re.compile(r"branch\..+\.(?:remote|pushremote)|remote\..+\.(?:url|pushurl)|submodule\..+\.url")
"""Keys whose values are such addresses."""

_ORDINARY = re.compile(
    r"""
    branch\..+\.(?:merge|rebase|description|gh-merge-base|vscode-merge-base|github-pr-owner-number)
    |remote\..+\.(?:fetch|push|mirror|tagopt|prune|promisor|partialclonefilter|skipdefaultupdate
        |skipfetchall)
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
"""Keys that git and editors write in ordinary work, and that start nothing, whatever their values; some of
them may lose something (see `git_settings.loses`).
"""

_ALIAS = re.compile(r"alias\.[\w-]+")
_ALIASED = re.compile(
    r"""
    (?:add|blame|branch|checkout|commit|describe|diff|log|ls-files|rev-parse|shortlog|show|stash|status
        |switch|tag)
    (?:\ (?:-(?![a-zA-Z]*[BCDMdf])[a-zA-Z]{1,3}|--(?:abbrev-commit|all|amend|branch|cached|color|date
        |decorate|first-parent|format|graph|include-untracked|long|name-only|name-status|no-edit|no-merges
        |oneline|patch|pretty|reverse|short|show-current|sort|staged|stat|topo-order|verbose|word-diff)
        (?:=[\w%:,+./-]+)?|-\d+|HEAD[~^]?\d*|@\{\w+\}))*
    """,
    re.VERBOSE,
)
"""Aliases that start nothing but a git command, with options that start nothing and force nothing."""

_WORKTREE = "core.worktree\n"
_WORKTREES = "worktrees"
_SUBMODULES = ".gitmodules"
_SUBMODULE_PATH = re.compile(r"submodule\.[^\n]+\.path\n(?!-)")

_Change = TypeVar("_Change", bound=FileChange)


@dataclass(slots=True)
class Settled:
    """The outcome for changes of protected files and of directories that lead to them: `put_back` are their
    paths, `left` those that could not be put back, in whole or in part; `notes` report this.
    """

    put_back: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    def __iadd__(self, other: "Settled") -> "Settled":
        self.put_back += other.put_back
        self.left += other.left
        self.notes += other.notes
        return self


def without_ordinary(
    changes: Sequence[FileChange],
    before: Collection[str],
    after: Collection[str],
    workspace: Workspace,
    blobs: Blobs,
    destinations: Collection[str] = (),
) -> list[FileChange]:
    """The changes without those that git makes in its own directory in ordinary work. `before` and `after`
    are the protected paths; `destinations` are the remotes and addresses that the command itself names.
    Blocks.
    """
    known = {*before, *(path for each in changes for path in _paths(each))}

    def is_gits(change: FileChange) -> bool:
        return (
            _is_bookkeeping(change, known, workspace, blobs)
            or _is_ordinary_configuration(change, workspace, blobs, destinations)
            or _moves_or_removes_submodules(change, workspace, blobs)
        )

    return [
        each for each in changes if (each.path not in before and each.path not in after) or not is_gits(each)
    ]


def of_protected(
    edits: Iterable[_Change], watched: Collection[str], workspace: Workspace, covers: Collection[Path] = ()
) -> list[_Change]:
    """The edits that need the user's consent, and those that replace a directory of such files. `watched`
    are protected paths, `covers` the files and directories that the user was asked about. Blocks.
    """
    covered = {workspace.name_of(path) for path in covers}
    edits = list(edits)
    instructions = _Instructions(edits, watched, workspace)
    found = [
        any(_is_protected(path, watched, workspace) and not _is_in(path, covered) for path in _paths(edit))
        and not _went_with_all(edit, workspace)
        and not _moved_with_all(edit, workspace)
        and not instructions.has_copy(edit)
        for edit in edits
    ]
    paths = {path for edit in compress(edits, found) for path in _paths(edit)}
    above = {str(each) for path in paths for each in PurePosixPath(path).parents}
    return [
        edit
        for edit, is_found in zip(edits, found, strict=True)
        if is_found or (edit.path in above and edit.after.kind != "absent")
    ]


def settled_repositories(returned: Returned, workspace: Workspace) -> Settled:
    """The outcome for git directories that a command moved without consent."""
    settled = Settled()
    for place, now, problem in (*returned.put_back, *returned.left):
        name = shown(workspace.name_of(place))
        where = f"moved to {shown(workspace.name_of(now))}" if now else "removed"
        if problem:
            settled.left.append(name)
            settled.notes.append(
                f"[{name} was {where} without approval, and could not be restored: {problem}. Its files are "
                "unchanged. Report this in your answer.]"
            )
        elif (place, now, problem) in returned.put_back:
            settled.put_back.append(name)
            settled.notes.append(
                f"[Restored to its state before the command: {name}, {where}. {_CURE_OF_MOVES}]"
            )
    return settled


def settled_unseen(directories: Iterable[str], workspace: Workspace, covers: Collection[Path]) -> Settled:
    """A report of the directories in which protected files can no longer be searched for after a command;
    `covers` is what the user was asked about.
    """
    covered = {workspace.name_of(path) for path in covers}
    settled = Settled()
    for name in (shown(path) for path in directories if not _is_in(path, covered)):
        settled.left.append(name)
        settled.notes.append(
            f"[{name} could not be checked after the command: it is unreadable, or has more than "
            f"{MOST_ENTRIES:,} entries. New files in it were not reverted. {BY_HAND}]"
        )
    return settled


async def refuse_all(_changed: Sequence[str], _diff: str) -> None:
    """Refuse to keep any change, without a question."""


async def settle_directories(
    directories: ProtectedDirectories, ask: AskToKeep | None, covers: Collection[Path]
) -> tuple[Settled, list[Path]]:
    """Put back the directories that lead to protected files and that a command has replaced, unless the user
    keeps this, or has consented before: `ask` is None, or `covers` includes them. Return the outcome, and
    the paths of the directories that stay, with what they lead to.
    """
    changes = await in_thread(directories.changes)
    stay = [each for each in changes if ask is None or _is_covered(each.path, covers)]
    await in_thread(_accept, directories, stay)
    asked = [each for each in changes if each not in stay]
    settled = Settled()
    if asked and ask is not None:
        settled, approved = await _settle_directories(directories, asked, ask)
        if approved:
            await in_thread(_accept, directories, asked)
            stay = changes
    return settled, [path for each in stay for path in (each.path, each.leads) if path is not None]


def _accept(directories: ProtectedDirectories, changes: Iterable[Replaced]) -> None:
    for each in changes:
        directories.accept(each)


async def settle_protected(
    journal: "Journal", conversation: str, edits: Sequence[Edit], consent: Consent
) -> Settled:
    """Put back a command's changes of protected files, unless the user keeps them, or they came with commits
    that no command has made.
    """
    if consent.ask is None or not edits:
        return Settled()
    came: list[Edit] = []
    if consent.brings is not None:
        recorded = await (await journal.edits()).of_conversation(conversation)
        contents = _recorded_contents(edits, recorded)
        came = await in_thread(brought, edits, journal.workspace, contents, journal.commits, consent.brings)
    edits = [edit for edit in edits if edit not in came]
    notes = [f"[Came with the commits: {', '.join(shown(edit.path) for edit in came)}]"] if came else []
    settled = await _settle(journal, conversation, edits, consent.ask) if edits else Settled()
    if consent.brings is not None and settled.put_back:
        notes += await in_thread(_differing, journal.workspace, [edit.path for edit in edits])
    settled.notes = [*settled.notes, *notes]
    return settled


def _differing(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """A note on files that differ from their commit after they were put back. Blocks."""
    repository = Repository(workspace.root)
    inside = [workspace.root / path for path in paths if not Path(path).is_absolute()]
    entries = repository.entries(inside) if inside else None
    names = ", ".join(shown(workspace.name_of(entry.path)) for entry in entries or ())
    return (
        [f"[Git shows a difference now, which would revert commits: {names}. {_UNCOMMITTED}]"]
        if names
        else []
    )


def _recorded_contents(edits: Sequence[Edit], recorded: Sequence[Edit]) -> RecordedContents:
    """The contents of files before these edits that were not put back."""
    ids, undone = {edit.id for edit in edits}, undone_edits(recorded)
    return frozenset(
        (path, side.kind, side.digest)
        for each in recorded
        if each.id not in ids and each.id not in undone and each.tool != GUARD
        for path, side in ((each.old_path or each.path, each.before), (each.path, each.after))
        if side.known
    )


async def put_back(
    journal: "Journal", conversation: str, edits: Sequence[Edit]
) -> tuple[dict[str, str], list[str]]:
    """Put back what edits have changed, as far as possible. Return the paths of the others, each with the
    reason, and notes on what was moved out of the way.

    Raises:
        StoreError: it cannot be recorded; what is not yet put back stays.
    """
    left = await in_thread(_of_lost_repositories, edits, journal.workspace)
    edits = [edit for edit in edits if edit.path not in left]
    stuck, aside = await in_thread(_make_way, edits, journal.workspace)
    closed = await in_thread(open_directories, journal.workspace, [edit.path for edit in edits])
    try:
        left |= stuck | (await _undone(journal, conversation, edits) if edits else {})
    finally:
        await in_thread(close_directories, closed)
    return left, aside


async def _settle(journal: "Journal", conversation: str, edits: Sequence[Edit], ask: AskToKeep) -> Settled:
    named = [f"{edit.kind} {shown(edit.path)}" for edit in edits]
    try:
        approved = await ask(named, await _differences(journal, edits))
    except BaseException:
        await completed(_put_back(journal, conversation, edits, _CURE))
        raise
    if approved:
        return Settled(notes=[f"[The user approved these changes: {', '.join(named)}]"])
    cure = _UNASKED if approved is None else _CURE
    return await completed(_put_back(journal, conversation, edits, cure))


async def _settle_directories(
    directories: ProtectedDirectories, changes: Sequence[Replaced], ask: AskToKeep
) -> tuple[Settled, bool]:
    """Settle the changes; return the outcome, and whether the user keeps them."""
    descriptions = [each.description for each in changes]
    try:
        approved = await ask(descriptions, "")
    except BaseException:
        await completed(in_thread(_put_back_directories, directories, _NAMED))
        raise
    if approved:
        return Settled(notes=[f"[The user approved these changes: {'; '.join(descriptions)}]"]), True
    cure = _UNASKED if approved is None else _NAMED
    return await completed(in_thread(_put_back_directories, directories, cure)), False


def _put_back_directories(directories: ProtectedDirectories, cure: str) -> Settled:
    """Put back all that was replaced, topmost first: only then does the state of the lower ones show."""
    settled, descriptions = Settled(), list[str]()
    tried = set[Replaced]()
    for _ in range(_MOST_ROUNDS):
        seen = set[Path]()
        for change in directories.changes():
            if change in tried or not seen.isdisjoint(change.path.parents):
                continue
            seen.add(change.path)
            tried.add(change)
            if _is_put_back(directories, change, settled):
                descriptions.append(change.description)
        if not seen:
            break
    if descriptions:
        settled.notes.insert(0, f"[Reverted what it did without approval: {'; '.join(descriptions)}. {cure}]")
    return settled


def _is_put_back(directories: ProtectedDirectories, change: Replaced, settled: Settled) -> bool:
    try:
        restored = directories.put_back(change)
    except CogencyError as error:
        settled.left.append(change.name)
        settled.notes.append(f"[It {change.description}, which could not be restored: {error} {BY_HAND}]")
        return False
    settled.put_back.append(change.name)
    if restored.missing:
        settled.left.append(change.name)
        settled.notes.append(
            f"[Not everything was restored to its state before the command: {restored.missing}. Report it "
            "to the user.]"
        )
    if restored.aside:
        settled.notes.append(f"[{_moved_aside(change.name, restored.aside)}]")
    return True


def _is_covered(path: Path, covers: Collection[Path]) -> bool:
    return any(path.is_relative_to(Path(os.path.realpath(each.parent), each.name)) for each in covers)


async def _differences(journal: "Journal", edits: Sequence[Edit]) -> str:
    blobs = await journal.blobs()
    try:
        return await in_thread(lambda: "\n".join(difference(edit, blobs) for edit in edits))
    except StoreError as error:
        return str(error)


async def _put_back(journal: "Journal", conversation: str, edits: Sequence[Edit], cure: str) -> Settled:
    names = {edit.path: shown(edit.path) for edit in edits}
    settled = Settled()
    try:
        left, aside = await put_back(journal, conversation, edits)
    except StoreError as error:
        left, aside = dict.fromkeys(names, str(error).rstrip(".")), []
    settled.notes += [f"[{each}]" for each in aside]
    settled.put_back = [name for path, name in names.items() if path not in left]
    if settled.put_back:
        why = next(
            (text for edit in edits if (text := protected_file_discovery.reason(edit.path))), _ELSEWHERE
        )
        listed = ", ".join(settled.put_back)
        settled.notes.append(f"[Restored to its state before the command: {listed} ({why}). {cure}]")
    for path, reason in left.items():
        settled.left.append(shown(path))
        problem = f"Changed without approval, and could not be restored: {shown(path)}: {reason}"
        settled.notes.append(f"[{problem}. {BY_HAND}]")
    return settled


async def _undone(journal: "Journal", conversation: str, edits: Sequence[Edit]) -> dict[str, str]:
    from cogency_tui.agent.edits.undo import Undo

    try:
        obstacles = await Undo(journal, conversation).put_back({edit.id for edit in edits})
    except StoreError:
        raise
    except CogencyError as error:
        if len(edits) == 1:
            return {edits[0].path: str(error).rstrip(".")}
        # A failure for one edit prevents none of the others.
        left: dict[str, str] = {}
        for edit in reversed(edits):
            left |= await _undone(journal, conversation, [edit])
        return left
    return {each.path: each.reason for each in obstacles}


def _make_way(edits: Sequence[Edit], workspace: Workspace) -> tuple[dict[str, str], list[str]]:
    """Move what is in the place of files that are to be put back. Return the paths where this failed, each
    with the reason, and notes on what was moved. Blocks.
    """
    left: dict[str, str] = {}
    aside: list[str] = []
    for path in {each.old_path or each.path for each in edits if each.before.kind != "absent"}:
        try:
            moved = make_way(workspace, path)
        except WorkspaceError as error:
            left[path] = str(error).rstrip(".")
        else:
            aside += [_moved_aside(shown(path), moved)] if moved else []
    return left, aside


def _moved_aside(name: str, aside: str) -> str:
    return f"What replaced {name} is now {shown(aside)}"


def _of_lost_repositories(edits: Sequence[Edit], workspace: Workspace) -> dict[str, str]:
    """The paths that belong to a repository which is not at its place, with the reason why they stay: the
    remains of it would be of no use in pieces. Blocks.
    """
    gone = [edit.old_path or edit.path for edit in edits if edit.old_path or edit.after.kind == "absent"]
    places = {place for path in gone if (place := _git_place(path))}
    lost = {place for place in places if not protected_file_discovery.is_repository(workspace.root / place)}
    if not lost:
        return {}

    def belongs(path: str) -> bool:
        above = Path(workspace.root, path).parents
        return _is_in(path, lost) or any(map(protected_file_discovery.is_repository, above))

    return {edit.path: _LOST for edit in edits if any(map(belongs, _paths(edit)))}


def _git_place(path: str) -> str:
    """The `.git` that contains a path; empty if there is none."""
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(*parts[: parts.index(".git") + 1])) if ".git" in parts[:-1] else ""


def _paths(edit: FileChange) -> list[str]:
    return [path for path in (edit.path, edit.old_path) if path]


def _is_protected(path: str, watched: Collection[str], workspace: Workspace) -> bool:
    return path in watched or bool(protected_file_discovery.reason(path)) or _is_of_bare(path, workspace)


def _is_in(path: str, places: Collection[str]) -> bool:
    return path in places or any(str(above) in places for above in PurePosixPath(path).parents)


def _is_of_bare(path: str, workspace: Workspace) -> bool:
    """Return whether a path leads to programs in a directory that git takes for a bare repository."""
    parts = PurePosixPath(path).parts
    leads = parts[-1] in _OF_BARE or "hooks" in parts
    return leads and not path.startswith("/") and bool(in_repository(workspace.root, parts))


def _went_with_all(edit: FileChange, workspace: Workspace) -> bool:
    """Return whether a file was removed together with the directory that it was for: nothing is left to
    guard."""
    directory, _ = _place(edit.path)
    return edit.kind == "deleted" and not Path(workspace.root, directory).exists()


def _moved_with_all(edit: FileChange, workspace: Workspace) -> bool:
    """Return whether a file was moved unchanged, together with the directory that it is for, to a place that
    did not exist before: it applies to nothing else then.
    """
    (former, old_name), (directory, name) = _place(edit.old_path), _place(edit.path)
    unchanged = edit.before.kind == "file" and edit.before == edit.after
    return (
        (edit.kind, old_name) == ("renamed", name)
        and unchanged
        and _is_fresh(directory, edit)
        and ".git" not in name.parts
        and not former.is_relative_to(directory)
        and not Path(workspace.root, former).exists()
    )


def _is_fresh(directory: PurePosixPath, edit: FileChange) -> bool:
    """Return whether a directory of the project was made for a file."""
    return bool(edit.made) and directory.is_relative_to(edit.made) and not edit.path.startswith("/")


class _Instructions:
    """The instruction files of the project that `edits` left unchanged. A copy of one in a directory that
    was made for it says nothing new, and applies to nothing that existed before. The calls block.
    """

    def __init__(self, edits: Sequence[FileChange], watched: Collection[str], workspace: Workspace) -> None:
        self._paths = {*watched} - {path for edit in edits for path in _paths(edit)}
        moved = (PurePosixPath(edit.path) for edit in edits if edit.old_path)
        self._holding_moved = {above for path in moved for above in path.parents}
        self._root = workspace.root

    def has_copy(self, edit: FileChange) -> bool:
        """Return whether an edit made such a copy."""
        directory, name = _place(edit.path)
        if (edit.kind, edit.after.kind) != ("created", "file") or not is_instruction_file(str(name)):
            return False
        is_new = _is_fresh(directory, edit) and directory not in self._holding_moved
        return is_new and (name.name, edit.after.digest) in self._contents

    @cached_property
    def _contents(self) -> set[tuple[str, str]]:
        """Their names and digests."""
        places = (PurePosixPath(path) for path in self._paths if not path.startswith("/"))
        found = ((place.name, self._digest(place)) for place in places if is_instruction_file(place.name))
        return {(name, digest) for name, digest in found if digest}

    def _digest(self, place: PurePosixPath) -> str:
        """The digest of a file; empty if it cannot be read, or is too long."""
        path = self._root / place
        try:
            status = path.lstat()
            is_read = stat.S_ISREG(status.st_mode) and status.st_size <= _LONGEST_INSTRUCTIONS
            return hashlib.sha256(path.read_bytes()).hexdigest() if is_read else ""
        except OSError:
            return ""


def _place(path: str) -> tuple[PurePosixPath, PurePosixPath]:
    """The directory that a protected file is for, and the rest of its path."""
    parts = PurePosixPath(path).parts
    first = next((index for index, part in enumerate(parts) if is_protected_name(part)), 0)
    return PurePosixPath(*parts[:first]), PurePosixPath(*parts[first:])


def _is_ordinary_configuration(
    change: FileChange, workspace: Workspace, blobs: Blobs, destinations: Collection[str]
) -> bool:
    if not _is_configuration(change.path) or change.old_path or change.after.kind != "file":
        return False
    if change.before.kind == "link" or (
        change.before.kind == "file" and change.before.mode != change.after.mode
    ):
        return False
    place = Path(workspace.root, change.path)
    is_shared = not _is_of_repository(place)
    added = change.before.kind == "absent" and not is_shared
    of_tree = place.name == "config.worktree"
    sides = change.before, change.after
    before, after = (_settings(each, workspace, blobs) for each in sides)
    if before is None or after is None:
        return False
    if "modules" in PurePosixPath(change.path).parts:
        after = [each for each in after if each in before or not _is_own_tree(place.parent, each)]
        before = [each for each in before if not each.startswith(_WORKTREE) or each in after]
    if not added and (
        leads_elsewhere(before, after, destinations, is_shared=is_shared)
        or loses(before, after, destinations, of_tree=of_tree)
    ):
        return False
    demanding = [[each for each in side if not _is_ordinary(each, local=added)] for side in (before, after)]
    return demanding[0] == demanding[1]


def _is_of_repository(path: Path) -> bool:
    """Return whether a path is the configuration of one repository, which all its working trees share."""
    return path.name == "config" and protected_file_discovery.is_repository(path.parent)


def _is_own_tree(directory: Path, setting: str) -> bool:
    """Return whether a setting names the working tree of a submodule, and that tree leads back to this
    directory."""
    _, is_place, place = setting.partition(_WORKTREE)
    return bool(is_place) and _is_led_back(directory, f"{place}/.git", may_be_gone=False)


def _moves_or_removes_submodules(change: FileChange, workspace: Workspace, blobs: Blobs) -> bool:
    """Return whether a list of submodules differs only in their places, and in the absence of submodules
    whose working trees are gone.
    """
    top, _, name = change.path.rpartition("/")
    if name != _SUBMODULES or change.old_path or change.before.kind != "file":
        return False
    before, after = (_settings(each, workspace, blobs) for each in (change.before, change.after))
    if before is None or after is None or change.after.kind == "link":
        return False
    if change.after.kind == "file" and change.before.mode != change.after.mode:
        return False
    listed = {section_of(each) for each in after}
    left = [each for each in before if section_of(each) in listed]
    removed = [each for each in before if section_of(each) not in listed]
    places = [each.partition("\n")[2] for each in removed if _SUBMODULE_PATH.match(each)]
    tree = workspace.root / top
    if not os.path.lexists(tree / ".git") or any(os.path.lexists(tree / place) for place in places):
        return False
    urls = ([each for each in side if not _SUBMODULE_PATH.match(each)] for side in (left, after))
    return next(urls) == next(urls)


def _is_configuration(path: str) -> bool:
    """Return whether only git reads the file: a shell would run what the value of a name may hold."""
    parts = PurePosixPath(path).parts
    gits = ".git" in parts or not protected_file_discovery.reason(path)
    return (parts[-1] in _CONFIGURATIONS and gits) or Path(
        "/", path
    ) in protected_file_discovery.user_configurations()


def _is_bookkeeping(change: FileChange, known: Collection[str], workspace: Workspace, blobs: Blobs) -> bool:
    """Return whether a change only links a working tree or a submodule to its repository, and everything in
    it that leads to programs is `known`: watched before, or changed since.
    """
    paths = [Path(workspace.root, each) for each in _paths(change)]
    path = paths[0]
    if any(each.name != path.name for each in paths):
        return False
    if change.after.kind == "absent":
        went = _is_linked(path.parent) or _was_linked(path, _small(change.before, blobs))
        return went and not path.parent.exists()
    if change.after.kind != "file" or any(os.path.lexists(each) for each in paths[1:]):
        return False
    text = _small(change.after, blobs)
    if path.name == "gitdir":
        return _is_linked(path.parent) and _is_led_back(path.parent, text, may_be_gone=True)
    if change.before.kind != "absent" and not change.old_path:
        return False
    if path.name == "commondir":
        return text == "../..\n" and path.parent.parent.name == _WORKTREES and _is_linked(path.parent)
    if path.name != ".git" or not text.startswith(_POINTER) or "\0" in text:
        return False
    leads = {workspace.name_of(each) for each in protected_file_discovery.of_repository(path, Listing())}
    return _is_linked(path.parent / text.removeprefix(_POINTER).rstrip("\r\n")) and leads <= {
        *known,
        change.path,
    }


def _is_linked(directory: Path) -> bool:
    """Return whether a directory holds a repository's data of a submodule or of another working tree."""
    above = Path(os.path.realpath(directory)).parents
    return any(
        each.name in protected_file_discovery.LINKED and protected_file_discovery.is_repository(each.parent)
        for each in above
    )


def _was_linked(path: Path, text: str) -> bool:
    """Return whether this was the `.git` of a submodule or of another working tree whose data the repository
    no longer has: it is of no use.
    """
    if path.name != ".git" or not text.startswith(_POINTER) or "\0" in text:
        return False
    directory = path.parent / text.removeprefix(_POINTER).rstrip("\r\n")
    return _is_linked(directory) and not os.path.lexists(directory)


def _is_led_back(directory: Path, text: str, *, may_be_gone: bool) -> bool:
    """Return whether the `.git` that this text names leads back to the git directory, or is gone where it may
    be."""
    place = directory / text.rstrip("\r\n")
    if "\0" in text or place.name != ".git":
        return False
    if may_be_gone and not os.path.lexists(place):
        return True
    return protected_file_discovery.git_directory(place) == Path(os.path.realpath(directory))


def _small(version: Version, blobs: Blobs) -> str:
    """The content of a small file; empty if it is not known."""
    if not version.kept or version.size > _LONGEST_POINTER:
        return ""
    return os.fsdecode(blobs.read(version.digest, version.size))


def _is_ordinary(setting: str, *, local: bool) -> bool:
    """Return whether a setting is one of ordinary work, with addresses on this machine only where these may
    be `local`. A value may contain a newline, a key may not.
    """
    key, newline, value = setting.partition("\n")
    if not newline:
        return False
    if _ALIAS.fullmatch(key):
        return bool(_ALIASED.fullmatch(value))
    if not _TO_ADDRESS.fullmatch(key):
        return bool(_ORDINARY.fullmatch(key))
    return bool(_ADDRESS.fullmatch(value)) and (local or bool(_REMOTE.fullmatch(value)))


def _settings(version: Version, workspace: Workspace, blobs: Blobs) -> list[str] | None:
    """The settings in their order; None if they are not known."""
    if version.kind == "absent":
        return []
    if not version.kept or version.size > _LONGEST_CONFIGURATION:
        return None
    return Repository(workspace.root).settings_of(blobs.read(version.digest, version.size))
