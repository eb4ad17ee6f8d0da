"""Filters as chips: which pieces of a query are any, and the query without one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.store.search.query import parse
from cogency_tui.tui.recall.search_bar import filters_in, without


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("retry file:app.py tool:shell", ["file:app.py", "tool:shell"]),
        ('file:"a b" x', ['file:"a b"']),
        ("error: since:30d cost:>0.5", ["error:", "since:30d", "cost:>0.5"]),
        ("http://x file: since:whenever", []),
        ('"file:quoted" word', []),
        ('"open file:x', []),
        ('file:"not closed', ['file:"not closed']),
    ],
)
def test_what_is_understood_is_a_filter(text: str, filters: list[str]) -> None:
    assert [each.text for each in filters_in(text)] == filters


def test_taking_one_away_leaves_the_rest() -> None:
    text = "retry file:app.py now"
    assert without(text, filters_in(text)[0]) == "retry now"
    assert without("file:x", filters_in("file:x")[0]) == ""


@given(st.text(st.sampled_from('ab: "file:tool:error:since:1d')))
def test_no_text_breaks_it_and_filters_are_not_terms(text: str) -> None:
    for each in filters_in(text):
        assert text[each.start : each.stop] == each.text
        assert not parse(each.text).terms
