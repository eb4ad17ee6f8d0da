"""Intent before act: whatever ends a process, and wherever, what it had changed is known and can be reverted."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cogency_tui.agent.edits import crash_snapshot
from cogency_tui.agent.edits.file_history import histories
from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.errors import JournalError, StoreError, ToolError
from cogency_tui.protocol.events import ResultEvent
from cogency_tui.store.database import Database, Work
from cogency_tui.store.edit_records import FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.intents import dropping
from cogency_tui.store.store import Store
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.files import Write, WriteArgs
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.conftest import MakeAgent
from tests.agent.faults import CALL, OLD, WORKS, Faults, fill, prepare, reopened, taking_room
from tests.agent.journaling import Desk, Tree, desk_at, settle


def _files(tree: Tree) -> dict[str, str]:
    return {name: data.decode() for name, (_, data) in tree.items() if not name.endswith("/")}


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


async def _answers(desk: Desk) -> list[ResultEvent]:
    return [event for event in await desk.store.events(desk.conversation) if event["type"] == "result"]


@pytest.mark.exhaustive
async def test_killed_at_any_step_nothing_is_unknown_and_all_can_be_reverted(tmp_path: Path) -> None:
    await in_thread(_run, sys.executable, "-m", "tests.agent.faults", str(tmp_path))
    for what in WORKS:
        steps = list((tmp_path / what).iterdir())
        assert len(steps) > 10
        seen = {await _settled(base, what) for base in steps}
        assert len(seen) > 2, what


async def _settled(base: Path, what: str) -> frozenset[str]:
    """Settle what was killed there, and revert it; what it had changed."""
    store, desk = await reopened(base)
    async with store:
        told = await desk.journal.settle()
        assert await desk.journal.settle() == []
        assert await (await desk.journal.intents()).below(desk.journal.root) == []
        there = _files(desk.tree())
        edits = [edit for edit in await desk.edits() if edit.kind != "snapshot"]
        changed = {path for each in histories(edits) for path in (each.change.path, each.change.old_path)}
        # What is recorded is what differs, neither more nor less.
        assert changed - {""} == {
            name for name in OLD.keys() | there.keys() if OLD.get(name) != there.get(name)
        }, base
        interrupted = [edit for edit in edits if edit.interrupted]
        assert bool(told) == bool(interrupted)
        if interrupted and what != "revert":
            (answer,) = await _answers(desk)
            assert answer["id"] == CALL
            assert answer["payload"]["outcome"] == "interrupted"
            for edit in interrupted:
                assert f"{edit.kind} {edit.path}" in answer["payload"]["content"]
        for edit in reversed(edits):
            if not edit.undoes and histories(edits):
                await desk.undo.apply(await desk.undo.restore([edit], before=True))
                if edit.old_path or edit.before.kind == "absent":
                    (desk.root / edit.path).unlink(missing_ok=True)
        assert _files(desk.tree()) == OLD, base
    return frozenset(changed)


async def test_an_intent_of_a_process_that_runs_is_left_alone(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        async with desk.calls.around_command(CALL, "shell"):
            desk.put("a", "new\n")
            assert await desk.journal.settle() == []
            assert len(await (await desk.journal.intents()).below(desk.journal.root)) == 1
        (edit,) = await desk.edits()
        assert not edit.interrupted
        assert await (await desk.journal.intents()).below(desk.journal.root) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", WORKS)
async def test_on_a_full_disk_a_change_is_refused_or_made_and_never_reported_as_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    outcomes = set[str]()
    for at in range(1, 200):
        base = tmp_path / str(at)
        base.mkdir()
        faults = Faults(at, fill, taking_room)
        async with desk_at(base / "project", base / "data") as desk:
            await prepare(desk, what)
            before = _files(desk.tree())
            with monkeypatch.context() as patch:
                faults.install(lambda owner, name, value, patch=patch: patch.setattr(owner, name, value))
                faults.armed = True
                try:
                    await WORKS[what](desk, faults)
                    outcome = "done"
                except JournalError:
                    outcome = "refused"
                except (StoreError, ToolError):
                    # An undo, which a user asks for, and of a tool what cannot be written at all.
                    outcome = "failed"
                faults.armed = False
            outcomes.add(outcome)
            if not any(step.startswith("mkdir") for step in faults.since):
                # Without room for a directory a revert cannot be rolled back; what it came to is recorded.
                assert (_files(desk.tree()) == before) == (outcome != "done"), (at, outcome)
            await desk.journal.settle_unfinished()
            after = _files(desk.tree())
            assert await (await desk.journal.intents()).below(desk.journal.root) == []
            changes = histories(await desk.edits())
            assert {path for each in changes for path in (each.change.path, each.change.old_path)} - {""} == {
                name for name in OLD.keys() | after.keys() if OLD.get(name) != after.get(name)
            }
        if not faults.since:
            break
    assert outcomes >= ({"done", "failed"} if what == "revert" else {"done", "refused"})


async def test_what_could_not_be_recorded_after_it_was_done_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        faults = Faults(1, fill)
        faults.install(monkeypatch.setattr)
        async with desk.calls.around_command(CALL, "shell") as found:
            desk.put("a", "new\n")
            faults.armed = True
        assert "could not be recorded" in found.notes[0]
        faults.armed = False
        await desk.write(("b", "b\n"))
        assert await desk.told() == [("changed", "a"), ("created", "b")]


async def test_the_disk_has_the_bytes_before_the_intent_and_the_intent_before_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        order = Faults(1, lambda _what: None)
        order.install(monkeypatch.setattr)
        durably = Database._transact_durably  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]

        def noted(store: Database, work: Work[object], connection: sqlite3.Connection) -> object:
            result = durably(store, work, connection)
            order.step("durable")
            return result

        monkeypatch.setattr(Database, "_transact_durably", noted)
        order.armed = True
        await desk.write(("a", "new\n"))
        order.armed = False
        (edit,) = await desk.edits()
        blobs = (await desk.journal.blobs()).directory
        synced = [
            order.steps.index(f"fsync {path}")
            for side in (edit.before, edit.after)
            for path in (
                blobs / side.digest[:2] / side.digest[2:],
                blobs / side.digest[:2],
            )
        ]
        changed = order.steps.index("replace a")
        intent, recorded = (number for number, step in enumerate(order.steps) if step == "durable")
        assert max(synced) < intent < changed < recorded


@pytest.mark.exhaustive
async def test_a_shadow_has_what_git_does_not_have(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        for number in range(60):
            # No two lines alike: packed it is still long enough for git to be asked.
            desk.put(f"tracked{number}", "".join(f"{number * n * 7919 % 1_000_003}\n" for n in range(2000)))
        for command in ("init -q", "add ."):
            await in_thread(_run, "git", *command.split(), cwd=desk.root)
        desk.put("tracked0", "not as git has it\n")
        async with desk.calls.around_command(CALL, "shell"):
            (intent,) = await (await desk.journal.intents()).below(desk.journal.root)
            before, known, _ = (await desk.journal.shadow()).read(intent.shadow)
        assert set(before.files) == {".git/config", *(f"tracked{number}" for number in range(60))}
        assert {path for path, each in known.items() if each.packed is not None} == {
            ".git/config",
            "tracked0",
        }
        assert all(known[path].object for path in known.keys() - {".git/config", "tracked0"})


@pytest.mark.exhaustive
async def test_a_shadow_grows_by_what_changed_and_goes_with_its_process(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        for number in range(400):
            desk.put(f"{number}", f"{number}\n" * 50)
        settle()
        await desk.run("true")
        (file,) = (tmp_path / "data/shadows").iterdir()
        first = file.stat().st_size
        await desk.run("echo 2 >> 7")
        await desk.run("true")
        assert file.stat().st_size - first < first / 20
        await desk.journal.close()
        assert not file.exists()


async def test_a_shadow_that_has_grown_long_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash_snapshot, "_LONGEST", 100)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        for number in range(4):
            async with desk.calls.around_command(f"{number}", "shell"):
                (intent,) = await (await desk.journal.intents()).below(desk.journal.root)
                before, known, _ = (await desk.journal.shadow()).read(intent.shadow)
                assert "a" in before.files.keys() & known.keys()
        assert len(list((tmp_path / "data/shadows").iterdir())) == 2
        await desk.journal.close()
        assert list((tmp_path / "data/shadows").iterdir()) == []


async def test_what_a_user_changed_after_a_kill_is_not_the_commands(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        desk.put("b", "old\n")
        async with desk.calls.around_command(CALL, "shell"):
            desk.put("a", "the command's\n")
            (intent,) = await (await desk.journal.intents()).below(desk.journal.root)
            file = tmp_path / "data/shadows" / intent.shadow.name
            copy = file.read_bytes()
            row = await _row(desk)
        await _orphan(desk, row)
        (tmp_path / "data/shadows").mkdir(exist_ok=True)
        file.write_bytes(copy)
        # The process died long ago; all that is on the disk is later.
        os.utime(file, (1e9, 1e9))
        desk.put("b", "the user's\n")
        await desk.journal.settle()
        found = {edit.path: edit.kind for edit in await desk.edits() if edit.interrupted}
        assert found == {"b": "snapshot"}


async def test_what_a_tool_did_during_the_first_look_is_not_the_killed_commands(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        blobs, edits, intents = (
            await desk.journal.blobs(),
            await desk.journal.edits(),
            await desk.journal.intents(),
        )
        old, new = (blobs.put_bytes(each) for each in (b"old\n", b"the tool's\n"))
        before, after = (Version("file", each.digest, each.size, 0o644, each.stored) for each in (old, new))
        change = FileChange("b", before, after)
        origin = await edits.origin(desk.conversation)
        planned = await intents.begin(desk.journal.root, origin, "t", "write", [change])
        desk.put("b", "the tool's\n", 0o644)
        async with desk.calls.around_command(CALL, "shell"):
            await desk.journal.record(origin, "t", "write", [change], dropping(planned))
            desk.put("b", "the command's\n", 0o644)
            rows = await desk.store.database.read(
                lambda each: each.execute("SELECT * FROM intents").fetchall()
            )
            (intent,) = await intents.below(desk.journal.root)
            file = tmp_path / "data/shadows" / intent.shadow.name
            copy = file.read_bytes()
        await desk.store.database.write(
            lambda each: each.execute("DELETE FROM edits WHERE call = ?", (CALL,))
        )
        await _orphan(desk, rows[0])
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(copy)
        await desk.journal.settle()
        found = [edit for edit in await desk.edits() if edit.interrupted]
        assert [(edit.path, edit.kind, edit.before.digest) for edit in found] == [
            ("b", "changed", new.digest)
        ]


async def _row(desk: Desk) -> tuple[object, ...]:
    return await desk.store.database.read(
        lambda connection: connection.execute("SELECT * FROM intents").fetchone()
    )


async def _orphan(desk: Desk, row: tuple[object, ...]) -> None:
    """Have an intent back as that of a process that is gone."""
    marks = ", ".join("?" * len(row))

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(f"INSERT INTO intents VALUES ({marks})", row)
        connection.execute("UPDATE intents SET started = 'long ago'")

    await desk.store.database.write(work)


async def test_two_that_settle_at_once_record_once(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        async with desk.calls.around_command(CALL, "shell"):
            desk.put("a", "new\n")
            row = await _row(desk)
            await _drop(desk)
            await _orphan(desk, row)
            other = await reopened(tmp_path)
            async with other[0]:
                told = await asyncio.gather(desk.journal.settle(), other[1].journal.settle())
        assert sorted(map(len, told)) == [0, 1]
        assert await desk.told() == [("changed", "a")]


async def _drop(desk: Desk) -> None:
    await desk.store.database.write(lambda connection: connection.execute("DELETE FROM intents"))


async def test_the_user_and_the_model_are_told_what_an_interrupted_call_had_changed(
    make_agent: MakeAgent, project: Path, tmp_path: Path
) -> None:
    events = [event async for event in make_agent("Hello.")("begin", conversation_id="c")]
    assert events[-1]["type"] == "end"
    store = await Store.open(tmp_path / "data")
    async with store:
        desk = Desk(project, store, "c", JournalLimits())
        content = '{"name": "shell", "args": {"command": "make"}}'
        await store.append("c", {"type": "call", "timestamp": time.time(), "id": CALL, "content": content})
        async with desk.calls.around_command(CALL, "shell"):
            desk.put("greet.py", "print('bye')\n")
            row = await _row(desk)
            await _drop(desk)
            await _orphan(desk, row)
            async with make_agent("Well.") as agent:
                events = [event async for event in agent("go on", conversation_id="c")]
                stored = await (await agent.store()).events("c")
    (notice,) = [event["payload"] for event in events if event["type"] == "error"]
    assert notice == {
        "error": "A call to shell in conversation c was interrupted; its changes are recorded: changed greet.py.",
        "notice": True,
    }
    (answer,) = [event for event in stored if event["type"] == "result"]
    assert answer["payload"]["content"] == (
        "interrupted: the program ended before the call completed.\nIts changes until then:\nchanged greet.py"
    )
    kinds = [event["type"] for event in stored]
    assert kinds == ["user", "respond", "call", "result", "user", "respond"]


async def test_a_tool_reports_a_change_that_was_made_and_not_recorded_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        context = ToolContext(desk.workspace, journal=desk.calls, call_id=CALL)
        add = Edits.add

        async def full(*_args: object) -> None:
            raise StoreError("The disk is full.", "Free some space.")

        monkeypatch.setattr(Edits, "add", full)
        outcome = await Write().run(WriteArgs("a", "new\n"), context)
        monkeypatch.setattr(Edits, "add", add)
        assert not outcome.failed
        assert outcome.content.startswith("created a: 1 line, 4 bytes\n")
        assert "could not be recorded, so it cannot be reverted: The disk is full." in outcome.content
        assert (desk.root / "a").read_text() == "new\n"
        await desk.write(("b", "b\n"))
        assert await desk.told() == [("created", "a"), ("created", "b")]
