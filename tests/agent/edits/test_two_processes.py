"""Two processes in one project: a change is of the one whose command, or tool, made it."""

import asyncio
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.edits.change_attribution import belongs_to
from cogency_tui.agent.edits.prior_contents import planned
from cogency_tui.process_identity import start_of
from cogency_tui.store.edit_records import ABSENT, FileChange, Origin, Version
from cogency_tui.store.intents import Intent, Shadow
from cogency_tui.tools import file_writes
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.file_or_link import Stamp
from cogency_tui.workspace.snapshot import Snapshot
from tests.agent.journaling import Desk, desk_at

_OTHER = """
import asyncio, sys
from pathlib import Path
from tests.agent.journaling import desk_at

async def line():
    return await asyncio.to_thread(sys.stdin.readline)

async def main(root, data):
    async with desk_at(Path(root), Path(data)) as desk:
        async with desk.calls.around_command("other", "shell"):
            print("ready", flush=True)
            await line()
            desk.put("other", "the other's")
            print("changed", flush=True)
            await line()
        print(await desk.told(), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def _start(desk: Desk, data: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _OTHER, str(desk.root), str(data)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def _says(process: asyncio.subprocess.Process, what: str) -> None:
    assert process.stdout is not None
    assert (await process.stdout.readline()).decode().strip() == what


def _tell(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")


@pytest.mark.exhaustive
async def test_what_another_process_waits_for_is_not_of_a_command_in_the_background(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        over = asyncio.Event()
        async with desk.calls.around_command("server", "shell") as found:
            found.goes_on(over.wait)
        other = await _start(desk, data)
        await _says(other, "ready")
        _tell(other)
        await _says(other, "changed")

        await desk.journal.scan()

        assert await desk.told() == []
        _tell(other)
        await _says(other, "[('created', 'other')]")
        await desk.journal.scan()
        desk.put("own", "the server's")
        over.set()
        await desk.journal.close()
        assert await desk.told() == [("created", "own")]
        await other.wait()


def _stamp(at: float) -> Stamp:
    return Stamp(int(at * 1e9), int(at * 1e9), 1, 0o100644, 1, 1)


def test_a_change_is_of_the_command_that_alone_ran_when_the_file_was_written() -> None:
    moments = {"before": 90.0, "own": 105.0, "both": 115.0, "other": 125.0, "neither": 200.0}
    after = Snapshot({name: _stamp(at) for name, at in moments.items()}, frozenset(), frozenset(), 0)
    origin = Origin("c", "c", 1, "/p")
    other = Intent(1, "/p", origin, "call", "shell", 1, "", 110.0, 130.0, 0, (), Shadow("s", 1))

    def of_other(name: str) -> bool:
        change = FileChange(name, ABSENT, Version("file", "d", 1, 0o644))
        return belongs_to([other], change, after, 100.0, 120.0)

    assert {name for name in (*moments, "removed") if of_other(name)} == {"other"}


async def _write_unrecorded(desk: Desk, name: str, data: bytes, pid: int) -> None:
    """What a tool of the process `pid` does, as far as the moment before its edit is recorded."""
    change = file_writes.Change(desk.workspace.locate(name), None, data, "")
    plans = await in_thread(planned, [change], desk.workspace, await desk.journal.blobs())
    origin = await (await desk.journal.edits()).origin(desk.conversation)
    intent = await (await desk.journal.intents()).begin(desk.journal.root, origin, "t", "write", plans)
    sql, row = "UPDATE intents SET pid = ?, started = ? WHERE id = ?", (pid, start_of(pid), intent)
    await desk.store.database.write(lambda connection: connection.execute(sql, row))
    desk.put(name, data, 0o644)


async def test_what_a_tool_of_another_process_is_about_to_record_is_not_the_commands(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        process = await asyncio.create_subprocess_exec("sleep", "600")
        async with desk.calls.around_command("c", "shell"):
            await _write_unrecorded(desk, "b", b"the tool's\n", process.pid)
            desk.put("a", "the command's\n")
        assert await desk.told() == [("created", "a")]
        process.kill()
        await process.wait()
