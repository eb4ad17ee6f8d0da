"""Commands of several conversations that overlap in one project: what nobody can tell whose it is, is shared."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from cogency_tui.agent.review.model import Target
from cogency_tui.agent.review.review import Review
from cogency_tui.cli.edits import Choice, Consent, EditCommands
from cogency_tui.errors import ConsentError, UsageError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.store.store import Store
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import watch
from cogency_tui.workspace.snapshot import Snapshot
from tests.agent.journaling import Desk, desk_at, settle

_WORKER = """
import asyncio, sys
from pathlib import Path
from tests.agent.journaling import desk_at

async def line():
    return (await asyncio.to_thread(sys.stdin.readline)).split()

async def work(root, data):
    async with desk_at(Path(root), Path(data)) as desk:
        print(desk.conversation, flush=True)
        if (await line())[0] == "leave":
            return
        async with desk.calls.around_command("call", "shell"):
            print("began", flush=True)
            while (words := await line())[0] != "end":
                if words[0] == "remove":
                    (desk.root / words[1]).unlink()
                elif words[0] == "append":
                    with (desk.root / words[1]).open("a") as file:
                        file.write(desk.conversation)
                else:
                    desk.put(words[1], desk.conversation)
                print("done", flush=True)
        print("ended", flush=True)
        await line()

async def main():
    while places := await line():
        await work(*places)

asyncio.run(main())
"""


class Worker:
    """Another process, with a conversation of its own, whose command does what it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.conversation = ""

    async def tell(self, *words: str) -> str:
        """Have it do something; what it says then."""
        self.say(*words)
        assert self.process.stdout is not None
        return (await in_thread(self.process.stdout.readline)).strip()

    def say(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join((*words, "\n")))
        self.process.stdin.flush()


@pytest.fixture(scope="module")
def idle() -> Generator[list[Worker]]:
    """Processes that are in no project."""
    found: list[Worker] = []
    yield found
    for worker in found:
        worker.process.communicate(timeout=60)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "project", tmp_path / "data"


Workers = Callable[[Desk, int], AbstractAsyncContextManager[list[Worker]]]


@pytest.fixture
def workers(idle: list[Worker]) -> Workers:
    """Processes in the project of a desk, which leave it in the end."""

    @asynccontextmanager
    async def enter(desk: Desk, count: int) -> AsyncGenerator[list[Worker]]:
        found = [idle.pop() if idle else Worker() for _ in range(count)]
        data = desk.store.database.path.parent
        try:
            for worker in found:
                worker.conversation = await worker.tell(str(desk.root), str(data))
            yield found
        except BaseException:
            for worker in found:
                worker.process.kill()
            raise
        finally:
            for worker in found:
                if worker.process.poll() is None:
                    worker.say("leave")
                    idle.append(worker)
                else:
                    worker.process.communicate()

    return enter


async def _edits(desk: Desk, *conversations: str) -> list[Edit]:
    edits = await desk.journal.edits()
    return [edit for each in conversations for edit in await edits.of_conversation(each)]


def _of(desk: Desk, conversation: str) -> Desk:
    return Desk(desk.root, desk.store, conversation, desk.journal.limits)


@pytest.mark.exhaustive
async def test_no_plain_revert_takes_back_what_overlapping_commands_did(
    places: tuple[Path, Path], workers: Workers
) -> None:
    count = 3
    async with desk_at(*places) as desk, workers(desk, count) as others:
        async with desk.calls.around_command("own", "shell"):
            for worker in others:
                assert await worker.tell("begin") == "began"
            for number, worker in enumerate(others):
                await worker.tell("write", f"theirs-{number}")
            desk.put("own", "own\n")
        for worker in reversed(others):
            assert await worker.tell("end") == "ended"
        every = {worker.conversation for worker in others} | {desk.conversation}

        found = await _edits(desk, *every)

        assert sorted(edit.path for edit in found) == sorted(
            ["own", *(f"theirs-{number}" for number in range(count))]
        )
        assert all({edit.origin.conversation, *edit.shared_with} == every for edit in found)
        before = desk.tree()
        for conversation in every:
            undo = _of(desk, conversation).undo
            with pytest.raises(UsageError, match=r"may have made the change|Nothing to undo"):
                await undo.back_to(0)
        assert desk.tree() == before
        with pytest.raises(UsageError) as caught:
            await desk.undo.of_turn()
        assert all(worker.conversation in str(caught.value) for worker in others)
        shown = await (await desk.journal.edits()).shared_with(others[0].conversation)
        assert [edit.path for edit in shown] == [edit.path for edit in found]


