"""Images in real terminals: sharp where the terminal draws pictures, also through tmux, else in half cells."""

import os
import re
import shutil
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cogency_tui.tui.images.placeholders import MARKS, PLACEHOLDER
from tests.pictures import noise, opened
from tests.tui.pty import Terminal
from tests.tui.terminal.test_clipboard import programs
from tests.tui.terminal.test_frozen_terminal import until
from tests.tui.terminal.test_graphics import commands_in
from tests.tui.terminal.test_leaving_tmux import Tmux
from tests.tui.terminal.test_pty import ALONE, wait_until_stopped

pytestmark = pytest.mark.pty

CONTENT = noise((120, 80))
CELL = re.compile(f"{PLACEHOLDER}(.)(.)(.)", re.DOTALL)
COLOR = re.compile(rf"38;5;(\d+)[\d;]*m(?:\x1b\[[\d;]*m)*{PLACEHOLDER}")
F6, RIGHT, ESCAPE, CTRL_L, CTRL_Q, CTRL_Z = "\x1b[17~", "\x1b[C", "\x1b", "\x0c", "\x11", "\x1a"
TO_THE_MESSAGE = "[" * 12
OUTSIDE = dict.fromkeys(("KITTY_WINDOW_ID", "TERM_PROGRAM", "NO_COLOR"), "")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "shot.png").write_bytes(CONTENT)
    (tmp_path / "config.toml").write_text("")
    return directory


@contextmanager
def asked(project: Path, query: str = "what is @shot.png here?", /, **environ: str) -> Generator[Terminal]:
    """A terminal in which the viewer is due to open with `o`: for the image of the first message."""
    given = {**ALONE, **OUTSIDE, "COGENCY_CONFIG": str(project.parent / "config.toml"), **environ}
    data = project.parent / "data"
    with Terminal(cwd=project, data=data, columns=100, rows=30, environ=given) as terminal:
        terminal.wait_for("offline/offline-1")
        terminal.send(f"{query}\r")
        terminal.wait_for(lambda text: "For anything else" in text and "Esc to interrupt" not in text)
        terminal.send(F6)
        terminal.wait_for("y copy")
        terminal.send(TO_THE_MESSAGE)
        terminal.wait_for("e edit")
        yield terminal


def until_sent(terminal: Terminal, pattern: str, start: int = 0) -> str:
    """Wait until something was written from `start` on; all that was."""
    terminal.wait_for(lambda _text: re.search(pattern, sent(terminal, start), re.DOTALL))
    return sent(terminal, start)


def sent(terminal: Terminal, start: int = 0) -> str:
    return bytes(terminal.raw[start:]).decode("utf-8", "ignore")


def cell(row: int, column: int) -> str:
    """A pattern of the cell that names this row and column."""
    return f"{PLACEHOLDER}{MARKS[row]}{MARKS[column]}."


def pictures_in(text: str) -> list[tuple[dict[str, str], bytes]]:
    """The pictures that were transmitted, each with the keys of its first command."""
    found: list[tuple[dict[str, str], str]] = []
    for keys, data in commands_in(text):
        if keys.get("a") == "T":
            found.append((keys, data))
        elif "a" not in keys and found:
            # Otherwise it is the rest of one that began before.
            found[-1] = (found[-1][0], found[-1][1] + data)
    return [(keys, b64decode(data)) for keys, data in found]


def check_cells(text: str, keys: dict[str, str]) -> None:
    """Check that the cells of the picture with these keys are there, all of them."""
    number = int(keys["i"])
    cells = {tuple(map(MARKS.index, marks)) for marks in CELL.findall(text)}
    columns, rows = range(int(keys["c"])), range(int(keys["r"]))
    assert cells == {(row, column, number >> 24) for row in rows for column in columns}
    assert set(COLOR.findall(text)) == {str(number & 0xFF)}


DELETED = r"\x1b_Gq=2,a=d,d=I,i=(\d+);\x1b\\"


def test_kitty_draws_the_image_until_the_viewer_is_closed(project: Path) -> None:
    with asked(project, TERM="xterm-kitty") as terminal:
        assert "\x1b_G" not in sent(terminal)
        terminal.send("o")
        text = until_sent(terminal, cell(17, 53))
        ((keys, png),) = pictures_in(text)
        assert opened(png).tobytes() == opened(CONTENT).tobytes()
        assert (keys["c"], keys["r"]) == ("54", "18")
        assert text.index("\x1b_G") < text.index(PLACEHOLDER)
        check_cells(text, keys)

        start = len(terminal.raw)
        terminal.send(ESCAPE)
        text = until_sent(terminal, DELETED, start)
        assert re.findall(DELETED, text) == [keys["i"]]
        terminal.wait_for("e edit")


