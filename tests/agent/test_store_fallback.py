"""Where nothing can be kept, conversations last for the moment; where not even that, it is said."""

import tempfile
from pathlib import Path

import pytest

from cogency_tui.agent.store_fallback import StoreOpener
from cogency_tui.errors import StoreError


async def test_a_store_for_the_moment_is_gone_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (tmp_path / "data").write_text("in the way")
    keeper = StoreOpener(tmp_path / "data")
    store = await keeper.store()
    [notice] = store.notices
    assert "conversations are not saved" in notice
    assert len(list(scratch.iterdir())) == 1
    await keeper.close()
    assert list(scratch.iterdir()) == []


async def test_without_a_place_for_temporary_files_it_says_what_is_wrong_with_the_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_text("in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no" / "where"))
    keeper = StoreOpener(tmp_path / "data")
    with pytest.raises(StoreError, match="data is not a directory"):
        await keeper.store()
    monkeypatch.undo()
    (tmp_path / "data").unlink()
    assert (await keeper.store()).notices == []
    await keeper.close()
