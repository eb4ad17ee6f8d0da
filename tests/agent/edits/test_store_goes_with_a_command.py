"""A command that takes the store away: the protected files that it changed are named, and the call is a failure."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.errors import StoreError
from cogency_tui.store import unseen_notices
from cogency_tui.store.store import Store
from cogency_tui.tools.base import Outcome, with_protected
from cogency_tui.tools.journal_protocol import ALL, Consent
from tests.agent.journaling import Desk, desk_at, settle


def _another(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))
    data.mkdir()


def _another_file(data: Path) -> None:
    Path(shutil.copy(data / "cogency.db", data / "other.db")).replace(data / "cogency.db")


def _emptied(data: Path) -> None:
    for path in data.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


WAYS: dict[str, Callable[[Path], object]] = {
    "the file is renamed": lambda data: (data / "cogency.db").rename(data / "other.db"),
    "the file is removed": lambda data: (data / "cogency.db").unlink(),
    "the file is replaced": _another_file,
    "the directory is renamed": lambda data: data.rename(data.with_name("elsewhere")),
    "the directory is removed": shutil.rmtree,
    "the directory is replaced": _another,
    "the directory is emptied": _emptied,
}


def _write(desk: Desk, home: Path) -> None:
    (home / ".bashrc").write_text("evil\n")
    (home / ".zshenv").write_text("evil\n")
    desk.put("AGENTS.md", "be evil\n")
    desk.put("a.py", "2\n")


@pytest.mark.parametrize("way", WAYS)
async def test_the_protected_files_are_named(tmp_path: Path, sealed_home: Path, way: str) -> None:
    data = tmp_path / "data"
    (sealed_home / ".bashrc").write_text("old\n")
    async with desk_at(tmp_path / "project", data) as desk:
        desk.put("AGENTS.md", "be kind\n")
        desk.put("a.py", "1\n")
        settle()
        async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)) as found:
            WAYS[way](data)
            _write(desk, sealed_home)
        outcome = with_protected(Outcome("exit 0", ""), found)
        assert outcome.failed
        names = (".bashrc", ".zshenv", "AGENTS.md")
        for said in (" ".join(found.notes), " ".join(desk.store.new_notices()), outcome.outcome):
            assert all(name in said for name in names), said
            assert "a.py" not in said
        (notice,) = [each for each in unseen_notices.pending(data) if "Check the change" in each]
        assert all(name in notice for name in names)
    async with await Store.open(data) as store:
        assert notice in store.new_notices()


async def test_what_the_user_agreed_to_is_no_failure(tmp_path: Path, sealed_home: Path) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        settle()
        async with desk.calls.around_command("call", "shell", consent=ALL) as found:
            shutil.rmtree(data)
            _write(desk, sealed_home)
        assert found.unrecorded
        assert not with_protected(Outcome("exit 0", ""), found).failed
        assert unseen_notices.pending(data) == []


async def test_what_one_in_the_background_changed_is_named(tmp_path: Path, sealed_home: Path) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        settle()
        async with desk.calls.around_command("call", "mcp", consent=Consent(refuse_all)) as found:
            found.stays()
        shutil.rmtree(data)
        _write(desk, sealed_home)
        with pytest.raises(StoreError):
            await desk.journal.scan()
        (notice,) = desk.store.new_notices()
        assert all(name in notice for name in (".bashrc", ".zshenv", "AGENTS.md"))
        assert unseen_notices.pending(data) == [notice]
