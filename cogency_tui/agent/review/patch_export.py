"""A patch of the agent's edits that are not reverted, in git's format; it applies to the files before them.
Blocks.

Lines are passed as their bytes, whatever the encoding. Changes that a patch of lines cannot carry are
listed at the top, in lines that `git apply` skips.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cogency_tui.agent.edits.file_history import FileHistory
from cogency_tui.agent.review.current_decisions import CurrentDecisions
from cogency_tui.agent.review.hunk_composition import Outlines, content
from cogency_tui.agent.review.hunk_transitions import HunkPatcher
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import FileChange, Version
from cogency_tui.store.reviews import Part
from cogency_tui.workspace import diff
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.three_way_merge import lines

_SAMPLE = 8_000
"""Bytes that git searches for a zero byte to detect a binary file."""


@dataclass(frozen=True, slots=True)
class Patch:
    """`data` is the patch; `files` are in it, `left_out` names the others, each with the reason."""

    data: bytes
    files: tuple[str, ...]
    left_out: tuple[str, ...]


def patch_of(
    found: Iterable[tuple[FileHistory, Outlines]], blobs: Blobs, decisions: CurrentDecisions | None = None
) -> Patch:
    """A patch of these changes, without what others changed in between, and without what is reverted by the
    `decisions` about them; edits of the user are in it as they wrote them.

    Raises:
        StoreError: a stored content cannot be read.
    """
    pieces: list[bytes] = []
    files: list[str] = []
    left_out: list[str] = []
    for history, outlines in found:
        change = history.change
        if decisions and _is_reverted(history, outlines, decisions):
            continue
        if why := _why_not(change, outlines):
            left_out.append(f"{shown(change.path)}: {why}")
            continue
        before, after = content(change.before, blobs), content(change.after, blobs)
        if decisions and outlines.hunks and change.after.kind == "file":
            after = HunkPatcher(history, outlines, decisions, change.path, blobs).as_decided()
        elif change.after.kind == "file":
            after = _without_others(outlines, before, after)
        if b"\0" in before[:_SAMPLE] or b"\0" in after[:_SAMPLE]:
            left_out.append(f"{shown(change.path)}: binary")
            continue
        if piece := b"".join(_pieces(change, before, after)):
            pieces.append(piece)
            files.append(change.path)
    notes = [f"# not in this patch: {each}\n".encode() for each in left_out]
    return Patch(b"".join((*notes, *pieces)), tuple(files), tuple(left_out))


def _is_reverted(history: FileHistory, outlines: Outlines, decisions: CurrentDecisions) -> bool:
    if all(decisions.marked(Part(edit.id)) == "reverted" for edit in history.edits):
        return True
    change = history.change
    states = decisions.states(outlines.hunks, [edit.id for edit in history.edits])
    comes_or_goes = "absent" in (change.before.kind, change.after.kind)
    return comes_or_goes and set(states) == {"reverted"}


def _without_others(outlines: Outlines, before: bytes, after: bytes) -> bytes:
    """The file before, with the hunks as they are after."""
    sides = lines(before, after)
    if sides is None:
        return after
    old, new = sides
    pieces: list[bytes] = []
    done = 0
    for hunk in outlines.hunks:
        pieces += [*old[done : hunk.base[0]], *new[slice(*hunk.new)]]
        done = hunk.base[1]
    return b"".join((*pieces, *old[done:]))


def _why_not(change: FileChange, outlines: Outlines) -> str:
    if change.path.startswith("/") or change.old_path.startswith("/"):
        return "outside the project"
    if outlines.no_lines == "link":
        return "a symbolic link"
    return outlines.no_lines


def _pieces(change: FileChange, before: bytes, after: bytes) -> Iterator[bytes]:
    old_path, path = change.old_path or change.path, change.path
    created, deleted = change.before.kind == "absent", change.after.kind == "absent"
    old_mode, mode = _mode(change.before), _mode(change.after)
    hunks = diff.body(before.decode("latin-1"), after.decode("latin-1")).encode("latin-1")
    head: list[bytes] = []
    if created:
        head.append(b"new file mode %b\n" % mode)
    elif deleted:
        head.append(b"deleted file mode %b\n" % old_mode)
    elif old_mode != mode:
        head += [b"old mode %b\n" % old_mode, b"new mode %b\n" % mode]
    if change.old_path:
        head += [b"rename from %b\n" % _quoted("", old_path), b"rename to %b\n" % _quoted("", path)]
    if not head and not hunks:
        return
    source, target = _quoted("a/", old_path), _quoted("b/", path)
    yield b"diff --git %b %b\n" % (source, target)
    yield from head
    if hunks:
        yield b"--- %b\n" % (b"/dev/null" if created else source + _end(old_path))
        yield b"+++ %b\n" % (b"/dev/null" if deleted else target + _end(path))
        yield hunks


def _mode(version: Version) -> bytes:
    return b"100755" if version.mode & 0o100 else b"100644"


def _end(path: str) -> bytes:
    """The end of a name that contains a space, so that what follows is not read as a time."""
    return b"\t" if " " in path and not _is_odd(path) else b""


def _is_odd(path: str) -> bool:
    return any(character in '"\\' or ord(character) < 32 or ord(character) == 127 for character in path)


def _quoted(prefix: str, path: str) -> bytes:
    """A name as git writes it: quoted, with escapes, if it contains unusual characters."""
    data = (prefix + path).encode("utf-8", "surrogateescape")
    if not _is_odd(path):
        return data
    escaped = b"".join(_escape(byte) for byte in data)
    return b'"%b"' % escaped


def _escape(byte: int) -> bytes:
    if byte in b'"\\':
        return b"\\%c" % byte
    return b"\\%03o" % byte if byte < 32 or byte == 127 else b"%c" % byte
