"""Line changes of a file: separated into hunks, merged from two sides, reverted one by one.

Invariant: every byte of a result is in one of the given versions, in its order, whatever the encoding, line
endings and final newline; where two sides changed the same lines, both are returned and neither is chosen.
Binary content is merged as a whole. Pure, and fast enough for 100,000 lines; call it in a thread.
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
"""Encoding with a character for every byte, so that lines of any encoding can be compared."""

Range = tuple[int, int]
"""Lines by number from 0: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A replacement of lines: those at `old` before by those at `new` after.

    `id` is derived from the lines themselves, so it stays when lines elsewhere change.
    """

    id: str
    old: Range
    new: Range
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed: their position in each version, and their content."""

    base_lines: Range
    our_lines: Range
    their_lines: Range
    base: bytes
    ours: bytes
    theirs: bytes


@dataclass(frozen=True, slots=True)
class Merged:
    """The result in order: bytes, and conflicts where there are any."""

    pieces: tuple[bytes | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Conflicts to resolve, from top to bottom."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Conflict))

    @property
    def content(self) -> bytes | None:
        """The whole result; None where there are conflicts."""
        return None if self.conflicts else self.resolved(())

    def resolved(self, chosen: Sequence[bytes]) -> bytes:
        """Replace the conflicts by these bytes, one for each, from top to bottom.

        Raises:
            ValueError: there are more conflicts, or fewer.
        """
        if len(chosen) != len(self.conflicts):
            raise ValueError(f"{len(self.conflicts)} conflicts, but {len(chosen)} decisions.")
        choices = iter(chosen)
        return b"".join(piece if isinstance(piece, bytes) else next(choices) for piece in self.pieces)


def is_text(*contents: bytes) -> bool:
    """Return whether these are texts whose lines can be compared."""
    return _codec(*contents) is not None


def lines(*contents: bytes) -> list[list[bytes]] | None:
    """Split each into its lines with their newlines, all decoded alike, as `hunks` counts them; None where
    one is binary, or is of another kind than the others."""
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
    """Return the differences, from top to bottom; binary content is one hunk.

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


def line_differences(
    old: Sequence[bytes], new: Sequence[bytes], check: diff.Check | None = None
) -> list[diff.Difference]:
    """Return the differences of two sequences of lines; `check` as in `hunks`."""
    before, after = ([line.decode(_BYTES) for line in side] for side in (old, new))
    return [*diff.differences(before, after, check)]


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Merge the changes of both sides to `base`.

    Changes of neighbouring lines are no conflict; those of the same lines are, unless both are the same.
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


def without_hunk(before: bytes, after: bytes, hunk: Hunk) -> bytes:
    """Return `after` as it would be without this hunk.

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
    """Return the common encoding, None where one is binary, or is of another kind than the others.

    UTF-16 has newlines of two bytes; in all other encodings the byte suffices, whatever is around it.
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
    """Yield equal lines, one-sided changes, and conflicts, in order.

    `shift` is the offset of a line of the base in each side so far.
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
    """Return the changes of both sides from top to bottom, grouped where they have lines in common."""
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
    """Return whether there is a change of lines before `end` here, too, or the other side inserts lines at
    the very same place."""
    start, stop = change[0], change[1]
    return start < end or any(start == stop == first == last for first, last, *_ in others)
