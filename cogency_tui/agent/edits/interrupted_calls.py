"""Settles interrupted calls: records the changes of calls whose process ended, or whose store failed.

Invariant: the disk decides. A planned change was made if its file holds what was planned; a command changed
what differs from its shadow. If a file was changed by others since, its previous content is recorded as a
snapshot, which can be restored. What the store cannot record now remains to be settled. Provable changes of
protected files by a command while it ran (see `proven_changes`) are put back, once they are recorded (see
`unapproved_edit_rollback`). All other differences of these files may be the user's work: they are reported,
and stay.
"""

import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cogency_tui.agent.edits.change_attribution import (
    planned_by,
    rivals,
    shared,
    unclaimed,
    written_by_us,
)
from cogency_tui.agent.edits.command_watch import COLLECTING
from cogency_tui.agent.edits.committed_protected_files import brought
from cogency_tui.agent.edits.file_history import HOOK
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.protected_file_restore import of_protected
from cogency_tui.agent.edits.proven_changes import Lifetime
from cogency_tui.agent.edits.unapproved_edit_rollback import put_back_unagreed
from cogency_tui.agent.edits.unrecorded_changes import changes_since
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.protocol.events import ResultEvent
from cogency_tui.protocol.transcript import INTERRUPTED
from cogency_tui.store import unseen_notices
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, USER, Edit, FileChange, Version
from cogency_tui.store.intents import Intent, add_unagreed
from cogency_tui.temporary_files import owner
from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.atomic_changes import sweep
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_directories import displaced
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal

_LINGERING = int((COLLECTING + 3.0) * 1e9)
"""Nanoseconds after the last sign of life of a process within which its command may have continued."""

_RECORDED = frozenset(("edit", "write", "replace"))
"""Tools that have run only if they left edits."""

_MOST_NAMED = 3
_MOST_EXAMINED = 20
_MOST_LISTED = 50


@dataclass(slots=True)
class _Found:
    """The changes of a call.

    `problem` is why they are not known, if they are not. `left` are files that the call had put aside, and
    that are too large to be stored. `unagreed` are the paths of protected files that it changed without
    consent, `doubtful` those that others may have changed since. `displaced` describes where directories
    are that lead to such files.
    """

    changes: list[FileChange] = field(default_factory=list[FileChange])
    problem: str = ""
    left: list[str] = field(default_factory=list[str])
    unagreed: frozenset[str] = frozenset()
    doubtful: list[str] = field(default_factory=list[str])
    displaced: list[str] = field(default_factory=list[str])

    @property
    def to_record(self) -> list[FileChange]:
        """The changes, and for files that were changed since, the snapshots that can be restored."""
        return [change for change in self.changes if change.kind != "snapshot" or change.before.kept]

    @property
    def names(self) -> list[str]:
        return [f"{change.kind} {shown(change.path)}" for change in self.changes if change.kind != "snapshot"]


async def settle(journal: "Journal") -> list[str]:
    """Settle the intents in the project of `journal`. Return a line for the user about each that changed
    something.

    Raises:
        StoreError: the store cannot be used.
    """
    intents = await journal.intents()
    notices: list[str] = []
    async with journal.lock:
        below = await intents.below(journal.root)
        for gone in journal.unfinished.keys() - {intent.id for intent in below}:
            del journal.unfinished[gone]
        over = _in_order(below, journal.unfinished)
        for number, intent in enumerate(over):
            try:
                notices += await _settle(journal, intent)
            except StoreError as error:
                # The later ones wait: this one's changes would be attributed to them.
                notices += _postpone(journal, over[number:], error)
                break
    notices += await put_back_unagreed(journal)
    await in_thread((await journal.shadow()).clean, await intents.shadows())
    return notices


async def _settle(journal: "Journal", intent: Intent) -> list[str]:
    """Settle one intent; return the line about it, if it changed something.

    Raises:
        StoreError: the store refuses contents or rows.
    """
    found = await _found(journal, intent)
    await in_thread((await journal.blobs()).sync)
    # A call of this process reports its result itself.
    answer = None if intent.is_own else await _answer(journal, intent, found)
    directory = (await journal.store()).database.path.parent
    notice = _notice(intent, found)
    reported: list[str] = []

    def report(connection: sqlite3.Connection, made: list[Edit]) -> None:
        add_unagreed(connection, intent, [edit.id for edit in made if edit.path in found.unagreed])
        if made or found.problem or found.left or found.displaced:
            # The notice outlives a process that ends before it is shown.
            unseen_notices.add(directory, notice)
            reported.append(notice)

    try:
        await (await journal.intents()).settle(intent, found.to_record, answer, report)
    except StoreError:
        await in_thread(unseen_notices.acknowledge, directory, reported)
        raise
    journal.unfinished.pop(intent.id, None)
    return reported


