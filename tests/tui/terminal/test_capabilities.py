"""What is expected of which terminal."""

import pytest

from cogency_tui.tui.terminal.capabilities import Notice, Terminal


@pytest.mark.parametrize(
    ("environ", "notice"),
    [
        ({"TERM": "xterm-256color"}, "bell"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM": "xterm-kitty"}, "osc9"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux,1,0"}, "bell"),
        ({"TERM": "screen", "STY": "1.pts", "TERM_PROGRAM": "WezTerm"}, "bell"),
        ({"TERM": "linux"}, "bell"),
    ],
)
def test_a_notice_is_given_in_the_way_that_the_terminal_has(environ: dict[str, str], notice: Notice) -> None:
    terminal = Terminal.of(environ)
    assert terminal.notice("auto") == notice
    assert terminal.notice("off") == "off"
    assert terminal.notice("osc9") == "osc9"


def test_a_sequence_is_passed_on_through_a_multiplexer() -> None:
    assert Terminal.of({"TERM": "xterm"}).passed_on("\x1b]9;x\x07") == "\x1b]9;x\x07"
    tmux = Terminal.of({"TERM": "tmux-256color", "TMUX": "x"}).passed_on("\x1b]9;x\x07")
    assert tmux == "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\"
    assert Terminal.of({"TERM": "screen", "STY": "x"}).passed_on("\x1b]9;x\x07") == "\x1bP\x1b]9;x\x07\x1b\\"


@pytest.mark.parametrize("term", ["linux", "dumb", ""])
def test_a_console_has_neither_title_nor_clipboard(term: str) -> None:
    terminal = Terminal.of({"TERM": term})
    assert not terminal.has_title
    assert not terminal.has_osc52