def test_the_image_is_sent_again_after_a_suspension_and_on_request_and_placed_anew_in_another_size(
    project: Path,
) -> None:
    with asked(project, TERM="xterm-ghostty") as terminal:
        terminal.send("o")
        ((keys, png),) = pictures_in(until_sent(terminal, cell(17, 53)))
        start = len(terminal.raw)
        terminal.send(CTRL_Z)
        wait_until_stopped(terminal.process.pid)
        text = until_sent(terminal, r"\x1b\[\?1049l", start)
        assert text.index(f"i={keys['i']};") < text.index("\x1b[?1049l")

        for begin in (lambda: os.kill(terminal.process.pid, signal.SIGCONT), lambda: terminal.send(CTRL_L)):
            start = len(terminal.raw)
            begin()
            text = until_sent(terminal, "a=T.*" + cell(17, 53), start)
            assert pictures_in(text) == [(keys, png)]

        start = len(terminal.raw)
        terminal.resize(80, 24)
        text = until_sent(terminal, "a=p.*" + cell(13, 41), start)
        placed = [each for each, _data in commands_in(text) if each.get("a") == "p"]
        assert [(each["i"], each["c"], each["r"]) for each in placed] == [(keys["i"], "42", "14")]

        start = len(terminal.raw)
        terminal.send(CTRL_Q)
        assert terminal.process.wait(60) == 0
        until_sent(terminal, r"\x1b\[\?1049l", start)
        assert re.findall(DELETED, sent(terminal, start)) == [keys["i"]]


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "xterm-256color"},
        {"TERM": "xterm-kitty", "NO_COLOR": "1"},
        # Over SSH without COLORTERM, Ghostty is taken for a terminal of 16 colors.
        {"TERM": "xterm-ghostty", "COLORTERM": ""},
    ],
)
def test_any_other_terminal_has_half_cells_and_no_command(project: Path, environ: dict[str, str]) -> None:
    with asked(project, **environ) as terminal:
        terminal.send("o")
        terminal.wait_for("▀▀▀▀")
        terminal.send(ESCAPE)
        terminal.wait_for("e edit")
        assert "\x1b_G" not in sent(terminal)
        assert PLACEHOLDER not in sent(terminal)


def test_256_colors_are_enough(project: Path) -> None:
    with asked(project, TERM="xterm-kitty", COLORTERM="") as terminal:
        terminal.send("o")
        text = until_sent(terminal, cell(17, 53))
        ((keys, _png),) = pictures_in(text)
        check_cells(text, keys)


@pytest.fixture
def kitty_entry(tmp_path: Path) -> Path:
    """A database of terminals that has kitty's name, which tmux must find."""
    source = tmp_path / "kitty.ti"
    source.write_text("xterm-kitty|kitty,\n\tuse=xterm-256color,\n")
    subprocess.run(["tic", "-o", str(tmp_path / "terminfo"), str(source)], check=True)
    return tmp_path / "terminfo"


@pytest.mark.skipif(not (shutil.which("tmux") and shutil.which("tic")), reason="needs tmux and tic")
@pytest.mark.parametrize("passed", ["on", "off"])
def test_tmux_passes_the_image_on_only_if_it_is_allowed_to(
    project: Path, kitty_entry: Path, passed: str
) -> None:
    environ = {**OUTSIDE, "TERM": "xterm-kitty", "TERMINFO_DIRS": f"{kitty_entry}:", "LC_ALL": "C.UTF-8"}
    tmux = Tmux(project.parent, f"set -g allow-passthrough {passed}", environ=environ)
    try:
        tmux.resize(100, 31)
        tmux.wait_for(lambda text: "$" in text or "#" in text)
        tmux.run("send-keys", f"cd shop; {sys.executable} -m cogency_tui", "Enter")
        tmux.wait_for(lambda text: "offline/offline-1" in text)
        tmux.run("send-keys", "what is @shot.png here?", "Enter")
        tmux.wait_for(lambda text: "For anything else" in text and "interrupt" not in text)
        tmux.run("send-keys", "F6")
        tmux.wait_for(lambda text: "y copy" in text)
        tmux.run("send-keys", TO_THE_MESSAGE)
        tmux.wait_for(lambda text: "e edit" in text)
        tmux.run("send-keys", "o")
        drawn = cell(17, 53) if passed == "on" else "▀▀▀▀"
        tmux.wait_for(lambda text: re.search(drawn, text))
        pictures = pictures_in(bytes(tmux.raw).decode("utf-8", "replace"))
        expected = [opened(CONTENT).tobytes()] if passed == "on" else []
        assert [opened(png).tobytes() for _, png in pictures] == expected
        for keys, _png in pictures:
            check_cells(tmux.run("capture-pane", "-p", "-e"), keys)
    finally:
        tmux.close()


def test_a_terminal_that_was_not_read_gets_what_the_viewer_shows_then(project: Path, tmp_path: Path) -> None:
    (project / "shot.png").write_bytes(noise((700, 500)))
    (project / "next.png").write_bytes(CONTENT)
    opened_outside = tmp_path / "opened"
    desktop = programs(tmp_path / "bin", **{"xdg-open": f"touch {opened_outside}"})
    query = "what is @shot.png and @next.png here?"
    with asked(project, query, TERM="xterm-kitty", DISPLAY=":0", PATH=desktop["PATH"]) as terminal:
        terminal.send("o")
        ((keys, _png),) = pictures_in(until_sent(terminal, "m=0;.*1 of 2"))
        start = len(terminal.raw)
        terminal.freeze()
        # The picture, sent again, is more than may be pending.
        terminal.send(CTRL_L + RIGHT + "o")
        until(opened_outside.exists)
        terminal.thaw()
        text = until_sent(terminal, f"{DELETED}.*a=T.*2 of 2", start)
        assert re.findall(DELETED, text) == [keys["i"]]
        (again, _), (other, png) = pictures_in(text)
        assert again["i"] == keys["i"] != other["i"]
        assert opened(png).tobytes() == opened(CONTENT).tobytes()
