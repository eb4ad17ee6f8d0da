"""Merging and taking back lines: every byte comes from a side, and no later change is ever lost."""

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cogency_tui.workspace.three_way_merge import Conflict, hunks, is_text, lines, merge, without_hunk
from tests.cases import cases

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"\xff\xfe\n", b"}\n"]), max_size=12)
ENDS = st.sampled_from([b"", b"end", b"\r"])


def _joined(lines: list[bytes], last: bytes) -> bytes:
    return b"".join(lines) + last


CONTENTS: st.SearchStrategy[bytes] = st.builds(_joined, LINES, ENDS)
ENCODINGS = ["utf-8", "latin-1", "utf-16-le", "utf-16-be"]


def numbered(count: int) -> list[bytes]:
    return [b"line %d\n" % number for number in range(count)]


def changed(lines: list[bytes], at: int, *new: bytes, gone: int = 1) -> list[bytes]:
    return [*lines[:at], *new, *lines[at + gone :]]


@pytest.mark.exhaustive
def test_changes_of_different_lines_are_both_there() -> None:
    base = numbered(9)
    ours = changed(base, 1, b"ours\n")
    theirs = changed(base, 6, b"theirs\n", b"and more\n")

    merged = merge(b"".join(base), b"".join(ours), b"".join(theirs))

    assert merged.content == b"".join(changed(ours, 6, b"theirs\n", b"and more\n"))


def test_changes_of_neighbouring_lines_are_no_conflict() -> None:
    assert merge(b"1\n2\n", b"one\n2\n", b"1\ntwo\n").content == b"one\ntwo\n"
    # What was put behind a line stays when that line goes, at the end of the file, too.
    assert merge(b"1\n2\n", b"1\n2\nmine\n", b"1\n").content == b"1\nmine\n"
    assert merge(b"1\n2\n3\n", b"1\nmine\n2\n3\n", b"1\n3\n").content == b"1\nmine\n3\n"


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merge(b"1\n2\n3\n", b"1\nx\n3\n", b"1\nx\n3\n4\n").content == b"1\nx\n3\n4\n"


def test_the_same_lines_are_a_conflict_with_both_versions() -> None:
    merged = merge(b"0\n1\n2\n3\n4\n", b"new\n0\n1\nours\n3\n4\n", b"0\n1\ntheirs\n3!\n4\n5\n")

    assert merged.content is None
    assert merged.conflicts == (Conflict((2, 4), (3, 5), (2, 4), b"2\n3\n", b"ours\n3\n", b"theirs\n3!\n"),)
    assert merged.resolved([b"both\n"]) == b"new\n0\n1\nboth\n4\n5\n"
    with pytest.raises(ValueError, match="1 conflicts, but 0"):
        merged.resolved([])


def test_lines_put_at_the_same_place_are_a_conflict() -> None:
    (conflict,) = merge(b"1\n2\n", b"1\nours\n2\n", b"1\ntheirs\n2\n").conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == (b"", b"ours\n", b"theirs\n")


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [(b"1\n", b"one", b"1\n2\n"), (b"1\n", b"1\n2\n", b"one"), (b"", b"ours", b"theirs\n")],
)
def test_lines_are_never_glued_where_a_newline_is_missing(base: bytes, ours: bytes, theirs: bytes) -> None:
    assert merge(base, ours, theirs).content is None


@cases("encoding", ENCODINGS)
@cases("ending", ["\n", "\r\n"])
@cases("last", ["", "no newline ä"])
def test_encodings_line_endings_and_the_end_stay(encoding: str, ending: str, last: str) -> None:
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    # U+0A0A and U+0D0A look like newlines where bytes are cut at the wrong place.
    odd = "\u0a0a\u0d0a" if mark else "é"

    def text(*changes: tuple[int, str]) -> bytes:
        lines = [f"Zeile {number} {odd}" for number in range(9)]
        for at, new in changes:
            lines[at] = new
        return mark + (ending.join([*lines, last])).encode(encoding)

    agent, person = (2, "agent ü"), (6, "person ö")
    before, after, now = text(), text(agent), text(agent, person)
    (hunk,) = hunks(before, after)
    assert merge(after, now, before).content == text(person)
    assert merge(after, now, without_hunk(before, after, hunk)).content == text(person)
    assert merge(after, after, without_hunk(before, after, hunk)).content == before


def test_what_is_no_text_is_merged_as_a_whole() -> None:
    base, ours, theirs = b"\0a\nb\nc\n", b"\0x\nb\nc\n", b"\0a\nb\ny\n"
    assert merge(base, ours, base).content == ours
    assert merge(base, base, theirs).content == theirs
    assert merge(base, ours, ours).content == ours
    (conflict,) = merge(base, ours, theirs).conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == (base, ours, theirs)
    (hunk,) = hunks(base, theirs)
    assert merge(theirs, theirs, without_hunk(base, theirs, hunk)).content == base


def test_a_change_of_the_encoding_is_not_mixed_with_other_changes() -> None:
    wide = "1\n2\n".encode("utf-16")
    assert not is_text(wide, b"1\n2\n")
    assert merge(wide, "1\n2\n3\n".encode("utf-16"), b"1\n2\n").content is None
    assert not is_text(b"\xff\xfea")


@pytest.mark.exhaustive
def test_hunks_say_what_stands_where() -> None:
    before = numbered(30)
    after = changed(changed(before, 20, gone=2), 3, b"new\n", b"lines\n")
    first, second = hunks(b"".join(before), b"".join(after))
    assert (first.old, first.new, first.before, first.after) == ((3, 4), (3, 5), b"line 3\n", b"new\nlines\n")
    assert (second.old, second.new) == ((20, 22), (21, 21))
    assert (second.before, second.after) == (b"line 20\nline 21\n", b"")


