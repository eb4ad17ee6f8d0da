"""Changes of files: prepared as a whole, shown before they are written, and written all or none.

Invariant: tools write nowhere else. Nothing is written unless everything can be, and no file that changed
since the change was prepared is overwritten.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.redaction import MARKER, Redactor, markers_in
from cogency_tui.tools.base import Intent, ToolContext
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.paths import Location, Staged, Workspace
from cogency_tui.workspace.protected_file_discovery import Leading
from cogency_tui.workspace.text_files import Text

LONGEST = 32 << 20
"""Largest file, in bytes, that tools open."""

_BACKSPACE = (
    r"[{} now has a backspace character: in a JSON string \b is one. For a backslash and a b, write \\b.]"
)


@dataclass(frozen=True, slots=True)
class Change:
    """The new bytes of a file, its previous bytes (None: a new file), and the diff to show; `texts` are
    both contents as text, where both have one."""

    location: Location
    before: bytes | None
    after: bytes
    diff: str
    texts: tuple[str, str] | None = None

    @property
    def counts(self) -> LineCounts:
        """Lines added and removed."""
        return diff.count(self.diff)

    def redacted_diff(self, secrets: Mapping[str, str]) -> str:
        """Diff without secrets, which are searched for in the whole contents."""
        redact = partial(Redactor(secrets).text, file=self.location.relative)
        if self.texts is None or all(redact(text) == text for text in self.texts):
            return self.diff
        return diff.unified(*self.texts, self.location.relative, redact)


def fingerprint(data: bytes) -> bytes:
    """Hash a file's bytes, to detect later changes."""
    return hashlib.sha256(data).digest()


def load(workspace: Workspace, location: Location) -> bytes | None:
    """Read a file; None when there is none.

    Raises:
        WorkspaceError: the path exists and cannot be read as a file.
    """
    return workspace.read_bytes(location, LONGEST) if workspace.exists(location) else None


def change(location: Location, before: bytes, old: Text, new: Text) -> Change:
    """Prepare the change of an existing text.

    Raises:
        ToolError: the new text cannot be written in the file's encoding.
    """
    shown = diff.unified(old.plain, new.plain, location.relative)
    return Change(location, before, new.encode(), shown, (old.plain, new.plain))


def refuse_markers(name: str, before: bytes, after: bytes) -> None:
    """Refuse to write a marker in place of a secret.

    Raises:
        ToolError: the new bytes have more markers than the old ones.
    """
    if markers_in(after.decode("utf-8", "replace")) > markers_in(before.decode("utf-8", "replace")):
        raise ToolError(
            f"{MARKER} would be written into {name} literally: it marks a hidden secret.",
            "Use edit around the secret, with old and new that do not include it; the file keeps it.",
        )


def intent(summary: str, changes: Sequence[Change], workspace: Workspace) -> Intent:
    """Describe the write that is about to happen, with every reason to ask.

    Raises:
        ToolError: a marker would replace a secret.
    """
    for one in changes:
        refuse_markers(one.location.relative, one.before or b"", one.after)
    leading = Leading()
    counts = [one.counts for one in changes]
    guards = ((one, workspace.guard(one.location, leading)) for one in changes)
    return Intent(
        "write",
        summary,
        detail=_detail(changes),
        paths=tuple(one.location.path for one in changes),
        outside=next((one.location.relative for one in changes if not one.location.inside), ""),
        protected=next((f"{one.location.relative}: {reason}" for one, reason in guards if reason), ""),
        counts=LineCounts(sum(each.added for each in counts), sum(each.removed for each in counts)),
    )


async def make(context: ToolContext, tool: str, changes: Sequence[Change]) -> Sequence[str]:
    """Write all changes, or none; record them, and update the fingerprints of what the agent has seen.

    Returns a line for each change that was written and could not be recorded, or that adds backspace
    characters.

    Raises:
        ToolError: one cannot be written, or the user has agreed to others; the files are as they were.
    """
    if context.agreed not in (None, _detail(changes)):
        raise _has_changed(changes[0])
    notes: Sequence[str] = ()
    if context.journal is None:
        await in_thread(apply, context.workspace, changes)
    else:
        async with context.journal.writing(context.call_id, tool, changes) as recorded:
            await in_thread(apply, context.workspace, changes)
        notes = recorded.notes
    for one in changes:
        context.seen[one.location.path] = fingerprint(one.after)
    return [*notes, *(_BACKSPACE.format(one.location.relative) for one in changes if _adds_backspaces(one))]


def _adds_backspaces(one: Change) -> bool:
    """Return whether a text gets characters that are hardly meant."""
    before, after = one.texts or (one.before or b"", one.after)
    return _backspaces_in(after) > _backspaces_in(before)


def _backspaces_in(content: str | bytes) -> int:
    return content.count("\b") if isinstance(content, str) else content.count(b"\b")


def apply(workspace: Workspace, changes: Sequence[Change]) -> None:
    """Write all changes, or none.

    Raises:
        ToolError: one cannot be written; the files are as they were.
    """
    staged: list[Staged] = []
    try:
        for one in changes:
            staged.append(workspace.stage(one.location, one.after))
        for one in changes:
            if load(workspace, one.location) != one.before:
                raise _has_changed(one)
    except BaseException:
        _discard(workspace, staged)
        raise
    for index, ready in enumerate(staged):
        try:
            workspace.commit(ready)
        except BaseException:
            _discard(workspace, staged[index + 1 :])
            _restore(workspace, changes[:index])
            raise


def _detail(changes: Sequence[Change]) -> str:
    """The diff of all changes, as the user is shown it."""
    return "".join(one.diff for one in changes)


def _has_changed(one: Change) -> ToolError:
    return ToolError(f"{one.location.relative} has just changed.", "Read it again, then repeat.")


def _discard(workspace: Workspace, staged: Sequence[Staged]) -> None:
    for one in staged:
        with suppress(WorkspaceError):
            workspace.discard(one)


def _restore(workspace: Workspace, changes: Sequence[Change]) -> None:
    for one in changes:
        if one.before is not None:
            with suppress(WorkspaceError):
                workspace.write_bytes(one.location, one.before)