def _postpone(journal: "Journal", intents: Sequence[Intent], error: StoreError) -> Iterator[str]:
    """Leave intents that the store cannot record now; yield a notice, once, for each interrupted call."""
    for intent in intents:
        if intent.is_own:
            journal.unfinished[intent.id] = error
        elif intent.id not in journal.postponed:
            journal.postponed.add(intent.id)
            why = str(error).rstrip(".")
            yield (
                f"{_subject(intent)}. Its changes are not recorded yet ({why}); cogency-tui retries at the "
                "next start."
            )


def _in_order(intents: Iterable[Intent], unfinished: Collection[int]) -> list[Intent]:
    """The intents of ended calls. Planned changes are more precise than snapshots, and come first."""
    over = [each for each in intents if not each.is_live or (each.is_own and each.id in unfinished)]
    return sorted(over, key=lambda each: (bool(each.shadow.name), each.id))


async def _found(journal: "Journal", intent: Intent) -> _Found:
    if not intent.shadow.name:
        contents, blobs = await journal.contents(), await journal.blobs()
        plans = () if intent.ended is not None else intent.changes
        found = await in_thread(_of_plan, plans, contents)
        return _Found(found, left=await in_thread(_sweep, intent, journal.workspace, blobs))
    try:
        before, known, alive = await in_thread((await journal.shadow()).read, intent.shadow)
    except StoreError as error:
        return _Found(problem=str(error))
    last = await (await journal.edits()).last()
    contents = (await journal.contents()).of_another(known)
    changes, after = await changes_since(journal, before, contents)
    late = {path for path, stamp in after.files.items() if stamp.changed > alive + _LINGERING}
    others, intents = await (await journal.intents()).since(journal.root, intent.origin.project, intent.last)
    ours = await in_thread(written_by_us, changes, journal.workspace, await journal.blobs(), before.began)
    taken = unclaimed(changes, [*others, *planned_by(intents, changes), *ours], intent.shadow.beside, last)
    taken = shared(rivals(intents, intent.origin.conversation), taken, after, time.time())
    if intent.ended is not None and not intent.is_own:
        # It ran in the background, beside the user.
        taken = [replace(change, shared_with=(*change.shared_with, USER)) for change in taken]
    protected: list[FileChange] = []
    unagreed = frozenset[str]()
    moved: list[str] = []
    if intent.covers is not None:
        watched = before.protected | after.protected
        protected = await in_thread(of_protected, taken, watched, journal.workspace, intent.covers)
        lifetime = Lifetime(journal.workspace, before, after, alive)
        unagreed = await in_thread(_to_put_back, journal, protected, lifetime)
        moved = await in_thread(_displaced, journal.workspace, before, intent.covers)
    return _Found(
        [_as_before(change) if change.path in late else change for change in taken],
        unagreed=unagreed,
        doubtful=sorted({change.path for change in protected} - unagreed),
        displaced=moved,
    )


def _displaced(workspace: Workspace, before: snapshot.Snapshot, covers: Collection[Path]) -> list[str]:
    """The current places of the directories that led to protected files, except those that the user was asked
    about. Blocks.
    """

    def is_covered(path: str) -> bool:
        return any(Path(path).is_relative_to(each) for each in covers)

    places = {path: each for path, each in before.places.items() if not is_covered(path)}
    return displaced(workspace, places)


def _to_put_back(journal: "Journal", protected: Sequence[FileChange], lifetime: Lifetime) -> frozenset[str]:
    """The paths of the protected files that a command provably changed, and whose current content the last
    commit does not have. Blocks.
    """
    proven = [change for change in protected if lifetime.proves(change)]
    committed = brought(proven, journal.workspace, None, journal.commits, Bringing(()))
    return frozenset(change.path for change in proven if change not in committed)


def _as_before(change: FileChange) -> FileChange:
    """A snapshot of a file before others changed it, so that it can be restored."""
    return FileChange(change.old_path or change.path, change.before, change.before)


def _of_plan(plans: Iterable[FileChange], contents: Contents) -> list[FileChange]:
    """The planned changes that were made. Blocks."""
    return [change for plan in plans for change in _made(plan, contents)]


def _made(plan: FileChange, contents: Contents) -> list[FileChange]:
    now = _now(plan.path, contents)
    if plan.old_path:
        return _moved(plan, now, _now(plan.old_path, contents))
    if now.equals(plan.before):
        return []
    if now.holds(plan.after) or now.kind == "absent":
        return [replace(plan, after=now)]
    return [_as_before(plan)]


