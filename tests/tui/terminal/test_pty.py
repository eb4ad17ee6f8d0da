"""How the program behaves in a real terminal beside drawing."""

import base64
import os
import re
import signal
import time
from pathlib import Path

import pytest

from cogency_tui.tui.transcript.pen import SPINNER
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

CTRL_C, CTRL_Q, CTRL_Z = "\x03", "\x11", "\x1a"
FOCUS_OUT, SHIFT_LEFT = "\x1b[O", "\x1b[1;2D"
READY = "offline/offline-1"
ALONE = {"TMUX": "", "STY": "", "SSH_CONNECTION": "", "SSH_TTY": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}

STYLE = re.compile(rb"\x1b\[([0-9;]*)m")
OSC = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


def started(project: Path, *arguments: str, config: str = "", **environ: str) -> Terminal:
    """The program in `project`, with a configuration."""
    path = project.parent / "config.toml"
    path.write_text(config)
    given = {**ALONE, "COGENCY_CONFIG": str(path), **environ}
    return Terminal(
        *arguments, cwd=project, data=project.parent / "data", columns=100, rows=30, environ=given
    )


def colours(raw: bytes) -> set[int]:
    """The colours that were asked for, but the terminal's default: 30 to 37, 38, 40 to 47, 48, 90 to 107."""
    codes = {int(code) for found in STYLE.findall(raw) for code in found.split(b";") if code}
    return {code for code in codes if 30 <= code <= 38 or 40 <= code <= 48 or 90 <= code <= 107}


@pytest.mark.exhaustive
def test_one_who_looks_elsewhere_is_rung_for_and_the_title_says_project_and_state(project: Path) -> None:
    with started(project, "--permissions", "auto") as terminal:

        def rung() -> bool:
            return b"\x07" in OSC.sub(b"", bytes(terminal.raw))

        def titled(title: str) -> None:
            terminal.wait_for(lambda _text: terminal.title == title)

        terminal.wait_for(READY)
        titled("shop · cogency")
        assert b"\x1b[?1000h" in terminal.raw
        terminal.send("list files\r")
        terminal.wait_for("These are the files")
        titled("shop · cogency")
        assert not rung(), "one who watches is left in peace"

        terminal.send("run `sleep 60`\r")
        titled("… shop, working · cogency")
        assert len(spinners_of(terminal)) > 1
        terminal.send("\x1b")
        titled("shop · cogency")
        assert not rung()

        terminal.send("run `sleep 1`\r")
        titled("… shop, working · cogency")
        terminal.send(FOCUS_OUT)
        terminal.wait_for(lambda _text: rung())
        titled("shop · cogency")
        terminal.send(CTRL_Q)
        assert terminal.process.wait(20) == 0
        terminal.wait_for(lambda _text: b"\x1b[23;2t" in terminal.raw)
    assert terminal.raw.index(b"\x1b[22;2t") < terminal.raw.index(b"\x1b]2;")


@pytest.mark.exhaustive
def test_mouse_and_animation_can_be_left_out(project: Path) -> None:
    with started(project, "--no-animation", "--no-mouse", "--permissions", "auto") as terminal:
        terminal.wait_for(READY)
        terminal.send("run `sleep 60`\r")
        assert len(spinners_of(terminal)) == 1
        assert b"\x1b[?1000h" not in terminal.raw


def spinners_of(terminal: Terminal) -> set[str]:
    """How the spinner stands until a command has run for a while."""
    seen: set[str] = set()

    def spun(text: str) -> bool:
        seen.update(character for character in text if character in SPINNER)
        return re.search(r"Running shell +[3-9] s", text) is not None

    terminal.wait_for(spun)
    return seen


@pytest.mark.exhaustive
def test_it_is_told_by_the_terminal_and_the_mouse_left_to_it_if_so_set(project: Path) -> None:
    slow = {"COGENCY_OFFLINE_DELAY": "0.03"}
    with started(project, config='notify = "osc9"\nmouse = false\n', **slow) as terminal:
        terminal.wait_for(READY)
        assert b"\x1b[?1000h" not in terminal.raw
        terminal.send("replace 'hello' with 'goodbye' in greet.py\r")
        terminal.wait_for(lambda _text: "working" in terminal.title)
        terminal.send(FOCUS_OUT)
        terminal.wait_for(lambda _text: b"\x1b]9;shop: waiting for your answer\x07" in terminal.raw)


@pytest.mark.exhaustive
def test_a_project_cannot_write_sequences_into_the_title(tmp_path: Path) -> None:
    project = tmp_path / "a\x1b]0;evil\x07b"
    project.mkdir()
    with started(project) as terminal:
        terminal.wait_for(lambda _text: "cogency" in terminal.title)
        assert "\x1b" not in terminal.title
        assert b"\x1b]0;evil" not in terminal.raw


