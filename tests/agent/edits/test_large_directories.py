"""Directories of protected files that are too large to be looked at: nothing old looks new, and a flood is told."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.edits.command_watch import CommandEdits
from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.workspace import directory_listing
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.faults import reopened
from tests.agent.journaling import Desk, desk_at, orphan, settle
from tests.agent.repositories import git
from tests.exhaustive import sampled

MOST = 40


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(directory_listing, "MOST_ENTRIES", MOST)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


def fill(directory: Path, many: int, name: str = "old") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(many):
        (directory / f"{name}{number}").write_text(f"{number}\n")


def files(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_file() or path.is_symlink()}


HOLDING = (
    *(".local/bin", ".oh-my-zsh/custom/plugins/a", ".local/share/nvim/site/pack/a/start/b"),
    *(".config/nvim", ".config/cogency-tui/commands", ".zsh", ".config/git/hooks"),
)


@pytest.mark.parametrize("many", sampled([MOST - 1, MOST, MOST + 1, MOST + 2, 2 * MOST], quick=1))
async def test_removing_a_file_costs_no_other(desk: Desk, sealed_home: Path, many: int) -> None:
    for place in HOLDING:
        fill(sealed_home / place, many)
    before = files(sealed_home)
    settle()
    found, _ = await watched(desk, "; ".join(f"rm ~/{place}/old3" for place in HOLDING) + "; sh -c :")
    assert before - files(sealed_home) <= {sealed_home / place / "old3" for place in HOLDING}
    assert found.left == []


async def test_nothing_that_came_to_sight_is_removed(desk: Desk, sealed_home: Path) -> None:
    for place in HOLDING:
        fill(sealed_home / place, 2 * MOST)
    settle()
    change = "for i in *; do echo changed >> $i; done; mv old1 older1; rm old4* old5* old6*"
    found, asked = await watched(desk, "; ".join(f"cd ~/{place}; {change}" for place in HOLDING))
    assert (asked, found.put_back, found.left) == ([], [], [])
    for place in HOLDING:
        assert len(files(sealed_home / place)) == 2 * MOST - 33, place
        assert (sealed_home / place / "older1").read_text() == "1\nchanged\n"


FLOODED = (
    HOLDING,
    (".config/nvim/plugin", ".bashrc.d", ".local/share/nvim/site/pack/x/start/y"),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("places", FLOODED)
async def test_a_flood_is_a_failure_that_names_the_directory(
    desk: Desk, sealed_home: Path, places: tuple[str, ...]
) -> None:
    for place in places:
        fill(sealed_home / place, 3)
    settle()
    flood = f"for i in {{1..{2 * MOST}}}; do : > junk$i; done; echo evil > git; echo evil > old0"
    found, asked = await watched(desk, "; ".join(f"cd ~/{place}; {flood}" for place in places))
    assert len(found.left) == len(places)
    for place in places:
        (name,) = [each for each in found.left if f"{sealed_home / place}/".startswith(f"{each}/")]
        assert any("could not be checked" in note and name in note for note in found.notes)
        assert (sealed_home / place / "old0").read_text() == "0\n"
    assert sorted(asked) == sorted(f"changed {sealed_home / place / 'old0'}" for place in places)


async def test_a_new_directory_that_is_flooded_is_named(desk: Desk, sealed_home: Path) -> None:
    found, _ = await watched(desk, f"mkdir -p ~/.local/bin; cd ~/.local/bin; touch {{1..{2 * MOST}}}")
    assert found.left == [str(sealed_home / ".local/bin")]


async def test_a_flood_is_told_once(desk: Desk, sealed_home: Path) -> None:
    fill(sealed_home / ".local/bin", 2 * MOST)
    settle()
    found, _ = await watched(desk, "touch ~/.local/bin/more")
    assert (found.left, found.put_back) == ([], [])


async def test_junk_within_bounds_is_put_back_whole(desk: Desk, sealed_home: Path) -> None:
    fill(sealed_home / ".local/bin", 3)
    before = files(sealed_home)
    found, _ = await watched(desk, f"cd ~/.local/bin; touch {{1..{MOST - 5}}} git ls")
    assert files(sealed_home) == before
    assert (len(found.put_back), found.left) == (MOST - 3, [])


def by_name(home: Path) -> list[Path]:
    return [home / name for name in (".bash_profile", ".bash_login", "AGENTS.md", ".Rprofile", ".mise.toml")]


@pytest.mark.parametrize("old", [0, 2 * MOST])
async def test_a_crowded_home_hides_nothing_that_has_a_fixed_name(
    desk: Desk, sealed_home: Path, old: int
) -> None:
    fill(sealed_home, old)
    (sealed_home / ".bashrc").write_text("mine\n")
    settle()
    evil = " ".join(path.name for path in by_name(sealed_home))
    command = f"cd; touch {{1..{2 * MOST}}}; for i in {evil} .bashrc .local/bin/git; do mkdir -p $(dirname $i); echo evil > $i; done"
    found, _ = await watched(desk, command)
    assert not any(path.exists() for path in (*by_name(sealed_home), sealed_home / ".local/bin/git"))
    assert (sealed_home / ".bashrc").read_text() == "mine\n"
    assert found.left == []


async def test_a_home_that_is_crowded_no_more_loses_nothing(desk: Desk, sealed_home: Path) -> None:
    fill(sealed_home, 2 * MOST)
    (sealed_home / "x.code-workspace").write_text("{}")
    settle()
    found, _ = await watched(desk, "cd; rm old*; echo '{ }' > x.code-workspace; echo evil > .bashrc")
    assert found.put_back == [str(sealed_home / ".bashrc")]
    assert (sealed_home / "x.code-workspace").read_text() == "{ }\n"


async def in_project(desk: Desk, place: str, command: str) -> CommandEdits:
    git(desk.root, "init", "-q")
    desk.put(".gitignore", ".vscode/\n")
    fill(desk.root / place, 2 * MOST)
    settle()
    found, _ = await watched(desk, command)
    return found


@pytest.mark.parametrize("place", [".vscode", ".git/hooks"])
async def test_in_the_project_no_old_file_looks_new(desk: Desk, place: str) -> None:
    await in_project(
        desk, place, f"cd {place}; for i in *; do echo x >> $i; done; rm old5* old6* old4* *.sample"
    )
    assert (
        len([path for path in (desk.root / place).iterdir() if path.name.startswith("old")]) == 2 * MOST - 33
    )


async def test_among_many_hooks_a_new_one_is_found(desk: Desk) -> None:
    found = await in_project(desk, ".git/hooks", "echo evil > .git/hooks/pre-commit")
    assert found.put_back == [".git/hooks/pre-commit"]


@pytest.mark.exhaustive
async def test_among_many_submodules_no_old_one_looks_new(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(desk.root, "init", "-q")
    for number in range(MOST + 1):
        git(desk.root, "init", "-q", "--bare", f".git/modules/m{number}")
    settle()
    await watched(desk, "rm -r .git/modules/m3 .git/modules/m4; echo >> .git/modules/m5/config")
    assert len(list(desk.root.glob(".git/modules/*/config"))) == MOST - 1


async def test_a_link_to_many_files_makes_none_of_them_new(desk: Desk, sealed_home: Path) -> None:
    dots = sealed_home / "dots"
    fill(dots, 2 * MOST)
    (sealed_home / ".config").mkdir()
    (sealed_home / ".config/nvim").symlink_to(dots)
    settle()
    found, _ = await watched(desk, "cd ~/dots; for i in *; do echo x >> $i; done; rm old5* old6* old4*")
    assert len(files(dots)) == 2 * MOST - 33
    assert (found.put_back, found.left) == ([], [])


async def test_after_a_kill_no_old_file_looks_new(desk: Desk, sealed_home: Path, tmp_path: Path) -> None:
    fill(sealed_home / ".local/bin", 2 * MOST)
    (sealed_home / ".bashrc").write_text("mine\n")
    settle()
    async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)):
        for path in sorted((sealed_home / ".local/bin").iterdir())[MOST - 5 :]:
            path.unlink()
        for path in (sealed_home / ".local/bin").iterdir():
            path.write_text("changed\n")
        (sealed_home / ".bashrc").write_text("evil\n")
        await orphan(desk, tmp_path / "data")
        store, other = await reopened(tmp_path)
        async with store:
            await other.journal.settle()
    assert len(files(sealed_home / ".local/bin")) == MOST - 5
    assert (sealed_home / ".bashrc").read_text() == "mine\n"


async def test_a_flood_by_a_command_in_the_background_is_told(desk: Desk, sealed_home: Path) -> None:
    over = asyncio.Event()
    async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)) as found:
        found.goes_on(over.wait)
    fill(sealed_home / ".local/bin", 2 * MOST)
    await desk.journal.commands.scan()
    over.set()
    after, _ = await watched(desk, ":")
    await desk.journal.commands.close()
    assert any("could not be checked" in note for note in after.notes)
    assert any(".local/bin" in notice for notice in desk.store.notices)
