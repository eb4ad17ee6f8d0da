"""The directories of `PATH` that lie at home are watched, but for those of projects and active environments."""

import os
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import desk_at, settle

SEARCHED = ("tools/bin", ".nvm/versions/node/v20/bin", ".rye/shims", "deep/er/and/deeper/still")


@pytest.fixture(autouse=True)
def search(sealed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(sealed_home / each) for each in SEARCHED]
    paths[1] += "/"
    monkeypatch.setenv(
        "PATH", os.pathsep.join([*paths, "", "relative", str(sealed_home), os.environ["PATH"]])
    )


async def test_programs_that_came_are_put_back(tmp_path: Path, sealed_home: Path) -> None:
    for place in SEARCHED:
        (sealed_home / place).mkdir(parents=True)
        (sealed_home / place / "python").write_text("mine\n")
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        found, _ = await watched(
            desk, "; ".join(f"cd ~/{place}; echo evil > git; echo evil > python" for place in SEARCHED)
        )
    programs = [sealed_home / place / name for place in SEARCHED for name in ("git", "python")]
    assert sorted(found.put_back) == sorted(map(str, programs))
    assert [each.read_text() for each in programs if each.exists()] == ["mine\n"] * len(SEARCHED)


async def test_directories_that_were_not_there_are_watched(tmp_path: Path, sealed_home: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        found, _ = await watched(
            desk, "; ".join(f"mkdir -p ~/{place}; echo evil > ~/{place}/git" for place in SEARCHED)
        )
    assert sorted(found.put_back) == sorted(str(sealed_home / place / "git") for place in SEARCHED)


async def test_links_in_their_place_are_put_back(tmp_path: Path, sealed_home: Path) -> None:
    for place in SEARCHED:
        (sealed_home / place).mkdir(parents=True)
        (sealed_home / place / "git").write_text("mine\n")
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        links = (f"mv ~/{each} ~/away{n}; ln -s $PWD/x ~/{each}" for n, each in enumerate(SEARCHED))
        await watched(desk, f"mkdir x; echo evil > x/git; {'; '.join(links)}")
    assert [place for place in SEARCHED if (sealed_home / place).is_symlink()] == []
    assert {(sealed_home / place / "git").read_text() for place in SEARCHED} == {"mine\n"}


async def test_files_at_home_are_none_of_it(tmp_path: Path, sealed_home: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        found, asked = await watched(desk, "mkdir -p ~/tools/lib; touch ~/notes ~/tools/lib/x")
    assert (asked, found.put_back, found.left) == ([], [], [])


@pytest.mark.parametrize("is_in_project", [True, False])
async def test_what_installers_write_in_ordinary_work_stays(
    tmp_path: Path, sealed_home: Path, monkeypatch: pytest.MonkeyPatch, is_in_project: bool
) -> None:
    root = sealed_home / "code/project"
    environment = root / ".venv" if is_in_project else sealed_home / ".virtualenvs/a"
    (environment / "bin").mkdir(parents=True)
    root.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("PATH", f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if not is_in_project:
        monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    async with desk_at(root, tmp_path / "data") as desk:
        found, asked = await watched(desk, f"echo x > {environment}/bin/black")
    assert (asked, found.put_back) == ([], [])
    assert (environment / "bin/black").exists()
