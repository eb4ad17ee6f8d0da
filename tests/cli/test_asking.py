"""What `run` and `trust` ask a person at a real terminal, and what their answers do."""

from pathlib import Path

import pytest

from cogency_tui.config.schema import config_directory
from tests.exhaustive import sampled
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

REPLACE = "replace 'hello' with 'goodbye' in greet.py"


@pytest.mark.parametrize(
    ("answer", "text", "status"),
    sampled([("y", "goodbye", 0), ("YES", "goodbye", 0), ("n", "hello", 0), ("", "hello", 0)], quick=2),
)
def test_an_edit_is_shown_and_made_only_with_a_yes(
    project: Path, tmp_path: Path, answer: str, text: str, status: int
) -> None:
    with Terminal("run", REPLACE, cwd=project, data=tmp_path / "data") as terminal:
        shown = terminal.wait_for("Allow it? [y]es")
        assert '-print("hello")' in shown
        assert '+print("goodbye")' in shown
        terminal.send(f"{answer}\n")
        assert terminal.process.wait(60) == status
    assert (project / "greet.py").read_text() == f'print("{text}")\n'


@pytest.mark.exhaustive
def test_what_is_allowed_for_the_conversation_is_not_asked_again(project: Path, tmp_path: Path) -> None:
    command = "run `touch made` and then run `touch made`"
    with Terminal("run", command, cwd=project, data=tmp_path / "data") as terminal:
        shown = terminal.wait_for("Allow it? [y]es, for this [c]onversation, [N]o")
        assert "[c]: " in shown
        terminal.send("c\n")
        assert terminal.process.wait(60) == 0
        assert terminal.raw.count(b"Allow it?") == 1
    assert (project / "made").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("answer", "trusted"), [("y", True), ("n", False), ("", False)])
def test_a_project_is_trusted_only_with_a_yes(
    project: Path, tmp_path: Path, answer: str, trusted: bool
) -> None:
    own = project / ".cogency" / "config.toml"
    own.parent.mkdir()
    own.write_text('[agents.reviewer]\ndescription = "reads a change"\n')
    with Terminal("trust", cwd=project, data=tmp_path / "data") as terminal:
        shown = terminal.wait_for("Trust this project? [y]es, [N]o:")
        assert "config.toml" in shown
        terminal.send(f"{answer}\n")
        assert terminal.process.wait(60) == (0 if trusted else 1)
    assert (config_directory() / "trusted.toml").exists() is trusted
