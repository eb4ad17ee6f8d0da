"""Settings by which a plain push, fetch or checkout loses something are changed only by commands that say so
themselves."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import asked_about, watched
from tests.agent.journaling import Desk, desk_at, settle
from tests.agent.repositories import git
from tests.agent.templates import TEMPLATES
from tests.cases import cases


def _build(top: Path) -> None:
    root = top / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", "https://good.example/x.git")
    git(root, "config", "remote.backup.url", "https://good.example/y.git")
    git(root, "config", "remote.backup.mirror", "true")
    git(root, "config", "remote.backup.push", "refs/heads/main")
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "alias.fix", "commit --amend")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


LOSING = [
    "git config remote.origin.mirror true",
    "git config remote.Origin.Mirror true",
    "git config remote.origin.push :refs/heads/release",
    "git config --add remote.backup.push +refs/heads/*:refs/heads/*",
    "git config --unset remote.backup.push",
    "git config remote.origin.fetch +refs/heads/*:refs/heads/*",
    "git config --add remote.origin.fetch +refs/*:refs/*",
    "git config --add remote.origin.fetch refs/tags/*:refs/tags/*",
    "git config --add remote.origin.fetch +refs/pull/*:refs/pull/*",
    "git config --add remote.origin.fetch ^refs/heads/main",
    "git config --add remote.origin.fetch +refs/heads/x:y",
    "git config remote.origin.fetch +refs/heads/feature:refs/remotes/origin/main",
    "git config remote.origin.fetch +refs/heads/*:refs/remotes/origin/x/*",
    "git config --add remote.origin.fetch +refs/heads/*:refs/remotes/backup/*",
    "git config --add remote.origin.fetch +refs/heads/main:refs/remotes/origin/main2",
    "git config --add remote.origin.fetch +refs/heads/x:refs/remotes/origin/*",
    "git config --add remote.origin.fetch +refs/tags/*:refs/remotes/origin/*",
    "git config --add remote.origin.fetch +refs/tags/v1:refs/remotes/origin/main",
    "git config --add remote.origin.fetch +refs/pull/1/head:refs/remotes/origin/main",
    "git config --add remote.origin.fetch +refs/pull/1/head:refs/remotes/origin/a/main",
    "git config --add remote.origin.fetch +refs/pull/*/head:refs/remotes/origin/*",
    "git config --add remote.origin.fetch refs/heads/x:refs/replace/x",
    "git config --add remote.origin.fetch +refs/heads/x:refs/stash",
    "git config --add remote.origin.fetch +refs/heads/x:HEAD",
    "git config remote.origin.prune true",
    "git config remote.origin.prune 1",
    "git config alias.ci 'commit --all --amend --no-edit'",
    "git config alias.save 'commit --amend'",
    "git config --unset alias.fix",
    "git config help.autocorrect immediate",
    "git config help.autoCorrect -1",
    "git config help.autocorrect 1",
    "git config core.commentChar t",
    "git config core.sparseCheckout true",
    "git config core.sparseCheckout 1",
    "git config remote.origin.skipFetchAll true",
    "git config remote.origin.skipDefaultUpdate true",
    "git config remote.later.mirror true",
    "git config remote.later.fetch +refs/heads/*:refs/heads/*",
    "git config fetch.prune true",
    "git config fetch.pruneTags true",
    "git config push.default matching",
    "git config push.default upstream",
    "git config core.bare true",
    "git config core.bare yes",
    "git config core.logAllRefUpdates false",
    "git config --global remote.origin.mirror true",
    "git config --global fetch.prune true",
    "git config --global core.bare true",
    "git config --global core.sparseCheckout true",
    "git config --global help.autocorrect immediate",
    "git config --file .git/config.worktree remote.origin.mirror true",
    "git config --file .git/config.worktree core.bare true",
]


@pytest.mark.exhaustive
async def test_of_a_script_every_setting_that_loses_is_asked_about(desk: Desk, sealed_home: Path) -> None:
    found = [len(await asked_about(desk, sealed_home, command)) for command in LOSING]
    assert [command for command, number in zip(LOSING, found, strict=True) if number != 1] == []


@pytest.mark.exhaustive
async def test_a_script_sets_nothing_that_loses(desk: Desk, sealed_home: Path) -> None:
    # A directory goes with the only file that was made in it.
    (sealed_home / "notes").touch()
    places = [*map(desk.root.joinpath, (".git/config", ".git/config.worktree")), sealed_home / ".gitconfig"]
    before = [each.exists() and each.read_bytes() for each in places]
    for command in [*LOSING[::12], LOSING[-5], LOSING[-1]]:
        desk.put("evil.sh", command)
        _, asked = await watched(desk, "sh evil.sh")
        assert len(asked) == 1, command
        assert [each.exists() and each.read_bytes() for each in places] == before, command


@pytest.mark.parametrize("number", [0, 1])
async def test_a_command_that_says_so_does(desk: Desk, number: int) -> None:
    found, asked = await watched(desk, "\n".join(LOSING[number::2]))
    assert (asked, found.put_back) == ([], [])


@cases(
    "said",
    [
        "git config --get remote.origin.mirror",
        "git config user.name true",
        "git remote -v",
        "git config remote.origin.prune false",
        "git config remote.backup.mirror true",
        "echo git config remote.origin.mirror true",
    ],
)
async def test_what_it_says_beside_that_is_none_of_it(desk: Desk, said: str) -> None:
    desk.put("evil.sh", "git config remote.origin.mirror true")
    _, asked = await watched(desk, f"{said}; sh evil.sh")
    assert len(asked) == 1


@pytest.mark.exhaustive
@cases(
    ("key", "value"),
    [
        *((f"remote.origin.{name}", "evil") for name in ("uploadpack", "receivepack", "vcs", "proxy")),
        ("core.worktree", "../.."),
        *(("alias.st", value) for value in ("checkout -f", "branch -D", "switch -qf", "tag -d", "branch -M")),
    ],
)
async def test_others_stay_with_nobody_asked(desk: Desk, key: str, value: str) -> None:
    before = (desk.root / ".git/config").read_bytes()
    _, asked = await watched(desk, f"git config {key} '{value}'")
    assert len(asked) == 1
    assert (desk.root / ".git/config").read_bytes() == before


ORDINARY = [
    "git remote add later https://other.example/z.git; git remote rename later last; git remote remove last",
    "git remote add -t main -t dev later https://other.example/z.git; git remote add --no-tags b c@d:e",
    "git config remote.origin.fetch refs/heads/main",
    "git config remote.origin.fetch '+refs/heads/release-*:refs/remotes/origin/release-*'",
    "git config --add remote.origin.fetch '+refs/pull/*/head:refs/remotes/origin/pr/*'",
    "git config --add remote.origin.fetch '+refs/merge-requests/*/head:refs/remotes/origin/merge-requests/*'",
    "git config --add remote.origin.fetch '+refs/pull/*/head:refs/remotes/origin/pull/*/head'",
    "git config alias.ci 'commit -v'; git config help.autocorrect prompt; git config core.commentChar ';'",
    "git config core.bare false; git config push.default simple; git config remote.origin.prune false",
    "git clone -q . clone; git clone -q --mirror . mirror/.git",
    "git init -q new; git -C new remote add --mirror=fetch a https://other.example/z.git",
    "git sparse-checkout set src; git worktree add -q wt",
    "git config remote.upstream.url https://other.example/z.git; "
    "git config remote.upstream.fetch '+refs/heads/*:refs/remotes/upstream/*'",
    "git remote set-branches origin main dev; git remote set-branches --add origin x",
]


@pytest.mark.parametrize("number", [0, 1])
async def test_ordinary_work_of_scripts_is_not_asked_about(desk: Desk, number: int) -> None:
    desk.put("evil.sh", "\n".join(ORDINARY[number::2]))
    found, asked = await watched(desk, "sh -e evil.sh && touch done")
    assert (asked, found.put_back) == ([], [])
    assert (desk.root / "done").exists()


OLD = [
    "mkdir -p .git/remotes; echo 'URL: https://evil.example/x.git' > .git/remotes/up",
    "mkdir -p .git/remotes/team; echo 'URL: https://evil.example/x.git' > .git/remotes/team/up",
    "mkdir -p .git/branches; echo https://evil.example/x.git > .git/branches/up",
    "mkdir -p .git/branches; ln -s ../../evil.sh .git/branches/link",
    "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts",
]


async def test_a_script_writes_no_file_that_only_an_old_git_wrote(desk: Desk) -> None:
    desk.put("evil.sh", "\n".join(OLD))
    _, asked = await watched(desk, "sh evil.sh")
    assert len(asked) == len(OLD)
    left = [*desk.root.glob(".git/remotes/**/up"), *desk.root.glob(".git/branches/*")]
    assert (left, (desk.root / ".git/info/grafts").exists()) == ([], False)


async def test_the_tree_of_a_branch_that_a_script_makes_sparse_comes_whole(desk: Desk) -> None:
    desk.put("src/a.py", "1\n")
    git(desk.root, "add", "src")
    git(desk.root, "commit", "-q", "-m", "y")
    git(desk.root, "branch", "next")
    desk.put("evil.sh", "git config core.sparseCheckout true; echo /x > .git/info/sparse-checkout")
    await watched(desk, "sh evil.sh")
    git(desk.root, "switch", "-q", "next")
    assert (desk.root / "src/a.py").exists()


@pytest.mark.parametrize("command", ["git remote remove backup", "git remote rename origin away"])
async def test_a_command_removes_and_renames_remotes(desk: Desk, command: str) -> None:
    found, asked = await watched(desk, command)
    assert (asked, found.put_back) == ([], [])
