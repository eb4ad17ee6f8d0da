"""Repositories of git that tests work in."""

import subprocess
from pathlib import Path

import pytest


def git(directory: Path, *arguments: str) -> None:
    user = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *user, *arguments], cwd=directory, check=True, capture_output=True)


def output(directory: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout


def sign_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git know who commits."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "a")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@b")


def share(directory: Path) -> Path:
    """Commit what is in a new repository of `directory`, share it, and clone it for a colleague, beside it."""
    shared, theirs = directory.parent / "shared.git", directory.parent / "theirs"
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "x")
    git(directory.parent, "clone", "-q", "--bare", str(directory), str(shared))
    git(directory.parent, "clone", "-q", str(shared), str(theirs))
    git(directory, "remote", "add", "origin", str(shared))
    git(directory, "fetch", "-q")
    git(directory, "branch", "-qu", "origin/main")
    git(directory, "config", "pull.rebase", "false")
    return theirs


def library_at(directory: Path) -> Path:
    """A repository with one empty commit, for submodules."""
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    git(directory, "commit", "-q", "--allow-empty", "-m", "x")
    return directory
