"""What is offered where the cursor stands, and what takes its place."""

import pytest

from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.prompt.completion_offers import (
    Word,
    mention,
    offer_arguments,
    offer_commands,
    offer_files,
    word_before,
)
from cogency_tui.tui.prompt.path_search import Paths


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("@", Word("file", 0, "", "@")),
        ("look at @src/a", Word("file", 8, "src/a", "@src/a")),
        ("(@a", Word("file", 1, "a", "@a")),
        ('see @"a fi', Word("file", 4, "a fi", '@"a fi')),
        ("mail me@example", None),
        ("@a b", None),
        ("/", Word("command", 0, "", "/")),
        ("/mo", Word("command", 0, "mo", "/mo")),
        ("/mode ", Word("argument", 6, "", "", "mode")),
        ("/mode re", Word("argument", 6, "re", "re", "mode")),
        ("/etc/hosts", None),
        (" /mode", None),
        ("/mode auto now", None),
        ("look at /etc @x", Word("file", 13, "x", "@x")),
    ],
)
def test_the_word_before_the_cursor(line: str, word: Word | None) -> None:
    assert word_before(line, first=True) == word


def test_commands_are_offered_on_the_first_line_only() -> None:
    assert word_before("/mode", first=False) is None
    assert word_before("@a", first=False) == Word("file", 0, "a", "@a")


@pytest.mark.parametrize(
    ("path", "written"),
    [("a.py", "@a.py "), ("src/", "@src/"), ("a file.md", '@"a file.md" '), ("a dir/", '@"a dir/')],
)
def test_a_path_is_written_so_that_it_can_be_gone_on_from(path: str, written: str) -> None:
    assert mention(path) == written


@pytest.mark.parametrize("path", ["src/", "a dir/"])
def test_what_is_written_of_a_directory_asks_for_what_is_in_it(path: str) -> None:
    word = word_before(mention(path), first=True)
    assert word is not None
    assert word.query == path


def test_files_are_offered_with_their_letters_marked() -> None:
    (offer,) = offer_files(Paths(["src/cart.py"]), "rt")
    assert (offer.text, offer.insert, offer.marks, offer.goes_on) == (
        "src/cart.py",
        "@src/cart.py ",
        (6, 7),
        False,
    )


def test_commands_that_begin_with_the_letters_come_first() -> None:
    names = [offer.text for offer in offer_commands(COMMANDS, "t")]
    assert names[0].startswith("/t")
    assert all("t" in name for name in names)
    assert [offer.text for offer in offer_commands(COMMANDS, "")] == [f"/{each.name}" for each in COMMANDS]


def test_the_exact_name_is_offered_first_then_beginnings_then_scattered_letters() -> None:
    def named(query: str) -> list[str]:
        return [offer.text for offer in offer_commands(COMMANDS, query)]

    assert named("mode")[:2] == ["/mode", "/model"]
    assert named("MODE")[0] == "/mode"
    assert named("rec")[0] == "/recall"
    (offer,) = offer_commands(COMMANDS, "prms")
    assert (offer.text, offer.marks) == ("/permissions", (1, 3, 4, 11))
    assert [offer.text for offer in offer_arguments(COMMANDS, "profile", "o")][:2] == ["on", "off"]


def test_a_command_that_takes_something_leads_on_to_it() -> None:
    (mode,) = (offer for offer in offer_commands(COMMANDS, "mode") if offer.text == "/mode")
    assert (mode.insert, mode.goes_on, mode.whole) == ("/mode ", True, False)
    assert [offer.text for offer in offer_arguments(COMMANDS, "mode", "re")] == ["resume", "replay"]
    assert all(offer.whole for offer in offer_arguments(COMMANDS, "mode", ""))


def test_nothing_is_offered_for_what_is_no_command() -> None:
    assert offer_commands(COMMANDS, "xyzzy") == []
    assert offer_arguments(COMMANDS, "xyzzy", "") == []
    assert offer_arguments(COMMANDS, "new", "") == []
