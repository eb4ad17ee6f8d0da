"""What commands merge from a remote is not taken back with what the agent did."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.edits.undo_preview import left_out
from cogency_tui.errors import UsageError
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, share, sign_commits
from tests.agent.templates import TEMPLATES

pytestmark = pytest.mark.exhaustive

TEXT = "".join(f"{number}\n" for number in range(20))
OWN, THEIRS = TEXT.replace("2\n", "own\n", 1), TEXT.replace("17\n", "theirs\n")
BOTH = OWN.replace("17\n", "theirs\n")


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "a.txt", TEXT)
    put(root, "old.txt", "old\n")
    put(root, "b.txt", "1\n")
    theirs = share(root)
    (theirs / "a.txt").write_text(THEIRS)
    (theirs / "new.txt").write_text("new\n")
    (theirs / "old.txt").unlink()
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "theirs")
    git(theirs, "push", "-q")
    for repository in (root, theirs, top / "shared.git"):
        git(repository, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A clone of a repository to which a colleague has pushed a change of `a.txt`, a new file, and the removal
    of one."""
    sign_commits(monkeypatch)
    monkeypatch.setenv("GIT_EDITOR", "true")
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


async def merged(desk: Desk) -> list[str]:
    return sorted(edit.path for edit in await desk.edits() if edit.is_merged)


PULLED = ["a.txt", "new.txt", "old.txt"]
MERGING = [
    "git pull -q --rebase",
    "git fetch -q && git merge -q origin/main",
    "git fetch -q; git rebase -q origin/main",
    "git pull -q --no-ff",
    "git pull -q && touch made.txt",
]


@pytest.mark.parametrize("command", MERGING)
async def test_only_the_agents_lines_go(desk: Desk, command: str) -> None:
    await desk.write(("a.txt", OWN))
    await watched(desk, "git commit -qam own")
    await watched(desk, command)
    assert (desk.root / "a.txt").read_text() == BOTH
    assert await merged(desk) == PULLED
    await desk.say()
    plan = await desk.undo.of_turn()
    said = left_out(plan.left)
    assert said.startswith("Not reverted, because it came from the remote: ")
    assert all(name in said for name in PULLED)
    await desk.undo.apply(plan)
    assert (desk.root / "a.txt").read_text() == THEIRS
    assert (desk.root / "new.txt").exists()
    assert not (desk.root / "old.txt").exists()


async def test_what_comes_between_a_commit_and_a_push_stays(desk: Desk) -> None:
    await desk.write(("a.txt", OWN), ("own.txt", "own\n"))
    await watched(desk, "git add -A && git commit -qm own && git pull -q --rebase && git push -q")
    assert await merged(desk) == PULLED
    await desk.undo.apply(await desk.undo.of_turn())
    assert (desk.root / "a.txt").read_text() == THEIRS
    assert not (desk.root / "own.txt").exists()


@pytest.mark.parametrize(
    "command", ["git pull -q", "git pull -q --rebase", "git fetch -q; git merge origin/main"]
)
async def test_what_comes_beside_a_conflict_stays(desk: Desk, command: str) -> None:
    await desk.write(("a.txt", TEXT.replace("17\n", "own\n")))
    await watched(desk, "git commit -qam own")
    await watched(desk, command)
    assert ">>>>>>>" in (desk.root / "a.txt").read_text()
    assert await merged(desk) == ["new.txt", "old.txt"]
    await desk.undo.apply(await desk.undo.of_turn())
    assert (desk.root / "a.txt").read_text() == TEXT
    assert (desk.root / "new.txt").exists()


BACK = {
    "git pull -q": "git reset -q --hard ORIG_HEAD",
    "git pull -q --no-ff": "git reset -q --hard HEAD~",
    "git pull -q && echo x >> a.txt": "git reset -q --hard ORIG_HEAD",
}


@pytest.mark.parametrize("command", BACK)
async def test_a_merge_that_is_left_again_leaves_nothing_to_take_back(desk: Desk, command: str) -> None:
    await watched(desk, command)
    assert "new.txt" in await merged(desk)
    settle()
    await watched(desk, BACK[command])
    before = desk.tree()
    await desk.undo.apply(await desk.undo.of_turn())
    assert desk.tree() == before


