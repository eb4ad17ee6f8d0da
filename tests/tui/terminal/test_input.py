"""Whatever bytes a terminal sends, they are keys, pastes and reports, or nothing."""

import random
from collections.abc import Iterable

import pytest
from textual import constants, events
from textual.message import Message
from textual.messages import InBandWindowResize, TerminalSupportsSynchronizedOutput

from cogency_tui.tui.terminal import input as terminal_input
from cogency_tui.tui.terminal.input import QUICK_ESCAPE, STALL, AltKey, BackgroundReport, TerminalInput

MESSAGES = (
    events.Key,
    events.Paste,
    events.MouseEvent,
    events.Resize,
    events.AppFocus,
    events.AppBlur,
    events.CursorPosition,
    InBandWindowResize,
    TerminalSupportsSynchronizedOutput,
    BackgroundReport,
)


class Typing:
    """Input, and the clock that it goes by."""

    def __init__(self) -> None:
        self.now = 0.0
        self.input = TerminalInput(clock=lambda: self.now)

    def feed(self, *pieces: bytes) -> list[Message]:
        return [message for piece in pieces for message in (*self.input.feed(piece), *self.input.tick())]

    def wait(self, seconds: float = constants.ESCAPE_DELAY) -> list[Message]:
        self.now += seconds
        # As the driver waits: it feeds what it has read, which may be nothing.
        return [*self.input.feed(b""), *self.input.tick()]


