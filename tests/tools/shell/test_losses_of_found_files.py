"""What `find` names and what `mktemp` made is destroyed by name: caches and temporary files are no loss."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

FILES = ("a.py", "docs/a.txt", "src/x.py", "src/__pycache__/x.pyc")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    (root / ".gitignore").write_text("__pycache__\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


@cases(
    "command",
    [
        'tmp=$(mktemp -d); cp -r src "$tmp/"; rm -rf "$tmp"',
        'tmp=$(mktemp); echo x > "$tmp"; rm -f "$tmp"',
        'tmp=$(mktemp -d) && trap \'rm -rf "$tmp"\' EXIT; cp a.py "$tmp"',
        'tmp=$(mktemp); sed s/x/y/ a.py > b.py; mv "$tmp" c.py; rm -f "$tmp"',
        "find . -name __pycache__ -type d -exec rm -rf {} +",
        r"find . -type d -name __pycache__ -prune -exec rm -rf {} \;",
        "find . -type d -name __pycache__ | xargs rm -rf",
        "find . -type d -empty -delete",
    ],
)
def test_what_can_be_made_again_is_no_loss(project: Path, command: str) -> None:
    assert not at_stake(command, project, Workspace(project)).losses
    found = reach(command, project, Workspace(project))
    assert (found.network, found.outside, found.protected) == ("", "", "")


@cases(
    "command",
    [
        'tmp=$(mktemp -d); mv docs "$tmp/"; rm -rf "$tmp"',
        'tmp=$(mktemp -d); mv -t "$tmp" docs; rm -rf "$tmp"',
        'tmp=$(mktemp -d); P=$PWD; cd "$tmp"; mv "$P/docs" .; rm -rf "$tmp"',
        'tmp=$(mktemp -d); rm -rf "$tmp"/*',
        'rm -rf "$tmp"',
        "trap 'rm -rf docs' EXIT",
        "find . -delete -name '*.pyc'",
        r"find . -exec rm -rf {} \; -name __pycache__",
        "find . -name __pycache__ -o -name docs -exec rm -rf {} +",
        "find . -name __pycache__ -exec rm -rf {} docs +",
        "find . -name docs | xargs rm -rf",
        "find . -name __pycache__ | sed s/__pycache__// | xargs rm -rf",
        "find . -name __pycache__ -printf docs | xargs rm -rf",
        "find . -type d ! -empty -delete",
        "find . -type f -empty -delete",
        'find . -name "$X" -delete',
    ],
)
def test_what_cannot_is_one(project: Path, command: str) -> None:
    assert at_stake(command, project, Workspace(project)).losses