async def test_a_conflict_that_is_left_again_leaves_nothing_to_take_back(desk: Desk) -> None:
    await desk.write(("a.txt", TEXT.replace("17\n", "own\n")))
    await watched(desk, "git commit -qam own")
    await desk.say()
    await watched(desk, "git pull -q")
    assert (desk.root / "new.txt").exists()
    settle()
    await watched(desk, "git merge --abort")
    before = desk.tree()
    await desk.undo.apply(await desk.undo.of_turn(2))
    assert desk.tree() == before


async def test_the_project_may_be_a_part_of_a_repository(desk: Desk, tmp_path: Path) -> None:
    git(desk.root, "pull", "-q")
    theirs = tmp_path / "theirs"
    (theirs / "sub").mkdir()
    (theirs / "sub/c.txt").write_text("c\n")
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "c")
    git(theirs, "push", "-q")
    (desk.root / "sub").mkdir()
    async with desk_at(desk.root / "sub", tmp_path / "other") as part:
        await watched(part, "git pull -q")
        assert await merged(part) == ["c.txt"]


async def test_lines_of_both_that_one_command_wrote_are_the_commands(desk: Desk) -> None:
    await watched(desk, "sed -i s/^2$/own/ a.txt && git commit -qam own && git pull -q")
    assert (desk.root / "a.txt").read_text() == BOTH
    assert await merged(desk) == ["new.txt", "old.txt"]
    await desk.undo.apply(await desk.undo.of_turn())
    assert (desk.root / "a.txt").read_text() == TEXT
    assert (desk.root / "new.txt").exists()


async def test_a_pull_is_taken_back_by_its_numbers(desk: Desk) -> None:
    await watched(desk, "git pull -q")
    with pytest.raises(UsageError, match="Nothing to undo"):
        await desk.undo.of_turn()
    with pytest.raises(UsageError, match=r"Not reverted, because it came from the remote: .*a\.txt"):
        await desk.undo.of_turn(1)
    await desk.undo.apply(await desk.undo.of_edits({edit.id for edit in await desk.edits()}))
    assert (desk.root / "a.txt").read_text() == TEXT
    assert not (desk.root / "new.txt").exists()


async def test_the_turn_before_a_pull_is_the_last_that_is_taken_back(desk: Desk) -> None:
    await desk.write(("b.txt", "2\n"))
    await desk.say()
    await watched(desk, "git stash -q; git pull -q; git stash pop -q")
    assert await merged(desk) == PULLED
    await desk.undo.apply(await desk.undo.of_turn())
    assert (desk.root / "b.txt").read_text() == "1\n"
    assert (desk.root / "a.txt").read_text() == THEIRS


OTHERS = [
    "git switch -q -c work; echo own > a.txt; git commit -qam w; git switch -q main; git merge -q work",
    "git pull -q && sed -i s/theirs/evil/ a.txt && git commit -qam x",
    "git pull -q; echo x >> a.txt",
    "git fetch -q; git checkout -q origin/main -- a.txt",
    "git fetch -q; git switch -q --detach origin/main",
    "git fetch -q; git reset -q --hard origin/main",
]


@pytest.mark.parametrize("command", OTHERS)
async def test_what_a_command_does_by_itself_is_taken_back(desk: Desk, command: str) -> None:
    await watched(desk, command)
    assert "a.txt" not in await merged(desk)
    assert (desk.root / "a.txt").read_text() != TEXT
    await desk.undo.apply(await desk.undo.of_edits({edit.id for edit in await desk.edits(path="a.txt")}))
    assert (desk.root / "a.txt").read_text() == TEXT


async def test_what_the_agent_pushed_and_merges_is_its_own(desk: Desk) -> None:
    await watched(desk, "git switch -q -c work")
    await desk.write(("b.txt", "2\n"))
    await watched(desk, "git commit -qam work; git push -q origin work; git switch -q main")
    await watched(desk, "git merge -q origin/work")
    assert (desk.root / "b.txt").read_text() == "2\n"
    assert await merged(desk) == []
    await desk.undo.apply(await desk.undo.of_turn())
    assert (desk.root / "b.txt").read_text() == "1\n"