@pytest.mark.exhaustive
async def test_only_who_chooses_a_shared_change_and_agrees_takes_it_back(
    places: tuple[Path, Path], workers: Workers
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        await desk.write(("tool", "exact\n"))
        async with desk.calls.around_command("own", "shell") as found:
            await other.tell("begin")
            await other.tell("write", "theirs")
        await other.tell("end")
        (edit,) = found.edits
        assert f"conversation {other.conversation}" in "".join(found.notes)

        plan = await desk.undo.back_to(0)

        assert [each.change.path for each in plan.changes] == ["tool"]
        assert [each.path for each in plan.left] == ["theirs"]
        await desk.undo.apply(plan)
        assert (desk.root / "theirs").exists()
        chosen = await desk.undo.of_edits([edit.id])
        assert "command of conversation “go on”" in await desk.undo.asks_about(chosen)
        with pytest.raises(ConsentError):
            await desk.undo.apply(chosen)
        await desk.undo.apply(chosen, agreed=True)
        assert not (desk.root / "theirs").exists()


@pytest.mark.exhaustive
async def test_what_was_written_while_only_one_command_ran_is_its_own(
    places: tuple[Path, Path], workers: Workers
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        for name in ("removed", "twice"):
            desk.put(name, "old\n")
        settle()
        async with desk.calls.around_command("own", "shell"):
            desk.put("before", "own\n")
            settle()
            await other.tell("begin")
            (desk.root / "removed").unlink()
            await other.tell("write", "both")
            await other.tell("write", "twice")
            assert await other.tell("end") == "ended"
            settle()
            desk.put("after", "own\n")
            desk.put("twice", "own\n")

        own = {edit.path: edit for edit in await desk.edits()}
        theirs = {edit.path: edit for edit in await _edits(desk, other.conversation)}

        assert sorted(own) == ["after", "before", "twice"]
        assert not any(edit.shared_with for edit in own.values())
        assert sorted(theirs) == ["both", "removed", "twice"]
        assert all(edit.shared_with == (desk.conversation,) for edit in theirs.values())
        assert own["twice"].before == theirs["twice"].after
        await desk.undo.apply(await desk.undo.back_to(0))
        assert sorted(path for path in desk.tree()) == ["both", "twice"]
        assert (desk.root / "twice").read_text() == other.conversation


def _append_after_the_end(desk: Desk, other: Worker, path: str, patch: pytest.MonkeyPatch) -> None:
    """Have the other append to a file once the command of the desk has ended, before its changes are read."""
    take, loop = desk.journal.take, asyncio.get_running_loop()

    def appended(also: Sequence[str] = ()) -> Snapshot:
        patch.setattr(desk.journal, "take", take)
        settle()
        asyncio.run_coroutine_threadsafe(other.tell("append", path), loop).result()
        return take(also)

    patch.setattr(desk.journal, "take", appended)


async def _writers(desk: Desk, path: str) -> list[set[str]]:
    """The conversations that may have made each edit of a file."""
    edits = await (await desk.journal.edits()).of_project(desk.journal.root, path=path, limit=100)
    return [{edit.origin.conversation, *edit.shared_with} for edit in edits]


@pytest.mark.parametrize(("path", "is_late"), [("new/file", False), ("file", True)])
async def test_what_the_watch_did_not_see_before_another_wrote_on_is_shared(
    places: tuple[Path, Path], workers: Workers, monkeypatch: pytest.MonkeyPatch, path: str, is_late: bool
) -> None:
    """The watch is not on a new directory, and the system may be late with its reports."""
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        await other.tell("begin")
        async with desk.calls.around_command("own", "shell"):
            desk.put(path, "own\n")
            if is_late:
                monkeypatch.setattr(watch, "_LATEST", 0.0)
            _append_after_the_end(desk, other, path, monkeypatch)
        await other.tell("end")
        assert (desk.root / path).read_text() == f"own\n{other.conversation}"
        assert await _writers(desk, path) == [{desk.conversation, other.conversation}]


async def test_what_the_watch_saw_untouched_is_of_the_other_who_wrote_it_later(
    places: tuple[Path, Path], workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LATEST", 60.0)
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        desk.put("file", "old\n")
        await other.tell("begin")
        async with desk.calls.around_command("own", "shell"):
            desk.put("own", "own\n")
            _append_after_the_end(desk, other, "file", monkeypatch)
        await other.tell("end")
        assert await _writers(desk, "file") == [{other.conversation}]


@pytest.mark.exhaustive
async def test_what_a_command_changed_before_another_began_is_not_changed_back_in_its_edits(
    places: tuple[Path, Path], workers: Workers
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        desk.put("file", "old\n")
        settle()
        await other.tell("begin")
        await other.tell("write", "file")
        settle()
        async with desk.calls.around_command("own", "shell"):
            assert await other.tell("end") == "ended"
        assert await desk.told() == []
        (edit,) = await _edits(desk, other.conversation)
        assert (edit.kind, edit.shared_with) == ("changed", ())


@pytest.mark.exhaustive
async def test_a_command_whose_process_was_killed_still_counts(
    places: tuple[Path, Path], workers: Workers
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        async with desk.calls.around_command("own", "shell"):
            await other.tell("begin")
            await other.tell("write", "theirs")
            other.process.kill()
            await in_thread(other.process.wait)
        (edit,) = await desk.edits()
        assert edit.shared_with == (other.conversation,)
        # It is settled before the next command, which is not taken for it.
        async with desk.calls.around_command("next", "shell"):
            desk.put("own", "own\n")
        assert [each.shared_with for each in await desk.edits()] == [(other.conversation,), ()]


async def test_two_conversations_of_one_process_are_told_apart_as_well(places: tuple[Path, Path]) -> None:
    async with desk_at(*places) as desk:
        second = await desk.store.create_conversation(
            str(desk.root.resolve()), dialect="xml", provider="offline", model="m"
        )
        calls = desk.journal.of(second.id)
        async with desk.calls.around_command("own", "shell"), calls.around_command("other", "shell"):
            desk.put("both", "whose?\n")
        (edit,) = await _edits(desk, desk.conversation, second.id)
        assert {edit.origin.conversation, *edit.shared_with} == {desk.conversation, second.id}


async def _share(desk: Desk, other: Worker) -> Edit:
    async with desk.calls.around_command("own", "shell"):
        await other.tell("begin")
        await other.tell("write", "theirs")
    await other.tell("end")
    (edit,) = await desk.edits()
    return edit


async def test_the_review_asks_before_a_shared_change_is_taken_back(
    places: tuple[Path, Path], workers: Workers
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        await _share(desk, other)
        asked: list[str] = []

        async def answer(question: str) -> bool:
            asked.append(question)
            return len(asked) > 1

        async def store() -> Store:
            return desk.store

        review = Review(desk.journal, store, desk.conversation)
        with pytest.raises(ConsentError):
            await review.revert(Target(1, ""))
        review.ask_with(answer)
        with pytest.raises(ConsentError):
            await review.revert(Target(1, "theirs"))
        assert (desk.root / "theirs").exists()
        await review.revert(Target(1, "theirs"))
        assert not (desk.root / "theirs").exists()
        assert all("command of conversation “go on”" in question for question in asked)


@pytest.mark.exhaustive
async def test_both_conversations_list_a_shared_change(
    places: tuple[Path, Path], workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        edit = await _share(desk, other)
        for conversation in (desk.conversation, other.conversation):
            capsys.readouterr()
            commands = EditCommands(desk.store, desk.root.resolve(), conversation, as_json=False)
            assert await commands.list_all() == 0
            (line,) = capsys.readouterr().out.splitlines()
            assert line.split()[0] == str(edit.id)
            assert desk.conversation in line.partition("shared by")[2]
            assert other.conversation in line.partition("shared by")[2]
            with pytest.raises(UsageError):
                await commands.revert(Choice(to=0), Consent(yes=True))
        commands = EditCommands(desk.store, desk.root.resolve(), None, as_json=False)
        assert await commands.revert(Choice(ids=[edit.id]), Consent(yes=True)) == 0
        assert not (desk.root / "theirs").exists()
        capsys.readouterr()
        await EditCommands(desk.store, desk.root, other.conversation, as_json=False).list_all()
        assert "reverted" in capsys.readouterr().out


async def test_a_change_that_two_others_recorded_was_not_brought_back_in_between(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        blobs = await desk.journal.blobs()
        desk.put("a", "old\n")
        old, new = (
            Version("file", found.digest, found.size, 0o644, found.stored)
            for found in (blobs.put_bytes(b"old\n"), blobs.put_bytes(b"new\n"))
        )
        settle()
        project = os.path.realpath(desk.root)
        for _ in range(2):
            await desk.store.create_conversation(project, dialect="xml", provider="offline", model="m")
        others = [
            known.id for known in await desk.store.conversations(limit=3) if known.id != desk.conversation
        ]
        edits = await desk.journal.edits()
        async with desk.calls.around_command("call-0", "shell") as found:
            desk.put("a", "new\n")
            for one, other in (others, others[::-1]):
                change = FileChange("a", old, new, shared_with=(other, desk.conversation))
                await edits.add(await edits.origin(one), "call", "shell", [change])
        assert [(edit.path, edit.before.digest, edit.after.digest) for edit in found.edits] == []


@pytest.mark.exhaustive
async def test_what_another_records_at_the_same_moment_is_recorded_once(
    places: tuple[Path, Path], workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other command ends when this one is about to record what both have seen."""
    async with desk_at(*places) as desk, workers(desk, 1) as (other,):
        ending = recorded = False
        sync = Blobs.sync

        def end_the_other(blobs: Blobs) -> None:
            nonlocal recorded
            sync(blobs)
            if ending and not recorded:
                recorded = True
                asyncio.run_coroutine_threadsafe(other.tell("end"), loop).result()

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(Blobs, "sync", end_the_other)
        async with desk.calls.around_command("own", "shell"):
            assert await other.tell("begin") == "began"
            await other.tell("write", "both")
            ending = True
        assert recorded
        (edit,) = await _edits(desk, desk.conversation, other.conversation)
        assert {edit.origin.conversation, *edit.shared_with} == {desk.conversation, other.conversation}
