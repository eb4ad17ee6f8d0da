"""Protected files that move with the directory that they are for, and those that come to be for another one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, settle
from tests.agent.repositories import git

PROTECTED = ("AGENTS.md", ".envrc", ".vscode/tasks.json", "deep/CLAUDE.md")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a.py", "1\n")
        desk.put("packages/x/b.py", "2\n")
        for name in PROTECTED:
            desk.put(f"packages/x/{name}", f"{name}\n")
        git(desk.root, "init", "-q", "-b", "main")
        git(desk.root, "add", "-A")
        git(desk.root, "commit", "-qm", "x")
        settle()
        yield desk


MOVED = {
    "mv packages pkgs && git add -A": "pkgs/x",
    "git mv packages pkgs": "pkgs/x",
    "git mv packages/x packages/y": "packages/y",
    "mkdir -p lib; mv packages lib/": "lib/packages/x",
    'python3 -c \'import os; os.rename("packages", "pkgs")\'': "pkgs/x",
    "mv packages/x y; rmdir packages": "y",
}


@pytest.mark.parametrize("command", MOVED)
async def test_what_moves_with_its_directory_stays(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command, keep=None)
    assert (asked, found.put_back) == ([], [])
    there = [(desk.root / MOVED[command] / name).read_text() for name in PROTECTED]
    assert there == [f"{name}\n" for name in PROTECTED]


ELSEWHERE = [
    "mv packages/x/AGENTS.md .",
    "mv packages/x/AGENTS.md . && rm -r packages",
    "mv packages/x/AGENTS.md packages/ && rm -r packages/x",
    "mkdir lib; mv packages/x/AGENTS.md lib/",
    "mv packages/x lib; echo evil >> lib/AGENTS.md",
    "mv packages/x lib; chmod 755 lib/AGENTS.md",
    "mv packages/x lib; mv lib/AGENTS.md lib/GEMINI.md",
    "mv packages/x lib; mv lib/.envrc lib/.vscode/settings.json",
    "cp -r packages/x lib",
    "mv packages/x lib; mkdir packages/x",
]


@pytest.mark.parametrize("command", ELSEWHERE)
async def test_what_comes_to_be_for_something_else_is_put_back(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command)
    assert asked
    assert found.put_back


COPIED = {
    "cp -r packages/x packages/y": "packages/y",
    "cp -r packages lib": "lib/x",
    "mkdir -p lib/deep; cd packages/x; cp AGENTS.md ../../lib; cp deep/CLAUDE.md ../../lib/deep": "lib",
    "tar -cf - packages/x | (mkdir new; cd new; tar -xf -)": "new/packages/x",
    'python3 -c \'import shutil; shutil.copytree("packages/x", "y")\'': "y",
}


@pytest.mark.parametrize("command", COPIED)
async def test_copies_of_instructions_stay_in_new_directories(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command, keep=None)
    place = COPIED[command]
    kept = {name for name in PROTECTED if (desk.root / place / name).exists()}
    assert kept == {"AGENTS.md", "deep/CLAUDE.md"}
    assert {path.removeprefix(f"{place}/") for path in found.put_back} <= {".envrc", ".vscode/tasks.json"}
    assert not [each for each in asked if each.endswith(".md")]


OTHERS = [
    "cp packages/x/AGENTS.md .",
    "cp packages/x/AGENTS.md packages/",
    "mkdir lib; cp packages/x/AGENTS.md lib/GEMINI.md",
    "mkdir lib; cp packages/x/AGENTS.md lib; echo evil >> lib/AGENTS.md",
    "echo evil > packages/x/AGENTS.md; mkdir lib; cp packages/x/AGENTS.md lib",
    "mkdir lib; cp packages/x/AGENTS.md lib; mv a.py lib",
    "mkdir -p lib/.claude; cp packages/x/deep/CLAUDE.md lib/.claude",
    "mkdir lib; ln -s ../packages/x/AGENTS.md lib/AGENTS.md",
    "mkdir lib; cp packages/x/AGENTS.md lib; rm packages/x/AGENTS.md",
]


@pytest.mark.parametrize("command", OTHERS)
async def test_other_copies_of_instructions_are_put_back(desk: Desk, command: str) -> None:
    before = desk.tree()
    found, asked = await watched(desk, command)
    assert asked
    assert found.put_back
    after = {name: each for name, each in desk.tree().items() if name.endswith(".md")}
    assert after == {name: each for name, each in before.items() if name.endswith(".md")}
