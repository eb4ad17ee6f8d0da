"""Protected files that move with the directory that they are for, and those that come to be for another one."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git
from tests.agent.templates import TEMPLATES

PROTECTED = ("AGENTS.md", ".envrc", ".vscode/tasks.json", "deep/CLAUDE.md")


MOST = 10


def text(number: int, name: str) -> str:
    """What is in a protected file: in no two the same."""
    return f"{number} {name}\n"


def _build(top: Path) -> None:
    root = top / "project"
    for number in range(MOST):
        put(root, f"{number}/a.py", f"1 {number}\n")
        put(root, f"{number}/packages/x/b.py", f"2 {number}\n")
        for name in PROTECTED:
            put(root, f"{number}/packages/x/{name}", text(number, name))
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A project of several parts, in each of which a command does something."""
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def together(commands: Iterable[str]) -> str:
    """Do each command in a part of its own."""
    return "; ".join(f"(cd {number}; {command})" for number, command in enumerate(commands))


def texts(desk: Desk) -> dict[str, tuple[int, bytes]]:
    return {name: each for name, each in desk.tree().items() if name.endswith(".md")}


MOVED = {
    "mv packages pkgs && git add -A": "pkgs/x",
    "git mv packages pkgs": "pkgs/x",
    "git mv packages/x packages/y": "packages/y",
    "mkdir -p lib; mv packages lib/": "lib/packages/x",
    'python3 -c \'import os; os.rename("packages", "pkgs")\'': "pkgs/x",
    "mv packages/x y; rmdir packages": "y",
}


async def test_what_moves_with_its_directory_stays(desk: Desk) -> None:
    found, asked = await watched(desk, together(MOVED), keep=None)
    assert (asked, found.put_back) == ([], [])
    for number, place in enumerate(MOVED.values()):
        there = [(desk.root / f"{number}" / place / name).read_text() for name in PROTECTED]
        assert there == [text(number, name) for name in PROTECTED]


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


@pytest.mark.exhaustive
async def test_what_comes_to_be_for_something_else_is_put_back(desk: Desk) -> None:
    found, asked = await watched(desk, together(ELSEWHERE))
    assert asked
    assert {int(path.split("/")[0]) for path in found.put_back} == set(range(len(ELSEWHERE)))


COPIED = {
    "cp -r packages/x packages/y": "packages/y",
    "cp -r packages lib": "lib/x",
    "mkdir -p lib/deep; cd packages/x; cp AGENTS.md ../../lib; cp deep/CLAUDE.md ../../lib/deep": "lib",
    "tar -cf - packages/x | (mkdir new; cd new; tar -xf -)": "new/packages/x",
    'python3 -c \'import shutil; shutil.copytree("packages/x", "y")\'': "y",
}


@pytest.mark.exhaustive
async def test_copies_of_instructions_stay_in_new_directories(desk: Desk) -> None:
    found, asked = await watched(desk, together(COPIED), keep=None)
    allowed: set[str] = set()
    for number, place in enumerate(COPIED.values()):
        kept = {name for name in PROTECTED if (desk.root / f"{number}" / place / name).exists()}
        assert kept == {"AGENTS.md", "deep/CLAUDE.md"}
        allowed |= {f"{number}/{place}/{name}" for name in (".envrc", ".vscode/tasks.json")}
    assert set(found.put_back) <= allowed
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


@pytest.mark.exhaustive
async def test_other_copies_of_instructions_are_put_back(desk: Desk) -> None:
    before = texts(desk)
    found, asked = await watched(desk, together(OTHERS))
    assert asked
    assert {int(path.split("/")[0]) for path in found.put_back} == set(range(len(OTHERS)))
    assert texts(desk) == before
