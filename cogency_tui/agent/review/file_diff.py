"""The diff of a changed file: its lines before and after, with its hunks, for a diff view.

Invariant: `old` and `new` are the same outside the hunks' `changes`, so that any stretch of unchanged lines
can be addressed by its numbers, however long. Construction blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cogency_tui.agent.edits.file_history import FileHistory
from cogency_tui.agent.review.current_decisions import CurrentDecisions
from cogency_tui.agent.review.hunk_composition import content
from cogency_tui.agent.review.model import ChangedFile, Hunk
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.workspace.diff import Check, Difference
from cogency_tui.workspace.diff_rows import Row, Span, changed_words
from cogency_tui.workspace.intraline import twins
from cogency_tui.workspace.text_files import decode, lines_of
from cogency_tui.workspace.three_way_merge import Range, line_differences, lines


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One changed file. `old` and `new` are lines without their endings; both are empty if there are no
    lines to show (`file.no_lines`).

    `notes` describe changes other than of lines: a mode, a name, line endings, a final newline, the
    encoding.
    """

    file: ChangedFile
    old: tuple[str, ...]
    new: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    notes: tuple[str, ...] = ()

    def rows(self, hunk: Hunk) -> list[Row]:
        """The lines of a hunk: unchanged ones between its changes, removed ones before added ones."""
        found: list[Row] = []
        old, new = hunk.outline.old[0], hunk.outline.new[0]
        for change in hunk.changes:
            found += self.unchanged((old, change[0]), new)
            found += self._changed(change)
            old, new = change[1], change[3]
        found += self.unchanged((old, hunk.outline.old[1]), new)
        return found

    def unchanged(self, old: Range, new: int) -> list[Row]:
        """Lines outside of changes: those at `old`, the first of which is at `new` on the other side."""
        start, end = old
        return [
            Row("same", number + 1, new + number - start + 1, self.old[number])
            for number in range(start, end)
        ]

    def gaps(self) -> list[tuple[Range, int]]:
        """The unchanged stretches before, between and after the hunks, as `unchanged` takes them; empty
        ones included, so that there is always one more than hunks.
        """
        found: list[tuple[Range, int]] = []
        old = new = 0
        for hunk in self.hunks:
            found.append(((old, hunk.outline.old[0]), new))
            old, new = hunk.outline.old[1], hunk.outline.new[1]
        found.append(((old, len(self.old)), new))
        return found

    def changed_words(self, row: Row) -> tuple[Span, ...]:
        """The characters of a removed or an added line that differ from its twin; none without one."""
        return changed_words(row, self.old, self.new)

    def patch(self, hunk: Hunk) -> str:
        """A hunk as a small diff without context or header, for the clipboard."""
        signs = {"same": " ", "removed": "-", "added": "+"}
        return "".join(f"{signs[row.kind]}{row.text}\n" for row in self.rows(hunk))

    def _changed(self, change: Difference) -> Iterator[Row]:
        first, end, new_first, new_end = change
        pairs = twins(self.old[first:end], self.new[new_first:new_end])
        back = {other: index for index, other in pairs.items()}
        for index, text in enumerate(self.old[first:end]):
            twin = pairs.get(index)
            yield Row("removed", first + index + 1, None, text, None if twin is None else new_first + twin)
        for index, text in enumerate(self.new[new_first:new_end]):
            twin = back.get(index)
            yield Row("added", None, new_first + index + 1, text, None if twin is None else first + twin)


def load(
    file: ChangedFile,
    history: FileHistory,
    decisions: CurrentDecisions,
    blobs: Blobs,
    check: Check | None = None,
) -> FileDiff:
    """The lines and hunks of a changed file.

    Raises:
        StoreError: a stored content cannot be read.
    """
    edits = {edit.id: edit for edit in file.edits}
    notes = [*_notes(history)]
    if file.no_lines or not file.hunks:
        return FileDiff(file, (), (), (), tuple(notes))
    before, after = (content(side, blobs) for side in (history.change.before, history.change.after))
    sides = lines(before, after)
    assert sides is not None, "It was outlined, so it is text."
    try:
        old, new = _decoded(before, file), _decoded(after, file)
    except WorkspaceError:
        return FileDiff(replace(file, no_lines="binary"), (), (), (), tuple(notes))
    merged_old: list[str] = []
    done = 0
    hunks: list[Hunk] = []
    comments = file.comments
    for outline, state in zip(file.hunks, file.states, strict=True):
        if check is not None:
            check()
        first, end = outline.new
        base, base_end = outline.base
        merged_old += [*new[done:first], *old[base:base_end]]
        done = end
        changes = tuple(
            (a + outline.old[0], a_end + outline.old[0], b + first, b_end + first)
            for a, a_end, b, b_end in line_differences(sides[0][base:base_end], sides[1][first:end], check)
        )
        own = tuple(comment for comment in comments if comment.hunk == outline.id)
        made = tuple(edits[id] for id in dict.fromkeys(part.edit for part in outline.parts))
        hunks.append(Hunk(outline, state, own, changes, made, last_edit=file.last_edits.get(outline.id)))
    merged_old += new[done:]
    notes += _endings(before, after)
    return FileDiff(file, tuple(merged_old), tuple(new), tuple(hunks), tuple(notes))


def _decoded(data: bytes, file: ChangedFile) -> list[str]:
    return lines_of(decode(data, file.path).plain)


def _notes(history: FileHistory) -> Iterator[str]:
    change = history.change
    before, after = change.before, change.after
    if change.old_path:
        yield f"Renamed from {change.old_path}."
    if before.kind == after.kind == "file" and before.mode != after.mode:
        yield f"The mode changes from {before.mode:o} to {after.mode:o}."
    if before.kind != after.kind and "link" in (before.kind, after.kind):
        yield f"It was {_kind(before.kind)}, and is {_kind(after.kind)}."


def _kind(kind: str) -> str:
    return {"absent": "nothing", "file": "a file", "link": "a symbolic link"}[kind]


def _endings(before: bytes, after: bytes) -> Iterator[str]:
    if before and after:
        old, new = decode(before, ""), decode(after, "")
        if old.encoding != new.encoding:
            yield f"The encoding changes from {old.encoding_name} to {new.encoding_name}."
        if old.newline != new.newline:
            yield f"The line endings change to {'CRLF' if new.newline != chr(10) else 'LF'}."
    for data, where in ((before, "before"), (after, "after")):
        if data and not data.endswith((b"\n", b"\n\0")):
            yield f"There is no newline at the end {where}."
