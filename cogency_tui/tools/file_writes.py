"""Changes of files: prepared as a whole, shown before they are written, and written all or none.

Invariant: tools write nowhere else. Nothing is written unless everything can be, and no file that changed
since the change was prepared is overwritten.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.redaction import MARKER, Redactor, markers_in
from cogency_tui.tools.base import Intent, Outcome, ToolContext
from cogency_tui.tools.changes_by_others import Report, report_of
from cogency_tui.tools.seen_files import Seen, fingerprint
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


_Result = TypeVar("_Result")


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


async def refuse_unknown(context: ToolContext, one: Change) -> None:
    """Refuse to replace a content that is not the one that the model knows, or to make a file again that
    others have deleted.

    Raises:
        ToolError: it was changed or deleted since the model read it, or it is told of these changes and
            repeats the call without them.
    """
    if one.before is None:
        await _refuse_deleted(context, one.location)
        return
    location, before, after = one.location, one.before, fingerprint(one.after)
    digest = fingerprint(before)
    if context.seen.knows(location.path, digest, context.cycle):
        if context.seen.has_refused(location.path, digest, after):
            raise ToolError(
                f"This content still overwrites what others changed in {location.relative}.",
                "Keep their changes, or read the file again before you replace it.",
            )
        return
    report = await report_of(context, location, before)
    if report is not None:
        context.seen.report(location.path, digest, context.cycle, whole=report.whole)
        context.seen.refuse(location.path, digest, after)
        again = "Read it again first."
        if report.whole:
            again = f"These lines changed:\n{report.lines}Repeat the call with them in content, or use edit."
        raise ToolError(report.sentence, again, brief=report.brief)
    if context.seen.get(location.path, context.cycle) is not None:
        raise ToolError(f"{location.relative} has changed since it was read.", "Read it again first.")


async def _refuse_deleted(context: ToolContext, location: Location) -> None:
    """Refuse, once, to make a file again that others have deleted since the model knew it.

    Raises:
        ToolError: they have.
    """
    if context.seen.get(location.path, context.cycle) is None:
        return
    report = await report_of(context, location, None)
    # A deletion that nobody recorded may be the model's own, as in a directory that git ignores.
    if report is not None and any(each["by"] not in ("program", "command") for each in report.changes):
        context.seen.report(location.path, fingerprint(b""), context.cycle, whole=report.whole)
        raise ToolError(report.sentence, "To create it again, repeat the call.", brief=report.brief)


def refuse_unread(context: ToolContext, one: Change) -> None:
    """Refuse to replace a text that the model has not read, unless the user has agreed to the very change.
    What is no text cannot be read.

    Raises:
        ToolError: it has not read it.
    """
    is_text = one.texts is not None and one.texts[0] != ""
    if is_text and context.agreed is None and context.seen.get(one.location.path, context.cycle) is None:
        raise ToolError(
            f"{one.location.relative} has to be read before it is replaced.",
            "Read it, then repeat the call; or change part of it with edit.",
        )


async def explaining(
    work: Awaitable[_Result], context: ToolContext, *files: str, prepared: Sequence[Change] = ()
) -> _Result:
    """Await `work`; if it fails, add to its error what others have changed in these files since the model
    knew them, and in those of `prepared` changes since these were.

    Raises:
        ToolError: that of `work`.
    """
    try:
        return await work
    except ToolError as error:
        reports = [report async for report in _reports(context, files, prepared)]
        error.hint = "\n".join(filter(None, (error.hint, *(each.text.rstrip("\n") for each in reports))))
        error.brief = " ".join((error.brief, *(each.brief for each in reports)))
        raise


async def _reports(
    context: ToolContext, files: Iterable[str], prepared: Iterable[Change]
) -> AsyncGenerator[Report]:
    since: list[tuple[Location, Seen | None]] = []
    for name in files:
        with suppress(WorkspaceError):
            since.append((await in_thread(context.locate, name), None))
    since += [(one.location, Seen(fingerprint(one.before or b""), time.time())) for one in prepared]
    for location, seen in since:
        with suppress(WorkspaceError):
            content = await in_thread(load, context.workspace, location)
            report = await report_of(context, location, content, seen)
            if report is not None:
                digest = fingerprint(content or b"")
                context.seen.report(location.path, digest, context.cycle, whole=report.whole)
                yield report


async def reports_on(context: ToolContext, changes: Iterable[Change]) -> Sequence[Report]:
    """Report what others have changed, since the model knew the files, in those that are about to change."""
    changes = [*changes]
    found: list[Report] = []
    for one in changes:
        # Of many files, only those that the model has read: the others it does not know anyway.
        known = context.seen.get(one.location.path, context.cycle)
        if one.before is not None and (len(changes) == 1 or known is not None):
            report = await report_of(context, one.location, one.before)
            found += [report] if report is not None else []
    return found


def with_reports(outcome: Outcome, reports: Sequence[Report]) -> Outcome:
    """Add the changes by others, which those of the call have left as they are."""
    rest = "Your change leaves theirs as it is"
    notes = [
        f"{report.sentence} {rest}:\n{report.lines}".rstrip("\n")
        if report.lines
        else f"{report.sentence} {rest}. Read the file again before you replace it."
        for report in reports
    ]
    changed_by = [change for report in reports for change in report.changes]
    return replace(outcome, note="\n".join((*filter(None, [outcome.note]), *notes)), changed_by=changed_by)


async def make(
    context: ToolContext, tool: str, changes: Sequence[Change], reports: Sequence[Report] = ()
) -> Sequence[str]:
    """Write all changes, or none; record them, and update what the model knows of the files. `reports` are
    those that it gets with the result.

    Returns a line for each change that was written and could not be recorded, or that adds backspace
    characters.

    Raises:
        ToolError: one cannot be written, or the user has agreed to others; the files are as they were.
    """
    if context.agreed not in (None, _detail(changes)):
        raise _has_changed(changes[0])
    notes = await explaining(_write(context, tool, changes), context, prepared=changes)
    reported = {report.location.path: report for report in reports}
    for one in changes:
        path, after = one.location.path, fingerprint(one.after)
        if report := reported.get(path):
            context.seen.report(path, after, context.cycle, whole=report.whole)
        else:
            before = None if one.before is None else fingerprint(one.before)
            context.seen.wrote(path, before, after, context.cycle)
    return [*notes, *(_BACKSPACE.format(one.location.relative) for one in changes if _adds_backspaces(one))]


async def _write(context: ToolContext, tool: str, changes: Sequence[Change]) -> Sequence[str]:
    if context.journal is None:
        await in_thread(apply, context.workspace, changes)
        return ()
    async with context.journal.writing(context.call_id, tool, changes) as recorded:
        await in_thread(apply, context.workspace, changes)
    return recorded.notes


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
