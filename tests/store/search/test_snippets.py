"""The snippet of a hit: at the place that the user most likely searches for."""

import pytest

from cogency_tui.store.search.documents import Document, Kind
from cogency_tui.store.search.snippets import closest, snippet

REPORT = "# Overview\n\n" + "\n\n".join(
    f"**Paragraph {number}**: the module checks {number + 3} names." for number in range(12)
)


def hit(text: str, *terms: str, kind: Kind = "answer", tool: str = "") -> tuple[str, list[str]]:
    """The snippet, and the marked parts of it."""
    shown, marks = snippet(Document(1, "c", kind, text, 0.0, tool), terms)
    return shown, [shown[first:end] for first, end in marks]


def test_the_words_in_their_order_come_first() -> None:
    shown, marked = hit(REPORT, "paragraph", "3")
    assert shown.startswith("…Paragraph 3**: the module")
    assert marked[:2] == ["Paragraph", "3"]


def test_else_the_place_where_the_most_words_are_close() -> None:
    text = f"retry {'x ' * 200}\nloop {'y ' * 200}\nthe loop has one more retry\n{'z ' * 200}"
    shown, marked = hit(text, "retry", "loop")
    assert shown.startswith("…the loop has one more retry")
    assert marked == ["loop", "retry"]


def test_it_begins_without_markdown_but_not_without_a_match() -> None:
    assert hit("## Overview of it", "overview")[0] == "Overview of it"
    assert hit("- `retry` it", "retry")[0] == "retry` it"
    assert hit("# Overview", "# over") == ("# Overview", ["# Over"])
    assert hit("# not Markdown", "not", kind="output")[0] == "# not Markdown"


def test_words_far_inside_a_line_have_the_text_before_them() -> None:
    shown, marked = hit(f"{'x' * 100} needle", "needle")
    assert shown == f"…{'x' * 39} needle"
    assert marked == ["needle"]


def test_a_call_is_shown_without_its_tool() -> None:
    assert hit("shell\npython3 -c 1", "python3", kind="call", tool="shell") == ("python3 -c 1", ["python3"])
    assert hit("shell\npython3 -c 1", "shell", kind="call", tool="shell")[1] == ["shell"]


@pytest.mark.parametrize(
    ("places", "first"),
    [
        ([(0, 0), (90, 1), (100, 0)], 90),
        ([(0, 0), (5, 1), (50, 0), (52, 1)], 50),
        ([(0, 0), (0, 1)], 0),
        ([(7, 0)], 7),
    ],
)
def test_the_closest_places_have_the_most_terms(places: list[tuple[int, int]], first: int) -> None:
    assert closest(places, 20) == first
