"""Directories of git of submodules and of other working trees are watched, whatever is missing there, and git
may link them to what is watched."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, library_at
from tests.agent.templates import TEMPLATES
from tests.cases import cases

pytestmark = pytest.mark.exhaustive

_HEAD = "ref: refs/heads/main\n"
_EVIL = "[core]\n\tfsmonitor = ./evil.sh\n"


def _build(top: Path) -> None:
    root = top / "project"
    library = library_at(top / "library")
    put(root, "a.py", "1\n")
    put(root, "evil.sh", "#!/bin/sh\n", 0o755)
    git(root, "init", "-q", "-b", "main")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "worktree", "add", "-q", str(top / "wt"))
    git(root, "worktree", "add", "-q", "inner")
    git(root / "sub", "worktree", "add", "-q", str(top / "subwt"))
    git(root, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A project with a working tree beside it and one in it, and a submodule with a working tree."""
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def _plant(directory: Path, *, files: dict[str, str]) -> None:
    """Make the directory of a repository of which only these files are there."""
    for name in ("objects", "refs"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)


WRITTEN = {
    ".git/modules/lib/config": _EVIL,
    ".git/modules/a/b/c/config": _EVIL,
    ".git/modules/sub/modules/deep/config": _EVIL,
    ".git/modules/sub/worktrees/subwt/config.worktree": _EVIL,
    ".git/modules/sub/worktrees/subwt/commondir": "/tmp/foreign\n",
    ".git/modules/lib/commondir": "/tmp/foreign\n",
    ".git/modules/lib/hooks/post-checkout": "#!/bin/sh\n",
    ".git/worktrees/wt/config.worktree": _EVIL,
    ".git/worktrees/wt/commondir": "/tmp/foreign\n",
    ".git/worktrees/wt/gitdir": "/tmp/.git\n/x\n",
    ".git/worktrees/inner/gitdir": "../../../../wt/.git\n",
    ".git/worktrees/inner/commondir": "../../modules/sub\n",
    ".git/worktrees/inner/modules/lib/config": _EVIL,
    ".git/worktrees/new/config.worktree": _EVIL,
    ".git/worktrees/new/commondir": "../../modules/lib\n",
}


SETS = 2


@pytest.mark.parametrize("number", range(SETS))
async def test_what_leads_to_programs_there_is_put_back(desk: Desk, number: int) -> None:
    written = dict([*WRITTEN.items()][number::SETS])
    before = {path: (desk.root / path).read_bytes() for path in written if (desk.root / path).exists()}
    for index, text in enumerate(written.values()):
        desk.put(f"text{index}", text)
    settle()
    command = "; ".join(
        f"mkdir -p {Path(path).parent}; cp text{index} {path}" for index, path in enumerate(written)
    )
    found, asked = await watched(desk, command)
    assert len(asked) == len(written)
    assert sorted(found.put_back) == sorted(written)
    assert {
        path: (desk.root / path).read_bytes() for path in written if (desk.root / path).exists()
    } == before


async def test_a_submodule_is_not_made_in_two_steps(desk: Desk) -> None:
    modules = desk.root / ".git/modules"
    found, _ = await watched(
        desk,
        f"mkdir -p {modules}/lib/objects {modules}/lib/refs; printf '[core]\\nfsmonitor=x' > {modules}/lib/config",
    )
    assert found.put_back == [".git/modules/lib/config"]
    assert not (modules / "lib/config").exists()


HEADS = (f"echo {_HEAD.strip()} > {{}}/HEAD", "ln -s refs/heads/main {}/HEAD")
POINTERS = [
    (".git/modules/sub/refs/x", "../.git/modules/sub/refs/x"),
    (".git/modules/a/b/c/d/e/f", "../.git/modules/a/b/c/d/e/f"),
    (".git/worktrees/inner/refs/x", "../.git/worktrees/inner/refs/x"),
    (".git/modules/sub/refs/y", "../.git/modules/sub/refs/y\\r"),
    (".git/modules/sub/refs/z", "../.git/modules/../modules/sub/refs/z/\\r\\n\\r"),
]


