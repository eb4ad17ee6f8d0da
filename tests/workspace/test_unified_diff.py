"""Unified diffs read into files, hunks and notes, whoever wrote them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.workspace import diff
from cogency_tui.workspace.diff_rows import Row
from cogency_tui.workspace.unified_diff import DiffNotes, DiffPart, FileHead, ParsedHunk, parse_unified

TWO = """\
diff --git a/src/a.py b/src/a.py
index 123..456 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,3 @@ def shop():
-total = price * count
+total = cost * count
+more
 same
@@ -10 +11 @@
-end
\\ No newline at end of file
+the end
b.py is renamed to c.py.
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
"""


def hunks(parts: list[DiffPart]) -> list[ParsedHunk]:
    return [part for part in parts if isinstance(part, ParsedHunk)]


def test_files_hunks_and_notes_are_read_in_order() -> None:
    first, second, third, note, *new = parse_unified(TWO)

    assert first == FileHead("src/a.py", "src/a.py", added=3, removed=2)
    assert isinstance(second, ParsedHunk)
    assert isinstance(third, ParsedHunk)
    assert (second.section, third.skipped) == ("def shop():", 7)
    assert [*second.rows] == [
        Row("removed", 1, None, "total = price * count", twin=0),
        Row("added", None, 1, "total = cost * count", twin=0),
        Row("added", None, 2, "more"),
        Row("same", 2, 3, "same"),
    ]
    assert note == DiffNotes(["b.py is renamed to c.py."])
    assert new[0] == FileHead("", "new.py", added=1)
    assert [*hunks(new)[0].rows] == [Row("added", None, 1, "x")]


def test_a_file_without_lines_has_a_head() -> None:
    created, deleted = "--- /dev/null\n+++ b/x\n", "--- a/y\n+++ /dev/null\n"
    assert parse_unified(created) == [FileHead("", "x")]
    assert parse_unified(created + deleted) == [FileHead("", "x"), FileHead("y", "")]


def test_words_that_differ_are_found_between_versions_of_a_line() -> None:
    first, second = hunks(parse_unified(TWO))[:2]
    removed, added = first.rows[0], first.rows[1]

    assert (first.rows.changed_words(removed), first.rows.changed_words(added)) == (((8, 13),), ((8, 12),))
    # A note between two versions of a line does not part them.
    assert [row.kind for row in second.rows] == ["removed", "note", "added"]
    assert second.rows.changed_words(second.rows[2]) == ((0, 4),)


def test_what_looks_like_a_header_within_a_hunk_is_a_line_of_it() -> None:
    text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- a comment\n-x\n+++ b\n+@@ y\n"
    (hunk,) = hunks(parse_unified(text))

    assert [row.text for row in hunk.rows] == ["-- a comment", "x", "++ b", "@@ y"]


def test_the_next_file_ends_a_hunk_that_promised_more() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    assert [part.path for part in parse_unified(text) if isinstance(part, FileHead)] == ["x", "y"]


def test_lines_behind_a_hunk_are_notes_unless_the_text_is_called_a_diff() -> None:
    text = "@@ -1 +1 @@\n-a\n+b\n+c\n"

    assert parse_unified(text)[-1] == DiffNotes(["+c"])
    assert [row.text for row in hunks(parse_unified(text, bare=True))[0].rows] == ["a", "b", "c"]


def test_text_that_is_no_diff_is_notes() -> None:
    assert parse_unified("- a list\n- of things\n") == [DiffNotes(["- a list", "- of things"])]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("-a\n+b", ["a", "b"]), (" same\n\n+new", ["same", "", "new"]), ("def f():\n- a", ["def f():", " a"])],
)
def test_signs_alone_make_a_diff_of_a_text_that_is_called_one(text: str, lines: list[str]) -> None:
    (hunk,) = hunks(parse_unified(text, bare=True))

    assert not hunk.numbered
    assert [row.text for row in hunk.rows] == lines


LINES = st.lists(st.sampled_from(["a", "b", "", "-- c", "++ d", "@@ -1 +1 @@", "\\ x", " e"]), max_size=12)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_parsed_diff_has_the_lines_of_both_texts(
    old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    before, after = ("\n".join(old) + "\n" * old_ends, "\n".join(new) + "\n" * new_ends)
    parts = parse_unified(diff.unified(before, after, "f"))
    numbered: dict[str, dict[int, str]] = {"old": {}, "new": {}}
    for hunk in hunks(parts):
        for row in hunk.rows:
            if row.old:
                numbered["old"][row.old] = row.text
            if row.new:
                numbered["new"][row.new] = row.text

    sides = {"old": before.split("\n"), "new": after.split("\n")}
    for side, rows in numbered.items():
        assert all(sides[side][number - 1] == text for number, text in rows.items())
    heads = [part for part in parts if isinstance(part, FileHead)]
    counts = (heads[0].added, heads[0].removed) if heads else (0, 0)
    assert counts == diff.count(diff.unified(before, after, "f"))
    assert not any(isinstance(part, DiffNotes) and any(part.lines) for part in parts)