def test_it_is_suspended_and_comes_back_with_the_whole_screen_and_copies_to_the_terminal(
    project: Path,
) -> None:
    with started(project) as terminal:
        terminal.wait_for(READY)
        terminal.wait_for(lambda _text: terminal.title == "shop · cogency")
        terminal.send("half a sentence")
        terminal.wait_for("half a sentence")
        terminal.send(CTRL_Z)
        wait_until_stopped(terminal.process.pid)
        terminal.wait_for(lambda _text: b"\x1b[?1049l" in terminal.raw and b"\x1b[23;2t" in terminal.raw)
        terminal.screen.reset()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for(
            lambda text: text.startswith(" cogency") and "half a sentence" in text and READY in text
        )
        terminal.send(" more")
        shown = terminal.wait_for("half a sentence more")

        typed = next(line for line in shown.split("\n") if "more" in line)
        end = typed.index("more") + len("more")
        terminal.wait_for(lambda _text: terminal.screen.cursor.x == end)
        terminal.send(SHIFT_LEFT * 3)
        terminal.wait_for(lambda _text: terminal.screen.cursor.x == end - 3)
        terminal.send(CTRL_C)
        terminal.wait_for("Copied 3 characters")
        assert b"\x1b]52;c;" + base64.b64encode(b"ore") + b"\x07" in terminal.raw


@pytest.mark.exhaustive
def test_a_hundred_resizes_leave_a_whole_screen(project: Path) -> None:
    with started(project, "explain greet.py") as terminal:
        terminal.wait_for("greet.py has")
        begun = time.monotonic()
        for number in range(100):
            terminal.resize(60 + number % 90, 14 + number % 30)
            time.sleep(max(0.0, begun + number * 0.005 - time.monotonic()))
        terminal.resize(90, 26)

        def whole(text: str) -> bool:
            lines = text.split("\n")
            return (
                "cogency" in lines[0]
                and "greet.py has" in text
                and READY in lines[25]
                and lines[25].rstrip().endswith("^P commands")
            )

        terminal.wait_for(whole)
        terminal.send("still here")
        terminal.wait_for("still here")


@pytest.mark.exhaustive
@pytest.mark.parametrize("term", ["screen", "linux"])
def test_a_terminal_with_16_colours_gets_no_others(project: Path, term: str) -> None:
    with started(project, "explain greet.py", TERM=term, COLORTERM="") as terminal:
        terminal.wait_for("greet.py has")
        assert colours(bytes(terminal.raw))
        assert not {38, 48} & colours(bytes(terminal.raw))


@pytest.mark.exhaustive
def test_with_no_color_there_is_none(project: Path) -> None:
    with started(project, "explain greet.py", NO_COLOR="1") as terminal:
        terminal.wait_for("greet.py has")
        terminal.send("\x1bOP")
        terminal.wait_for("Type to filter")
        assert colours(bytes(terminal.raw)) == set()
        assert STYLE.findall(bytes(terminal.raw))


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return
        time.sleep(0.02)
    raise AssertionError("it was not stopped")


ASKED = b"\x1b]11;?"
DAY_TEXT = b"38;2;34;38;47"


def test_ctrl_l_draws_the_whole_screen_again(project: Path) -> None:
    with started(project) as terminal:
        terminal.wait_for(READY)
        terminal.send("typed")
        terminal.wait_for("▌ typed")
        before = len(terminal.raw)
        terminal.send("\x0c")
        terminal.wait_for(lambda _text: all(each in terminal.raw[before:] for each in (b"cogency", b"typed")))


def test_a_light_terminal_gets_a_light_theme_and_its_answer_is_not_typed(project: Path) -> None:
    with started(project) as terminal:
        terminal.wait_for(lambda _text: ASKED in terminal.raw)
        terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        terminal.wait_for(lambda text: READY in text and DAY_TEXT in terminal.raw)
        terminal.send("typed")
        assert "rgb" not in terminal.wait_for("▌ typed")
        assert terminal.leave() == 0


def test_a_terminal_is_not_asked_where_a_theme_is_configured_and_may_say_nothing(project: Path) -> None:
    with started(project, config="theme = 'night'\n") as terminal:
        terminal.wait_for(READY)
        assert ASKED not in terminal.raw
    with started(project, COLORFGBG="0;15") as terminal:
        terminal.wait_for(lambda text: READY in text and DAY_TEXT in terminal.raw)
