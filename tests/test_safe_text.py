"""Nothing that a terminal would act on gets through, wherever the text is cut."""

import re
import unicodedata
from itertools import pairwise
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.safe_text import Sanitizer, clean, fold_blanks, one_line, reveal
from tests.cases import cases

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

HOSTILE = st.lists(
    st.sampled_from(
        [
            "\x1b", "\x1b[", "\x1b]", "\x1bP", "[2J", "31m", "0;title", "\x07", "\x1b\\", "\x9b", "\x9d", "\x9c",
            "\r", "\n", "\t", "a", "é", "日", "\u202e", "\x00", "\x7f", "\ud800", "[/]", "[@click=app.quit]", "(B",
        ]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@cases(
    ("text", "expected"),
    [
        ("plain [/] [b text", "plain [/] [b text"),
        ("a\x1b[2Jb", "ab"),
        ("a\x1b[38;5;1mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;aGk=\x1b\\x", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2;0;0;0\x1b\\x", "x"),
        ("\x9b31mx", "x"),
        ("\x1b(Bx", "x"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\u202eevil", "⟨U+202E⟩evil"),
        ("\ud800", "\ufffd"),
        ("one\u2028two", "one\ntwo"),
        ("\x1b]never ends\nnext", "never ends\nnext"),
    ],
)
def test_clean_strips_what_a_terminal_acts_on(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(HOSTILE)
def test_nothing_unsafe_is_left(text: str) -> None:
    assert not UNSAFE.search(clean(text))


@given(HOSTILE, st.lists(st.integers(min_value=0, max_value=80), max_size=6))
def test_cutting_the_text_changes_nothing(text: str, cuts: list[int]) -> None:
    sanitizer = Sanitizer()
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]

    cleaned = "".join(sanitizer.feed(piece) for piece in pieces) + sanitizer.close()

    assert cleaned == clean(text)


def test_a_lone_escape_at_the_end_waits_for_what_follows() -> None:
    sanitizer = Sanitizer()

    assert sanitizer.feed("safe\x1b") == "safe"
    assert sanitizer.feed("[2Jmore") == "more"


def test_a_sequence_that_never_ends_does_not_swallow_the_text() -> None:
    sanitizer = Sanitizer()
    text = "\x1b]" + "x" * 10_000

    assert sanitizer.feed(text) + sanitizer.close() == "x" * 10_000


@cases(
    ("text", "expected"),
    [
        ("rm -rf build", "rm -rf build"),
        ("ls \x1b[2J", "ls ␛[2J"),
        ("a\x00b\x7f", "a␀b␡"),
        ("file\u202etxt.exe", "file⟨U+202E⟩txt.exe"),
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("no\u00a0break", "no⟨U+00A0⟩break"),
        ("日本語 é", "日本語 é"),
        ("hangul\u3164filler", "hangul⟨U+3164⟩filler"),
    ],
)
def test_reveal_shows_what_cannot_be_seen(text: str, expected: str) -> None:
    assert reveal(text) == expected


@given(st.text())
def test_revealed_text_is_visible(text: str) -> None:
    left = set(reveal(text)) - {" ", "\n", "\t"}
    assert not {character for character in left if unicodedata.category(character)[0] in "CZ"}


def test_one_line_keeps_the_line_breaks_visible() -> None:
    assert one_line(" echo a\nrm b ") == "echo a⏎rm b"


def test_blanks_are_folded_in_linear_time() -> None:
    for blank in (" ", "\n", " \n", "\n ", "x\n\n\n"):
        counts: list[float] = []
        for size in (50_000, 200_000):
            started = process_time()
            assert list(fold_blanks(f"a{blank * size}b"))
            counts.append(process_time() - started)
        assert counts[1] < 12 * counts[0] + 0.05
