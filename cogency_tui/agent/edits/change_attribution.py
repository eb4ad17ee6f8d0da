"""Attributes changes to the commands that made them: turns differences of stamps into changes of contents,
and reports each change once.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import takewhile

from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.config.edit import LOCK
from cogency_tui.config.own_writes import Held, writes
from cogency_tui.errors import WorkspaceError, in_words
from cogency_tui.safe_text import one_line
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, USER, Edit, FileChange, Version
from cogency_tui.store.intents import Beside, Intent
from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.file_or_link import TICK, Stamp
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.snapshot import Difference, Snapshot

WrittenFiles = Set[tuple[int, int]]
"""Files, by device and inode."""

_NO_OWNER = Beside()
_NONE: Mapping[str, str] = {}


def changes_of(
    differences: Iterable[Difference],
    contents: Contents,
    limit: int,
    earlier: Mapping[str, str] = _NONE,
) -> list[FileChange]:
    """The contents of files now and before; files with the same content as before are left out.

    Blocks. At most `limit` bytes of a content are stored. `earlier` are the former paths of files whose
    directory was moved as a whole.

    Raises:
        StoreError: a content cannot be stored.
    """
    found: list[FileChange] = []
    for one in differences:
        path = one.old_path or one.path
        before = contents.before(earlier.get(path, path), one.before) if one.before else ABSENT
        after = _now(one.path, one.after, contents, limit) if one.after else ABSENT
        if one.before and one.after and one.before.same_bytes(one.after):
            if not before.known:
                before = replace(after, mode=before.mode)
            elif not after.known:
                after = replace(before, mode=after.mode)
        change = FileChange(one.path, before, after, one.old_path, one.made)
        if after.kind == "absent" and one.old_path:
            # It was removed again after the second snapshot.
            change = FileChange(one.old_path, before, ABSENT)
        if change.kind != "snapshot":
            found.append(change)
    return _paired(found)


def unread_changes_of(differences: Iterable[Difference]) -> list[FileChange]:
    """The differences by stamps alone: no content is read or stored."""
    return [
        FileChange(each.path, _unread(each.before), _unread(each.after), each.old_path, each.made)
        for each in differences
        if each.before != each.after
    ]


def _unread(stamp: Stamp | None) -> Version:
    if stamp is None:
        return ABSENT
    return Version("link" if stamp.is_link else "file", "", stamp.size, stamp.permissions)


def unclaimed(
    changes: Iterable[FileChange],
    recorded: Sequence[Edit],
    beside: Beside = _NO_OWNER,
    last: int | None = None,
) -> list[FileChange]:
    """The changes less those recorded meanwhile, which belong to other tools.

    `beside` are the calls that were running when the changes began. `last` is the number of the last edit
    before the second snapshot: later edits, and those that are only planned, may have been made after it.
    """
    recorded = [
        _from_there(edit) if beside.made(edit) else edit for edit in recorded if edit.kind != "snapshot"
    ]
    left: list[FileChange] = []
    for change in changes:
        paths = {change.path, change.old_path} - {""}
        if not any(paths & {edit.path, edit.old_path} for edit in recorded):
            left.append(change)
            continue
        parts = [change]
        if change.old_path:
            parts = [
                FileChange(change.old_path, change.before, ABSENT),
                FileChange(change.path, ABSENT, change.after, made=change.made),
            ]
        for part in parts:
            left += _gaps(part, _before_snapshot(part, recorded, last))
    return left


def planned_by(intents: Iterable[Intent], found: Iterable[FileChange]) -> list[Edit]:
    """The planned changes of live intents of other processes, as the edits that they are going to be, given
    the changes `found` meanwhile.
    """
    there = {change.path: change.after for change in found}
    return [
        Edit(
            *(
                plan.path,
                plan.before,
                _made(plan, there.get(plan.path)),
                plan.old_path,
                plan.made,
                plan.undoes,
            ),
            origin=intent.origin,
            call=intent.call,
            tool=intent.tool,
        )
        for intent in intents
        if intent.is_live and not intent.is_own
        for plan in intent.changes
    ]


def _made(plan: FileChange, there: Version | None) -> Version:
    """The result of a plan: the system chooses the mode of a new file."""
    if there is None or plan.before.kind != "absent" or plan.old_path:
        return plan.after
    return replace(plan.after, mode=there.mode)


def sides(path: str, recorded: Iterable[Edit]) -> Iterator[tuple[Version, Version]]:
    """What each recorded edit of a path found there, and what it left."""
    for edit in recorded:
        if edit.path == path:
            yield ABSENT if edit.old_path and edit.before.known else edit.before, edit.after
        elif edit.old_path == path:
            yield edit.before, ABSENT


def written_by_us(
    changes: Sequence[FileChange], workspace: Workspace, blobs: Blobs, since: int
) -> list[Edit]:
    """The writes of this program's processes to the user's configuration since a moment in nanoseconds of
    Unix time, as edits. Blocks.

    Raises:
        StoreError: a content cannot be stored.
    """
    by_path = {change.path: change for change in changes}
    found: list[Edit] = []
    for place in protected_file_discovery.own_files():
        path = workspace.name_of(place)
        if path not in by_path:
            continue
        known = writes(place, place.with_name(LOCK), since)
        made = [Edit(path, _version(each.before, blobs), _version(each.after, blobs)) for each in known]
        # A write during the snapshot may be part of what was found before.
        seen = made and made[0].after.equals(by_path[path].before)
        found += made[1:] if seen else made
    return found


def _version(held: Held | None, blobs: Blobs) -> Version:
    if held is None:
        return ABSENT
    stored = blobs.has(held.digest) if held.data is None else blobs.put_bytes(held.data).stored
    return Version("file", held.digest, held.size, held.mode, stored)


def rivals(intents: Iterable[Intent], conversation: str) -> list[Intent]:
    """The commands of other conversations, in any process, whose changes are not recorded yet."""
    return [each for each in intents if each.shadow.name and each.origin.conversation != conversation]


def belongs_to(
    rivals: Iterable[Intent], change: FileChange, after: Snapshot, began: float, ended: float
) -> bool:
    """Return whether a command of another conversation made a change: the file was written while that command
    ran, and not while this one did, from `began` to `ended`. The time of a removal is unknown.
    """
    stamp = after.files.get(change.path)
    if stamp is None or _within(stamp, began, ended):
        return False
    return any(_within(stamp, rival.began, rival.ended or time.time()) for rival in rivals)


def shared(
    rivals: Sequence[Intent], changes: Iterable[FileChange], after: Snapshot, ended: float
) -> list[FileChange]:
    """The changes that a command made by `ended`, each with the conversations whose commands may also have
    made it: they ran when the file was written, or at any time before if that time is unknown.
    """

    def with_rivals(change: FileChange) -> FileChange:
        # A removed file has no stamp, and the stamp of a renamed one does not show which command removed
        # it.
        stamp = None if change.old_path else after.files.get(change.path)
        moment = ended if stamp is None else stamp.changed / 1e9
        others = {each.origin.conversation for each in rivals if each.began <= moment + TICK / 1e9}
        return replace(change, shared_with=tuple(sorted(others)))

    return [with_rivals(change) for change in changes] if rivals else list(changes)


def possibly_users(changes: Iterable[FileChange], after: Snapshot, written: WrittenFiles) -> list[FileChange]:
    """The changes that were found while only commands in the background ran, each shared with the user unless
    these have the file open for writing.

    The system does not record who writes a file, and a command that reacts to the user's edits (a watcher)
    works whenever the user does: open files are all that can prove a change of a process that goes on.
    """

    def with_user(change: FileChange) -> FileChange:
        stamp = after.files.get(change.path)
        if stamp is not None and not change.old_path and (stamp.device, stamp.inode) in written:
            return change
        return replace(change, shared_with=(*change.shared_with, USER))

    return [with_user(change) for change in changes]


def named_conversations(ids: Collection[str], titles: Mapping[str, str] = _NONE) -> str:
    """A phrase that names conversations by their titles, or else by their ids."""
    named = sorted(f"“{title}”" if (title := one_line(titles.get(id, ""))) else id for id in ids)
    return f"conversation{'' if len(ids) == 1 else 's'} {in_words(named)}"


def named_others(edits: Iterable[FileChange], titles: Mapping[str, str] = _NONE) -> str:
    """A phrase that names, to the user, who else may have made these changes; empty if nobody may."""
    ids = {other for edit in edits for other in edit.shared_with}
    commands = f"a command of {named_conversations(ids - {USER}, titles)}" if ids - {USER} else ""
    return " or ".join(filter(None, ("you" if USER in ids else "", commands)))


def _within(stamp: Stamp, began: float, ended: float) -> bool:
    tick = TICK / 1e9
    return began - tick <= stamp.changed / 1e9 <= ended + tick


def _from_there(edit: Edit) -> Edit:
    """An edit whose previous content may be anything."""
    return replace(edit, before=Version("file"))


def _now(path: str, stamp: Stamp, contents: Contents, limit: int) -> Version:
    try:
        return contents.now(path, limit)
    except WorkspaceError:
        # It became unreadable, or was replaced by something else, after the snapshot.
        return Version("link" if stamp.is_link else "file", "", stamp.size, stamp.permissions)


def _paired(changes: list[FileChange]) -> list[FileChange]:
    """Pairs files that were copied to another place and removed at the old one as renames."""
    gone = {change.before.digest: change for change in changes if _can_be_renamed(change.before, change)}
    taken: set[str] = set()
    found: list[FileChange] = []
    for change in changes:
        old = gone.pop(change.after.digest, None) if change.kind == "created" else None
        if old is None or old.before.kind != change.after.kind:
            found.append(change)
            continue
        taken.add(old.path)
        found.append(FileChange(change.path, old.before, change.after, old.path, change.made))
    return [change for change in found if change.kind == "renamed" or change.path not in taken]


def _can_be_renamed(before: Version, change: FileChange) -> bool:
    return change.kind == "deleted" and bool(before.digest) and before.size > 0


def _before_snapshot(change: FileChange, recorded: Sequence[Edit], last: int | None) -> Iterable[Edit]:
    """The edits made before the snapshot from which a change was derived."""
    if last is None:
        return recorded

    def later(edit: Edit) -> bool:
        return not 0 < edit.id <= last and any(
            change.after.equals(before) if before.known else not change.after.equals(after)
            for before, after in sides(change.path, [edit])
        )

    return takewhile(lambda edit: not later(edit), recorded)


def _gaps(change: FileChange, recorded: Iterable[Edit]) -> Iterator[FileChange]:
    """The changes of a path before, between and after its recorded edits.

    Commands that run at the same time may each record one change, as shared: if the second of them found
    the previous content, that does not mean that anything restored it.
    """
    state, made = change.before, change.made
    passed = [state]
    for edit in recorded:
        for before, after in sides(change.path, [edit]):
            is_shared = any(other != USER for other in edit.shared_with)
            overlaps = is_shared and any(before.equals(each) for each in passed)
            if _differs(state, before) and not overlaps:
                yield FileChange(change.path, state, before, made=made)
            state, made = after, ""
            passed.append(state)
    if _differs(state, change.after):
        yield FileChange(change.path, state, change.after, made=made)


def _differs(one: Version, other: Version) -> bool:
    return one.known and other.known and not one.equals(other)
