"""Unified diffs: that they say what changed, and that patch understands them."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.workspace.diff import count, unified

TEXTS = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "\n", "--- x\n", "+++ y\n", "@@ z\n", "a"]), max_size=30
)


def test_change_is_shown_with_three_lines_of_context() -> None:
    before = "".join(f"{number}\n" for number in range(1, 11))
    assert unified(before, before.replace("5\n", "five\n"), "n.txt") == (
        "--- a/n.txt\n+++ b/n.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_distant_changes_are_hunks_of_their_own() -> None:
    before = "".join(f"{number}\n" for number in range(40))
    after = before.replace("3\n", "three\n", 1).replace("35\n", "x\n")
    assert unified(before, after, "n").count("@@ -") == 2


def test_nothing_changed_is_no_diff() -> None:
    assert unified("a\n", "a\n", "n") == ""


def test_new_and_deleted_files_are_compared_with_nothing() -> None:
    assert unified(None, "a\n", "n") == "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
    assert unified("a\n", None, "n") == "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_missing_final_newline_is_marked() -> None:
    mark = "\\ No newline at end of file"
    assert unified("a", "a\n", "n").endswith(f"@@ -1 +1 @@\n-a\n{mark}\n+a\n")
    assert unified("a\n", "b", "n").endswith(f"-a\n+b\n{mark}\n")


def test_only_newlines_end_lines() -> None:
    assert count(unified("a\x0cb\u2028c\n", "a\x0cb\u2028d\n", "n")) == (1, 1)


def test_lines_that_look_like_headers_are_counted() -> None:
    diff = unified("-- x\n@@ y\n", "++ z\n", "n")
    assert count(diff) == (1, 2)
    assert count(diff + diff) == (2, 4)


@pytest.mark.exhaustive
@settings(max_examples=150)
@given(TEXTS, TEXTS)
def test_applying_the_diff_gives_the_new_text(before: list[str], after: list[str]) -> None:
    old, new = "".join(before), "".join(after)
    assert _applied(unified(old, new, "n"), old) == new


def _applied(diff: str, old: str) -> str:
    """An independent reading of the format."""
    lines = [line for line in re.split(r"(?<=\n)", old) if line]
    result: list[str] = []
    position = 0
    mark = ""
    body = iter(diff.split("\n")[2:-1])
    for header in body:
        if header.startswith("\\"):
            if mark == "+":
                result[-1] = result[-1].removesuffix("\n")
            continue
        start, length, new_length = _numbers(header)
        first = start - (1 if length else 0)
        result += lines[position:first]
        position = first
        while length or new_length:
            row = next(body)
            if row.startswith("\\"):
                if mark == "+":
                    result[-1] = result[-1].removesuffix("\n")
                continue
            mark = row[0]
            if mark in " -":
                assert lines[position].removesuffix("\n") == row[1:]
                position += 1
                length -= 1
            if mark in " +":
                result.append(lines[position - 1] if mark == " " else f"{row[1:]}\n")
                new_length -= 1
    return "".join(result + lines[position:])


def _numbers(header: str) -> tuple[int, int, int]:
    found = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", header)
    assert found
    start, length, new_length = found.groups(default="1")
    return int(start), int(length), int(new_length)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_the_diff(tmp_path: Path) -> None:
    generator = random.Random(3)
    old = "".join(f"{generator.randrange(60)}\n" for _ in range(300))
    new = "".join(line for line in old.splitlines(keepends=True) if generator.random() > 0.2) + "end"
    (tmp_path / "n").write_text(old)
    (tmp_path / "d").write_text(unified(old, new, "n"))
    subprocess.run(["git", "apply", "d"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "n").read_text() == new


def _shuffled(count: int) -> tuple[str, str]:
    lines = [f"{number}\n" for number in range(count)]
    return "".join(lines), "".join(random.Random(1).sample(lines, count))


def _few_kinds(kind: Callable[[int], int]) -> str:
    block = "".join("ab"[kind(number)] + "\n" for number in range(290))
    return "".join(f"{number}\n{block}" for number in range(100))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("".join(f"{n}\n" for n in range(10_000)), "".join(f"{n}\n" for n in range(10_000, 0, -1))),
        _shuffled(10_000),
        ("a\nb\n" * 15_000, "b\na\n" * 15_000),
        ("x\n" * 15_000, "y\n" * 30_000),
        ("\n".join("ab"[n % 2] for n in range(900)), "\n".join("ab"[n * n % 3 % 2] for n in range(900))),
        (_few_kinds(lambda number: number % 2), _few_kinds(lambda number: number**2 % 3 % 2)),
    ],
    ids=["reversed", "shuffled", "two lines", "other", "few kinds", "few kinds often"],
)
@pytest.mark.timeout(60)
def test_bad_cases_take_no_time(old: str, new: str) -> None:
    assert unified(old, new, "n")


def test_moved_blocks_in_a_large_file_keep_the_diff_small() -> None:
    lines = [f"line {number}\n" for number in range(30_000)]
    after = [*lines[:100], *lines[29_000:29_010], *lines[100:29_000], *lines[29_010:]]
    assert count(unified("".join(lines), "".join(after), "n")) == (10, 10)
