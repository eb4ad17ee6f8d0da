"""What a command may remove unasked: what the agent made in the turn, and nothing that was there before."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.shell_tool import Shell, ShellArgs
from tests.agent.journaling import Desk, desk_at
from tests.agent.templates import TEMPLATES


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=directory, check=True)


def project_of_a_person(root: Path) -> None:
    (root / "src").mkdir()
    for name in ("a.txt", "b.txt", "src/x.txt"):
        (root / name).write_text(f"{name}\n")
    (root / ".gitignore").write_text("secret\n")
    (root / "secret").write_text("mine\n")
    os.utime(root / "secret", (1, 1))
    (root / "notes.txt").write_text("mine\n")
    git(root, "init", "-q")
    git(root, "add", "a.txt", "b.txt", "src", ".gitignore")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    (root / "a.txt").write_text("changed\n")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(project_of_a_person, tmp_path / "project")
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


async def loss(desk: Desk, command: str) -> str:
    context = ToolContext(desk.workspace, journal=desk.calls)
    return describe_losses((await Shell().plan(ShellArgs(command), context)).losses)


BUILD = "mkdir -p dist/js && echo 1 > dist/js/a.js && echo 2 > dist/b.css"


async def test_what_the_turn_made_goes_unasked(desk: Desk) -> None:
    await desk.write(("try.py", "1\n"), ("lib/deep/y.py", "2\n"))
    await desk.run(BUILD)
    for command in (
        "rm try.py",
        "rm -rf lib",
        "rm -rf dist",
        "rm -rf dist lib try.py",
        "rm dist/*",
        "echo 3 > try.py",
        "mv a.txt try.py",
        "find dist -delete",
        "git clean -fd dist lib",
        "truncate -s 0 try.py",
    ):
        assert await loss(desk, command) == "", command


@pytest.mark.exhaustive
async def test_changes_of_what_was_committed_go_unasked_too(desk: Desk) -> None:
    await desk.write(("b.txt", "written\n"))
    await desk.run("echo more >> src/x.txt")
    for command in ("git checkout -- b.txt src", "git restore b.txt", "rm b.txt", "echo 1 > b.txt"):
        assert await loss(desk, command) == "", command
    assert (
        await loss(desk, "git reset --hard") == "permanently discards uncommitted changes in the file a.txt"
    )
    desk.put("b.txt", "mine\n")
    assert "b.txt" in await loss(desk, "git checkout -- b.txt")


@pytest.mark.exhaustive
async def test_changes_since_a_commit_of_the_turn_go_unasked_too(desk: Desk) -> None:
    await desk.write(("b.txt", "written\n"), ("new.txt", "new\n"))
    await desk.run("git add b.txt new.txt; git -c user.name=a -c user.email=a@b commit -qm y")
    await desk.run("echo more >> b.txt; echo more >> new.txt")
    assert await loss(desk, "git checkout -- b.txt new.txt") == ""
    desk.put("b.txt", "mine\n")
    await desk.run("echo more >> b.txt")
    assert "b.txt" in await loss(desk, "git checkout -- b.txt")


async def test_what_it_changed_since_goes_unasked_too(desk: Desk) -> None:
    await desk.run("echo 1 > try.py")
    await desk.write(("try.py", "2\n"))
    await desk.run("mv try.py other.py")
    assert await loss(desk, "rm other.py") == ""


@pytest.mark.exhaustive
async def test_what_was_there_before_asks(desk: Desk) -> None:
    await desk.write(("try.py", "1\n"))
    for command, name in (
        ("rm notes.txt", "notes.txt"),
        ("rm try.py notes.txt", "notes.txt"),
        ("rm a.txt", "a.txt"),
        ("rm -r src", "src"),
        ("mv try.py notes.txt", "notes.txt"),
        ("git checkout -- a.txt", "a.txt"),
    ):
        found = await loss(desk, command)
        assert name in found, command
        assert "try.py" not in found


async def test_what_was_only_moved_or_changed_asks(desk: Desk) -> None:
    await desk.run("mv notes.txt moved.txt; mv secret plain.txt")
    await desk.write(("a.txt", "written\n"))
    for name in ("moved.txt", "plain.txt", "a.txt"):
        assert name in await loss(desk, f"rm {name}")


async def test_what_was_put_in_the_place_of_another_asks(desk: Desk) -> None:
    await desk.run("rm notes.txt; echo new > notes.txt")
    assert "notes.txt" in await loss(desk, "rm notes.txt")


async def test_what_the_user_changed_since_asks(desk: Desk) -> None:
    await desk.write(("try.py", "1\n"), ("lib/y.py", "2\n"))
    desk.put("try.py", "mine\n")
    desk.put("lib/mine.py", "mine\n")
    assert "try.py" in await loss(desk, "rm try.py")
    assert "lib/mine.py" in await loss(desk, "rm -rf lib")
    assert "lib/y.py" not in await loss(desk, "rm -rf lib")


async def test_what_an_earlier_turn_made_asks(desk: Desk) -> None:
    await desk.write(("try.py", "1\n"))
    await desk.say()
    assert "try.py" in await loss(desk, "rm try.py")


async def test_a_repository_that_the_turn_made_asks(desk: Desk) -> None:
    await desk.run("git init -q sub; echo 1 > sub/a")
    assert "sub" in await loss(desk, "rm -rf sub")


async def test_what_goes_unasked_can_be_restored(desk: Desk) -> None:
    await desk.run(BUILD)
    await desk.run("rm -rf dist", "dist")
    assert not (desk.root / "dist").exists()
    copies = [edit for edit in await desk.edits() if edit.kind == "snapshot"]
    await desk.undo.apply(await desk.undo.restore(copies))
    assert (desk.root / "dist/js/a.js").read_text() == "1\n"


async def test_files_change_places_unasked(desk: Desk) -> None:
    desk.put("c.txt", "mine\n")
    for command in (
        "mv notes.txt other && mv other notes.txt",
        "mv notes.txt t && mv c.txt notes.txt && mv t c.txt",
        "mv notes.txt t; mv c.txt notes.txt; mv t c.txt",
        "mv src other && mv other src",
        "mv notes.txt src/ && mv src/notes.txt .",
    ):
        assert await loss(desk, command) == "", command


@pytest.mark.exhaustive
async def test_what_is_moved_away_can_still_be_lost(desk: Desk) -> None:
    desk.put("c.txt", "mine\n")
    for command in (
        "mv notes.txt t && rm t",
        "mv notes.txt t && rm t*",
        "mv notes.txt t && mv c.txt t",
        "mv notes.txt t && echo 1 > t",
        "mv notes.txt missing/t; mv c.txt notes.txt",
        "true || mv notes.txt t; mv c.txt notes.txt",
        "if false; then mv notes.txt t; fi; mv c.txt notes.txt",
        "mv -n notes.txt t; mv c.txt notes.txt",
        "mv c.txt notes.txt",
    ):
        assert "notes.txt" in await loss(desk, command), command


async def test_caches_that_git_does_not_ignore_go_unasked(desk: Desk) -> None:
    for name in ("src/__pycache__/x.pyc", "node_modules/a/b.js", ".mypy_cache/x.json"):
        desk.put(name, "x\n")
    assert await loss(desk, "rm -rf src/__pycache__ node_modules .mypy_cache") == ""
    git(desk.root, "add", "-f", "node_modules")
    assert "node_modules" in await loss(desk, "rm -rf node_modules")
