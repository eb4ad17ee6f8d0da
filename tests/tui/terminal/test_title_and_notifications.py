"""The window's title, and the call when the person looks elsewhere."""

from typing import Any

import pytest

from cogency_tui.tui.terminal.capabilities import Notice, Terminal
from cogency_tui.tui.terminal.title_and_notifications import Presence

XTERM = Terminal(term="xterm-256color")


def presence(
    project: str = "shop", terminal: Terminal = XTERM, notice: Notice = "bell"
) -> tuple[Presence, list[str]]:
    written: list[str] = []

    def write(sequence: str) -> bool:
        written.append(sequence)
        return True

    return Presence(project, terminal, notice, write), written


def test_the_title_says_project_and_state_and_the_former_one_comes_back() -> None:
    shown, written = presence()
    shown.begin()
    shown.change("working", watched=True)
    shown.change("waiting", watched=True)
    shown.change("idle", watched=True)

    assert written == [
        "\x1b[22;2t",
        "\x1b]2;shop · cogency\x07",
        "\x1b]2;… shop, working · cogency\x07",
        "\x1b]2;? shop, waiting for you · cogency\x07",
        "\x1b]2;shop · cogency\x07",
    ]
    assert shown.end() == "\x1b[23;2t"
    assert shown.end() == "", "only once"


def test_a_title_that_was_not_saved_does_not_come_back() -> None:
    read, written = False, list[str]()

    def write(sequence: str) -> bool:
        written.extend([sequence] * read)
        return read

    shown = Presence("shop", XTERM, "bell", write)
    shown.begin()
    assert (shown.end(), written) == ("", [])
    read = True
    shown.begin()
    assert written[0] == "\x1b[22;2t"
    assert shown.end() == "\x1b[23;2t"


@pytest.mark.parametrize("project", ["a\x1b]0;evil\x07b", "a\nb", "a\x9c;b", "x" * 5000, "a\u202eb"])
def test_a_projects_name_cannot_speak_to_the_terminal(project: str) -> None:
    shown, written = presence(project, notice="osc9")
    shown.begin()
    shown.change("working", watched=False)
    shown.change("idle", watched=False)

    for sequence in written[1:]:
        inner = sequence.removeprefix("\x1b]2;").removeprefix("\x1b]9;").removesuffix("\x07")
        assert inner.isprintable()
        assert len(inner) < 100


@pytest.mark.parametrize(
    ("notice", "sequence"),
    [("bell", "\x07"), ("osc9", "\x1b]9;shop: done\x07"), ("off", None)],
)
def test_one_who_looks_elsewhere_is_called_when_it_is_done(notice: Notice, sequence: str | None) -> None:
    shown, written = presence(notice=notice)
    shown.change("working", watched=False)
    assert written == []
    shown.change("idle", watched=False)
    assert written == ([sequence] if sequence else [])
    shown.change("idle", watched=False)
    assert len(written) == bool(sequence), "once is enough"


def test_one_who_looks_elsewhere_is_called_to_answer() -> None:
    shown, written = presence(notice="osc9")
    shown.change("working", watched=False)
    shown.change("waiting", watched=False)
    assert written == ["\x1b]9;shop: waiting for your answer\x07"]


@pytest.mark.parametrize("states", [["working", "idle"], ["working", "waiting", "working", "idle"]])
def test_one_who_watches_is_not_called(states: list[Any]) -> None:
    shown, written = presence()
    for state in states:
        shown.change(state, watched=True)
    assert written == []


def test_a_console_without_titles_gets_none() -> None:
    shown, written = presence(terminal=Terminal(term="linux"))
    shown.begin()
    shown.change("working", watched=True)
    assert written == []
    assert shown.end() == ""


def test_the_title_shows_the_most_urgent_of_several_conversations_and_a_notification_names_its_own() -> None:
    shown, written = presence(notice="osc9")
    shown.begin()
    shown.change("working", watched=False, conversation=0, name="first")
    shown.change("working", watched=False, conversation=1, name="a\x1b]0;evil\x07b")
    shown.change("waiting", watched=False, conversation=1, name="a\x1b]0;evil\x07b")
    shown.change("idle", watched=False, conversation=0, name="first")
    shown.forget(1)
    assert written[3:] == [
        "\x1b]2;? shop, waiting for you · cogency\x07",
        written[4],
        "\x1b]9;shop: “first” done\x07",
        "\x1b]2;shop · cogency\x07",
    ]
    assert written[4].startswith("\x1b]9;shop: “a")
    assert written[4].endswith("” waiting for your answer\x07")
    assert written[4][4:-1].isprintable()
