"""A command taken apart: what runs, with which words, and where its output goes."""

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.simple_command import TOO_DEEP
from tests.cases import cases


def words(command: str) -> list[list[str]]:
    """The words of each simple command; `?` stands for one that is not known."""
    return [[word.text if word.known else "?" for word in simple.words] for simple in parse(command)]


@cases(
    ("command", "found"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ("a 'b c' \"d e\"f g\\ h", [["a", "b c", "d ef", "g h"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ('a "b\\"c\\$d\\e"', [["a", 'b"c$d\\e']]),
        ("a\\\nb \\\nc", [["ab", "c"]]),
        ("a;b\nc&d&&e||f|g|&h", [[one] for one in "abcdefgh"]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a#b", [["a#b"]]),
        ("(a; b); { c; }", [["a"], ["b"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for x in a b; do c $x; done", [list[str](), ["c", "?"]]),
        ("X=1 Y='2 3' a b=c", [["a", "b=c"]]),
        ("X=1", [list[str]()]),
        ("a $X ${Y} $1 $? $$ $(b) `c`", [["b"], ["c"], ["a", "?", "?", "?", "?", "?", "?", "?"]]),
        ("a '$X' \\$X 'x`y`'", [["a", "$X", "$X", "x`y`"]]),
        ("a $ b", [["a", "$", "b"]]),
        ("a $'b c' $'d\\n'", [["a", "b c", "d\n"]]),
        ('a "$(b "c d")"', [["b", "c d"], ["a", "?"]]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", "?", "?"]]),
        ("sudo -u me a b", [["a", "b"]]),
        ("env -u X A=1 a", [["a"]]),
        ("env", [["env"]]),
        ("timeout -k 1 5 a b", [["a", "b"]]),
        ("xargs -n 1 a b", [["a", "b", "?"]]),
        ("sh -c 'a; b' c", [["sh", "-c", "a; b", "c"], ["a"], ["b"]]),
        ("bash x.sh", [["bash", "x.sh"]]),
        ("find . -exec a {} b ';'", [["find", ".", "-exec", "a", "{}", "b", ";"], ["a", "?", "b"]]),
        ("a <<X\nb $(c)\nX\nd", [["a"], ["c"], ["?"], ["d"]]),
        ("a <<'X' | e\nb $(c)\nX\nd", [["a"], ["e"], ["d"]]),
        ("a <<-X\n\tb\n\tX\nd", [["a"], ["d"]]),
        ("a <<< 'b; c'", [["a"]]),
    ],
)
def test_the_words_of_what_runs(command: str, found: list[list[str]]) -> None:
    assert words(command) == found


@cases(
    ("command", "found"),
    [
        ("a > b", [("b", True, True)]),
        ("a >b 2>&1", [("b", True, True), ("1", False, False)]),
        ("a >> b", [("b", False, True)]),
        ("a &> b", [("b", True, True)]),
        ("a &>> b", [("b", False, True)]),
        ("a >& b", [("b", True, True)]),
        ("a >| 'b c'", [("b c", True, True)]),
        ("a < b", [("b", False, False)]),
        ("a <> b", [("b", False, True)]),
        ("> b", [("b", True, True)]),
        ("a2> b", [("b", True, True)]),
        ("{ a; } > b", [("b", True, True)]),
    ],
)
def test_where_output_goes(command: str, found: list[tuple[str, bool, bool]]) -> None:
    redirections = [each for simple in parse(command) for each in simple.redirections]
    assert [(each.target.text, each.overwrites, each.writes) for each in redirections] == found


def test_a_descriptor_is_no_word_and_a_word_before_is_none() -> None:
    assert words("a 2> b") == [["a"]]
    assert words("a2> b") == [["a2"]]
    assert words("a '2'> b") == [["a", "2"]]


def test_patterns_are_told_from_quoted_characters() -> None:
    (simple,) = parse("a *.py '*' \\* x'*'y* {b,c} ~x")
    assert [word.pattern for word in simple.words] == ["", "*.py", "", "", "x[*]y*", "{b,c}", ""]


def test_options_are_found_however_they_are_written() -> None:
    (simple,) = parse("rm -xrf --one-file --force=yes a -- -v")
    assert simple.has("r")
    assert simple.has("", "force", "recursive")
    assert simple.has("", "one-file-system")
    assert not simple.has("v", "verbose")
    assert [word.text for word in simple.operands()] == ["a", "-v"]


def test_what_is_nested_too_deeply_is_marked() -> None:
    assert TOO_DEEP in parse("sudo " * 100 + "ls")
    assert TOO_DEEP in parse("$(" * 100 + "ls" + ")" * 100)
    assert TOO_DEEP not in parse("sudo nice sh -c 'echo $(echo $(ls))'")


@pytest.mark.exhaustive
@settings(max_examples=40)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, max_size=5
    )
)
def test_quoted_words_come_back_as_they_were(given_words: list[str]) -> None:
    # The first has to be a program.
    command = shlex.join(["program", *given_words])
    assert words(command) == [["program", *given_words]]


@pytest.mark.parametrize(
    "command",
    [
        *(
            "printf '%s\\n' a 'b c' \"d e\"",
            "printf '%s\\n' a\\ b 'c'\"d\"e",
            "printf '%s\\n' x#y # z",
            "printf '%s\\n' \\\n b",
        ),
        *(
            'printf \'%s\\n\' "a\\b\\\\c\\""',
            "printf '%s\\n' $'a b'",
            "printf '%s\\n' a=b =c ''",
            "printf '%s\\n' '~' a~b",
        ),
    ],
)
def test_words_are_those_that_a_shell_makes(command: str) -> None:
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    assert words(command)[0][2:] == said.removesuffix("\n").split("\n")


@pytest.mark.parametrize("command", ["ls ~$(whoami)/x", "ls ~$x/y", "ls ~\ud800/x", 'ls ~"$x"/y'])
def test_what_is_no_home_directory_is_not_known(command: str) -> None:
    (simple,) = [each for each in parse(command) if each.program == "ls"]
    assert not simple.arguments[0].known


def test_before_a_value_a_tilde_is_a_plain_character() -> None:
    assert parse("x=a; ls ~$x/y")[-1].arguments[0].resolved == "~a/y"
