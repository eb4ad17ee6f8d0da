"""Steps that move hunks of a file from their current state to another, and can be merged.

A hunk is as the agent left it, as it was before, or as the user wrote it. A step from any of these to any
other is a change of the file as the agent left it; merged into the current file, it preserves everything
else. Blocks.
"""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cogency_tui.agent.edits.file_history import FileHistory, is_of_content
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.undo_selection import ReversalStep
from cogency_tui.agent.review.current_decisions import CurrentDecisions
from cogency_tui.agent.review.hunk_composition import Outlines, content
from cogency_tui.agent.review.model import LARGEST, EditedFile, Outline
from cogency_tui.errors import UsageError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import FileChange, Undone, Version
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode
from cogency_tui.workspace.three_way_merge import Range, hunks, lines, merge, without_hunk

_MOST_TRIED = 64
"""Hunks that are merged one by one if they cannot be merged together."""

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Replaced:
    """The target state of a hunk: the agent's lines, those before (`reverted`), or a text.

    `seen` is the text that the user replaced; without it, the hunk's lines are as they were decided, or if it
    is `gone`, as they were before the agent.
    """

    outline: Outline
    text: str | None = None
    reverted: bool = False
    seen: str | None = None
    gone: bool = False


class HunkPatcher:
    """The lines of one file with hunks; `path` is its current path.

    Raises:
        StoreError: a stored content cannot be read.
    """

    def __init__(
        self, history: FileHistory, outlines: Outlines, decisions: CurrentDecisions, path: str, blobs: Blobs
    ) -> None:
        self._history = history
        self._outlines = outlines
        self._decisions = decisions
        self._path = path
        self._blobs = blobs
        change = history.change
        self._after = content(change.after, blobs)
        sides = lines(content(change.before, blobs), self._after)
        if sides is None:
            raise UsageError(f"{shown(change.path)} cannot be split into lines.")
        self._old, self._new = sides
        self._mark = next((mark for mark in _MARKS if self._after.startswith(mark)), b"")

    def steps(self, targets: Sequence[Replaced], undoes: Sequence[Undone]) -> list[ReversalStep]:
        """The steps to merge so that these hunks reach the target state; none if they already have it.

        `undoes` are recorded with the change.
        """
        found: list[ReversalStep] = []
        last = self._history.edits[-1].id
        plain = [each for each in targets if not self._is_by_parts(each)]
        then, now = self._versions(plain)
        if not then.holds(now):
            own = undoes if len(plain) == len(targets) else [*map(_undone, _parts(plain))]
            found.append(ReversalStep(FileChange(self._path, then, now), tuple(own), last))
        for each in targets:
            if self._is_by_parts(each):
                found += self._part_steps(each.outline, undoes)
        return found

    def steps_of_edit(self, outline: Outline, edit: int, undoes: Sequence[Undone]) -> list[ReversalStep]:
        """The steps to merge so that what one edit did in a hunk is reverted."""
        return [*self._part_steps(outline, undoes, edit)]

    def mergeable(self, targets: Sequence[Replaced], contents: Contents) -> list[Replaced]:
        """The hunks, out of these, whose lines were not changed since; reads the current file.

        Raises:
            WorkspaceError: it cannot be read.
        """
        now = contents.now(self._path, LARGEST)
        if now.kind != "file" or not now.kept:
            return list(targets)
        present = self._blobs.read(now.digest, now.size)
        if self._merges(targets, present):
            return list(targets)
        if len(targets) > _MOST_TRIED:
            return []
        good = [each for each in targets if self._merges([each], present)]
        return good if self._merges(good, present) else []

    def as_decided(self) -> bytes:
        """The file before the agent's first edit, with the hunks in their current states."""
        pieces: list[bytes] = []
        done = 0
        for outline in self._outlines.hunks:
            pieces += [*self._old[done : outline.base[0]], self._current_lines(outline)]
            done = outline.base[1]
        return b"".join((*pieces, *self._old[done:]))

    def as_edited(self) -> EditedFile:
        """The file as the agent left it, but for the hunks that the user edited."""
        present: list[bytes] = []
        ranges: list[Range] = []
        done = 0
        for outline in self._outlines.hunks:
            present += self._new[done : outline.new[0]]
            own = self._edited_lines(outline)
            ranges.append((len(present), len(present) + len(own)))
            present += own
            done = outline.new[1]
        return EditedFile([*present, *self._new[done:]], ranges)

    def _edited_lines(self, outline: Outline) -> list[bytes]:
        text = self._decisions.text(outline)
        if text is None:
            return self._new[slice(*outline.new)]
        # Without its mark, UTF-16 is no text.
        mark = b"" if outline.new[0] == 0 else self._mark
        (own,) = lines(mark + self._encoded(text, outline)) or ([],)
        return [line for line in (b"".join(own[:1]).removeprefix(mark), *own[1:]) if line]

    def _merges(self, targets: Sequence[Replaced], present: bytes) -> bool:
        plain = [each for each in targets if not self._is_by_parts(each)]
        wished, base = self._contents(plain)
        others = [each.outline for each in targets if self._is_by_parts(each)]
        changes = [step.change for outline in others for step in self._part_steps(outline, ())]
        sides = [(content(each.after, self._blobs), content(each.before, self._blobs)) for each in changes]
        for after, before in ((base, wished), *sides):
            merged = merge(after, present, before).content
            if merged is None:
                return False
            present = merged
        return True

    def _versions(self, targets: Sequence[Replaced]) -> tuple[Version, Version]:
        """The file as it would be, and as it is assumed to be."""
        mode = self._history.change.after.mode
        then, now = (self._blobs.version(data, mode) for data in self._contents(targets))
        return then, now

    def _contents(self, targets: Sequence[Replaced]) -> tuple[bytes, bytes]:
        chosen = {each.outline.id: each for each in targets}
        then: list[bytes] = []
        now: list[bytes] = []
        done = 0
        for outline in self._outlines.hunks:
            between = b"".join(self._new[done : outline.new[0]])
            current = self._current_lines(outline)
            each = chosen.get(outline.id)
            then += [between, current if each is None else self._lines(each)]
            now += [between, current if each is None else self._seen(each, current)]
            done = outline.new[1]
        rest = b"".join(self._new[done:])
        return b"".join((*then, rest)), b"".join((*now, rest))

    def _seen(self, each: Replaced, current: bytes) -> bytes:
        if each.gone:
            return self._lines(Replaced(each.outline, reverted=True))
        return current if each.seen is None else self._encoded(each.seen, each.outline)

    def _current_lines(self, outline: Outline) -> bytes:
        """The current lines of a hunk, as far as they are known; else the agent's."""
        text = self._decisions.text(outline)
        reverted = self._decisions.settled(outline) and self._decisions.hunk(outline) == "reverted"
        return self._lines(Replaced(outline, text, reverted))

    def _lines(self, each: Replaced) -> bytes:
        outline = each.outline
        if each.reverted:
            return b"".join(self._old[slice(*outline.base)])
        if each.text is None:
            return b"".join(self._new[slice(*outline.new)])
        return self._encoded(each.text, outline)

    def _encoded(self, text: str, outline: Outline) -> bytes:
        """The user's text as lines of this file, with or without a final newline like the file."""
        plain = text.replace("\r\n", "\n")
        if outline.new[1] < len(self._new):
            plain += "\n" if plain and not plain.endswith("\n") else ""
        elif self._new and not self._new[-1].endswith((b"\n", b"\n\0")):
            plain = plain.rstrip("\n")
        return (self._mark if outline.new[0] == 0 else b"") + encoded(plain, self._after, self._path)

    def _is_by_parts(self, target: Replaced) -> bool:
        """Return whether a hunk's edits are reverted one by one: lines of others are between them, or some
        are reverted already.
        """
        states = {self._decisions.part(part) for part in target.outline.parts}
        return target.reverted and (target.outline.mixed or (len(states) > 1 and "reverted" in states))

    def _part_steps(
        self, outline: Outline, undoes: Sequence[Undone], only: int = 0
    ) -> Iterator[ReversalStep]:
        """Revert the hunks of single edits, or those of the `only` one, the latest first."""
        own = {part: _undone(part) for part in outline.parts}
        edits = {edit.id: edit for edit in self._history.edits}
        for part in sorted(outline.parts, reverse=True):
            if self._decisions.part(part) == "reverted" or only not in (0, part.edit):
                continue
            edit = edits[part.edit]
            before, after = content(edit.before, self._blobs), content(edit.after, self._blobs)
            hunk = next(each for each in hunks(before, after) if each.id == part.hunk)
            then = self._blobs.version(without_hunk(before, after, hunk), edit.after.mode)
            whole = tuple(each for each in undoes if each.edit == part.edit and not each.hunk)
            yield ReversalStep(FileChange(self._path, then, edit.after), (own[part], *whole), edit.id)


