"""What the removal of a worktree, of a branch and of stashes would destroy."""

import re
from pathlib import Path

import pytest

from cogency_tui.tools.shell.losses import AtStake
from tests.cases import cases
from tests.tools.shell.test_losses import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A project with a worktree beside it, in which nothing is changed yet."""
    repo = Repo.create(tmp_path / "project")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    return repo


def side(repo: Repo) -> Path:
    return repo.root.parent / "side"


def test_a_worktree_as_it_was_committed_is_nothing_to_lose(repo: Repo) -> None:
    assert repo.stake("git worktree remove ../side") == AtStake()
    assert repo.stake("git worktree remove --force ../side") == AtStake()
    assert repo.stake("git worktree list") == AtStake()


def test_with_a_worktree_everything_goes_that_is_not_committed(repo: Repo) -> None:
    (side(repo) / "changed.py").write_text("mine\n")
    (side(repo) / "notes.txt").write_text("mine\n")
    (side(repo) / "secret.log").write_text("mine\n")
    told = repo.lost("git worktree remove --force ../side")
    assert re.search("discards uncommitted changes in [^;]*changed.py", told)
    assert re.search("deletes the untracked file [^;]*notes.txt", told)
    assert re.search("deletes the git-ignored file [^;]*secret.log", told)
    assert repo.lost("git worktree remove -f ../side") == told


def test_without_force_only_what_git_ignores_goes(repo: Repo) -> None:
    (side(repo) / "changed.py").write_text("mine\n")
    (side(repo) / "secret.log").write_text("mine\n")
    told = repo.lost("git worktree remove ../side")
    assert re.fullmatch("permanently deletes the git-ignored file [^;]*secret.log", told)


@cases(
    ("command", "told"),
    [
        ("git worktree remove --force $WHERE", "a worktree whose name is known only at run time"),
        ("git worktree remove --force ../nowhere", "the worktree ../nowhere"),
        ("git branch -D nowhere", "the branch nowhere"),
        ("git -C .. stash clear", "stashed changes"),
        ("git -C .. reset --hard", "all uncommitted changes"),
        ("git -C .. checkout -- a.py", "all uncommitted changes"),
    ],
)
def test_where_git_cannot_say_it_is_told_without_numbers(repo: Repo, command: str, told: str) -> None:
    assert repo.lost(command) == f"permanently deletes {told}"


def test_a_name_that_no_file_can_have_is_no_path(repo: Repo) -> None:
    assert repo.stake(f"git checkout {'x' * 5000}") == AtStake()
