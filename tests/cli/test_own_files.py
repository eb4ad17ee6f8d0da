"""What the program keeps for itself is the user's alone, whatever the umask."""

import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Run

COMMANDS = [
    ["run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits"],
    ["config", "set", "theme", "night"],
    ["recall", "goodbye"],
    ["trust", "--yes"],
]


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_directories_are_0700_and_files_0600(umask: int, run: Run, project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (project / ".cogency").mkdir()
    (project / ".cogency/config.toml").write_text("")
    places = {"COGENCY_DATA": str(home / "a/b/data"), "COGENCY_CONFIG": str(home / "c/d/config.toml")}
    for command in COMMANDS:
        done = run(*command, umask=umask, HOME=str(home), **places)
        assert done.returncode == 0, done.stderr
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    assert {path for path, mode in made.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    names = {path.name for path in made}
    assert {"data", "blobs", "config.toml", "trusted.toml"} <= names
