"""Runs of equal lines: those that are found are equal, ascend, and miss little where little differs."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.workspace.diff import common, common_runs, differences, numbered, searched

LINES = st.lists(st.integers(0, 4), max_size=40)


def test_anchors_are_lines_that_occur_once_and_keep_their_order() -> None:
    assert common_runs([1, 2, 3, 2, 4], [4, 1, 2, 3]) == [(0, 1), (2, 3)]
    assert common_runs([1, 1, 2, 1], [1, 1, 2, 1]) == [(2, 2)]


def test_runs_of_lines_are_anchors_where_no_single_line_is() -> None:
    old = [1, 2, 1, 3, 2, 3, 1, 1]
    assert common_runs(old, old[2:] + [2, 1]) == []
    found = common_runs(old, old[2:] + [2, 1], 4)
    assert found
    assert all(old[a : a + 4] == (old[2:] + [2, 1])[b : b + 4] for a, b in found)


@given(old=LINES, new=LINES)
def test_common_counts_the_equal_beginning(old: list[int], new: list[int]) -> None:
    count = common(old, new)
    assert old[:count] == new[:count]
    assert old[count : count + 1] != new[count : count + 1] or count == min(len(old), len(new))


@pytest.mark.exhaustive
@settings(max_examples=150)
@given(old=LINES, new=LINES)
def test_the_search_finds_a_shortest_script(old: list[int], new: list[int]) -> None:
    blocks, _ = searched(old, new, 1_000_000)
    assert all(old[a : a + size] == new[b : b + size] and size for a, b, size in blocks)
    blocks.sort()
    ends = [(0, 0), *((a + size, b + size) for a, b, size in blocks)]
    assert all(a >= end and b >= other for (a, b, _), (end, other) in zip(blocks, ends, strict=False))
    assert sum(size for *_, size in blocks) == longest_common(old, new)


def longest_common(old: list[int], new: list[int]) -> int:
    row = [0] * (len(new) + 1)
    for line in old:
        last = row[:]
        for index, other in enumerate(new):
            row[index + 1] = last[index] + 1 if line == other else max(last[index + 1], row[index])
    return row[-1]


def test_the_search_gives_up_at_its_bound() -> None:
    blocks, steps = searched(list(range(100)), list(range(100, 200)), 50)
    assert blocks == []
    assert steps > 50


def test_few_changes_in_many_lines_that_repeat_are_told_line_by_line() -> None:
    chance = random.Random(5)
    old = [chance.choice(["}\n", "\n", "return\n"]) if n % 2 else f"call {n % 300}\n" for n in range(20_000)]
    new = list(old)
    places = sorted(chance.sample(range(20_000), 40))
    for place in places:
        new[place] = "changed\n"
    found = [*differences(old, new)]
    assert sum(end - start for start, end, *_ in found) <= 2 * len(places)


def test_lines_get_the_same_number_where_they_are_the_same() -> None:
    assert numbered(["a", "b", "a"], ["b", "c"]) == ([0, 1, 0], [1, 2])
