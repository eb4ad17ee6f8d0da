"""Keys that arrive in one burst, in a real terminal: each is for what the one before has opened."""

from pathlib import Path

import pytest

from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

CTRL_P, F2, F6, F9 = "\x10", "\x1bOQ", "\x1b[17~", "\x1b[20~"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("/settings\r/vim", "▌▌   Vim keys"),
        ("/model\rmistr", "mistr"),
        ("/theme\rfjo", "▌▌   fjord"),
        (F2 + "anth", "▌▌   anthropic"),
        (CTRL_P + "export", "▌▌"),
    ],
)
def test_keys_right_after_one_that_opens_a_screen_go_there(
    project: Path, tmp_path: Path, keys: str, shown: str
) -> None:
    with Terminal(cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("F1 help")
        terminal.send(keys)
        typed = keys.rpartition("\r")[2].lstrip("/" + F2 + CTRL_P)
        terminal.wait_for(lambda text: shown in text and f"▌  {typed}" in text)


@pytest.mark.parametrize("text", ["read the file please", "y is this", "just go on", "/undo"])
def test_a_line_sent_to_a_pane_is_never_mangled(project: Path, tmp_path: Path, text: str) -> None:
    with Terminal(cwd=project, data=tmp_path / "data", columns=100) as terminal:
        terminal.wait_for("F1 help")
        terminal.send("list files\r")
        terminal.wait_for("These are the files")
        terminal.send(F6)
        terminal.wait_for("v select")
        terminal.send(text + "\r")
        if text.startswith("/"):
            shown = terminal.wait_for(f"/ {text[1:]}")
            assert "1 turn" not in shown.split(f"/ {text[1:]}")[0]
        else:
            terminal.wait_for(lambda shown: f"▌ {text}" in shown and "2 turns" in shown)
