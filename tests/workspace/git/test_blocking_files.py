"""Git is never asked where a FIFO stands in place of a file that it reads."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from cogency_tui.config.toml_reader import read_text
from cogency_tui.errors import ConfigError
from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.loopback import visit
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.simple_command import Simple, Word
from cogency_tui.workspace.git import safe_git
from cogency_tui.workspace.git.blocking_files import blocked
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.paths import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src/deep").mkdir(parents=True)
    (root / "a").write_text("x")
    (root / "src/b").write_text("x")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def place(path: Path, kind: str) -> None:
    """Put a file there that no reader gets to the end of."""
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            here = Path.cwd()
            os.chdir(path.parent)
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
            os.chdir(here)


@pytest.mark.parametrize("kind", ["fifo", "device", "socket"])
@pytest.mark.parametrize(
    "name",
    [
        ".gitignore",
        "src/.gitignore",
        "src/deep/.gitattributes",
        ".gitmodules",
        ".git/info/exclude",
        ".git/HEAD",
    ],
)
def test_git_is_not_asked(project: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place(project / name, kind)
    asked: list[object] = []

    def ask(*given: object, **_named: object) -> tuple[int, bytes]:
        asked.append(given)
        return 1, b""

    monkeypatch.setattr(safe_git, "run_helper", ask)
    assert blocked(project, below=True)
    assert Repository(project).entries(untracked=True) is None
    # What is drawn all the time does not look through the whole project: git has its patience there.
    assert "/" in name or Repository(project).status() is None
    assert Repository(project).cleaned([], ["."]) is None
    assert asked == []


def test_what_is_at_stake_is_known_without_git(project: Path) -> None:
    place(project / ".gitignore", "fifo")
    stake = at_stake("rm -rf a src", project, Workspace(project))
    assert (
        describe_losses(stake.losses)
        == "permanently deletes 2 unversioned files and directories: a, src/ (1 file)"
    )


def test_ordinary_files_block_nothing(project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n")
    (project / "src/.gitattributes").mkdir()
    place(project / "pipe", "fifo")
    assert not blocked(project, below=True)
    assert Repository(project).entries(untracked=True)


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "directory", "sparse"])
def test_a_configuration_that_is_no_file_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.toml"
    if kind == "directory":
        path.mkdir()
    elif kind == "sparse":
        path.touch()
        os.truncate(path, 4 << 30)
    else:
        place(path, kind)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(path)


def test_a_client_s_configuration_that_is_no_file_may_lead_anywhere(tmp_path: Path) -> None:
    simple = Simple((Word("curl"), Word("localhost:1")))
    assert visit(simple, {"HOME": str(tmp_path)}) is not None
    place(tmp_path / ".curlrc", "fifo")
    assert visit(simple, {"HOME": str(tmp_path)}) is None
