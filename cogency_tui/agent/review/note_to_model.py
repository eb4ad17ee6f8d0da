"""The note on the review that the model receives with the user's next message: exact, short, once.

Changes that were made and undone again before the note are left out. Diffs are indented, so that nothing in
a file can pass for words of the engine or of the user.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from cogency_tui.agent.edits.file_history import BY_USER, HOOK, REDO, RESTORE
from cogency_tui.agent.review.hunk_composition import content
from cogency_tui.agent.review.model import LARGEST
from cogency_tui.agent.review.snapshot import ReviewSnapshot, ReviewSource
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.protocol.events import CommentPlace, ReviewNote
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.store.reviews import Action, ActionKind, Part
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode
from cogency_tui.workspace.three_way_merge import Hunk, hunks

_HEAD = (
    "[engine] Since their last message the user reviewed your edits, as follows. The files reflect this. Do "
    "not redo what was reverted or replaced, unless they ask for it."
)
_MOST_LINES = 60
"""Lines of one diff that the model receives."""

_MOST = 12_000
"""Characters of diffs in all; beyond that the model receives only the names."""

_VERBS: dict[ActionKind, str] = {
    "edit": "was replaced by the user's own text",
    "keep": "was restored",
    "resolve": "conflicted with later lines, which the user replaced",
    "redo": "was changed back by the user, who undid and then redid this",
    "undo": "was changed back by the user, who undid their own decision",
}


async def undelivered_note(source: ReviewSource) -> ReviewNote | None:
    """The user's decisions on the edits of a conversation that its model has not received yet.

    Raises:
        StoreError: the records cannot be read.
    """
    reviews, edits = await source.reviews(), await source.journal.edits()
    delivered_action, delivered_edit = await reviews.last_delivered(source.conversation)
    if not (
        await reviews.any_after(source.conversation, delivered_action)
        or await edits.any_by(BY_USER, source.conversation, delivered_edit)
    ):
        return None
    snapshot = await source.snapshot()
    own = [edit for edit in snapshot.edits if edit.tool in BY_USER and edit.id > delivered_edit]
    actions = [action for action in snapshot.actions if action.id > delivered_action]
    if not own and not actions:
        return None
    blobs = await source.journal.blobs()
    entries = await in_thread(lambda: [*_entries(snapshot, own, actions, delivered_action, blobs)])
    if not entries:
        return None
    note: ReviewNote = {
        "text": "\n\n".join((_HEAD, *entries)),
        "action": max((action.id for action in snapshot.actions), default=delivered_action),
        "edit": max((edit.id for edit in own), default=delivered_edit),
    }
    if comments := await in_thread(lambda: [*_comment_places(snapshot, actions, blobs)]):
        note["comments"] = comments
    return note


def _comment_places(
    snapshot: ReviewSnapshot, actions: Sequence[Action], blobs: Blobs
) -> Iterator[CommentPlace]:
    edits = {edit.id: edit for edit in snapshot.edits}
    for action in _comments(snapshot, actions):
        hunk = next(_hunks(action.parts, edits, blobs), None)
        yield {"path": action.path, "line": hunk.new[0] + 1 if hunk else 0}


def _comments(snapshot: ReviewSnapshot, actions: Sequence[Action]) -> list[Action]:
    """The comments among these actions, without those that were withdrawn."""
    effective = {action.id for action in snapshot.effective}
    return [action for action in actions if action.kind == "comment" and action.id in effective]


def _entries(
    snapshot: ReviewSnapshot, own: Sequence[Edit], actions: Sequence[Action], delivered: int, blobs: Blobs
) -> Iterator[str]:
    edits = {edit.id: edit for edit in snapshot.edits}
    room = _MOST
    for edit in _lasting(own):
        what = _change(edit, blobs)
        if not what:
            continue
        room -= len(what)
        if room < 0:
            what = "    (read the file to see its content)"
        verb, rest = _verb(edit, snapshot.kinds.get(edit.id)), _standing(edit, edits)
        yield f"- {shown(edit.path)}: {_of(edit, edits)}{verb}{rest}.\n{what}"
    effective = {action.id for action in snapshot.effective}
    for action in actions:
        if action.kind == "resolve" and action.id in effective and (left := _left(action, edits)):
            room -= len(left)
            what = left if room >= 0 else "    (read the file to see its content)"
            of = _whose([edits[part.edit] for part in action.parts if part.edit in edits]) or "it"
            yield f"- {_where(action)}: {of} conflicted with later lines, which the user kept.\n{what}"
    for action in _comments(snapshot, actions):
        yield _comment(action, edits, blobs)
    by_id = {action.id: action for action in snapshot.actions}
    for undone in filter(None, (by_id.get(action.undoes) for action in actions)):
        if undone.kind == "comment" and undone.id <= delivered and undone.id not in effective:
            yield f"- {_where(undone)}: the user's comment was withdrawn:\n{_quoted(undone.text)}"


def _lasting(own: Sequence[Edit]) -> list[Edit]:
    """The user's edits without those that they have undone themselves."""
    left: dict[int, Edit] = {}
    for edit in own:
        targets = [undone.edit for undone in edit.undoes if not undone.hunk]
        if targets and len(targets) == len(edit.undoes) and all(target in left for target in targets):
            for target in targets:
                del left[target]
        else:
            left[edit.id] = edit
    return [*left.values()]


def _of(edit: Edit, edits: dict[int, Edit]) -> str:
    whose = _whose([edits[undone.edit] for undone in edit.undoes if undone.edit in edits])
    return f"{whose or 'it'} "


