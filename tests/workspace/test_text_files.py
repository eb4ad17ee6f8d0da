"""Text as it is in files: what a change leaves alone."""

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.workspace.text_files import Text, decode, lines_of
from tests.cases import cases


@cases(
    ("data", "content", "encoding"),
    [
        (b"", "", "utf-8"),
        ("naïve 日本\n".encode(), "naïve 日本\n", "utf-8"),
        (codecs.BOM_UTF8 + b"x\r\n", "x\r\n", "utf-8-sig"),
        (codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"), "é\n", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "é\n", "utf-16-be"),
        (b"caf\xe9\n", "café\n", "latin-1"),
    ],
)
def test_encoding_is_found_and_kept(data: bytes, content: str, encoding: str) -> None:
    text = decode(data, "a")
    assert (text.raw, text.encoding) == (content, encoding)
    assert text.encode() == data


@cases(
    "data",
    [
        b"\x7fELF\0\0",
        b"a\0b",
        codecs.BOM_UTF32_LE + "x".encode("utf-32-le"),
        codecs.BOM_UTF16_LE + b"\x00\xd8",
        bytes(range(128, 256)) + bytes(range(1, 32)),
    ],
)
def test_binary_is_refused(data: bytes) -> None:
    with pytest.raises(WorkspaceError, match="binary"):
        decode(data, "a")


@cases(
    ("start", "count", "wanted"),
    [
        (1, None, "a\r\nb\u2028\x0c\n\nlast"),
        (1, 1, "a\r\n"),
        (2, 2, "b\u2028\x0c\n\n"),
        (4, 1, "last"),
        (4, 9, "last"),
        (3, None, "\nlast"),
    ],
)
def test_lines_are_as_they_stand(start: int, count: int | None, wanted: str) -> None:
    assert Text("a\r\nb\u2028\x0c\n\nlast").lines(start, count) == wanted


@given(st.text("a\r\n", max_size=9))
def test_all_lines_are_the_whole_text(raw: str) -> None:
    assert Text(raw).lines(1) == raw
    assert "".join(Text(raw).lines(number, 1) for number in range(1, raw.count("\n") + 2)) == raw


@given(st.binary(max_size=200))
def test_every_text_file_goes_back_to_the_same_bytes(data: bytes) -> None:
    try:
        text = decode(data, "a")
    except WorkspaceError:
        return
    assert text.encode() == data
    assert text.with_changes([]).encode() == data


@pytest.mark.exhaustive
@given(st.lists(st.tuples(st.text("ab", max_size=3), st.sampled_from(["\n", "\r\n"]))), st.data())
def test_change_touches_only_what_it_replaces(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    raw = "".join(line + ending for line, ending in lines)
    text = Text(raw)
    start = data.draw(st.integers(0, len(text.plain)))
    end = data.draw(st.integers(start, len(text.plain)))
    changed = text.with_changes([(start, end, "N")])
    assert changed.plain == text.plain[:start] + "N" + text.plain[end:]
    # What is before and after has the very line endings that it had.
    kept = len(text.plain[:start].split("\n")) - 1
    endings = [ending for _, ending in lines]
    after = endings[len(endings) - text.plain[end:].count("\n") :]
    assert _endings(changed.raw) == endings[:kept] + after


def _endings(raw: str) -> list[str]:
    return re.findall(r"\r?\n", raw)


def test_new_lines_take_the_ending_of_the_file() -> None:
    text = Text("one\r\ntwo\r\n")
    assert text.with_changes([(4, 7, "2\n3")]).raw == "one\r\n2\r\n3\r\n"


def test_new_lines_take_the_ending_of_what_they_replace_in_a_mixed_file() -> None:
    text = Text("a\r\nb\r\nc\nd\n")
    assert text.mixed
    assert text.with_changes([(4, 8, "x\ny\n")]).raw == "a\r\nb\r\nx\ny\n"


def test_missing_final_newline_stays_missing() -> None:
    assert Text("a\nb").with_changes([(0, 1, "x")]).raw == "x\nb"


def test_old_mac_line_ends_are_left_alone() -> None:
    assert Text("a\rb\rc").with_changes([(2, 3, "x")]).raw == "a\rx\rc"


def test_whole_replacement_keeps_the_line_ending() -> None:
    assert Text("a\r\nb\r\n").replaced_by("x\ny\n").raw == "x\r\ny\r\n"
    assert Text("a\nb\n").replaced_by("x\r\ny\r\n").raw == "x\r\ny\r\n"


def test_lone_surrogate_is_refused_for_what_it_is() -> None:
    with pytest.raises(ToolError, match=r"lone surrogate \(U\+D800\) in line 2"):
        Text("a\nb\ud800").encode()


def test_character_without_a_place_in_the_encoding_is_named() -> None:
    with pytest.raises(ToolError, match=r"U\+2192.*line 2.*ISO-8859-1"):
        Text("a\n→", "latin-1").encode()


def test_only_newlines_end_lines() -> None:
    assert lines_of("a\x0cb\u2028c\nd\n") == ["a\x0cb\u2028c", "d"]
    assert lines_of("") == []
    assert lines_of("\n") == [""]
