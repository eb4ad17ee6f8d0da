"""Changes composed into one: the regions hold everything that differs, and each hunk is in one of them."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.agent.review.hunk_composition import Change, Region, composed
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.three_way_merge import hunks

TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=12).map(lambda lines: [f"{line}\n" for line in lines])


def steps_of(texts: list[list[str]], others: set[int]) -> list[list[Change]]:
    steps: list[list[Change]] = []
    for number, (before, after) in enumerate(pairwise(texts)):
        found = hunks("".join(before).encode(), "".join(after).encode())
        part = None if number in others else number + 1
        steps.append([Change(each.old, each.new, Part(part, each.id) if part else None) for each in found])
    return steps


def test_changes_of_different_lines_stay_apart_and_those_of_the_same_are_one() -> None:
    first = [Change((1, 2), (1, 3), Part(1, "x")), Change((8, 9), (9, 9), Part(1, "y"))]
    second = [Change((2, 4), (2, 3), Part(2, "z"))]
    assert composed([first, second]) == [
        Region((1, 3), (1, 3), (Part(1, "x"), Part(2, "z"))),
        Region((8, 9), (8, 8), (Part(1, "y"),)),
    ]


def test_what_others_did_is_a_region_of_its_own_or_marks_the_one_that_it_touches() -> None:
    agents = [Change((1, 2), (1, 2), Part(1, "x"))]
    others = [Change((1, 2), (1, 2), None), Change((5, 5), (5, 6), None)]
    assert composed([agents, others]) == [
        Region((1, 2), (1, 2), (Part(1, "x"),), others=True),
        Region((5, 5), (5, 6), (), others=True),
    ]


@pytest.mark.exhaustive
@settings(max_examples=120)
@given(texts=st.lists(TEXTS, min_size=2, max_size=5), others=st.sets(st.integers(0, 3)))
def test_outside_of_regions_the_first_and_the_last_text_are_the_same(
    texts: list[list[str]], others: set[int]
) -> None:
    steps = steps_of(texts, others)
    regions = composed(steps)
    first, last = texts[0], texts[-1]
    rebuilt: list[str] = []
    done = 0
    for region in regions:
        assert region.base[0] >= done
        rebuilt += [*first[done : region.base[0]], *last[slice(*region.new)]]
        done = region.base[1]
    assert [*rebuilt, *first[done:]] == last
    own = [change.part for step in steps for change in step if change.part]
    found = [part for region in regions for part in region.parts]
    assert sorted(found) == sorted(set(own))
