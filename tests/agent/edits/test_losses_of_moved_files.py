"""What a command moved out of sight is lost with the directory that it lies in, whatever made that."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.shell_tool import Shell, ShellArgs
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git
from tests.agent.templates import TEMPLATES
from tests.cases import cases

SIZE = 100_000
SMALL = JournalLimits(largest=4096, small=1024, at_once=0, beforehand=0)
"""Limits under which no copy of such a file is kept."""


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "a.py", "1\n")
    put(root, ".gitignore", "build/\nnode_modules/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data", SMALL) as desk:
        desk.put("big.dat", os.urandom(SIZE))
        desk.put("data/big.dat", os.urandom(SIZE + 1))
        desk.put("build/made.o", "o")
        settle()
        yield desk


async def loss(desk: Desk, command: str) -> str:
    context = ToolContext(desk.workspace, journal=desk.calls)
    return describe_losses((await Shell().plan(ShellArgs(command), context)).losses)


@pytest.mark.parametrize(
    ("moves", "removes"),
    [
        ("mv big.dat build/", "rm -rf build"),
        ("mv big.dat build/", "git clean -fdX"),
        ("mv big.dat build/", "git clean -fdx build"),
        ("mv big.dat build/", "find build -delete"),
        ("mkdir node_modules; mv big.dat node_modules/x", "rm -rf node_modules"),
        ("mkdir -p node_modules/a/b; mv big.dat node_modules/a/b/x", "rm -rf node_modules build"),
        ("cp big.dat build/other; rm big.dat", "rm -rf build"),
        ("mv data build/", "rm -rf build"),
        ("mv big.dat data/x; mv data build/data; true > build/y", "rm -rf build"),
        ("mkdir -p .venv; mv big.dat .venv/", "rm -rf .venv"),
        ("mkdir -p src/__pycache__; mv big.dat src/__pycache__/", "rm -rf src/__pycache__"),
    ],
)
async def test_a_directory_with_a_file_of_the_user_is_a_loss(desk: Desk, moves: str, removes: str) -> None:
    await desk.run(moves)
    assert "big.dat, which has no saved copy" in await loss(desk, removes)


@pytest.mark.exhaustive
async def test_what_builds_made_is_none(desk: Desk) -> None:
    assert await loss(desk, "rm -rf build") == ""
    await desk.run(f"head -c {SIZE} /dev/zero > build/zero; head -c 5 /dev/zero > node_modules; true")
    for command in ("rm -rf build", "git clean -fdX", "git clean -fdx build"):
        assert await loss(desk, command) == ""


async def test_what_is_kept_is_none(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put(".gitignore", "build/\n")
        git(desk.root, "init", "-q")
        desk.put("notes.txt", "mine\n")
        desk.put("build/made.o", "o")
        settle()
        await desk.run("mv notes.txt build/")
        assert await loss(desk, "rm -rf build") == ""


@cases("command", ["mv big.dat build/ && rm -rf build", "mv big.dat build/; cd build; cd ..; rm -r ./build"])
async def test_one_command_may_do_both(desk: Desk, command: str) -> None:
    assert "big.dat" in await loss(desk, command)


LOSING = [
    ("git checkout main && git branch -D t", "the branch t: 1 commit in no other branch"),
    ("git branch -f -d t", "the branch t: 1 commit in no other branch"),
    ("git update-ref -d refs/heads/t", "the branch t: 1 commit in no other branch"),
    ("git reset --hard HEAD~1", "1 commit of the current branch in no other branch"),
    ("git reset -q --keep main", "1 commit of the current branch in no other branch"),
    ("git checkout -q -B t main", "1 commit of the branch t in no other branch"),
    ("git switch -C t main", "1 commit of the branch t in no other branch"),
    ("git switch main; git branch -f t main", "1 commit of the branch t in no other branch"),
    ("git branch -M main t", "1 commit of the branch t in no other branch"),
    ("git reset --hard $X", "commits of the current branch that may be in no other branch"),
]
LOSING_NONE = (
    *("git reset --hard", "git reset --soft HEAD~1", "git reset HEAD~1", "git checkout -B new main"),
    *(
        "git branch -m other",
        "git branch -M other",
        "git branch -d t",
        "git switch -C t",
        "git checkout main",
    ),
)


@pytest.mark.exhaustive
async def test_commits_of_what_was_not_committed_are_a_loss(desk: Desk) -> None:
    await desk.run("git checkout -qb t && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
    for command, what in LOSING:
        assert await loss(desk, command) == f"permanently deletes {what}", command
    for command in LOSING_NONE:
        assert await loss(desk, command) == "", command
    git(desk.root, "tag", "kept")
    for command, what in LOSING:
        assert await loss(desk, command) == (f"permanently deletes {what}" if "$X" in command else ""), (
            command
        )


@cases("command", ["git stash && git stash drop", "git stash push -q; git stash clear"])
async def test_what_is_stashed_and_dropped_is_a_loss(desk: Desk, command: str) -> None:
    desk.put("a.py", "2\n")
    assert await loss(desk, command) == "permanently discards uncommitted changes in the file a.py"
    assert await loss(desk, "git stash; git stash pop") == ""
