"""What was settled is reported until somebody was shown it, whenever the process ends that settled it."""

import subprocess
import sys
from pathlib import Path

from cogency_tui.store import pending_notices
from cogency_tui.tools.blocking import in_thread
from tests.agent.faults import reopened


def _kill_at_each_step(top: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.agent.settling_faults", str(top)], check=True)


async def test_a_reopening_that_is_killed_at_any_step_loses_no_notice(tmp_path: Path) -> None:
    await in_thread(_kill_at_each_step, tmp_path)
    steps = list(tmp_path.iterdir())
    assert len(steps) > 3
    settled_before = 0
    for base in steps:
        store, desk = await reopened(base)
        async with store:
            settled_before += not await desk.journal.settle()
            shown: list[str] = []
            await store.report(shown.append)
            (notice,) = shown
            assert notice.startswith("A call of shell")
            assert notice.endswith("was interrupted; what it had changed is recorded: changed a.")
        assert pending_notices.pending(base / "data") == []
    assert settled_before > 1
