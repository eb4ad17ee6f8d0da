"""Paths by a few letters: the order in which a person expects them, and marks where the letters are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.tui.kit.fuzzy import fold, matched
from cogency_tui.tui.prompt.path_search import MOST_FOUND, Paths, read_paths
from cogency_tui.workspace.paths import Workspace

PROJECT = Paths(
    [
        *["src/", "src/api/", "src/api/views.py", "src/checkout/", "src/checkout/cart.py"],
        *["src/checkout/retry.py", "src/checkout_policy.py", "README.md", "tests/", "tests/test_retry.py"],
        *["docs/", "docs/Übersicht.md", "docs/a file.md"],
    ]
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("ret", "src/checkout/retry.py"),
        ("RETRY", "src/checkout/retry.py"),
        ("test_r", "tests/test_retry.py"),
        ("read", "README.md"),
        ("src/checkout/c", "src/checkout/cart.py"),
        ("scr", "src/checkout/retry.py"),
        ("über", "docs/Übersicht.md"),
        ("ÜBER", "docs/Übersicht.md"),
        ("api/v", "src/api/views.py"),
    ],
)
def test_the_first_is_what_is_meant(query: str, first: str) -> None:
    assert PROJECT.find(query)[0] == first


def test_without_letters_the_top_is_listed_directories_first() -> None:
    assert PROJECT.find("") == ["docs/", "src/", "tests/", "README.md"]


def test_a_directory_leads_to_what_is_in_it() -> None:
    assert PROJECT.find("src/")[:5] == [
        *["src/api/", "src/checkout/", "src/checkout_policy.py"],
        *["src/api/views.py", "src/checkout/cart.py"],
    ]


def test_the_file_that_is_typed_out_comes_first() -> None:
    paths = Paths(["test_calc.py", "CALC.py", "calc.py", "src/calc.py", "calc.pyi"])
    assert paths.find("calc.py")[:2] == ["calc.py", "CALC.py"]
    assert paths.find("src/calc.py") == ["src/calc.py"]


def test_letters_that_no_path_has_find_nothing() -> None:
    assert PROJECT.find("zzz") == []
    assert Paths([]).find("a") == []
    assert Paths([]).find("") == []


def test_the_name_counts_more_than_the_directories() -> None:
    paths = Paths(["cart/zzz.py", "a/b/c/cart.py"])
    assert paths.find("cart") == ["a/b/c/cart.py", "cart/zzz.py"]


def test_paths_that_cannot_be_seen_are_left_out() -> None:
    assert Paths(["a\nb", "a\x1b[2J", "ab"]).find("a") == ["ab"]


def test_a_beginning_is_told_from_what_is_only_contained() -> None:
    assert PROJECT.begins("src/check")
    assert not PROJECT.begins("check")


def test_no_more_than_can_be_used_are_found() -> None:
    paths = Paths([f"d{n % 7}/file{n}.py" for n in range(5000)])
    assert len(paths.find("f")) == MOST_FOUND
    assert len(paths.find("fp")) == MOST_FOUND


@pytest.mark.parametrize(
    ("query", "path", "marked"),
    [
        ("retry", "src/retry/retry.py", "retry"),
        ("srp", "src/api/retry.py", "srp"),
        ("src/api", "src/api/views.py", "src/api"),
        ("vp", "src/api/views.py", "vp"),
    ],
)
def test_marks_are_where_the_letters_are(query: str, path: str, marked: str) -> None:
    places = matched(query, path)
    assert "".join(path[place] for place in places) == marked
    assert places == sorted(places)


def test_marks_prefer_the_name_and_beginnings_of_words() -> None:
    assert matched("retry", "src/retry/retry.py") == [10, 11, 12, 13, 14]
    assert matched("cr", "src/checkout/retry.py") == [4, 13]


NAMES = st.text("abcABC/._-ßİé", min_size=1, max_size=12).map(lambda name: name.strip("/") or "a")


@pytest.mark.exhaustive
@given(st.lists(NAMES, max_size=30), st.text("abcABC/._-ßİé", min_size=1, max_size=4))
def test_what_is_found_has_the_letters_and_what_has_them_is_found(names: list[str], query: str) -> None:
    paths = list(dict.fromkeys(names))
    wanted = {path for path in paths if _has(fold(query), fold(path))}
    assert set(Paths(paths).find(query)) == wanted
    for path in wanted:
        places = matched(query, path)
        assert [fold(path)[place] for place in places] == list(fold(query))


def _has(query: str, path: str) -> bool:
    at = -1
    for letter in query:
        at = path.find(letter, at + 1)
        if at == -1:
            return False
    return True


def test_the_project_is_read_as_its_ignore_files_leave_it(tmp_path: Path) -> None:
    for name in ("src/app.py", "build/out.o", ".git/config", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / ".gitignore").write_text("build/\n")
    found = read_paths(Workspace(tmp_path)).all
    assert sorted(found) == [".gitignore", "notes.txt", "src/", "src/app.py"]
