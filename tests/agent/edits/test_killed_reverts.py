"""A revert that was killed, and whose next opening was killed as well: the one after settles it, once."""

import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.edits.file_history import histories
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.faults import OLD, reopened
from tests.agent.journaling import Desk

pytestmark = pytest.mark.exhaustive


def _kill_twice(top: Path, seed: int) -> None:
    subprocess.run([sys.executable, "-m", "tests.agent.revert_faults", str(top), str(seed)], check=True)


def _differing(desk: Desk) -> set[str]:
    """The files that are not as they were before anything was written."""
    there = {name: data.decode() for name, (_, data) in desk.tree().items() if not name.endswith("/")}
    return {name for name in OLD.keys() | there.keys() if OLD.get(name) != there.get(name)}


async def test_a_revert_that_was_killed_twice_is_recorded_once_as_far_as_it_came(tmp_path: Path) -> None:
    await in_thread(_kill_twice, tmp_path, 1)
    seen = set[frozenset[str]]()
    for base in tmp_path.iterdir():
        store, desk = await reopened(base)
        async with store:
            await desk.journal.settle()
            assert await desk.journal.settle() == []
            assert await (await desk.journal.intents()).below(desk.journal.root) == []
            edits = [edit for edit in await desk.edits() if edit.kind != "snapshot"]
            changed = {path for each in histories(edits) for path in (each.change.path, each.change.old_path)}
            assert changed - {""} == _differing(desk), base
            interrupted = [edit.path for edit in edits if edit.interrupted]
            assert len(interrupted) == len(set(interrupted)), base
            assert not [*desk.root.rglob(".cogency-*")], base
            if _differing(desk):
                await desk.undo.apply(await desk.undo.of_turn())
            assert _differing(desk) == set()
            seen.add(frozenset(changed))
    assert len(seen) > 2