def encoded(text: str, like: bytes, path: str) -> bytes:
    """A text in the encoding and with the line endings of a file, without a byte order mark.

    Raises:
        UsageError: the encoding cannot represent a character.
    """
    file = decode(like, path)
    raw = text.replace("\r\n", "\n").replace("\n", file.newline)
    try:
        return raw.encode(file.encoding.removesuffix("-sig"))
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{raw[error.start]!r} cannot be written in {shown(path)}, which is {file.encoding_name}.",
            "Use other characters.",
        ) from None


def undone(
    targets: Iterable[Replaced], outlines: Outlines, decisions: CurrentDecisions, history: FileHistory
) -> list[Undone]:
    """The targets that reverting these hunks undoes: their parts, and the edits of which nothing is left."""
    return undone_with(_parts(targets), outlines, decisions, history)


def undone_with(
    parts: Sequence[Part], outlines: Outlines, decisions: CurrentDecisions, history: FileHistory
) -> list[Undone]:
    """The targets that reverting these parts undoes: as `undone`."""
    gone = {*parts} | {part for part in outlines.parts if decisions.part(part) == "reverted"}
    shown_parts = {part for outline in outlines.hunks for part in outline.parts}
    is_all = bool(parts) and is_of_content(history.change) and shown_parts <= gone
    found = [_undone(part) for part in parts]
    for edit in history.edits:
        own = {part for part in shown_parts if part.edit == edit.id}
        # Of edits that cancel each other out, as renames there and back, nothing was left before.
        cancels = is_all and not own and decisions.marked(Part(edit.id)) != "reverted"
        is_gone = own <= gone and not own.isdisjoint(parts) and (is_of_content(edit) or is_all)
        if cancels or is_gone:
            found.append(Undone(edit.id))
    return found


def _parts(targets: Iterable[Replaced]) -> list[Part]:
    return list(dict.fromkeys(part for each in targets for part in each.outline.parts))


def _undone(part: Part) -> Undone:
    return Undone(part.edit, part.hunk)
