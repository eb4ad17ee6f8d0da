"""The history of files: which successive edits are of one file, whose they are, and their net change. Pure.

Undo, review, timeline, recall and blame share one rule: an edit continues the history of the file at its
path, or at its old path if it renames the file; a change of the same file by others in between does not end
that history. A file that comes to the path of another begins no history there, and replaces the other's.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePosixPath
from typing import TypeVar

from cogency_tui.store.edit_records import ABSENT, Edit, FileChange, Version

UNDO = "undo"
REDO = "redo"
RESTORE = "restore"
REVIEW = "review"
BY_USER = frozenset({UNDO, REDO, RESTORE, REVIEW})
"""The tools of edits that the user makes."""

GUARD = "guard"
"""The tool that reverts a command's changes of protected files without consent: the engine uses it, not the
user.
"""

HOOK = "hook:"
"""What precedes the name of a hook in the tool of its edits."""

Renames = Sequence[tuple[str, str]]
"""Old and new paths, in the order of the renames."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of a file's content: that of an `edit`, or another's (None)."""

    before: Version
    after: Version
    edit: Edit | None


@dataclass(frozen=True, slots=True)
class FileHistory:
    """Successive edits of one file, oldest first, and their net change.

    `change` includes changes by others between the edits; its path is that at the end, or that at the
    beginning if the file is deleted. `is_replaced`: another file has come to that path.
    """

    change: FileChange
    edits: tuple[Edit, ...]
    is_replaced: bool = False

    @property
    def revisions(self) -> list[Revision]:
        """The changes by the edits, and between them the sum of the changes by others."""
        found: list[Revision] = []
        for edit in self.edits:
            if found and not found[-1].after.holds(edit.before):
                found.append(Revision(found[-1].after, edit.before, None))
            found.append(Revision(edit.before, edit.after, edit))
        return found


def is_agents(edit: Edit) -> bool:
    """Return whether the agent made this edit, and it changed something."""
    return edit.tool not in BY_USER and not edit.undoes and edit.kind != "snapshot"


def hook_of(edit: Edit) -> str:
    """The name of the hook that made an edit; empty if none did."""
    return edit.tool.removeprefix(HOOK) if edit.tool.startswith(HOOK) else ""


def is_of_content(change: FileChange) -> bool:
    """Return whether the file exists before and after, at the same path and with the same mode."""
    before, after = change.before, change.after
    return before.kind == after.kind == "file" and before.mode == after.mode and not change.old_path


def change_of(edit: Edit) -> FileChange:
    """The change that an edit made, alone."""
    return FileChange(edit.path, edit.before, edit.after, edit.old_path, edit.made)


def is_moved(one: FileChange, other: FileChange) -> bool:
    """Return whether the content that was at the path of `one` before came to that of `other`: reverting that
    alone removes it.
    """
    before = one.before
    return before.size > 0 and before.holds(other.after) and not before.holds(other.before)


def histories(edits: Iterable[Edit], undone: Collection[int] = ()) -> list[FileHistory]:
    """The histories of all files, given edits oldest first.

    Those without a net change are left out, unless one of their edits is `undone`.
    """
    here, replaced = by_file((edit for edit in edits if edit.kind != "snapshot"), change_of)
    gone = _changed((FileHistory(_net(own), tuple(own), is_replaced=True) for own in replaced), undone)
    left = _changed((FileHistory(_net(own), tuple(own)) for own in here.values()), undone)
    # Of several at a path, the file that is there comes last.
    left.sort(key=lambda each: each.change.after.kind != "absent")
    last = {each.change.path: each for each in left}
    return [*gone, *(replace(each, is_replaced=last[each.change.path] is not each) for each in left)]


def _changed(found: Iterable[FileHistory], undone: Collection[int]) -> list[FileHistory]:
    return [
        each
        for each in found
        if each.change.kind != "snapshot" or any(edit.id in undone for edit in each.edits)
    ]


def agents_histories(edits: Iterable[Edit], undone: Collection[int] = ()) -> list[FileHistory]:
    """The histories of all files by the agent's edits; as `histories`."""
    return histories(filter(is_agents, edits), undone)


