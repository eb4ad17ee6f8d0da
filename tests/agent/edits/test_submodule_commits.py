"""Protected files of submodules come with commits that the repository above records, or that were fetched."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_half_way import ordinary
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, settle
from tests.agent.repositories import git, sign_commits
from tests.agent.templates import TEMPLATES

pytestmark = pytest.mark.exhaustive

OLD, NEW = "be old\n", "be new\n"
MADE = (
    "b=$(echo evil | git hash-object -w --stdin); export GIT_INDEX_FILE=$PWD/x.index; git read-tree HEAD;"
    " git update-index --add --cacheinfo 100644,$b,AGENTS.md;"
    " c=$(git commit-tree -p HEAD -m x $(git write-tree)); unset GIT_INDEX_FILE; rm x.index; "
)


def _build(top: Path) -> None:
    library, shared = top / "library", top / "shared"
    for directory in (library, shared):
        directory.mkdir()
        git(directory, "init", "-q", "-b", "main")
        (directory / "AGENTS.md").write_text(OLD)
        git(directory, "add", "-A")
        git(directory, "commit", "-qm", "x")
    git(shared, "submodule", "add", "-q", str(library), "lib")
    git(shared, "commit", "-qm", "lib")
    git(top, "clone", "-q", "--recurse-submodules", str(shared), str(top / "project"))
    for directory in (library, shared):
        (directory / "AGENTS.md").write_text(NEW)
        git(directory, "commit", "-qam", "new")
    git(shared / "lib", "pull", "-q")
    git(shared, "submodule", "add", "-q", str(library), "other")
    git(shared, "commit", "-qam", "lib")
    for repository in (
        library,
        shared,
        shared / "lib",
        shared / "other",
        top / "project",
        top / "project/lib",
    ):
        git(repository, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A project with a submodule, of which the shared repositories have come further."""
    sign_commits(monkeypatch)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def text(desk: Desk, name: str) -> str:
    return (desk.root / name / "AGENTS.md").read_text()


COMING = [
    "git pull -q; git submodule update -q",
    "git pull -q && git submodule update -q && touch x",
    "cd lib && git pull -q origin main && touch x",
    "cd lib; git fetch -q; git checkout -q origin/main",
    "git -C lib fetch -q && git -C lib merge -q origin/main",
]


@pytest.mark.parametrize("command", COMING)
async def test_what_comes_with_commits_stays(desk: Desk, command: str) -> None:
    await ordinary(desk, command)
    assert text(desk, "lib") == NEW
    if "update" not in command:
        await ordinary(desk, "git submodule update -q; touch z")
        assert text(desk, "lib") == OLD


async def test_a_new_submodule_is_as_it_is_recorded(desk: Desk) -> None:
    await watched(desk, "git pull -q", keep=True)
    _, asked = await watched(desk, "git submodule update -q --init && touch x", keep=True)
    # The address of a repository on this machine is asked about.
    assert asked == ["changed .git/config"]
    assert text(desk, "other") == NEW


@pytest.mark.parametrize(
    "command", ["git checkout -q zz", "git merge -q zz; true > x", "git reset -q --hard zz"]
)
async def test_what_a_command_has_committed_in_a_submodule_is_put_back(desk: Desk, command: str) -> None:
    await watched(desk, f"cd lib; {MADE} git update-ref refs/heads/zz $c")
    found, _ = await watched(desk, f"cd lib && {command}")
    assert text(desk, "lib") == OLD, found.notes


async def test_what_passes_for_a_submodule_brings_nothing(desk: Desk) -> None:
    await watched(
        desk,
        f"git clone -q --separate-git-dir .git/modules/x . x; cd x; {MADE} git update-ref refs/heads/zz $c",
        keep=True,
    )
    found, _ = await watched(desk, "cd x && git checkout -q zz")
    assert text(desk, "x") == OLD, found.notes
