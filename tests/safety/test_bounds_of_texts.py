"""Pages, Markdown and merges of any nesting cost time in proportion to their length."""

from collections.abc import Callable

import pytest

from cogency_tui.store.search.query import parse as parse_query
from cogency_tui.tools.web.page_text import to_markdown
from cogency_tui.tui.kit.markdown import parse
from cogency_tui.tui.kit.markdown_stream import LIMIT
from cogency_tui.workspace.three_way_merge import merge
from tests.counting import calls_counted
from tests.growth import assert_linear

PAGES = ["<div>", "<ul><li>", "<blockquote>", "<table><tr><td>", "<b>", "<", "<!--", "<script>", "<main>"]
BRACKETS = ["![", "[", "[[", "[a](", "![a](b", "[a", "*[_"]
TEXTS = ["```\na\n```\n", "```\n", ">", "- ", "*a", "[", "[a](", "![", "|a", "[a]: b\n", "<a ", "&", "~~a"]
QUERIES = ["a ", '"a b" ', '"', "file:", "cost:>0 ", "since:1d "]


@pytest.mark.parametrize("unit", PAGES)
def test_a_page_is_read_in_linear_time(unit: str) -> None:
    def read(html: str) -> None:
        to_markdown(html, "http://example.org/", [])

    assert_linear(lambda n: unit * n + "x", read, 500)


@pytest.mark.parametrize("unit", TEXTS)
def test_markdown_is_parsed_in_linear_time(unit: str) -> None:
    assert_linear(lambda n: unit * n + "x", parse, 180)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("unit", BRACKETS)
def test_brackets_of_a_paragraph_cost_about_what_its_letters_do(unit: str, closed: bool) -> None:
    size = LIMIT // 4
    brackets = (unit * size)[:size] + ("](a)" * size)[:size] * closed
    letters = ("ab *c* `d` " * size)[: len(brackets)]
    with calls_counted() as base:
        parse(letters)
    with calls_counted() as calls:
        tokens = parse(brackets)

    assert calls.count <= 6 * base.count
    shown = "".join(each.content for each in tokens[1].children or ())
    assert shown.count("[") == brackets.count("[")


@pytest.mark.parametrize("unit", QUERIES)
def test_a_query_is_read_in_linear_time(unit: str) -> None:
    assert_linear(lambda n: unit * n, parse_query, 2_500)


MERGES: list[Callable[[int], tuple[bytes, bytes, bytes]]] = [
    lambda n: (b"a\n" * n, b"b\n" * n, b"c\n" * n),
    lambda n: (b"a\nb\n" * n, b"b\na\n" * n, b"a\na\nb\n" * n),
]


@pytest.mark.parametrize("build", MERGES)
def test_a_merge_takes_linear_time(build: Callable[[int], tuple[bytes, bytes, bytes]]) -> None:
    assert_linear(build, lambda texts: merge(*texts), 500)