@pytest.mark.parametrize("head", HEADS)
async def test_no_pointer_leads_to_what_was_not_watched(desk: Desk, head: str) -> None:
    for place, _ in POINTERS:
        _plant(desk.root / place, files={"config": _EVIL})
    settle()
    command = "; ".join(
        f"{head.format(place)}; mkdir lib{number}; printf 'gitdir: {pointer}\\n' > lib{number}/.git"
        for number, (place, pointer) in enumerate(POINTERS)
    )
    found, _ = await watched(desk, command)
    pointers = {f"lib{number}/.git" for number in range(len(POINTERS))}
    assert pointers <= set(found.put_back)
    assert not any((desk.root / path).exists() for path in pointers)


async def test_what_is_moved_there_is_judged_though_a_pointer_leads_to_it(desk: Desk) -> None:
    _plant(desk.root / "build/lib", files={"config": _EVIL, "HEAD": _HEAD})
    settle()
    command = "mv build/lib .git/modules/lib; mkdir -p lib; echo 'gitdir: ../.git/modules/lib' > lib/.git"
    found, _ = await watched(desk, command)
    assert ".git/modules/lib/config" in found.put_back
    assert not (desk.root / ".git/modules/lib/config").exists()


async def test_what_a_pointer_leads_to_is_watched_from_then_on(desk: Desk) -> None:
    place = ".git/modules/sub/refs/x"
    _plant(desk.root / place, files={})
    settle()
    found, _ = await watched(desk, f"mkdir lib; printf 'gitdir: ../{place}\\r\\n' > lib/.git")
    assert found.put_back == []
    settle()
    found, _ = await watched(desk, f"printf '[core]\\npager = x' > {place}/config")
    assert found.put_back == [f"{place}/config"]


@cases("place", ["../../../../precious", "/nowhere/at/all", "../../..", "../../../inner"])
async def test_the_working_tree_of_a_submodule_stays_its_own(desk: Desk, tmp_path: Path, place: str) -> None:
    (tmp_path / "precious").mkdir(exist_ok=True)
    configuration = desk.root / ".git/modules/sub/config"
    before = configuration.read_bytes()
    _, asked = await watched(desk, f"git config --file {configuration} core.worktree {place}")
    assert asked == ["changed .git/modules/sub/config"]
    assert configuration.read_bytes() == before


ORDINARY = [
    # Each runs in one project, one after the other.
    [
        "git worktree add -q -b x ../wt4; git worktree lock ../wt4; git worktree unlock ../wt4",
        "git worktree add -q -b x2 wt4; git worktree remove wt4",
        "git worktree move ../wt ../wt5; git worktree move inner inner2",
        "git -C ../wt5 sparse-checkout set --cone src",
        "git -C inner2 checkout -q --detach; git -C inner2 switch -qc y",
        "git -C inner2 -c protocol.file.allow=always submodule --quiet update --init",
    ],
    [
        "mv ../wt ../wt6; git worktree repair ../wt6; git worktree prune",
        "mv inner inner3; git worktree repair inner3",
        "git -C sub worktree add -q -b x ../../subwt2; git -C sub worktree remove ../../subwt",
        "git -c protocol.file.allow=always submodule --quiet add ../library lib",
        "git -c protocol.file.allow=always submodule --quiet add --name a/b ../library lib2",
    ],
    [
        "rm -r ../wt; git worktree prune --expire now",
        "git submodule deinit -q -f sub; git -c protocol.file.allow=always submodule --quiet update --init",
        "git -c protocol.file.allow=always clone -q --recurse-submodules . clone",
        "git mv sub sub2",
    ],
    [
        "git worktree remove ../wt; git worktree remove inner",
        "git init -q nested; git -C nested -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
        "git -C nested worktree add -q ../nestedwt; git -C nested worktree add -q ../../outerwt",
    ],
]


@pytest.mark.parametrize("commands", ORDINARY)
async def test_git_may_link_them(desk: Desk, commands: list[str]) -> None:
    desk.put("evil.sh", "\n".join(commands))
    found, asked = await watched(desk, "sh -e evil.sh && touch done")
    # A list of submodules is protected, and the address of a local one, wherever they are.
    others = ("/.gitmodules", " .gitmodules", " .git/config")
    assert [each for each in asked if not each.endswith(others)] == []
    assert not [path for path in found.put_back if not path.endswith((".gitmodules", ".git/config"))]
    assert (desk.root / "done").exists()
