"""Copied text: the programs that take it are real ones, small scripts that say what they were given."""

import base64
import os
import time
from pathlib import Path

import pytest

from cogency_tui.tui.terminal.clipboard import copy, ways


def programs(folder: Path, **scripts: str) -> dict[str, str]:
    """An environment in which these programs are found, and no others of their kind."""
    folder.mkdir(exist_ok=True)
    for name, body in scripts.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "TERM": "xterm-256color", "HOME": str(folder)}


def ignore(_sequence: str) -> None:
    """Nobody looks at what the terminal is sent."""


@pytest.mark.parametrize(
    ("environ", "has", "names"),
    [
        ({"DISPLAY": ":0"}, {"xclip", "xsel"}, ["xclip", "xsel"]),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, {"wl-copy", "xclip"}, ["wl-copy", "xclip"]),
        ({}, {"wl-copy", "xclip", "xsel"}, []),
        ({}, {"pbcopy"}, ["pbcopy"]),
        ({"SSH_CONNECTION": "1", "DISPLAY": ":0"}, {"xclip", "pbcopy"}, []),
        ({"SSH_TTY": "1", "TMUX": "x"}, {"tmux", "xclip"}, ["tmux", "tmux"]),
        ({"TMUX": "x", "DISPLAY": ":0"}, {"tmux", "xclip"}, ["xclip", "tmux", "tmux"]),
    ],
)
def test_programs_are_tried_where_they_reach_the_person(
    environ: dict[str, str], has: set[str], names: list[str]
) -> None:
    assert [way.command[0] for way in ways(environ, has.__contains__)] == names


async def test_a_program_is_given_the_text_and_named(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", xclip=f"cat > {tmp_path}/got; echo $@ >> {tmp_path}/got")
    written: list[str] = []

    done, said = await copy("zwei\nZeilen ü", environ | {"DISPLAY": ":0"}, written.append)

    assert (tmp_path / "got").read_text() == "zwei\nZeilen ü-selection clipboard -in\n"
    assert (done, said) == (True, "Copied 2 lines (xclip)")
    assert written == []


async def test_a_program_that_fails_is_passed_over(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", xclip="cat >/dev/null; exit 1", xsel=f"cat > {tmp_path}/got")
    done, said = await copy("text", environ | {"DISPLAY": ":0"}, ignore)

    assert (tmp_path / "got").read_text() == "text"
    assert (done, said) == (True, "Copied 4 characters (xsel)")


async def test_a_program_that_stays_to_keep_the_text_does_not_hold_us(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", xclip=f"cat > {tmp_path}/got; sleep 30 & echo $! > {tmp_path}/pid")
    begun = time.monotonic()
    done, _said = await copy("text", environ | {"DISPLAY": ":0"}, ignore)
    os.kill(int((tmp_path / "pid").read_text()), 9)

    assert done
    assert time.monotonic() - begun < 20


async def test_in_tmux_its_buffer_takes_the_text(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", tmux=f'[ "$2" = -w ] && exit 1; cat > {tmp_path}/got')
    done, said = await copy("text", environ | {"TMUX": "x"}, ignore)

    assert (tmp_path / "got").read_text() == "text"
    assert (done, said) == (True, "Copied 4 characters (tmux buffer)")


async def test_else_the_terminal_is_asked_and_that_it_may_not_is_said(tmp_path: Path) -> None:
    written: list[str] = []
    done, said = await copy("tü", programs(tmp_path / "bin") | {"SSH_TTY": "x"}, written.append)

    assert done
    assert "if it allows OSC 52" in said
    encoded = written[0].removeprefix("\x1b]52;c;").removesuffix("\x07")
    assert base64.b64decode(encoded).decode() == "tü"


async def test_what_is_too_much_for_many_terminals_is_said(tmp_path: Path) -> None:
    done, said = await copy("x" * 100_000, programs(tmp_path / "bin"), ignore)
    assert not done
    assert "many terminals do not accept that much" in said


async def test_where_there_is_no_clipboard_that_is_said(tmp_path: Path) -> None:
    written: list[str] = []
    done, said = await copy("text", programs(tmp_path / "bin") | {"TERM": "linux"}, written.append)

    assert not done
    assert "No clipboard" in said
    assert written == []


@pytest.mark.exhaustive
async def test_a_program_that_cannot_be_started_or_takes_nothing_is_passed_over(tmp_path: Path) -> None:
    hangs = f"echo $$ > {tmp_path}/pid; exec sleep 600"
    environ = programs(tmp_path / "bin", **{"wl-copy": "", "xclip": hangs, "xsel": f"cat > {tmp_path}/got"})
    (tmp_path / "bin" / "wl-copy").write_bytes(b"\x7fELF no program")
    done, said = await copy("text", environ | {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, ignore)

    assert (tmp_path / "got").read_text() == "text"
    assert (done, said) == (True, "Copied 4 characters (xsel)")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
