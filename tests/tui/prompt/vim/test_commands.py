"""The grammar of Vim's keys."""

import pytest

from cogency_tui.tui.prompt.vim.commands import Command, parse


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        ("w", Command(motion="w")),
        ("0", Command(motion="0")),
        ("10l", Command(10, motion="l")),
        ("gg", Command(motion="gg")),
        ("f0", Command(motion="f0")),
        ("2d3w", Command(6, operator="d", motion="w")),
        ("d0", Command(operator="d", motion="0")),
        ("3dd", Command(3, operator="d", lines=True)),
        ('ci"', Command(operator="c", object='i"')),
        ("dta", Command(operator="d", motion="ta")),
        ("3x", Command(3, operator="d", motion="l")),
        ("S", Command(operator="c", lines=True)),
        ("2rx", Command(2, "rx")),
        ("4.", Command(4, ".")),
        ('"ap', Command(command="p")),
        ('2"a3dd', Command(6, operator="d", lines=True)),
    ],
)
def test_keys_make_a_command_only_when_complete(keys: str, command: Command) -> None:
    assert [parse(keys[:end]) for end in range(1, len(keys))] == ["begun"] * (len(keys) - 1)
    assert parse(keys) == command


@pytest.mark.parametrize("keys", ["gx", "dx", "cd", "dgx", "diq", "d\x12", "ma", '"aQ', "3vd", "guiw", "zz"])
def test_other_keys_are_unknown(keys: str) -> None:
    assert parse(keys) == "unknown"


@pytest.mark.parametrize("keys", ["viw2jf", "Rany text", "cit<b>", "vjc\nnew", "/a pattern", "g~i", "d'"])
def test_keys_of_a_missing_command_are_swallowed_to_its_end(keys: str) -> None:
    assert {parse(keys[:end]) for end in range(1, len(keys) + 1)} == {"begun"}


def test_a_count_has_a_limit() -> None:
    counted = parse("9" * 40 + "d" + "9" * 40 + "w")
    assert isinstance(counted, Command)
    assert counted.times == 9_999