def test_changes_close_to_each_other_are_one_hunk() -> None:
    before = numbered(9)
    near = changed(changed(before, 2, b"x\n"), 5, b"y\n")
    far = changed(changed(before, 2, b"x\n"), 6, b"y\n")
    assert len(hunks(b"".join(before), b"".join(near))) == 1
    assert len(hunks(b"".join(before), b"".join(far))) == 2
    assert len(hunks(b"".join(before), b"".join(near), joined=0)) == 2


def test_ids_of_hunks_stay_when_other_lines_change_and_tell_twins_apart() -> None:
    before = [*numbered(9), b"{\n", *numbered(9), b"{\n", *numbered(9)]
    after = [b"[\n" if line == b"{\n" else line for line in before]
    twins = [hunk.id for hunk in hunks(b"".join(before), b"".join(after))]
    assert len(set(twins)) == 2
    more = [b"first\n", *after]
    assert [hunk.id for hunk in hunks(b"".join(before), b"".join(more))][1:] == twins


def test_a_hunk_of_another_change_is_refused() -> None:
    (hunk,) = hunks(b"1\n", b"2\n")
    with pytest.raises(ValueError, match="no hunk"):
        merge(b"3\n", b"3\n", without_hunk(b"1\n", b"3\n", hunk))


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(CONTENTS, CONTENTS)
def test_taking_back_gives_the_old_bytes(before: bytes, after: bytes) -> None:
    assert merge(after, after, before).content == before
    content = after
    for hunk in reversed(hunks(before, after, joined=0)):
        content = without_hunk(before, content, hunk)
    assert content == before


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(CONTENTS, CONTENTS)
def test_hunks_one_by_one_give_the_old_bytes(before: bytes, after: bytes) -> None:
    now = after
    for hunk in hunks(before, after):
        content = merge(after, now, without_hunk(before, after, hunk)).content
        assert content is not None
        now = content
    assert now == before


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(CONTENTS, CONTENTS, CONTENTS)
# Bytes with the mark of UTF-16 are read as such where they can be: no 0x0A here is a newline.
@example(b"", b"\xff\xfe\nend", b"\xff\xfe\na\nend")
def test_nothing_is_invented_and_a_decision_settles_every_conflict(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    merged = merge(base, ours, theirs)
    given_lines = {line for side in (base, ours, theirs) for line in side.split(b"\n")}
    for choice in ("ours", "theirs"):
        content = merged.resolved([getattr(conflict, choice) for conflict in merged.conflicts])
        assert merged.conflicts or set(content.split(b"\n")) <= given_lines
    other = merge(base, theirs, ours)
    assert len(other.conflicts) == len(merged.conflicts)
    assert merged.conflicts or other.content == merged.content
    # What is not read alike is a conflict as a whole.
    base_read, our_read, their_read = lines(base, ours, theirs) or ([base], [ours], [theirs])
    for conflict in merged.conflicts:
        assert b"".join(base_read[slice(*conflict.base_lines)]) == conflict.base
        assert b"".join(our_read[slice(*conflict.our_lines)]) == conflict.ours
        assert b"".join(their_read[slice(*conflict.their_lines)]) == conflict.theirs


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(st.data())
def test_later_changes_of_other_lines_survive(data: st.DataObject) -> None:
    """The agent changes some lines of a file, the person others; every line is told apart by its number."""
    count = data.draw(st.integers(1, 30))
    owners = data.draw(st.lists(st.sampled_from("-ap"), min_size=count, max_size=count))
    kinds = data.draw(st.lists(st.sampled_from(["change", "remove"]), min_size=count, max_size=count))

    def text(*who: str) -> bytes:
        lines: list[bytes] = []
        for number, (owner, kind) in enumerate(zip(owners, kinds, strict=True)):
            if owner not in who:
                lines.append(b"%d\n" % number)
            elif kind == "change":
                lines.append(b"%d %s\n" % (number, owner.encode()))
        return b"".join(lines)

    before, after, now = text(), text("a"), text("a", "p")
    merged = merge(after, now, before)
    left = "".join(
        "x" if (owner, kind) == ("a", "remove") else owner for owner, kind in zip(owners, kinds, strict=True)
    )
    if re.search("px+p", left):
        # What the agent removed would have to come back in the middle of what the person changed.
        assert merged.content in (None, text("p"))
    else:
        assert merged.content == text("p")


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(CONTENTS, CONTENTS, st.data())
def test_no_later_line_is_lost_by_taking_back_a_hunk(
    before: bytes, after: bytes, data: st.DataObject
) -> None:
    found = hunks(before, after)
    assume(found)
    hunk = data.draw(st.sampled_from(found))
    lines = after.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines)))
    now = b"".join([*lines[:at], b"the person's\n", *lines[at:]])
    merged = merge(after, now, without_hunk(before, after, hunk))
    sides = [conflict.ours for conflict in merged.conflicts]
    assert b"the person's" in merged.resolved(sides)


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
def test_large_files_are_merged() -> None:
    base = numbered(20_000)
    ours = [b"ours %d\n" % number if number % 50 == 0 else line for number, line in enumerate(base)]
    theirs = [b"theirs %d\n" % number if number % 50 == 25 else line for number, line in enumerate(base)]
    merged = merge(b"".join(base), b"".join(ours), b"".join(theirs))
    assert merged.content is not None
    assert merged.content.count(b"ours") == merged.content.count(b"theirs") == 400
    assert len(hunks(b"".join(base), b"".join(ours))) == 400
