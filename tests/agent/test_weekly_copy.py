"""The weekly copy is made by a process of its own, of a store that is a day old."""

import os
import time
from pathlib import Path

from cogency_tui.agent.weekly_copy import copy_if_due
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import LOCK
from cogency_tui.store.store import Store


async def test_a_store_is_copied_once_it_is_a_day_old(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        await copy_if_due(store)
        assert copies_in(tmp_path) == []
        created = time.time() - 25 * 3600
        os.utime(tmp_path / LOCK, (created, created))
        await copy_if_due(store)
        (copy,) = copies_in(tmp_path)
        before = copy.stat().st_mtime_ns
        await copy_if_due(store)
        assert [each.stat().st_mtime_ns for each in copies_in(tmp_path)] == [before]
        assert store.notices == []


async def test_a_copy_that_fails_is_reported(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        os.utime(tmp_path / LOCK, (0, 0))
        (tmp_path / "copies").write_text("in the way")
        await copy_if_due(store)
        (notice,) = store.notices
        assert notice.startswith("The weekly copy of the history failed:")
