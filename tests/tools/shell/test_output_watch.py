"""Watching output: which lines are found, how many are reported, and what no pattern can do."""

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.redaction import RedactedStream
from cogency_tui.tools.shell.output_watch import BURST, LONGEST_PATTERN, MOST_LINES, RATE, Watch


def watch(pattern: str, **secrets: str) -> Watch:
    return Watch(pattern, RedactedStream(secrets))


def test_whole_lines_are_found_wherever_the_output_is_cut() -> None:
    data = "one\nready é on 3000\r\nnot\nready again\nrea".encode()
    for size in range(1, len(data) + 1):
        each = watch("^ready")
        for start in range(0, len(data), size):
            each.feed(data[start : start + size])
        assert each.take() == (["ready é on 3000", "ready again"], "")


def test_the_last_line_is_found_at_the_end() -> None:
    each = watch("ready")
    each.feed(b"is ready")
    assert not each.has_news
    each.feed(b"", final=True)
    assert each.take() == (["is ready"], "")
    assert each.take() == ([], "")


def test_a_flood_is_counted() -> None:
    each = watch("error")
    each.feed(b"error: same\n" * 1000)
    each.feed(b"".join(b"error number %d\n" % number for number in range(2000)))
    lines, omitted = each.take()
    assert lines[:2] == ["error: same (1,000 times)", "error number 0"]
    assert len(lines) == MOST_LINES
    assert omitted == f"and {2000 - (MOST_LINES - 1):,} more"
    assert each.matches == 3000


def test_a_line_without_end_takes_bounded_memory() -> None:
    each = watch("x{10}")
    for _ in range(40):
        each.feed(b"x" * 10_000)
    each.feed(b"\n")
    (line,), omitted = each.take()
    assert len(line) < 400
    assert omitted == ""


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$"])
def test_a_pattern_that_takes_too_long_ends_the_watch(pattern: str) -> None:
    each = watch(pattern)
    each.feed(b"a" * 1999 + b"!\n" + b"a\n")
    assert each.has_failed
    assert each.take() == ([], "")


def test_secrets_are_redacted_before_the_search() -> None:
    each = watch("token", KEY="sesame-open-1234")
    each.feed(b"token sesame-open-1234\n")
    assert each.take() == (["token [KEY is not shown]"], "")
    by_secret = watch("sesame", KEY="sesame-open-1234")
    by_secret.feed(b"token sesame-open-1234\n")
    assert not by_secret.has_news


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "The pattern is no regular expression: missing ) at position 1."),
        ("a" * (LONGEST_PATTERN + 1), "The pattern has more than 500 characters."),
    ],
)
def test_a_mistake_is_explained(pattern: str, problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        watch(pattern)
    assert str(caught.value) == problem


def test_what_comes_too_fast_is_not_searched_and_counted() -> None:
    now = 0.0
    each = Watch("error", RedactedStream({}), lambda: now)
    each.feed(b"x\n" * (BURST // 2))
    each.feed(b"error lost\nerror cut")
    now += 21 / RATE
    each.feed(b" off\nerror found\n")
    now += 1
    each.feed(b"error again\n")
    assert each.take() == (["error found", "error again"], "20 bytes came too fast to be searched")
