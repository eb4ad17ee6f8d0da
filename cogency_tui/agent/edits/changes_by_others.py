"""Finds who else has changed a file since a conversation knew its content. Pure: no file is read here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cogency_tui.agent.edits.file_history import BY_USER
from cogency_tui.store.edit_records import ABSENT, Edit, Version
from cogency_tui.store.intents import Intent
from cogency_tui.workspace.protected_names import shown


@dataclass(frozen=True, slots=True)
class Since:
    """What has happened to a file: the `edits` of others, oldest first; `unrecorded`: a change that no edit
    explains. `known` is the version from which this starts, where its content is stored: that which the
    conversation knew, or, if `after_own`, what its own later edits made of that before the others'."""

    edits: tuple[Edit, ...]
    unrecorded: bool
    known: Version | None = None
    after_own: bool = False


def changed_since(path: str, edits: Sequence[Edit], caller: str, known: str, at: float, now: str) -> Since:
    """The changes at `path` since its content was that of the digest `known`, seen `at` that time, until it
    is that of `now`; `edits` are all at this path, oldest first. Digests are hexadecimal, empty for a file
    that is not there.
    """
    sides = [_at(path, edit) for edit in edits]
    found: list[Edit] = []
    unrecorded = after_own = False
    state = Version("file", known) if known else ABSENT
    start = _start(edits, sides, known, at)
    for edit, (before, after) in zip(edits[start:], sides[start:], strict=True):
        unrecorded = unrecorded or _differs(state, before)
        state = after
        if not is_of_call(edit, caller):
            found.append(edit)
        elif not (found or unrecorded):
            known, after_own = after.digest, True
    unrecorded = unrecorded or _differs(state, Version("file", now) if now else ABSENT)
    return Since(tuple(found), unrecorded, _version(sides, known), after_own)


def last_own(edits: Iterable[Edit], caller: str) -> Edit | None:
    """The last edit that a call of this conversation made."""
    own = [edit for edit in edits if is_of_call(edit, caller)]
    return own[-1] if own else None


def is_of_call(edit: Edit, caller: str) -> bool:
    """Return whether a call of this conversation made an edit, and not (possibly) the user, or a
    sub-agent."""
    return edit.origin.caller == caller and edit.tool not in BY_USER and not edit.is_possibly_users


def commands_running(intents: Iterable[Intent], caller: str) -> list[Intent]:
    """The commands of others that run, and whose changes are not recorded yet."""
    return [each for each in intents if each.shadow.name and each.is_live and each.origin.caller != caller]


def verb_for(path: str, edits: Sequence[Edit], now: str) -> str:
    """What has become of a file."""
    if now:
        return "changed"
    last = edits[-1] if edits else None
    return f"renamed to {shown(last.path)}" if last is not None and last.old_path == path else "deleted"


def _at(path: str, edit: Edit) -> tuple[Version, Version]:
    """The versions of a path before and after an edit, which may have renamed the file."""
    if edit.path != path:
        return edit.before, ABSENT
    return (ABSENT if edit.old_path else edit.before), edit.after


def _start(edits: Sequence[Edit], sides: Sequence[tuple[Version, Version]], known: str, at: float) -> int:
    """The place of the first edit after the content was known."""
    for place in range(len(sides), 0, -1):
        if sides[place - 1][1].digest == known:
            return place
    for place in range(len(sides) - 1, -1, -1):
        if sides[place][0].digest == known:
            return place
    # It was neither found nor left by an edit: only the time tells.
    return next((place for place, edit in enumerate(edits) if edit.timestamp > at), len(edits))


def _differs(one: Version, other: Version) -> bool:
    return one.known and other.known and not one.holds(other)


def _version(sides: Iterable[tuple[Version, Version]], digest: str) -> Version | None:
    return next((each for pair in sides for each in pair if each.kept and each.digest == digest), None)