def _whose(targets: Sequence[Edit]) -> str:
    """Name changes of the model and of hooks; empty if these are none."""
    own = [target for target in targets if target.tool not in BY_USER]
    by_hooks = [target for target in own if target.tool.startswith(HOOK)]
    turns = sorted({target.origin.turn for target in own if target not in by_hooks})
    named = [f"your change of turn {', '.join(map(str, turns))}"] if turns else []
    for tool in dict.fromkeys(target.tool for target in by_hooks):
        at = sorted({target.origin.turn for target in by_hooks if target.tool == tool})
        named.append(f"the change of the hook {tool.removeprefix(HOOK)} in turn {', '.join(map(str, at))}")
    return " and ".join(named)


def _standing(edit: Edit, edits: dict[int, Edit]) -> str:
    """The remark that the model's own edit stands where only that of a hook after it was reverted."""
    targets = [edits[undone.edit] for undone in edit.undoes if undone.edit in edits]
    own = [target for target in targets if target.tool not in BY_USER]
    if not own or not all(target.tool.startswith(HOOK) for target in own):
        return ""
    undone = {each.edit for other in edits.values() for each in other.undoes}
    calls = {(target.call, target.path) for target in own}
    stand = any(
        (other.call, other.path) in calls and not other.tool.startswith(HOOK) and other.id not in undone
        for other in edits.values()
    )
    return "; your own edit stands" if stand else ""


def _verb(edit: Edit, kind: ActionKind | None) -> str:
    if edit.tool == RESTORE:
        return "was restored to an earlier version"
    if edit.tool == REDO and kind is None:
        return "was restored"
    return _VERBS.get(kind, "was reverted") if kind is not None else "was reverted"


def _change(edit: Edit, blobs: Blobs) -> str:
    """An edit's change, indented; empty if it changed nothing."""
    before, after = edit.before, edit.after
    lines: list[str] = []
    if edit.old_path:
        lines.append(f"    {shown(edit.old_path)} is now {shown(edit.path)}.")
    if before.kind == after.kind == "file" and before.mode != after.mode:
        lines.append(f"    Its mode is now {after.mode:o}, and was {before.mode:o}.")
    if not before.holds(after):
        lines.append(_lines(edit, blobs))
    return "\n".join(lines)


def _lines(change: FileChange, blobs: Blobs) -> str:
    if change.after.kind == "absent":
        return "    The file no longer exists."
    if change.before.kind == "absent":
        return "    The file exists again."
    try:
        old, new = _plain(change.before, blobs), _plain(change.after, blobs)
    except (StoreError, WorkspaceError):
        return f"    It was {change.before.size:,} bytes, and is now {change.after.size:,} bytes."
    return _indented(diff.body(old, new, 1)) or "    Only line endings or the encoding changed."


def _left(action: Action, edits: dict[int, Edit]) -> str:
    """What stays as it was where a conflict was resolved, indented; empty if nothing does."""
    if action.text:
        return _indented(action.text)
    made = [edits[id] for id in action.edits if id in edits]
    if any(_is_change(edit) for edit in made):
        return ""
    is_gone = any(edit.after.kind == "absent" for edit in made)
    return f"    {'The file no longer exists.' if is_gone else 'The file stays as it is now.'}"


def _is_change(edit: Edit) -> bool:
    return bool(edit.old_path) or not edit.before.equals(edit.after)


def _plain(version: Version, blobs: Blobs) -> str:
    if version.kind != "file" or not version.kept or version.size > LARGEST:
        raise WorkspaceError("It has no lines to show.")
    return decode(content(version, blobs), "").plain


def _comment(action: Action, edits: dict[int, Edit], blobs: Blobs) -> str:
    whose = _whose([edits[part.edit] for part in action.parts if part.edit in edits])
    of = f" ({whose})" if whose else ""
    pieces = [f"- {_where(action)}{of}: the user says:\n{_quoted(action.text)}"]
    about = _about(action.parts, edits, blobs)
    if about:
        pieces.append(f"  That is about:\n{about}")
    return "\n".join(pieces)


def _about(parts: Collection[Part], edits: dict[int, Edit], blobs: Blobs) -> str:
    """The hunks that a comment is about, indented."""
    found: list[str] = []
    for hunk in _hunks(parts, edits, blobs):
        found.append(replaced_lines(hunk.new[0], hunk.before, hunk.after))
    return _indented("".join(found))


def replaced_lines(first: int, before: bytes, after: bytes) -> str:
    """Lines that others replaced, at the line number `first` from 0."""
    return "".join([f"@@ line {first + 1} @@\n", *_signed("-", before), *_signed("+", after)])


def _hunks(parts: Collection[Part], edits: dict[int, Edit], blobs: Blobs) -> Iterator[Hunk]:
    """The hunks that these parts name, as far as they can be read."""
    for part in parts:
        edit = edits.get(part.edit)
        if not part.hunk or edit is None:
            continue
        with suppress(StoreError):
            sides = content(edit.before, blobs), content(edit.after, blobs)
            yield from (hunk for hunk in hunks(*sides) if hunk.id == part.hunk)


def _signed(sign: str, data: bytes) -> Iterator[str]:
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    for line in lines if lines[-1] else lines[:-1]:
        yield f"{sign}{line.removesuffix(chr(13))}\n"


def _where(action: Action) -> str:
    return shown(action.path) if action.path else "All files"


def _quoted(text: str) -> str:
    return "\n".join(f"  > {line}" for line in text.split("\n"))


def _indented(text: str) -> str:
    lines = text.removesuffix("\n").split("\n") if text else []
    delivered = [f"    {line}" for line in lines]
    if len(delivered) > _MOST_LINES:
        left = len(delivered) - _MOST_LINES
        delivered = [*delivered[:_MOST_LINES], f"    (… and {left:,} more lines)"]
    return "\n".join(delivered)