def history_at(path: str, edits: Iterable[Edit]) -> list[Edit]:
    """The edits of the file that is at `path` after these edits, oldest first."""
    here, _ = by_file((edit for edit in edits if edit.kind != "snapshot"), change_of)
    return here.get(path, [])


def by_file(
    items: Iterable[_T], change_of: Callable[[_T], FileChange]
) -> tuple[dict[str, list[_T]], list[list[_T]]]:
    """Group successive changes, oldest first, by files: those of each file by its path at the end, and those
    of files that others have replaced.
    """
    here: dict[str, list[_T]] = {}
    replaced: list[list[_T]] = []
    for item in items:
        change = change_of(item)
        own = here.pop(change.old_path or change.path, [])
        if change.path in here:
            replaced.append(here[change.path])
        own.append(item)
        here[change.path] = own
    return here, replaced


def unbroken(items: Iterable[_T], change_of: Callable[[_T], FileChange]) -> list[list[_T]]:
    """Divide the changes of one file where others changed it in between."""
    found: list[list[_T]] = []
    for item in items:
        if found and change_of(found[-1][-1]).after.equals(change_of(item).before):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def joined(earlier: FileChange, later: FileChange) -> FileChange:
    """Two successive changes of a file as one."""
    old_path = earlier.old_path or (earlier.path if later.old_path else "")
    if old_path == later.path or earlier.before.kind == "absent":
        old_path = ""
    made = topmost(later.path, earlier.made, later.made)
    return FileChange(later.path, earlier.before, later.after, old_path, made)


def topmost(path: str, *directories: str) -> str:
    """The topmost of these directories that contains a path; empty if none does, or is named."""
    above = {str(each) for each in PurePosixPath(path).parents}
    return min(above.intersection(directories), key=len, default="")


def renames(edits: Sequence[Edit]) -> dict[int, Renames]:
    """The renames by each edit that renames files, oldest first; those by an undo are of its first edit."""
    found: dict[int, Renames] = {}
    undos: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.undoes:
            undos[edit.call].append(edit)
    for edit in edits:
        if not edit.undoes:
            own: Renames = [(edit.old_path, edit.path)] if edit.old_path else ()
        else:
            own = _undone_renames(undos.pop(edit.call, ()), found)
        if own:
            found[edit.id] = own
    return found


def _undone_renames(undo: Sequence[Edit], known: Mapping[int, Renames]) -> Renames:
    """The renames by the edits of an undo: those of what it reverts, the other way round.

    The undo may have recorded fewer: if it found another file at the former name, that file was changed and
    the other removed. If it recorded others, since a directory was renamed in between, these count.
    """
    recorded = [(edit.old_path, edit.path) for edit in undo if edit.old_path]
    inverse = _inverse(undo, known)
    if all(_followed(old, inverse) == new for old, new in recorded):
        return inverse
    return [*recorded, *_inverse([edit for edit in undo if not edit.old_path], known)]


def _inverse(undo: Iterable[Edit], known: Mapping[int, Renames]) -> Renames:
    ids = {target.edit for edit in undo for target in edit.undoes if not target.hunk}
    undone = [known.get(id, ()) for id in sorted(ids, reverse=True)]
    return [(new, old) for pairs in undone for old, new in reversed(pairs)]


def path_today(path: str, renamed: Mapping[int, Renames], after: int) -> str:
    """The current path of the file that was at `path` after the edit of this number, as far as the renames
    of `renames` show.
    """
    return _followed(path, [pair for id, pairs in renamed.items() if id > after for pair in pairs])


def _followed(path: str, renamed: Renames) -> str:
    for old, new in renamed:
        if new == path:
            # Another file has replaced it.
            return path
        path = new if old == path else path
    return path


def _net(edits: Sequence[Edit]) -> FileChange:
    """The edits of one file as one change; a file that was renamed and then deleted, by its old path."""
    change = reduce(joined, map(change_of, edits))
    is_gone = change.after.kind == "absent" and change.old_path
    return FileChange(change.old_path, change.before, ABSENT) if is_gone else change
