"""Directories that a killed command moved away are named at the next opening, with where they are now."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.journal_protocol import Consent
from tests.agent.faults import reopened
from tests.agent.journaling import Desk, desk_at, orphan, settle
from tests.agent.repositories import git


def _link(old: Path, new: Path, target: Path | None = None) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    old.rename(new)
    old.symlink_to(target or new)


def _into_the_project(desk: Desk, home: Path) -> None:
    _link(home / ".config/fish", desk.root / "deep/er/fish")


def _linked_elsewhere(desk: Desk, home: Path) -> None:
    (desk.root / "mine").mkdir()
    _link(home / ".config/fish", home / "kept/fish", desk.root / "mine")


def _above(desk: Desk, home: Path) -> None:
    _link(home / ".config", desk.root / "config")


def _own(desk: Desk, home: Path) -> None:
    _link(home / ".config/cogency-tui", desk.root / "own")


def _git(desk: Desk, _home: Path) -> None:
    (desk.root / ".git").rename(desk.root / "was-git")
    desk.put(".git/hooks/pre-commit", "evil\n", 0o755)


def _hooks(desk: Desk, _home: Path) -> None:
    (desk.root / ".git/hooks").rename(desk.root / "was-hooks")


MOVES: dict[str, tuple[Callable[[Desk, Path], None], str, str]] = {
    "into the project": (_into_the_project, ".config/fish", "is deep/er/fish"),
    "a link elsewhere": (_linked_elsewhere, ".config/fish", "kept/fish"),
    "one above": (_above, ".config", "is config"),
    "our own": (_own, ".config/cogency-tui", "is own"),
    "git's": (_git, ".git", "is now was-git"),
    "hooks": (_hooks, ".git/hooks", "is now was-hooks"),
}


async def _said(tmp_path: Path, home: Path, act: Callable[[Desk, Path], object], consent: Consent) -> str:
    """What the opening says after a command was killed that did `act`."""
    for name in (".config/fish/config.fish", ".config/cogency-tui/config.toml"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("")
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        git(desk.root, "init", "-q", "-b", "main")
        desk.put(".git/hooks/post-commit", "true\n", 0o755)
        settle()
        async with desk.calls.around_command("call", "shell", consent=consent):
            act(desk, home)
            await orphan(desk, data)
            store, other = await reopened(tmp_path)
            async with store:
                return " ".join(await other.journal.settle())


@pytest.mark.parametrize("move", MOVES)
async def test_where_it_is_now_is_said(tmp_path: Path, sealed_home: Path, move: str) -> None:
    act, name, now = MOVES[move]
    said = await _said(tmp_path, sealed_home, act, Consent(refuse_all))
    assert "Check this change" in said
    assert name in said
    assert now in said


async def test_nothing_is_said_of_what_stands(tmp_path: Path, sealed_home: Path) -> None:
    said = await _said(
        tmp_path, sealed_home, lambda desk, _home: desk.put("a.py", "1\n"), Consent(refuse_all)
    )
    assert "directory" not in said


async def test_nothing_is_said_of_what_the_user_agreed_to(tmp_path: Path, sealed_home: Path) -> None:
    consent = Consent(refuse_all, covers=[sealed_home / ".config"])
    assert "directory" not in await _said(tmp_path, sealed_home, _into_the_project, consent)
