"""What an interrupted call had changed is settled when the store can record it, and not given up before."""

import hashlib
from pathlib import Path

import pytest

from cogency_tui.agent.edits.file_history import histories
from cogency_tui.errors import JournalError
from tests.agent.faults import CALL, Faults, fill, prepare, reopened, taking_room
from tests.agent.journaling import Desk, desk_at


async def _orphan(desk: Desk) -> None:
    """Have what runs be of a process that is gone."""
    sql = "UPDATE intents SET started = 'long ago'"
    await desk.store.database.write(lambda connection: connection.execute(sql))


async def _is_there(desk: Desk, data: Path) -> bool:
    """Whether an intent is still there, with its shadow."""
    intents = await (await desk.journal.intents()).below(desk.journal.root)
    return bool(intents) and all((data / "shadows" / each.shadow.name).is_file() for each in intents)


@pytest.mark.exhaustive
async def test_on_a_full_disk_an_interrupted_command_waits_to_be_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = 0
    for at in range(1, 100):
        base = tmp_path / f"{at}"
        base.mkdir()
        faults = Faults(at, fill, taking_room)
        async with desk_at(base / "project", base / "data") as killed:
            await prepare(killed, "command")
            async with killed.calls.around_command(CALL, "shell"):
                killed.put("a", "new a\n")
                (killed.root / "b").unlink()
                await _orphan(killed)
                store, desk = await reopened(base)
                async with store:
                    # What is opened once is opened by now.
                    await desk.journal.contents()
                    with monkeypatch.context() as patch:
                        faults.install(
                            lambda owner, name, value, patch=patch: patch.setattr(owner, name, value)
                        )
                        faults.armed = True
                        told = await desk.journal.settle()
                        again = await desk.journal.settle() if faults.since else []
                        faults.armed = False
                    # A notice that the disk cannot take is shown all the same.
                    failed = bool(faults.since) and "notices." not in faults.since[0]
                    if failed:
                        waited += 1
                        assert await _is_there(desk, base / "data"), at
                        (notice,) = told
                        assert notice.startswith(f"A call to shell in conversation {desk.conversation} was")
                        assert "Its changes are not recorded yet (" in notice
                        assert notice.endswith("; cogency-tui retries at the next start.")
                        assert again == []
                        assert await desk.told() == []
                        told = await desk.journal.settle()
                    assert ["are recorded: changed a, deleted b." in notice for notice in told] == [True]
                    for edit in await desk.edits():
                        await desk.undo.apply(await desk.undo.restore([edit], before=True))
                    assert histories(await desk.edits()) == []
                    assert (desk.root / "a").read_text() == "old a\n"
                    assert (desk.root / "b").read_text() == "old b\n"
        if not faults.since:
            break
    assert waited > 4


async def test_a_damaged_shadow_is_settled_as_unknown(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as killed:
        killed.put("a", "old\n")
        async with killed.calls.around_command(CALL, "shell"):
            killed.put("a", "new\n")
            await _orphan(killed)
            (file,) = (tmp_path / "data/shadows").iterdir()
            file.write_bytes(b"x" * file.stat().st_size)
            store, desk = await reopened(tmp_path)
            async with store:
                (notice,) = await desk.journal.settle()
                assert "was interrupted; its changes are unknown: " in notice
                assert await (await desk.journal.intents()).below(desk.journal.root) == []


async def test_a_call_of_this_process_is_not_said_to_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        await prepare(desk, "command")
        with monkeypatch.context() as patch:
            faults = Faults(1, fill)
            faults.install(patch.setattr)
            async with desk.calls.around_command(CALL, "shell"):
                desk.put("a", "new a\n")
                faults.armed = True
            assert await desk.journal.settle() == []
        assert await desk.journal.settle() == [
            f"A call to shell in conversation {desk.conversation} could not be recorded when it was made; its changes are recorded: changed a."
        ]
        assert [(edit.path, edit.interrupted) for edit in await desk.edits()] == [("a", False)]
        # The call gives its result itself.
        assert [event["type"] for event in await desk.store.events(desk.conversation)] == ["user", "call"]


async def test_nothing_is_changed_before_what_an_earlier_call_changed_is_recorded(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        digest = hashlib.sha256(b"new\n").hexdigest()
        obstacle = tmp_path / "data/blobs" / digest[:2] / digest[2:]
        obstacle.mkdir(parents=True)
        async with desk.calls.around_command("call-0", "shell") as found:
            desk.put("a", "new\n")
        assert "could not be recorded" in found.notes[0]
        with pytest.raises(JournalError, match=r"Nothing was changed: .* an earlier call"):
            await desk.write(("b", "b\n"))
        with pytest.raises(JournalError, match=r"The command was not run: .* an earlier call"):
            await desk.run("echo > c")
        assert [path.name for path in desk.root.iterdir()] == ["a"]
        obstacle.rmdir()
        await desk.write(("b", "b\n"))
        await desk.run("echo > c")
        assert await desk.told() == [("changed", "a"), ("created", "b"), ("created", "c")]
