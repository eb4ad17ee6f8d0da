"""File name patterns."""

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.workspace.globs import compiled
from tests.cases import cases


@cases(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/*.py", "lib/src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/test_*.py", "test_a.py", True),
        ("**/test_*.py", "x/test_a.py", True),
        ("a/**/b/**/c", "a/x/b/b/y/c", True),
        ("a/**/b/**/c", "a/c/b", False),
        ("**/b/x/**/c", "b/b/x/c", True),
        ("**/b/**", "a/b/c", True),
        ("**/b/**", "a/bc/c", False),
        ("**", "a/b", True),
        ("src/**", "src/x/y", True),
        ("src/**", "src", False),
        ("*.{js,ts}", "a.ts", True),
        ("*.{js,ts}", "a.py", False),
        ("{src,lib}/*.{c,h}", "lib/x.h", True),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("[]].txt", "].txt", True),
        ("[z-a].txt", "[z-a].txt", True),
        ("a[.txt", "a[.txt", True),
        ("a.b", "axb", False),
        ("(x)+$^|.py", "(x)+$^|.py", True),
        ("./src/a", "src/a", True),
        ("*a*b*c", "xxaxxbxxc", True),
        ("*a*b*c", "abcab", False),
        ("*aab", "aaab", True),
        ("a*a", "a", False),
        ("*", "two\nlines", True),
    ],
)
def test_pattern_fits(pattern: str, path: str, fits: bool) -> None:
    assert bool(compiled(pattern).fullmatch(path)) is fits


@pytest.mark.timeout(60)
def test_hostile_pattern_takes_no_time() -> None:
    assert not compiled("*a" * 20 + "b").fullmatch("a" * 255)
    assert not compiled("**/x/" * 4 + "b").fullmatch("x/" * 100 + "c")


@pytest.mark.parametrize("pattern", ["{a,b}" * 10, "x" * 2000, "**/a/" * 10])
def test_unreasonable_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match="pattern"):
        compiled(pattern)
