"""The prompt in a real terminal: what is written outlives `kill -9`, and goes on in the person's editor."""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cogency_tui.store.prompts_and_drafts import HISTORY
from tests.pictures import picture
from tests.tui.pty import Terminal
from tests.tui.terminal.test_clipboard_image import WL_PASTE, environment

pytestmark = pytest.mark.pty

ESCAPE, ENTER, TAB, CTRL_G, CTRL_J, CTRL_V = "\x1b", "\r", "\t", "\x07", "\n", "\x16"
UP = "\x1b[A"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.mark.exhaustive
def test_a_draft_and_messages_that_waited_outlive_a_kill(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Terminal("--permissions", "auto", cwd=project, data=data) as terminal:
        terminal.wait_for("offline")
        terminal.send("run `sleep 60`" + ENTER)
        terminal.wait_for("Running shell")
        terminal.send("and then this" + ENTER)
        terminal.wait_for("1 and then this")
        terminal.send("a thought that" + CTRL_J + "is not finished")
        terminal.wait_for("is not finished")
        _wait_for_saved(data, "draft-*.json", "and then this", "is not finished")
        terminal.kill()
    with Terminal("--continue", cwd=project, data=data) as terminal:
        text = terminal.wait_for("is not finished")
        assert "a thought that" in text
        assert "and then this" in text
        assert "1 and then" not in text
        terminal.send(ESCAPE)
        terminal.wait_for(lambda text: "is not finished" not in text)
        _wait_for_saved(data, HISTORY, "is not finished")
    with Terminal(cwd=project, data=data) as terminal:
        terminal.wait_for("Ask, @file")
        # Cleared, it is the last of the history.
        terminal.press_until(UP, "is not finished")


@pytest.mark.exhaustive
def test_the_end_of_a_long_draft_stays_in_view_when_the_terminal_becomes_small(
    project: Path, tmp_path: Path
) -> None:
    with Terminal(cwd=project, data=tmp_path / "data", columns=80, rows=24) as terminal:
        terminal.wait_for("offline")
        for number in range(30):
            terminal.send(f"line {number}{CTRL_J}")
            terminal.wait_for(f"line {number}")
        terminal.send("the end")
        terminal.wait_for("the end")
        terminal.resize(60, 16)
        terminal.wait_for(lambda text: "^P commands" in text.split("\n")[15])
        terminal.wait_for("the end")


@pytest.mark.exhaustive
def test_files_are_taken_commands_run_and_an_editor_has_the_terminal(project: Path, tmp_path: Path) -> None:
    editor = _editor(
        tmp_path,
        'if grep -q wrong "$1"; then echo lost > "$1"; exit 3; fi\n'
        'printf "EDITOR SEES "; cat "$1"; read answer; printf "%s edited" "$answer" > "$1"',
    )
    environ = {"VISUAL": editor}
    with Terminal(cwd=project, data=tmp_path / "data", columns=120, rows=30, environ=environ) as terminal:
        terminal.wait_for("offline")
        terminal.send("explain @gr")
        in_tree_and_completion = 2
        terminal.wait_for(lambda text: text.count("greet.py") == in_tree_and_completion)
        terminal.send(TAB)
        terminal.wait_for("explain @greet.py")
        terminal.send(ESCAPE)
        terminal.wait_for("Ask, @file")

        terminal.send("before" + CTRL_G)
        terminal.wait_for("EDITOR SEES before")
        terminal.send("well\n")
        terminal.wait_for(lambda text: "well edited" in text and "offline" in text)

        # One that fails leaves the text.
        terminal.send(" wrong" + CTRL_G)
        text = terminal.wait_for("exited with 3")
        assert "well edited wrong" in text
        assert "lost" not in text
        terminal.send(ESCAPE)
        terminal.wait_for("Ask, @file")

        terminal.send("!printf 'se%s\\n' en" + ENTER)
        terminal.wait_for("seen")
        terminal.send("list files" + ENTER)
        terminal.wait_for("These are the files")


def test_vims_keys_need_no_pause_after_esc(project: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("vim = true\n")
    # Without Vim's keys an ESC would be the key after a minute.
    environ = {"COGENCY_CONFIG": str(config), "ESCDELAY": "60000"}
    data = tmp_path / "data"
    # Textual reads the variable when it is imported: in a process of its own.
    with Terminal(cwd=project, data=data, environ=environ, module="cogency_tui") as terminal:
        terminal.wait_for("INSERT")
        terminal.send("one two three" + ESCAPE)
        terminal.wait_for("NORMAL")
        terminal.send("0dwix" + ESCAPE)
        terminal.wait_for(lambda text: "xtwo three" in text and "NORMAL" in text)
        # In one piece, as over a slow connection, it is no key of Alt.
        terminal.send("A four" + ESCAPE + "0x")
        terminal.wait_for(lambda text: "two three four" in text and "xtwo" not in text and "NORMAL" in text)


HOME = "\x01"
EDITS = [
    # What is sent after a text, and what is left of it, with the character typed then.
    (HOME, "|one two three"),
    (HOME + "\x05", "one two three|"),
    (HOME + "⟨alt+d⟩", "| two three"),
    (HOME + "⟨alt+f⟩", "one| two three"),
    (HOME + "\x1b[1;5C", "one| two three"),
    ("⟨alt+b⟩", "one two |three"),
    ("\x1b[1;5D", "one two |three"),
    ("\x17", "one two |"),
    ("\x1b\x7f", "one two |"),
    ("\x15", "|"),
    (HOME + "⟨alt+f⟩\x0b", "one|"),
    (HOME + "⟨alt+f⟩\x0b\x1f", "one| two three"),
    (HOME + "⟨alt+x⟩⟨alt+o⟩", "|one two three"),
]
BREAKS = ["\n", "\x1b\r", "\x1b[13;3u", "\x1b[13;2u"]


@pytest.mark.parametrize("vim", [False, True], ids=["plain", "vim"])
def test_the_keys_of_the_prompt_reach_it(project: Path, tmp_path: Path, vim: bool) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"vim = {str(vim).lower()}\n")
    environ = {"COGENCY_CONFIG": str(config)}
    with Terminal(cwd=project, data=tmp_path / "data", environ=environ) as terminal:
        terminal.wait_for("INSERT" if vim else "offline")
        for keys, left in EDITS:
            terminal.send("one two three" + _with_alt(keys, extended=vim) + "|")
            terminal.wait_for(lambda text, left=left: left in _prompt_rows(text))
            assert "INSERT" in terminal.text or not vim
            terminal.send("\x05\x15\x15")
            terminal.wait_for("Ask, @file")
        for number, key in enumerate(BREAKS):
            terminal.send(f"{key}line{number}")
            terminal.wait_for(lambda text, number=number: f"line{number}" in _prompt_rows(text))
        terminal.send("\x1b[200~" + "pasted\n" * 50 + "\x1b[201~")
        terminal.wait_for("[pasted 50 lines]")
        terminal.send(_with_alt("⟨alt+o⟩", extended=vim))
        terminal.wait_for(lambda text: "pasted" in _prompt_rows(text))


def test_the_keys_of_the_queue_reach_the_prompt(project: Path, tmp_path: Path) -> None:
    with Terminal("--permissions", "auto", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("offline")
        terminal.send("run `sleep 60`" + ENTER)
        terminal.wait_for("Running shell")
        terminal.send("first" + ENTER + "second" + ENTER)
        terminal.wait_for("2 second")
        terminal.send(UP + "\x1b[1;3A")
        terminal.wait_for("2 first")
        terminal.send("\x1b[1;3B")
        terminal.wait_for("1 first")
        terminal.send("\x1bx")
        terminal.wait_for(lambda text: "second" not in text and "1 first" in text)


def _with_alt(keys: str, *, extended: bool) -> str:
    """Write keys of Alt as the terminal does: by ESC, or (`extended`) by the code of their character."""
    for letter in "bdfox":
        sent = f"\x1b[{ord(letter)};3u" if extended else f"\x1b{letter}"
        keys = keys.replace(f"⟨alt+{letter}⟩", sent)
    return keys


def _prompt_rows(text: str) -> list[str]:
    """The rows of the prompt, without the bar beside them."""
    return [line.strip(" ▌") for line in text.splitlines() if line.startswith((" ▌", "▌"))]


def _editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return os.fspath(path)


def _wait_for_saved(data: Path, name: str, *texts: str) -> None:
    """Wait until a file of prompts with this name has the texts."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for path in data.glob(f"prompts/*/{name}"):
            # A draft is replaced by a file of the same name, or sent.
            with suppress(FileNotFoundError):
                if all(text in path.read_text() for text in texts):
                    return
        time.sleep(0.02)
    raise AssertionError(f"{texts} were not saved in {name}")


def test_ctrl_v_attaches_the_image_of_the_clipboard(project: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "bin", picture(size=(120, 80)), **{"wl-paste": WL_PASTE})
    environ = {"PATH": programs["PATH"], "WAYLAND_DISPLAY": "wayland-0"}
    with Terminal(cwd=project, data=tmp_path / "data", environ=environ) as terminal:
        terminal.wait_for("offline")
        terminal.send("what is " + CTRL_V)
        terminal.wait_for("what is [image clipboard.png 120×80 ")
        terminal.send("here?" + ENTER)
        terminal.wait_for("takes no images: it receives only")
        assert "[image clipboard.png 120×80 " in terminal.text
