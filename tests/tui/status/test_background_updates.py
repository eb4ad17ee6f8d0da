"""What the header says of a repository: told without running what the repository names, and without waiting."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from cogency_tui.tui.status.background_updates import is_dirty
from cogency_tui.tui.status.header import read_branch
from cogency_tui.workspace.git.branch import branch_of


def _git(project: Path, *arguments: str) -> None:
    person = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *person, *arguments], cwd=project, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one committed file."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "file.txt").write_text("as it was\n")
    _git(project, "init", "-q", "-b", "main")
    _git(project, "add", "-A")
    _git(project, "commit", "-qm", "one")
    return project


async def test_a_change_that_is_not_committed_is_told(project: Path) -> None:
    assert not await is_dirty(project)
    (project / "new.txt").write_text("git does not know this one\n")
    assert not await is_dirty(project)
    (project / "file.txt").write_text("changed\n")
    assert await is_dirty(project)


async def test_a_directory_without_git_is_not_dirty(tmp_path: Path) -> None:
    assert not await is_dirty(tmp_path)
    assert read_branch(tmp_path) == ""


@pytest.mark.parametrize("filter", ["x", "a=b", "with.dots and spaces"])
async def test_programs_that_the_repository_names_are_not_run(
    project: Path, tmp_path: Path, filter: str
) -> None:
    mark, program = _marking(tmp_path)
    for name in ("core.fsmonitor", f"filter.{filter}.clean", "core.pager", "diff.external"):
        _git(project, "config", name, str(program))
    _git(project, "config", "core.hooksPath", str(program.parent))
    (program.parent / "post-index-change").symlink_to(program)
    (project / ".gitattributes").write_text(f'* "filter={filter}"\n* filter={filter}\n')
    _make_git_compare(project / "file.txt")

    await is_dirty(project)

    assert not mark.exists()
    # The same question without our care does run one of them: this test can fail.
    _ask_carelessly(project)
    assert mark.exists()


async def test_programs_that_a_submodule_names_are_not_run(project: Path, tmp_path: Path) -> None:
    mark, program = _marking(tmp_path)
    source = tmp_path / "source"
    _git(tmp_path, "clone", "-q", str(project), str(source))
    _git(project, "submodule", "-q", "add", str(source), "sub")
    _git(project, "commit", "-qm", "two")
    submodule = project / "sub"
    _git(submodule, "config", "filter.x.clean", str(program))
    (submodule / ".gitattributes").write_text("* filter=x\n")
    _make_git_compare(submodule / "file.txt")

    assert not await is_dirty(project)

    assert not mark.exists()
    _ask_carelessly(project)
    assert mark.exists()


async def test_the_index_is_left_as_it_is(project: Path) -> None:
    _make_git_compare(project / "file.txt")
    before = (project / ".git/index").stat()
    assert not await is_dirty(project)
    after = (project / ".git/index").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_the_branch_is_read_from_a_file_only(project: Path, tmp_path: Path) -> None:
    assert read_branch(project) == "main"
    assert read_branch(project / "deeper") == "main"
    head = project / ".git/HEAD"
    head.unlink()
    os.mkfifo(head)
    assert read_branch(project) == branch_of(project) == ""
    head.unlink()
    head.symlink_to("/dev/zero")
    assert read_branch(project) == ""


def test_the_branch_of_a_linked_worktree_is_its_own(project: Path, tmp_path: Path) -> None:
    _git(project, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert read_branch(tmp_path / "side") == branch_of(tmp_path / "side") == "side"


def test_a_commit_that_is_checked_out_is_no_branch(project: Path) -> None:
    _git(project, "checkout", "-q", "--detach")
    assert re.fullmatch("[0-9a-f]{8}", read_branch(project))
    assert branch_of(project) == ""


@pytest.mark.parametrize("told", ["gitdir: ../nowhere", "gitdir: \0", "", "nonsense"])
def test_a_file_that_leads_to_no_repository_is_none(tmp_path: Path, told: str) -> None:
    (tmp_path / ".git").write_text(told)
    assert read_branch(tmp_path) == branch_of(tmp_path) == ""


def _ask_carelessly(project: Path) -> None:
    subprocess.run(["git", "status"], cwd=project, check=False, capture_output=True)


def _marking(tmp_path: Path) -> tuple[Path, Path]:
    """A mark, and a program that makes it."""
    mark, program = tmp_path / "mark", tmp_path / "bin/program"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    return mark, program


def _make_git_compare(file: Path) -> None:
    """Give a file a time that git has not seen, so that only its content can say whether it changed."""
    os.utime(file, (1, 1))
