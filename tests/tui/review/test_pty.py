"""The whole way of a review in a real terminal: what is decided, what the model hears of it, and a restart."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers.chat import ChatPeer
from tests.tui.pty import Terminal
from tests.tui.review.stage import LINES, edit, shell, write

pytestmark = pytest.mark.pty

F5, ENTER, CTRL_G, CTRL_S = "\x1b[15~", "\r", "\x07", "\x13"
Size = tuple[int, int]
SMALL, LARGE = (80, 24), (160, 45)


def replaced(number: int, by: str = "'agent'", file: str = "a.py") -> str:
    return edit(file, f"line_{number} = {number}\n", f"line_{number} = {by}\n")


TURNS = [
    [replaced(5), replaced(20), replaced(35), replaced(5, file="b.py"), "One is done."],
    [write("made.py", "made = 1\n"), shell("python3 -c 'import os; os.remove(\"gone.py\")'"), "Two is done."],
    [shell("mv old.py new.py"), replaced(9, file="b.py"), "Three is done."],
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    for name in ("a.py", "b.py", "gone.py", "old.py"):
        (directory / name).write_text(LINES)
    return directory


@pytest.mark.exhaustive
async def test_a_review_from_the_first_hunk_to_the_next_request_and_after_a_restart(
    project: Path, tmp_path: Path
) -> None:
    replies = [reply for turn in TURNS for reply in turn]
    async with ChatPeer([*replies, "I understand."]) as peer:
        await asyncio.to_thread(_review, peer.base_url, project, tmp_path, SMALL)
        heard = str([message["content"] for message in peer.requests[-1].body["messages"]][-1])
        earlier = [str(request.body["messages"][-1]["content"]) for request in peer.requests[:-1]]
    assert "line_5 = 'agent'" in heard
    assert "line_35 = 'agent'" in heard
    assert "line_20 = 'mine'" in heard
    assert "Say why you did this." in heard
    assert "line_9" not in heard
    assert not any("Say why" in message for message in earlier)
    await asyncio.to_thread(_restart, project, tmp_path, LARGE)


def _review(base_url: str, project: Path, tmp_path: Path, size: Size) -> None:
    with _terminal(base_url, project, tmp_path, size) as terminal:
        terminal.wait_for("Ask, @file")
        for number, done in enumerate(("One", "Two", "Three"), 1):
            terminal.send(f"turn {number}{ENTER}")
            terminal.wait_for(f"{done} is done.")
        terminal.send(F5)
        names = ("8 hunks", "new.py", "gone.py", "made.py", "a.py", "b.py")
        terminal.wait_for(lambda text: all(name in text for name in names))
        terminal.send("/a.py turn 1" + ENTER)
        terminal.wait_for("hunk 1 of 3")
        terminal.send("n")
        terminal.wait_for("↺ 1")
        assert _line(project, 5) == "line_5 = 5"
        terminal.send("e")
        terminal.wait_for("Edit hunk")
        terminal.send("\x1b[F" + "\x7f" * 7 + "'theirs'" + CTRL_G)
        # The lines come back from the editor.
        terminal.wait_for("'mine'")
        terminal.send(CTRL_S)
        terminal.wait_for("✎ 1")
        terminal.send("jn")
        terminal.wait_for("↺ 2")
        terminal.send("/" + "\x7f" * 12 + "made" + ENTER)
        terminal.wait_for(lambda text: "made = 1" in text)
        terminal.send("c")
        terminal.wait_for("Enter save")
        terminal.send("Say why you did this." + ENTER)
        terminal.wait_for("¶ Say why")
        terminal.send("o")
        _wait_for_file(
            terminal, tmp_path / "edited", lambda text: text.split() == ["+1", f"{project}/made.py"]
        )
        terminal.send("q")
        terminal.wait_for("Ask, @file")
        assert [_line(project, number) for number in (5, 35)] == ["line_5 = 5", "line_35 = 35"]
        terminal.send(f"go on{ENTER}")
        terminal.wait_for("I understand.")
        assert terminal.leave() == 0


def _restart(project: Path, tmp_path: Path, size: Size) -> None:
    with _terminal("http://127.0.0.1:9", project, tmp_path, size, "--continue") as terminal:
        terminal.wait_for("I understand.")
        terminal.send(F5)
        terminal.wait_for(lambda text: "↺ 2" in text and "✎ 1" in text)
        terminal.send("u")
        terminal.wait_for("Comment removed")
        terminal.send("u")
        terminal.wait_for("↺ 1")
        assert _line(project, 35) == "line_35 = 'agent'"
        terminal.send("uu")
        terminal.wait_for(lambda text: "↺" not in text and "✎ 1" not in text)
        assert (project / "a.py").read_text() == _changed(5, 20, 35)
        assert terminal.leave() == 0


def _terminal(base_url: str, project: Path, tmp_path: Path, size: Size, *arguments: str) -> Terminal:
    """The application with `mine`, which is at this address, and an editor that notes what it is to open, and
    writes 'mine' where 'theirs' stands."""
    config = tmp_path / "config.toml"
    config.write_text(
        f'provider = "mine"\npermissions = "auto"\ntitles = false\n[providers.mine]\nbase_url = "{base_url}"\nmodel = "m"\n'
    )
    editor = tmp_path / "nano"
    replace = "for file; do :; done\nsed -i \"s/'theirs'/'mine'/\" \"$file\""
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/edited\n{replace}\n')
    editor.chmod(0o755)
    environ = {"COGENCY_CONFIG": str(config), "EDITOR": str(editor)}
    data = tmp_path / "data"
    return Terminal(*arguments, cwd=project, data=data, columns=size[0], rows=size[1], environ=environ)


def _line(project: Path, number: int) -> str:
    return (project / "a.py").read_text().splitlines()[number - 1]


def _changed(*numbers: int) -> str:
    text = LINES
    for number in numbers:
        text = text.replace(f"line_{number} = {number}\n", f"line_{number} = 'agent'\n")
    return text


def _wait_for_file(terminal: Terminal, path: Path, wanted: Callable[[str], object]) -> None:
    """Wait until a file that somebody else writes is as wanted; the screen changes when they are done."""
    terminal.wait_for(lambda _text: path.exists() and wanted(path.read_text()))