def keys(messages: Iterable[Message]) -> list[str]:
    return [message.key for message in messages if isinstance(message, events.Key)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a", ["a"]),
        ("éж".encode(), ["é", "ж"]),
        (b"\x03", ["ctrl+c"]),
        (b"\x1b[A", ["up"]),
        (b"\x1bOA", ["up"]),
        (b"\x1b[[A", ["f1"]),
        (b"\x1b[1;5C", ["ctrl+right"]),
        (b"\x1b[27u", ["escape"]),
        (b"\x1b[121u", ["y"]),
        (b"\x1b[121;1:1u", ["y"]),
        (b"\x1b[121;1:2u", ["y"]),
        (b"\x1b[97:65:113;2;65u", ["A"]),
        (b"\x1b[99;5u", ["ctrl+c"]),
        (b"\x1bx", ["alt+x"]),
        (b"\x1bX", []),
        (b"\x1bD", ["alt+shift+d"]),
        (b"\x1b.", ["alt+full_stop"]),
        (b"\x1b\r", ["alt+enter"]),
        (b"\x1bOh", ["alt+shift+o", "h"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x1bf", ["ctrl+right"]),
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_keys_are_read_however_they_are_cut(data: bytes, expected: list[str], cut: bool) -> None:
    pieces = [data[at : at + 1] for at in range(len(data))] if cut else [data]
    assert keys(Typing().feed(*pieces)) == expected


DROPPED = {
    "a key's release": b"\x1b[121;1:3u",
    "a letter's release": b"\x1b[121;1:3;121u\x1b[1;1:3A",
    "no character": b"\x1b[1114112u",
    "half a character": b"\x1b[55296u",
    "a giant number": b"\x1b[" + b"9" * 100_000 + b"u",
    "giant modifiers": b"\x1b[97;" + b"9" * 40 + b"u",
    "an old mouse": b"\x1b[M\xff\xff\xff",
    "an old mouse that says y": b"\x1b[Myyy",
    "a mouse far away": b"\x1b[<0;99999999999999999999;1M",
    "a mouse of urxvt": b"\x1b[32;1;1M",
    "a window without rows": b"\x1b[48;0;0;0;0t",
    "a giant window": b"\x1b[48;999999;999999;1;1t",
    "what the terminal is": b"\x1b[?62;22c\x1b[>1;10;0c",
    "an unknown report": b"\x1b[5y\x1b[?1y\x1b[?99999999;1$y",
    "a title": b"\x1b]2;yes\x07\x1b]2;yes\x1b\\",
    "a device's string": b"\x1bP1$ry\x1b\\\x1b_yes\x1b\\\x1b^y\x1b\\\x1bXy\x1b\\",
    "an end of no paste": b"\x1b[201~",
}
OPEN = {
    "an open sequence": b"\x1b[",
    "an endless sequence": b"\x1b[" + b"1;" * 100_000,
    "an endless title": b"\x1b]" + b"y" * 1_000_000,
    "an endless string": b"\x1bP" + b"y\x00\xff" * 100_000,
    "half an old mouse": b"\x1b[My",
    "an open key": b"\x1bO",
}


@pytest.mark.parametrize("data", [*DROPPED.values(), *OPEN.values()], ids=[*DROPPED, *OPEN])
def test_what_is_no_key_is_dropped_and_what_follows_is_read(data: bytes) -> None:
    typing = Typing()
    assert typing.feed(data) == []
    assert not [event for event in typing.wait() if not isinstance(event, AltKey) or event.character]
    assert keys(typing.feed(b"n")) == ["n"]


@pytest.mark.parametrize("data", DROPPED.values(), ids=DROPPED)
def test_what_is_no_key_is_dropped_between_keys(data: bytes) -> None:
    assert keys(Typing().feed(b"a" + data + b"b")) == ["a", "b"]


@pytest.mark.parametrize("data", [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80\x9b\x1b["])
def test_bytes_that_are_no_utf8_end_nothing(data: bytes) -> None:
    typing = Typing()
    typing.feed(data)
    typing.wait()
    assert keys(typing.feed(b"ab"))[-1:] == ["b"]


def test_a_sequence_that_a_pause_has_cut_is_not_read_with_what_follows() -> None:
    typing = Typing()
    typing.feed(b"\x1b[")
    typing.wait()
    assert keys(typing.feed(b"1114112u")) == list("1114112u")


def test_an_escape_alone_is_the_key() -> None:
    typing = Typing()
    assert typing.feed(b"\x1b") == []
    assert keys(typing.wait()) == ["escape"]


@pytest.mark.parametrize("typed", "0kdfbOP[]X^_/.")
def test_a_key_of_alt_says_what_was_typed_if_it_was_esc_and_a_key(typed: str) -> None:
    typing = Typing()
    (key,) = [*typing.feed(b"\x1b", typed.encode()), *typing.wait()]
    assert isinstance(key, AltKey)
    assert key.typed == typed
    assert typing.feed(b"") == typing.wait() == []


def test_a_window_that_does_not_know_its_pixels_has_a_size() -> None:
    typing = Typing()
    (resize,) = typing.feed(b"\x1b[48;24;80;0;0t")
    assert isinstance(resize, events.Resize)
    assert resize.size == (80, 24)
    (mouse,) = typing.feed(b"\x1b[<0;5;6M")
    assert isinstance(mouse, events.MouseDown)
    assert (mouse.x, mouse.y) == (4, 5)


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_a_paste_is_one_and_holds_no_keys(step: int) -> None:
    content = b"yes\r\x1b[121u\x1b]\x1b[1114112u\x00\xff" + b"y" * 40 + b"\x1b"
    data = b"a\x1b[200~" + content + b"\x1b[201~b"
    messages = Typing().feed(*(data[at : at + step] for at in range(0, len(data), step)))
    assert keys(messages) == ["a", "b"]
    (paste,) = [message for message in messages if isinstance(message, events.Paste)]
    assert paste.text == content.replace(b"\x00", b"").decode("utf-8", "replace")


def test_a_paste_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_input, "LONGEST_PASTE", 1000)
    typing = Typing()
    assert typing.feed(b"\x1b[200~", *[b"x" * 300] * 20) == []
    paste, key = typing.feed(b"x\x1b[20", b"1~y")
    assert isinstance(paste, events.Paste)
    assert paste.text == "x" * 1000
    assert keys([key]) == ["y"]


def test_a_paste_that_never_ends_is_ended_by_ctrl_c() -> None:
    typing = Typing()
    assert typing.feed(b"\x1b[200~some", b"\x03", b" text") == []
    typing.now += STALL
    paste, key = [*typing.feed(b"\x03"), *typing.feed(b"n")][::2]
    assert isinstance(paste, events.Paste)
    assert keys([key]) == ["n"]


PIECES = [
    *(b"\x1b[", b"\x1b]", b"\x1bP", b"\x1bO", b"\x1b", b"\x1b\\", b"\x07", b"\x9b", b"\xc2\x9b", b"\x18"),
    *(b"[", b"M", b"<", b";", b":", b"?", b"$y", b"u", b"~", b"R", b"t", b"m", b"48;", b"200~", b"201~"),
    *(b"0", b"1", b"3", b"121", b"1114112", b"55296", b"-1", b"9" * 30, b"y", b"n", b"\r", b"\x00"),
    *(b"\xff", b"\xed\xa0\x80", "é".encode(), "𝄞".encode(), b"\xf0\x9f", b"\x7f", b" ", b"\x03"),
]


@pytest.mark.exhaustive
def test_no_bytes_are_too_much_for_it() -> None:
    chance = random.Random(15)
    # Enough that each of the pieces follows each other one about three times.
    for number in range(2_500):
        typing, data, messages = Typing(), b"", list[Message]()
        for _ in range(chance.randint(1, 6)):
            piece = chance.randbytes(3) if chance.random() < 0.1 else chance.choice(PIECES)
            data += piece
            messages += typing.feed(piece)
            if chance.random() < 0.1:
                messages += typing.wait()
        assert all(isinstance(message, MESSAGES) for message in messages), (number, data)
        typing.wait()
        after = typing.feed(b"\x1b[201~", b"z")
        assert keys(after)[-1:] == ["z"], (number, data)


@pytest.mark.parametrize(
    ("report", "light"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", True),
        (b"\x1b]11;rgb:f6/f5/f1\x07", True),
        (b"\x1b]11;rgba:1414/1616/1f1f/ffff\x1b\\", False),
    ],
)
def test_a_report_of_the_background_is_never_typed_however_it_is_cut(report: bytes, light: bool) -> None:
    for cut in range(2, len(report)):
        typing = Typing()
        messages = typing.feed(report[:cut])
        if b";" in report[:cut]:
            # A slow connection.
            messages += typing.wait(STALL / 2)
        messages += typing.feed(report[cut:], b"a")

        assert keys(messages) == ["a"]
        assert [each.light for each in messages if isinstance(each, BackgroundReport)] == [light]


def test_a_report_of_something_else_or_of_no_color_says_nothing() -> None:
    typing = Typing()
    for report in (
        b"\x1b]10;rgb:ffff/ffff/ffff\x07",
        b"\x1b]11;red\x07",
        b"\x1b]11;rgb:" + b"f" * 99 + b"\x07",
    ):
        assert typing.feed(report) == []


def test_an_esc_is_the_key_after_a_delay_that_can_be_shorter() -> None:
    typing = Typing()
    typing.input = TerminalInput(clock=lambda: typing.now, escape_delay=lambda: QUICK_ESCAPE)
    assert keys(typing.feed(b"\x1b")) == []
    assert typing.input.may_be_key
    assert keys(typing.wait(QUICK_ESCAPE)) == ["escape"]
    assert keys(typing.feed(b"0", b"\x1b", b"[A")) == ["0", "up"]
