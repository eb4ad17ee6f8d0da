"""The parts of the review that need no screen: rows of the list, pairs of lines, lines of code, editors."""

import pytest

from cogency_tui.agent.review.model import ChangedFile, FileKey, Group, Overview
from cogency_tui.store.edit_records import State
from cogency_tui.tui.kit.diff_rows import height_of
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.review.file_rows import FileRow, first_of, place_of, rows_of
from cogency_tui.tui.review.section_drawing import paired
from cogency_tui.tui.terminal.external_editor import at_line
from cogency_tui.workspace.diff_rows import ListedLines, Row, Run


def file(path: str, turn: int, state: State = "new") -> ChangedFile:
    return ChangedFile(FileKey(turn, path), "", "changed", "", (), (state,), (), (), (1, 1), (0, 0))


def overview(*groups: Group) -> Overview:
    return Overview(groups, {}, can_undo=False, can_redo=False)


TURNS = overview(
    Group("make it fast", 2, (file("a.py", 2, "kept"), file("b.py", 2))),
    Group("fix it", 1, (file("a.py", 1, "reverted"),)),
)


def labels(wanted: str) -> list[str]:
    return [row.text if isinstance(row, Heading) else row.label for row in rows_of(TURNS, wanted)]


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ("", ["Turn 2", "a.py", "b.py", "Turn 1", "a.py"]),
        ("FAST", ["Turn 2", "a.py", "b.py"]),
        ("a.py reverted", ["Turn 1", "a.py"]),
        ("turn 1", ["Turn 1", "a.py"]),
        ("nowhere", []),
    ],
)
def test_every_word_of_a_filter_has_to_match(wanted: str, left: list[str]) -> None:
    assert labels(wanted) == left


def test_rows_are_found_by_their_file() -> None:
    rows = rows_of(TURNS, "")
    assert place_of(rows, FileKey(1, "a.py")) == 4
    assert isinstance(rows[first_of(rows)], FileRow)
    # Nothing is decided about the second.
    assert first_of(rows) == 2


def test_lines_that_are_versions_of_each_other_stand_side_by_side() -> None:
    same = Row("same", 1, 1, "s")
    gone, old = Row("removed", 2, None, "gone"), Row("removed", 3, None, "x = 1", 2)
    added, new = Row("added", None, 2, "added"), Row("added", None, 3, "x = 2", 2)
    assert paired(ListedLines([same, gone, old, added, new])) == [
        (same, same),
        (gone, added),
        (old, new),
    ]
    assert paired(ListedLines([old, added, new])) == [(None, added), (old, new)]
    assert paired(ListedLines([gone, old, new])) == [(gone, None), (old, new)]


def test_a_run_of_lines_counts_on() -> None:
    run = Run(Row("same", 5, 8, ""), ("a", "b", "c", "d"), 1, 3)
    assert [*run] == [Row("same", 5, 8, "b"), Row("same", 6, 9, "c")]
    assert (len(run), list(run.texts())) == (2, ["b", "c"])


@pytest.mark.parametrize(
    ("text", "height"), [("", 1), ("x" * 10, 1), ("x" * 11, 2), ("\tx", 1), ("\t\t\tx", 2), ("語" * 6, 2)]
)
def test_a_line_takes_as_many_lines_as_it_needs(text: str, height: int) -> None:
    assert height_of(text, 10) == height


@pytest.mark.parametrize(
    ("editor", "visual", "path"),
    [
        ("vim", "vim +7", "/p/a.py"),
        ("/usr/bin/nano -w", "/usr/bin/nano -w +7", "/p/a.py"),
        ("code --wait", "code --wait --goto", "/p/a.py:7"),
        ("hx", "hx", "/p/a.py:7"),
        ("mine", "mine", "/p/a.py"),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(editor: str, visual: str, path: str) -> None:
    environ, place = at_line({"EDITOR": editor, "HOME": "/h"}, "/p/a.py", 7)
    assert (environ["VISUAL"], place) == (visual, path)
    assert environ["HOME"] == "/h"
