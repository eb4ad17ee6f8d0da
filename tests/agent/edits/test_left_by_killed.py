"""What a killed process was writing in the data directory goes when the journal is opened next."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.errors import JournalError
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.faults import reopened
from tests.agent.journaling import desk_at, settle

_KILLED = '''
import asyncio, io, os, signal, sys
from pathlib import Path
from tests.agent.journaling import desk_at

class Source(io.BytesIO):
    """Read once for its digest, and killed in the midst of being written."""
    taken = 0

    def read(self, size=-1):
        self.taken += size
        if self.taken > 8 << 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(size)

async def main(base):
    async with desk_at(base / "project", base / "data") as desk:
        await desk.run("true")
        (await desk.journal.blobs()).put(Source(os.urandom(4 << 20)))

asyncio.run(main(Path(sys.argv[1])))
'''


@pytest.mark.exhaustive
async def test_what_a_killed_process_was_writing_goes_with_the_next_opening(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await in_thread(
        lambda: subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False).returncode
    )
    assert len([*data.glob("blobs/*.tmp")]) == 1
    assert len([*data.glob("shadows/*")]) == 1
    store, desk = await reopened(tmp_path)
    async with store:
        await desk.journal.contents()
        assert [*data.glob("blobs/*.tmp")] == []
        assert [*data.glob("shadows/*")] == []


async def test_what_a_process_that_runs_is_writing_stays(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        await desk.run("true")
        there = [*(tmp_path / "data").glob("shadows/*")]
        assert there
        other_store, other = await reopened(tmp_path)
        async with other_store:
            await other.journal.contents()
        assert [*(tmp_path / "data").glob("shadows/*")] == there


async def test_no_command_runs_while_the_disk_takes_no_copy_of_a_large_file(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(small=10)) as desk:
        old = os.urandom(5000)
        path = desk.put("large", old)
        settle()
        blobs = await desk.journal.blobs()
        blobs.directory.write_bytes(b"in the way")
        with pytest.raises(JournalError, match="The command was not run"):
            await desk.run("echo >> large")
        assert path.read_bytes() == old
        blobs.directory.unlink()
        await desk.run("echo >> large")
        await desk.undo.apply(await desk.undo.of_turn())
        assert path.read_bytes() == old
