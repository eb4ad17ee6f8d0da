"""Changes of a file's lines: told apart as hunks, merged from two sides, taken back one by one.

Invariant: every byte of a result stands in one of the versions given, in its order, whatever the encoding,
line endings and final newline; where two sides changed the same lines, both are handed back and neither is
chosen. What is no text is merged as a whole. Pure, and fast enough for 100,000 lines; call it in a thread.
"""

import codecs
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cogency_tui.workspace import diff

JOINED = 2
"""Changes with at most this many unchanged lines between them are one hunk."""

_SAMPLE = 8192
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BYTES = "latin-1"
"""Stands for every byte as a character of its own, so that lines of any encoding can be compared."""

Range = tuple[int, int]
"""Lines by number from 0: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that were put in the place of others: those at `old` before, those at `new` after.

    `id` follows from the lines themselves, so it stays when lines elsewhere change.
    """

    id: str
    old: Range
    new: Range
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed: where they are in each version, and what stands there."""

    base_lines: Range
    our_lines: Range
    their_lines: Range
    base: bytes
    ours: bytes
    theirs: bytes


@dataclass(frozen=True, slots=True)
class Merged:
    """The result in order: bytes, and conflicts where there were any."""

    pieces: tuple[bytes | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What has to be decided, from top to bottom."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Conflict))

    @property
    def content(self) -> bytes | None:
        """The whole result; None where something has to be decided."""
        return None if self.conflicts else self.resolved(())

    def resolved(self, chosen: Sequence[bytes]) -> bytes:
        """The result with these bytes in the place of the conflicts, one for each, from top to bottom.

        Raises:
            ValueError: there are more conflicts, or fewer.
        """
        if len(chosen) != len(self.conflicts):
            raise ValueError(f"{len(self.conflicts)} conflicts, and {len(chosen)} were decided.")
        choices = iter(chosen)
        return b"".join(piece if isinstance(piece, bytes) else next(choices) for piece in self.pieces)


def is_text(*contents: bytes) -> bool:
    """Whether these are texts whose lines can be compared."""
    return _codec(*contents) is not None


def lines(*contents: bytes) -> list[list[bytes]] | None:
    """The lines of each with their newlines, all read alike, as `hunks` counts them; None where one is no
    text, or is of another kind than the others."""
    codec = _codec(*contents)
    if codec is None:
        return None
    if codec != _BYTES:
        return [[_bytes([line], codec) for line in _lines(data, codec)] for data in contents]
    found: list[list[bytes]] = []
    for data in contents:
        *ended, last = data.split(b"\n")
        found.append([line + b"\n" for line in ended] + ([last] if last else []))
    return found


def hunks(before: bytes, after: bytes, joined: int = JOINED, check: diff.Check | None = None) -> list[Hunk]:
    """What differs, from top to bottom; content that is no text is one hunk.

    `check` is called now and then, and ends the work by raising.
    """
    if before == after:
        return []
    codec = _codec(before, after) or _BYTES
    old, new = _lines(before, codec), _lines(after, codec)
    if is_text(before, after):
        changes = _joined(diff.differences(old, new, check), joined)
    else:
        changes = [(0, len(old), 0, len(new))]
    found: list[Hunk] = []
    seen: Counter[str] = Counter()
    for a, a_end, b, b_end in changes:
        gone, come = _bytes(old[a:a_end], codec), _bytes(new[b:b_end], codec)
        digest = hashlib.sha256(b"%d:%b%b" % (len(gone), gone, come)).hexdigest()[:12]
        seen[digest] += 1
        id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        found.append(Hunk(id, (a, a_end), (b, b_end), gone, come))
    return found


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """What both sides made of `base`, in one content.

    Changes of neighbouring lines are no conflict; those of the same lines are, unless both made the same.
    """
    if base == ours or ours == theirs:
        return Merged((theirs,))
    if base == theirs:
        return Merged((ours,))
    codec = _codec(base, ours, theirs)
    if codec is None:
        return Merged((_whole(base, ours, theirs),))
    sides = _lines(base, codec), _lines(ours, codec), _lines(theirs, codec)
    return Merged(tuple(_pieces(*sides, codec)))


def revert_hunk(before: bytes, after: bytes, now: bytes, hunk: Hunk) -> Merged:
    """Take one hunk of the change from `before` to `after` out of `now`, which may have changed since.

    Raises:
        ValueError: there is no such hunk in this change.
    """
    return merge(after, now, without_hunk(before, after, hunk))


def without_hunk(before: bytes, after: bytes, hunk: Hunk) -> bytes:
    """`after` as it would be if this hunk had not been made.

    Raises:
        ValueError: there is no such hunk in this change.
    """
    codec = _codec(before, after) or _BYTES
    lines = _lines(after, codec)
    first, end = hunk.new
    if _bytes(lines[first:end], codec) != hunk.after:
        raise ValueError(f"The change has no hunk {hunk.id}.")
    return b"".join((_bytes(lines[:first], codec), hunk.before, _bytes(lines[end:], codec)))


def _codec(*contents: bytes) -> str | None:
    """What all of them are read with, None where one is no text, or is of another kind than the others.

    UTF-16 has newlines of two bytes; in all other encodings the byte is enough, whatever stands around it.
    """
    codecs_found = {_codec_of(data) for data in contents if data} or {_BYTES}
    return codecs_found.pop() if len(codecs_found) == 1 else None


def _codec_of(data: bytes) -> str | None:
    codec = _WIDE.get(data[:2])
    if codec is None:
        return None if b"\0" in data[:_SAMPLE] else _BYTES
    try:
        data.decode(codec, "surrogatepass")
    except UnicodeDecodeError:
        return None
    return codec


def _lines(data: bytes, codec: str) -> list[str]:
    lines = data.decode(codec, "surrogatepass").split("\n")
    last = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, last] if last else ended


def _bytes(lines: Sequence[str], codec: str) -> bytes:
    return "".join(lines).encode(codec, "surrogatepass")


def _whole(base: bytes, ours: bytes, theirs: bytes) -> Conflict:
    ends = [len(_lines(data, _BYTES)) for data in (base, ours, theirs)]
    return Conflict((0, ends[0]), (0, ends[1]), (0, ends[2]), base, ours, theirs)


def _joined(changes: Iterator[diff.Difference], joined: int) -> list[diff.Difference]:
    found: list[diff.Difference] = []
    for change in changes:
        if found and change[0] - found[-1][1] <= joined:
            a, _, b, _ = found.pop()
            change = (a, change[1], b, change[3])
        found.append(change)
    return found


def _pieces(base: list[str], ours: list[str], theirs: list[str], codec: str) -> Iterator[bytes | Conflict]:
    """Equal lines, what one side changed, and what both did, in turn.

    `shift` says how far a line of the base has moved in each side so far.
    """
    done = 0
    our_shift = their_shift = 0
    for our_part, their_part in _regions(base, ours, theirs):
        start = min(change[0] for change in our_part + their_part)
        end = max(change[1] for change in our_part + their_part)
        yield _bytes(base[done:start], codec)
        our_end = end + (_shift(our_part[-1]) if our_part else our_shift)
        their_end = end + (_shift(their_part[-1]) if their_part else their_shift)
        our_lines, their_lines = (start + our_shift, our_end), (start + their_shift, their_end)
        our_text = _bytes(ours[slice(*our_lines)], codec)
        their_text = _bytes(theirs[slice(*their_lines)], codec)
        if not their_part or our_text == their_text:
            yield our_text
        elif not our_part:
            yield their_text
        else:
            original = _bytes(base[start:end], codec)
            yield Conflict((start, end), our_lines, their_lines, original, our_text, their_text)
        done, our_shift, their_shift = end, our_end - end, their_end - end
    yield _bytes(base[done:], codec)


def _shift(change: diff.Difference) -> int:
    return change[3] - change[1]


def _regions(
    base: list[str], ours: list[str], theirs: list[str]
) -> Iterator[tuple[list[diff.Difference], list[diff.Difference]]]:
    """The changes of both sides from top to bottom, with those together that have lines in common."""
    todo = [(change, 0) for change in diff.differences(base, ours)]
    todo += [(change, 1) for change in diff.differences(base, theirs)]
    todo.sort()
    texts = ours, theirs
    region: tuple[list[diff.Difference], list[diff.Difference]] = ([], [])
    end = 0
    unfinished = False
    for change, side in todo:
        if any(region) and not (unfinished or _collides(change, end, region[1 - side])):
            yield region
            region = ([], [])
            unfinished = False
        region[side].append(change)
        end = max(end, change[1])
        # A last line without a newline cannot have another one behind it.
        unfinished |= change[3] > change[2] and not texts[side][change[3] - 1].endswith("\n")
    if any(region):
        yield region


def _collides(change: diff.Difference, end: int, others: list[diff.Difference]) -> bool:
    """Whether lines before `end` change here, too, or the other side puts lines at the very same place."""
    start, stop = change[0], change[1]
    return start < end or any(start == stop == first == last for first, last, *_ in others)
