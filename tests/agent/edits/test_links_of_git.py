"""What git does to link working trees and submodules in a repository whose hooks are files of the project."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, library_at, output, sign_commits
from tests.agent.templates import TEMPLATES
from tests.exhaustive import sampled


def _build(top: Path) -> None:
    root = top / "project"
    library = library_at(top / "library")
    put(root, "a.py", "1\n")
    put(root, ".githooks/pre-commit", "#!/bin/sh\n", 0o755)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "core.githooksPath", ".githooks")
    for name in ("one", "two"):
        add = ("submodule", "add", "-q", "--name", f"the.{name}", str(library), f"lib/{name}")
        git(root, "-c", "protocol.file.allow=always", *add)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "worktree", "add", "-q", "-b", "there", ".trees/there")
    git(root, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


MOVES = [
    "git worktree move .trees/there .trees/elsewhere",
    "git worktree move .trees/there there && git worktree move there .trees/elsewhere",
    "git worktree add -q -b new .trees/new && git worktree move .trees/new .trees/elsewhere",
    "mv .trees/there .trees/elsewhere && git worktree repair .trees/elsewhere",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", MOVES)
async def test_a_working_tree_is_moved_with_the_hooks_in_it(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command, keep=None)
    assert (asked, found.put_back) == ([], [])
    hook = ".trees/elsewhere/.githooks/pre-commit"
    assert hook in [edit.path for edit in found.edits] or "worktree add" in command
    assert output(desk.root / ".trees/elsewhere", "status", "--porcelain") == ""


@pytest.mark.exhaustive
async def test_a_hook_that_is_changed_on_the_way_is_put_back(desk: Desk) -> None:
    command = "git worktree move .trees/there .trees/new; echo evil >> .trees/new/.githooks/pre-commit"
    found, _ = await watched(desk, command, keep=None)
    assert any(path.endswith(".githooks/pre-commit") for path in found.put_back)
    hooks = [path.read_text() for path in desk.root.rglob(".githooks/pre-commit")]
    assert "evil" not in "".join(hooks)


@pytest.mark.exhaustive
async def test_a_working_tree_that_came_and_went_leaves_nothing_to_take_back(desk: Desk) -> None:
    before = desk.tree()
    await watched(desk, "git worktree add -q -b new .trees/new", keep=None)
    await desk.say()
    await watched(desk, "git worktree remove .trees/new", keep=None)
    assert not [edit.path for edit in await desk.edits() if edit.path.endswith("/.git")]
    await desk.undo.apply(await desk.undo.of_turn(2), agreed=True)
    assert not (desk.root / ".trees/new/.git").exists()
    await desk.undo.apply(await desk.undo.back_to(0), agreed=True)
    assert desk.tree().keys() - before.keys() <= {".git/refs/heads/new", ".git/logs/refs/heads/new"}


@pytest.mark.exhaustive
async def test_the_pointer_of_a_working_tree_that_git_still_lists_comes_back(desk: Desk) -> None:
    await watched(desk, "rm -r .trees/there", keep=None)
    await desk.undo.apply(await desk.undo.of_turn(), agreed=True)
    missing = output(desk.root / ".trees/there", "diff", "--name-only", "--ignore-submodules")
    # Empty directories of submodules are no files.
    assert set(missing.split()) <= {"lib/one", "lib/two"}
    assert (desk.root / ".trees/there/.git").is_file()


REMOVALS = {
    "git rm -qf lib/two && git commit -qm x": ["one"],
    "git rm -qf lib/one lib/two && git commit -qm x": [],
    "git mv lib/one one && git rm -qf lib/two && git commit -qm x": ["one"],
    "git rm -qf lib/one lib/two && git rm -qf .gitmodules && git commit -qm x": [],
    "git config -f .gitmodules --remove-section submodule.the.two && rm -r lib/two": ["one"],
}


@pytest.mark.parametrize("command", sampled(REMOVALS, quick=2))
async def test_submodules_are_removed_from_the_list_with_what_was_there(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command, keep=None)
    assert (asked, found.put_back) == ([], [])
    listed = desk.root / ".gitmodules"
    text = listed.read_text() if listed.exists() else ""
    assert [name for name in ("one", "two") if f"the.{name}" in text] == REMOVALS[command]


@pytest.fixture
async def tree(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The other working tree, with its submodules."""
    sign_commits(monkeypatch)
    tree = desk.root / ".trees/there"
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    settle()
    return tree


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", [*REMOVALS][::2])
async def test_submodules_are_moved_and_removed_in_another_working_tree(
    desk: Desk, tree: Path, command: str
) -> None:
    found, asked = await watched(desk, f"cd {tree} && {command}", keep=None)
    assert (asked, found.put_back) == ([], [])
    listed = tree / ".gitmodules"
    text = listed.read_text() if listed.exists() else ""
    assert [name for name in ("one", "two") if f"the.{name}" in text] == REMOVALS[command]


KEPT = [
    "git config -f .gitmodules --remove-section submodule.the.two",
    "git config -f .gitmodules submodule.the.two.url /tmp/evil; rm -r lib/two",
    "git config -f .gitmodules --unset submodule.the.two.url; rm -r lib/two",
    "git config -f .gitmodules --rename-section submodule.the.two submodule.new; rm -r lib/two",
    "git rm -qf lib/two; git config -f .gitmodules submodule.the.one.update '!sh'",
    "git rm -qf lib/two; git config -f .gitmodules submodule.new.url ext::sh",
    "git rm -qf lib/two; chmod 777 .gitmodules",
    "rm .gitmodules",
    "rm -r lib; mv .gitmodules list",
    "rm -r lib; rm .gitmodules; ln -s a.py .gitmodules",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", KEPT)
async def test_any_other_change_of_the_list_is_put_back(desk: Desk, command: str) -> None:
    before = (desk.root / ".gitmodules").read_bytes()
    found, _ = await watched(desk, command, keep=None)
    assert ".gitmodules" in found.put_back or "list" in found.put_back
    assert (desk.root / ".gitmodules").read_bytes() == before


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", KEPT[1::4])
async def test_any_other_change_of_the_list_of_another_working_tree_is_put_back(
    desk: Desk, tree: Path, command: str
) -> None:
    before = (tree / ".gitmodules").read_bytes()
    found, _ = await watched(desk, f"cd {tree}; {command}", keep=None)
    assert {".trees/there/.gitmodules", ".trees/there/list"}.intersection(found.put_back)
    assert (tree / ".gitmodules").read_bytes() == before


@pytest.mark.exhaustive
async def test_a_list_in_no_working_tree_is_a_file_like_others(desk: Desk) -> None:
    desk.put("sample/.gitmodules", (desk.root / ".gitmodules").read_text())
    settle()
    found, _ = await watched(desk, "rm sample/.gitmodules", keep=None)
    assert found.put_back == ["sample/.gitmodules"]
