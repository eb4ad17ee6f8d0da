"""The repository of the project that a command moves comes back as a whole, or is left and said; what only
comes into sight by a link is never removed."""

import asyncio
import os
import shlex
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.edits import command_watch
from cogency_tui.tools.journal_protocol import ALL, Consent
from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.named_paths import moved_by_git
from cogency_tui.workspace.git.directory_restore import GitDirectories
from cogency_tui.workspace.snapshot import Snapshot
from tests.agent.conftest import MakeAgent
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git
from tests.agent.templates import TEMPLATES
from tests.cases import cases
from tests.exhaustive import sampled


def _repository(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    git(directory, "init", "-q", "-b", "main")
    git(directory, "commit", "-q", "--allow-empty", "-m", "x")
    (directory / ".git/hooks/pre-push").write_text("the user's\n")


def _build(top: Path) -> None:
    root = top / "project"
    _repository(top / "other")
    for name in ("notes.md", "notes/a.md", "hooks/pre-commit", "own.cfg"):
        put(top, name, "[user]\n")
    put(root, "a.py", "1\n")
    put(root, "evil", "#!/bin/sh\n", 0o755)
    put(root, ".gitignore", "build/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "repack", "-adq")
    put(root, ".git/hooks/pre-commit", "the user's\n", 0o755)
    _repository(root / "nested")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A project with a nested repository, beside another repository, notes and hooks of the user."""
    TEMPLATES.copy(_build, tmp_path)
    # `git init` would add the sample hooks, which the copies of what is built do not have.
    monkeypatch.setenv("GIT_TEMPLATE_DIR", "")
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def _directory(root: Path) -> dict[str, bytes]:
    """All that is in a directory."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
        if path.name != "index"
    }


def _is_usable(directory: Path) -> bool:
    for arguments in (["status", "--porcelain"], ["fsck"], ["log", "-1"]):
        git(directory, *arguments)
    return True


def _python(code: str) -> str:
    return f"python3 -c {shlex.quote(f'import os, shutil; {code}')}"


MOVING = [
    "git init -q --separate-git-dir gd",
    "git init -q --separate-git-dir ../gd",
    "mv .git gd",
    "mv .git ../gd",
    "mv .git build",
    "mkdir -p build; mv .git build/gd; ln -s build/gd .git",
    "mv .git gd; echo gitdir: gd > .git",
    _python("os.rename('.git', 'gd'); os.symlink('gd', '.git')"),
    "mv .git ../gd; ln -s ../gd .git",
    "mv .git .gitx; mv .gitx .giti",
    "mv .git nested/gd; ln -s gone .git",
    "mv .git gd; ln -s ../other/.git .git",
    "mv .git gd; echo gitdir: ../other/.git > .git",
    "mv .git gd; git init -q",
    "mv .git gd; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm y",
    "mv .git gd; git clone -q --bare gd .git",
    "mv .git gd; mkdir .git; mv gd .git/gd",
    "cp -a .git gd; rm -rf .git; ln -s gd .git",
    "cp -a .git gd; rm -rf .git; echo gitdir: gd > .git",
    "mv .git/hooks hk; ln -s ../hk .git/hooks",
    "mv .git/hooks hk",
    "mv .git/hooks hk; mkdir .git/hooks; cp evil .git/hooks/post-commit",
    "mv .git/hooks hk; mv .git gd; ln -s gd .git; ln -s ../hk gd/hooks",
    "mv .git/objects o",
    "mv .git/refs ../r; mkdir .git/refs",
    "mv .git/objects o; mv .git gd; ln -s gd .git",
    "cd nested; git init -q --separate-git-dir ../gd; cd ..; mv .git gd2",
]


@pytest.mark.exhaustive
@cases("command", MOVING)
async def test_a_repository_that_was_moved_comes_back_whole(desk: Desk, tmp_path: Path, command: str) -> None:
    places = desk.root, tmp_path
    there = [set(place.iterdir()) for place in places]
    before = _directory(desk.root / ".git")
    other = _directory(tmp_path / "other")
    found, _ = await watched(desk, command)
    assert found.put_back[0].startswith(".git")
    assert _directory(desk.root / ".git") == before
    assert _directory(tmp_path / "other") == other
    assert (desk.root / "a.py").read_text() == "1\n"
    for left in (
        path for place, known in zip(places, there, strict=True) for path in {*place.iterdir()} - known
    ):
        shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()


async def test_a_repository_that_came_back_is_usable(desk: Desk) -> None:
    await watched(desk, "mv .git gd; ln -s gd .git")
    assert _is_usable(desk.root)


@pytest.mark.parametrize(
    "command",
    [
        "mv .git gd; cp evil gd/hooks/post-commit; git --git-dir=gd config core.pager evil; ln -s gd .git",
        "cp -a .git gd; rm -rf .git; ln -s gd .git; cp evil gd/hooks/post-commit; rm gd/hooks/pre-commit",
        "mv .git/hooks hk; cp evil hk/post-commit; echo evil > hk/pre-commit; ln -s ../hk .git/hooks",
    ],
)
async def test_what_changed_in_it_is_put_back_one_by_one(desk: Desk, command: str) -> None:
    before = _directory(desk.root / ".git")
    found, asked = await watched(desk, command)
    assert ".git/hooks/post-commit" in found.put_back
    assert ".git" not in asked
    assert _directory(desk.root / ".git") == before


async def test_a_nested_repository_moves_with_its_working_tree(desk: Desk) -> None:
    command = "mv nested there; cp evil there/.git/hooks/post-commit; git -C there config core.pager evil"
    before = _directory(desk.root / "nested")
    found, _ = await watched(desk, command)
    assert sorted(found.put_back) == ["there/.git/config", "there/.git/hooks/post-commit"]
    assert _directory(desk.root / "there") == before
    assert not (desk.root / "nested").exists()


@pytest.mark.exhaustive
async def test_git_may_take_a_nested_repository_for_a_submodule(desk: Desk) -> None:
    git(desk.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f", "./nested")
    settle()
    found, asked = await watched(desk, "git submodule absorbgitdirs")
    assert (asked, found.put_back) == ([], [])
    assert _is_usable(desk.root / "nested")
    assert (desk.root / ".git/modules/nested/hooks/pre-push").read_text() == "the user's\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("command", "stays"),
    [
        ("git mv sub there", True),
        ("git mv sub there; git config --file .gitmodules submodule.sub.url ../evil", False),
        ("git config --file .gitmodules submodule.sub.update '!evil'", False),
    ],
)
async def test_git_may_move_a_submodule(desk: Desk, command: str, stays: bool) -> None:
    git(desk.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "../other", "sub")
    git(desk.root, "commit", "-qnm", "sub")
    settle()
    found, asked = await watched(desk, command)
    assert found.put_back == ([] if stays else [".gitmodules"])
    assert len(asked) == len(found.put_back)
    assert not stays or _is_usable(desk.root / "there")


@pytest.mark.parametrize("command", ["rm -rf .git", "cp -a .git gd; rm -rf .git", "mv .git gd; rm -rf gd"])
async def test_a_repository_that_is_no_more_is_not_put_back_in_pieces(desk: Desk, command: str) -> None:
    found, _ = await watched(desk, command)
    assert not (desk.root / ".git").exists()
    assert ".git" in found.left
    assert found.put_back == []
    assert any("no copy of it is kept" in note for note in found.notes)
    assert (desk.root / "gd").exists() is command.startswith("cp")


@pytest.mark.parametrize(
    "command", ["mv .git gd", "mv .git gd; ln -s gd .git", "git init -q --separate-git-dir gd"]
)
async def test_nothing_is_taken_out_of_one_whose_way_is_not_known(
    desk: Desk, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill: nobody holds the directories any more."""

    def hold_none(_before: Snapshot) -> GitDirectories:
        return GitDirectories()

    monkeypatch.setattr(command_watch, "_hold", hold_none)
    before = _directory(desk.root / ".git")
    found, asked = await watched(desk, command)
    assert asked
    assert set(found.put_back) <= {".git"}
    assert not (desk.root / ".git").is_dir()
    assert _directory(desk.root / "gd") == before
    git(desk.root, "--git-dir=gd", "fsck")


async def test_what_is_in_the_way_stays(desk: Desk) -> None:
    found, _ = await watched(desk, "mv .git gd; cp a.py .git")
    assert (desk.root / ".git").read_text() == "1\n"
    assert ".git" in found.left
    git(desk.root, "--git-dir=gd", "fsck")


async def test_a_move_that_the_user_agreed_to_is_left_as_one(desk: Desk) -> None:
    before = _directory(desk.root / ".git")
    async with desk.calls.around_command("call", "shell", consent=ALL) as found:
        (desk.root / ".git").rename(desk.root / "gd")
        (desk.root / ".git").symlink_to("gd")
    assert _directory(desk.root / "gd") == before
    assert [edit.path for edit in found.edits if edit.path.startswith("gd/")] == []
    assert _is_usable(desk.root)


async def test_what_the_user_was_asked_about_may_be_moved(desk: Desk) -> None:
    async def keeps(_changed: object, _diff: str) -> None:
        raise AssertionError

    consent = Consent(keeps, covers=[desk.root / ".git"])
    async with desk.calls.around_command("call", "shell", consent=consent) as found:
        (desk.root / ".git").rename(desk.root / "gd")
    assert (found.put_back, found.left, found.edits) == ([], [], [])
    git(desk.root, "--git-dir=gd", "fsck")


async def test_a_command_in_the_background_moves_none(desk: Desk) -> None:
    over = asyncio.Event()
    before = _directory(desk.root / ".git")

    async def keeps(_changed: object, _diff: str) -> None:
        return None

    async with desk.calls.around_command("call", "shell", consent=Consent(keeps)) as found:
        found.goes_on(over.wait)
    (desk.root / ".git").rename(desk.root / "gd")
    await desk.journal.scan()
    assert _directory(desk.root / ".git") == before
    found, _ = await watched(desk, "true")
    assert any(".git, moved to gd" in note for note in found.notes)
    over.set()
    await desk.journal.close()


def _held(root: Path) -> list[str]:
    """What this process holds open below a directory."""
    handles = Path("/proc/self/fd").iterdir()
    return [where for each in handles if (where := os.path.realpath(each)).startswith(f"{root}/")]


async def test_nothing_is_held_once_a_command_is_over(desk: Desk) -> None:
    async with desk.calls.around_command("call", "shell"):
        assert str(desk.root / ".git") in _held(desk.root)
        (desk.root / ".git").rename(desk.root / "gd")
    assert _held(desk.root) == []


@pytest.mark.exhaustive
async def test_the_model_is_told_that_it_could_not_be_put_back(make_agent: MakeAgent, project: Path) -> None:
    git(project, "init", "-q")
    (project / "make.py").write_text("import shutil\nshutil.rmtree('.git')\n")
    call = '<execute>[{"name": "shell", "args": {"command": "python3 make.py"}}]</execute>'
    async with make_agent(call, "Done.") as agent:
        results = [event async for event in agent("go") if event["type"] == "result"]
    payload = results[-1]["payload"]
    assert payload["error"]
    assert "could not be restored: .git" in payload["outcome"]
    assert "put_back" not in payload


# What comes into sight only by what leads to it.

LEADING = [
    # No two of one command in the same place.
    [
        "ln -s ../notes.md CLAUDE.md",
        "mkdir .cursor; ln -s ../../notes .cursor/rules",
        "ln -s ../notes .vscode",
        "ln -s ../notes.md .envrc",
        "ln -s build/mine.md AGENTS.md",
        "git config core.hooksPath ../hooks",
        "git config --global core.hooksPath $PWD/../hooks",
        "mkdir sub; echo gitdir: ../../other/.git > sub/.git",
        "echo x > ~/.bashrc; mkdir -p ~/.local; ln -s ~/mine ~/.local/bin",
        "ln -s ~/mine/tool ~/.profile",
    ],
    [
        "ln -s mine.ignored AGENTS.md",
        "git config include.path ../../own.cfg",
        "git config --global include.path $PWD/../own.cfg",
        "rm -rf nested; mkdir nested; ln -s ../../other/.git nested/.git",
        "echo x > ~/.bashrc; mkdir -p ~/.config; ln -s ~/mine ~/.config/nvim",
        "ln -s $PWD/../other/.git/hooks .git/hooks/x; ln -s ../notes.md .cursorrules",
    ],
    ["rm -rf .git; ln -s ../other/.git .git"],
]


@pytest.mark.parametrize("commands", sampled(LEADING, quick=1))
async def test_what_is_only_led_to_is_never_removed(
    desk: Desk, tmp_path: Path, sealed_home: Path, commands: list[str]
) -> None:
    desk.put("build/mine.md", "mine\n")
    desk.put(".git/info/exclude", "*.ignored\n")
    desk.put("mine.ignored", "mine\n")
    (sealed_home / "mine").mkdir()
    (sealed_home / "mine/tool").write_text("mine\n")
    settle()
    places = (tmp_path / "other", tmp_path / "notes", tmp_path / "hooks", sealed_home / "mine")
    before = [_directory(place) for place in places]
    found, asked = await watched(desk, "; ".join(commands))
    assert len(asked) >= len(commands)
    assert len(found.put_back) + len(found.left) >= len(commands)
    assert [_directory(place) for place in places] == before
    assert (tmp_path / "notes.md").read_text() == (tmp_path / "own.cfg").read_text() == "[user]\n"
    assert (desk.root / "build/mine.md").read_text() == (desk.root / "mine.ignored").read_text() == "mine\n"


# What git moves unnamed.


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("git init --separate-git-dir gd", ["./.git"]),
        ("git init -q --separate-git-dir=gd", ["./.git"]),
        ("git -C sub init --sep gd", ["sub/./.git"]),
        ("git init --separate-git-dir=gd sub", ["./.git", "sub/.git"]),
        ("git clone --separate-git-dir=gd https://x.y/z w", ["w/.git"]),
        ("git init new", []),
        ("git commit -m --separate-git-dir", []),
    ],
)
def test_git_moves_what_it_does_not_name(command: str, places: list[str]) -> None:
    (simple,) = parse(command)
    assert [word.text for word in moved_by_git(simple)] == places


async def test_a_separate_git_directory_is_asked_about_beforehand(
    make_agent: MakeAgent, project: Path
) -> None:
    git(project, "init", "-q")
    call = '<execute>[{"name": "shell", "args": {"command": "git init --separate-git-dir gd"}}]</execute>'
    async with make_agent(call, "Done.") as agent:
        results = [event async for event in agent("go") if event["type"] == "result"]
    assert results[-1]["payload"]["error"]
    assert (project / ".git").is_dir()
    assert not (project / "gd").exists()
