"""Conversations as rows: the title has the room, and a column without facts takes none."""

from dataclasses import replace

import pytest

from cogency_tui.agent.recall.results import Hit
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.recall.row_lines import columns_of, draw_entry, draw_hit, relative_hit
from cogency_tui.tui.recall.rows import Item, RecallEntry
from cogency_tui.tui.theme_styles import theme_styles_of
from tests.tui.recall.test_rows import NOON, conversation

TITLE = "Pay for an order twice only if it was asked for twice"


def rows_of(*entries: RecallEntry, width: int = 76) -> list[str]:
    columns, styles = columns_of(entries, NOON, everywhere=False), theme_styles_of("night")
    items = [Item(entry.conversation.id, 0, 0, folded=False) for entry in entries]
    lines = [
        draw_entry(entry, item, columns, width, styles, "surface", now=NOON)
        for entry, item in zip(entries, items, strict=True)
    ]
    assert {width_of(line.segments) for line in lines} == {width}
    return [line.text for line in lines]


def test_columns_that_are_empty_leave_their_room_to_the_title() -> None:
    one = RecallEntry(replace(conversation("a", 20), title=TITLE, turns=3, cost=0.0, branch=""))
    (row,) = rows_of(one)
    assert TITLE in row
    assert row.endswith("3 turns  " + row.split("  ")[-1])


def test_facts_stand_in_columns_as_wide_as_the_widest() -> None:
    one = RecallEntry(replace(conversation("a", 1), title="One", turns=3, cost=0.25, branch="main"), files=2)
    two = RecallEntry(replace(conversation("b", 20), title="Two", turns=12, cost=0.0, branch=""))
    first, second = rows_of(one, two, width=100)
    assert "main  2 files   3 turns  $0.25" in first
    assert first.index("3 turns") == second.index("12 turns") + 1
    # A weekday with the time is longer than a day of this year.
    assert not first.endswith("…")


def test_half_of_a_narrow_row_is_the_titles() -> None:
    one = RecallEntry(replace(conversation("a", 20), title=TITLE, turns=3, cost=0.25, branch="main"), files=2)
    (row,) = rows_of(one, width=56)
    assert row.strip().startswith(TITLE[:25])


def shown_hit(text: str, *found: str) -> tuple[str, list[str]]:
    """A snippet as a row shows it, in which the words `found` are marked; and what is marked then."""
    marks = tuple((text.index(each), text.index(each) + len(each)) for each in found)
    hit = relative_hit(Hit(1, "a", "call", "read", NOON, text, marks), "/work/shop")
    return hit.text, [hit.text[first:end] for first, end in hit.marks]


def test_a_hit_names_files_of_its_project_as_the_conversation_does() -> None:
    assert shown_hit("read /work/shop/src/app.py", "app") == ("read src/app.py", ["app"])
    two = "/work/shop/a.py and /work/shop/b.py"
    assert shown_hit(two, "a.py", "b.py") == ("a.py and b.py", ["a.py", "b.py"])
    assert shown_hit("/work/shopping/a.py", "a.py") == ("/work/shopping/a.py", ["a.py"])


def test_a_hit_whose_first_path_is_cut_loses_the_rest_of_its_project() -> None:
    assert shown_hit("…ork/shop/src/app.py", "app") == ("…src/app.py", ["app"])
    assert shown_hit("…shop/src/app.py", "app") == ("…src/app.py", ["app"])
    assert shown_hit("…op/src/app.py", "app") == ("…op/src/app.py", ["app"])


def test_a_hit_in_the_name_of_its_project_stays_in_view() -> None:
    assert shown_hit("read /work/shop/src/app.py", "shop") == ("read /work/shop/src/app.py", ["shop"])


@pytest.mark.parametrize("word", ["python3", "shell"])
def test_a_row_of_a_call_has_its_tool_once(word: str) -> None:
    text = "shell python3 -c 1"
    place = text.index(word)
    hit = Hit(1, "a", "call", "shell", NOON, text, ((place, place + len(word)),))
    line = draw_hit(hit, 0, 40, theme_styles_of("night"), "surface", selected=False)
    assert line.text.split() == ["shell", "python3", "-c", "1"]