def _moved(plan: FileChange, now: Version, old: Version) -> list[FileChange]:
    if now.holds(plan.after) and old.kind == "absent":
        return [replace(plan, after=now)]
    if now.holds(plan.after):
        return [FileChange(plan.path, ABSENT, now)]
    return [FileChange(plan.old_path, plan.before, ABSENT)] if old.kind == "absent" else []


def _sweep(intent: Intent, workspace: Workspace, blobs: Blobs) -> list[str]:
    """Remove what is left beside the files that a call was about to change; return what has to stay.
    Blocks.
    """
    paths = [path for each in intent.changes for path in (each.path, each.old_path) if path]
    over = owner() if intent.is_own else ""
    return sweep(workspace, paths, lambda source: blobs.put(source).stored, over)


def _now(path: str, contents: Contents) -> Version:
    try:
        return contents.now(path)
    except WorkspaceError:
        return Version("file")


async def _answer(journal: "Journal", intent: Intent, found: _Found) -> ResultEvent:
    """The result of an interrupted call."""
    if not intent.tool.startswith(HOOK):
        ended = "interrupted: the program ended before the call completed."
        return _result(intent, intent.tool, INTERRUPTED, [ended, *_changes_of(found)], "interrupted")
    hook = intent.tool.removeprefix(HOOK)
    tool = await (await journal.intents()).tool_of(intent)
    edits = await (await journal.edits()).of_conversation(intent.origin.conversation)
    own = [each for each in edits if each.call == intent.call and not each.tool.startswith(HOOK)]
    if own:
        made = _listed([f"{each.kind} {shown(each.path)}" for each in own], _MOST_NAMED)
        ended = f"Then the program ended while the hook {hook} ran."
        lines = [f"Done: {made}.", ended, *_changes_of(found, "the hook")]
        return _result(intent, tool, f"done; the hook {hook} was cut off", lines, "done")
    lines = [
        f"interrupted: the program ended while the hook {hook} ran for this call.",
        f"{tool} itself did not run."
        if tool in _RECORDED
        else f"Whether {tool} itself had run is not recorded: check before you repeat it.",
        *_changes_of(found, "the hook"),
    ]
    return _result(intent, tool, INTERRUPTED, lines, "interrupted")


def _changes_of(found: _Found, what: str = "it") -> list[str]:
    """What is known of the changes of an interrupted call or hook, for the model."""
    whose = "Its changes" if what == "it" else f"The changes of {what}"
    lines: list[str] = []
    if found.problem:
        lines.append(f"{whose} until then are unknown: {found.problem}")
    elif names := found.names:
        lines += [f"{whose} until then:", *names[:_MOST_LISTED]]
        if len(names) > _MOST_LISTED:
            lines.append(f"and {len(names) - _MOST_LISTED:,} more")
        if found.unagreed:
            lines.append(
                "Reverted, because the user had not approved it: "
                f"{', '.join(sorted(map(shown, found.unagreed)))}"
            )
    else:
        lines.append(f"{what.capitalize()} had changed no files of the project until then.")
    return lines


def _result(
    intent: Intent, tool: str, outcome: str, lines: Sequence[str], state: Literal["done", "interrupted"]
) -> ResultEvent:
    return {
        "type": "result",
        "timestamp": time.time(),
        "id": intent.call,
        "tool": tool,
        "duration": 0.0,
        "payload": {
            "outcome": outcome,
            "content": "\n".join(lines),
            "error": state != "done",
            "state": state,
            "orphaned": True,
        },
    }


def _subject(intent: Intent) -> str:
    """A clause with the call and what happened to it."""
    what = "could not be recorded when it was made" if intent.is_own else "was interrupted"
    return f"A call to {intent.tool} in conversation {intent.origin.conversation} {what}"


def _notice(intent: Intent, found: _Found) -> str:
    what = _subject(intent)
    if found.problem:
        return f"{what}; its changes are unknown: {found.problem}"
    if found.doubtful:
        named = _listed([*map(shown, found.doubtful)], _MOST_EXAMINED)
        what += f". Check these files, which it or another program changed: {named}"
    if found.displaced:
        what += f". Check this change: {'; '.join(found.displaced)}"
    names = found.names
    if found.displaced and not found.changes:
        return f"{what}."
    if found.left:
        return f"{what}; the earlier contents of files too large to save are in {', '.join(found.left)}."
    if not names:
        return f"{what}; files it may have changed were modified later and can be restored."
    return f"{what}; its changes are recorded: {_listed(names, _MOST_NAMED)}."


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
