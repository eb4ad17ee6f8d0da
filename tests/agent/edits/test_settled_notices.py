"""What was settled is reported until somebody was shown it, whenever the process ends that settled it."""

import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.store import unseen_notices
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.faults import reopened


def _kill_at_each_step(top: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.agent.settling_faults", str(top)], check=True)


@pytest.mark.exhaustive
async def test_a_reopening_that_is_killed_at_any_step_loses_no_notice(tmp_path: Path) -> None:
    await in_thread(_kill_at_each_step, tmp_path)
    steps = list(tmp_path.iterdir())
    assert len(steps) > 3
    settled_before = 0
    for base in steps:
        store, desk = await reopened(base)
        async with store:
            told = await desk.journal.settle()
            settled_before += not any(notice.startswith("A call to shell") for notice in told)
            shown: list[str] = []
            await store.report(shown.append)
            first, *others, second = shown
            assert first.startswith("A call to shell")
            assert first.endswith("was interrupted; its changes are recorded: created AGENTS.md, changed a.")
            assert [other.split(" in ")[0] for other in others] in ([], ["A call to guard"])
            assert "): created AGENTS.md. Reapply it with " in second
            assert not (base / "project/AGENTS.md").exists()
            assert (base / "project/a").read_text() == "new a\n"
        assert unseen_notices.pending(base / "data") == []
    assert settled_before > 1
