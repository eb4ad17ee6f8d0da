"""Pictures in the terminal: what it is sent, and which terminal draws them."""

import re
from base64 import b64decode
from pathlib import Path

import pytest

from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.graphics import Graphics, draws_pictures
from tests.pictures import noise
from tests.tui.terminal.test_clipboard import programs

PNG = noise((100, 100))
COMMAND = re.compile(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\")


class Receiver:
    """A terminal that notes what it is sent while it is being read."""

    def __init__(self) -> None:
        self.is_read = True
        self.received = ""

    def write(self, sequence: str) -> bool:
        self.received += sequence if self.is_read else ""
        return self.is_read

    def take(self) -> list[tuple[dict[str, str], str]]:
        """The commands since the last call: their keys, and their data. There is nothing else."""
        received, self.received = self.received, ""
        assert COMMAND.sub("", received) == ""
        return commands_in(received)


def commands_in(text: str) -> list[tuple[dict[str, str], str]]:
    """The graphics commands in a text: their keys, and their data."""
    return [(dict(each.split("=") for each in keys.split(",")), data) for keys, data in COMMAND.findall(text)]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def graphics(receiver: Receiver) -> Graphics:
    return Graphics(Terminal(term="xterm-kitty"), receiver.write)


def test_a_picture_is_sent_once_in_chunks_that_join_to_it(graphics: Graphics, receiver: Receiver) -> None:
    graphics.show(7, PNG, 30, 15)
    graphics.show(7, PNG, 30, 15)
    (first, _), *others = commands = receiver.take()
    assert len(others) > 2
    assert b64decode("".join(data for _, data in commands)) == PNG
    assert all(len(data) == 4096 for _, data in commands[:-1])
    expected = {"a": "T", "U": "1", "f": "100", "i": "7", "p": "1", "c": "30", "r": "15", "q": "2", "m": "1"}
    assert first == expected
    assert [keys for keys, _ in others] == [
        {"q": "2", "m": str(int(at < len(others)))} for at in range(1, len(others) + 1)
    ]


def test_another_size_places_the_same_picture_again(graphics: Graphics, receiver: Receiver) -> None:
    graphics.show(7, PNG, 30, 15)
    receiver.take()
    graphics.show(7, PNG, 20, 10)
    keys = {"a": "p", "U": "1", "i": "7", "p": "1", "c": "20", "r": "10", "q": "2"}
    assert receiver.take() == [(keys, "")]


def test_a_removed_picture_is_deleted_with_its_data(graphics: Graphics, receiver: Receiver) -> None:
    graphics.show(7, PNG, 30, 15)
    receiver.take()
    graphics.remove(7)
    graphics.remove(7)
    assert receiver.take() == [({"a": "d", "d": "I", "i": "7", "q": "2"}, "")]


def test_a_terminal_that_reads_again_gets_only_what_is_still_shown(
    graphics: Graphics, receiver: Receiver
) -> None:
    graphics.show(7, PNG, 30, 15)
    receiver.take()
    receiver.is_read = False
    graphics.remove(7)
    graphics.show(8, PNG, 30, 15)
    graphics.remove(8)
    graphics.show(9, PNG, 30, 15)
    receiver.is_read = True
    graphics.update()
    commands = [(keys.get("a"), keys.get("i")) for keys, _ in receiver.take() if "a" in keys]
    assert commands == [("d", "7"), ("T", "9")]
    graphics.update()
    assert receiver.take() == []


def test_a_picture_that_may_be_lost_is_sent_again_and_deleted_even_if_that_is_missed(
    graphics: Graphics, receiver: Receiver
) -> None:
    graphics.show(7, PNG, 30, 15)
    receiver.take()
    graphics.send_again()
    assert b64decode("".join(data for _, data in receiver.take())) == PNG
    receiver.is_read = False
    graphics.send_again()
    graphics.remove(7)
    receiver.is_read = True
    graphics.update()
    assert [keys["a"] for keys, _ in receiver.take()] == ["d"]


def test_at_the_end_all_are_deleted_until_they_are_sent_again(graphics: Graphics, receiver: Receiver) -> None:
    graphics.show(7, PNG, 30, 15)
    receiver.take()
    assert [(keys["a"], keys["i"]) for keys, _ in commands_in(graphics.end())] == [("d", "7")]
    assert graphics.end() == ""
    graphics.send_again()
    assert b64decode("".join(data for _, data in receiver.take())) == PNG


def test_in_tmux_each_command_is_passed_on_by_itself(receiver: Receiver) -> None:
    graphics = Graphics(Terminal(term="tmux-256color", tmux=True), receiver.write)
    graphics.show(7, PNG, 30, 15)
    passed = re.findall(r"\x1bPtmux;((?:\x1b\x1b|[^\x1b])*)\x1b\\", receiver.received)
    assert "".join(f"\x1bPtmux;{each}\x1b\\" for each in passed) == receiver.received
    inner = [each.replace("\x1b\x1b", "\x1b") for each in passed]
    assert all(COMMAND.fullmatch(each) for each in inner)
    assert b64decode("".join(data for each in inner for _, data in commands_in(each))) == PNG


def test_a_number_is_a_color_of_the_palette_and_a_byte_for_a_mark(graphics: Graphics) -> None:
    numbers = [graphics.next_number() for _ in range(255 * 240)]
    assert len(set(numbers)) == len(numbers)
    assert {number & 0xFF for number in numbers} == set(range(16, 256))
    assert {number >> 24 for number in numbers} == set(range(1, 256))
    assert not any(number & 0xFFFF00 for number in numbers)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-ghostty", "SSH_TTY": "/dev/pts/1"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, True),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, True),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1", "TERM_PROGRAM": "vscode"}, False),
        ({"TERM": "screen", "STY": "1.pts", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, False),
        ({}, False),
    ],
)
async def test_a_terminal_is_known_by_its_environment(environ: dict[str, str], expected: bool) -> None:
    assert await draws_pictures(environ) is expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo on xterm-kitty", True),
        ("echo all xterm-ghostty", True),
        ("echo 1 xterm-kitty", True),
        ("echo '' xterm-kitty", True),
        ("echo off xterm-kitty", False),
        ("echo 0 xterm-kitty", False),
        ("echo on xterm-256color", False),
        ("echo on ''", False),
        ("echo", False),
        ("echo on xterm-kitty; exit 1", False),
    ],
)
async def test_tmux_says_which_terminal_is_around_it_and_what_passes(
    script: str, expected: bool, tmp_path: Path
) -> None:
    environ = {
        **programs(tmp_path / "bin", tmux=script),
        "TERM": "tmux-256color",
        "TMUX": "/tmp/tmux,1,0",
        # Of the terminal that tmux was started in.
        "KITTY_WINDOW_ID": "1",
    }
    assert await draws_pictures(environ) is expected


async def test_without_the_program_nothing_is_known_of_tmux(tmp_path: Path) -> None:
    assert not await draws_pictures({"TERM": "xterm-kitty", "TMUX": "x", "PATH": str(tmp_path)})
