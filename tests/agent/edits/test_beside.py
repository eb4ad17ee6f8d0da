"""What another conversation writes and records while a project is looked at is that conversation's own."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cogency_tui.agent.edits.command_watch import CommandEdits, StoredCopies, WatchedCall
from cogency_tui.errors import StoreError
from cogency_tui.store.intents import Intents
from cogency_tui.workspace.snapshot import Snapshot
from tests.agent.journaling import Desk, desk_at, settle

Act = Callable[[], Awaitable[object]]
Meanwhile = Callable[[Desk, Act], None]


@dataclass
class _Two:
    """Two desks in one project, each with a store and a journal of its own, as two processes have them."""

    own: Desk
    other: Desk

    async def told(self) -> list[tuple[str, str]]:
        return await self.own.told()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncGenerator[_Two]:
    places = tmp_path / "project", tmp_path / "data"
    async with desk_at(*places) as own, desk_at(*places) as other:
        own.put("there", "old\n")
        settle()
        yield _Two(own, other)


@pytest.fixture(params=["before the files are read", "after the files are read", "before the intent"])
def meanwhile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Has an act happen once within the next look that a desk begins a command with."""
    moment: str = request.param
    if moment == "before the intent":
        return lambda _desk, act: _before(monkeypatch, "begin", act)
    return lambda desk, act: _at_the_look(monkeypatch, desk, act, after=moment.startswith("after"))


def _at_the_look(patch: pytest.MonkeyPatch, desk: Desk, act: Act, *, after: bool) -> None:
    take, loop = desk.journal.take, asyncio.get_running_loop()

    def looked(also: Sequence[str] = ()) -> Snapshot:
        patch.setattr(desk.journal, "take", take)
        found = take(also) if after else None
        asyncio.run_coroutine_threadsafe(_awaited(act), loop).result()
        return found or take(also)

    patch.setattr(desk.journal, "take", looked)


def _before(patch: pytest.MonkeyPatch, name: str, act: Act) -> None:
    """Have an act happen once before a method of the intents is called."""
    method = getattr(Intents, name)

    async def called(*args: object, **options: object) -> object:
        patch.setattr(Intents, name, method)
        await act()
        return await method(*args, **options)

    patch.setattr(Intents, name, called)


async def _awaited(act: Act) -> None:
    await act()


@asynccontextmanager
async def _command(desk: Desk, call: str = "theirs") -> AsyncGenerator[Act]:
    """A command that runs; what ends it."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(desk.calls.around_command(call, "shell"))
        yield stack.aclose


async def test_what_a_tool_records_at_the_look_is_not_of_the_command(two: _Two, meanwhile: Meanwhile) -> None:
    meanwhile(two.own, lambda: two.other.write(("new", "1\n"), ("there", "2\n")))
    async with two.own.calls.around_command("own", "shell"):
        two.own.put("mine", "own\n")
    assert await two.told() == [("created", "mine")]
    assert await two.other.told() == [("created", "new"), ("changed", "there")]


async def test_what_goes_on_from_what_a_tool_recorded_at_the_look_is_of_the_command(
    two: _Two, meanwhile: Meanwhile
) -> None:
    meanwhile(two.own, lambda: two.other.write(("new", "1\n"), ("there", "2\n")))
    async with two.own.calls.around_command("own", "shell"):
        (two.own.root / "new").unlink()
        two.own.put("there", "three\n")
    # Where the look came before `new` was made, it was absent before and is absent after.
    assert {("changed", "there")} <= set(await two.told()) <= {("changed", "there"), ("deleted", "new")}


async def test_what_a_command_that_ends_at_the_look_had_changed_is_its_own(
    two: _Two, meanwhile: Meanwhile
) -> None:
    async with _command(two.other) as end:
        two.other.put("new", "1\n")
        (two.own.root / "there").unlink()
        settle()
        meanwhile(two.own, end)
        async with two.own.calls.around_command("own", "shell"):
            two.own.put("new", "own\n")
            two.own.put("there", "own\n")
    assert await two.other.told() == [("created", "new"), ("deleted", "there")]
    assert await two.told() == [("changed", "new"), ("created", "there")]


async def test_a_command_that_writes_and_ends_at_the_look_shares_nothing(
    two: _Two, meanwhile: Meanwhile
) -> None:
    async def work() -> None:
        two.other.put("new", "1\n")
        await end()

    async with _command(two.other) as end:
        meanwhile(two.own, work)
        async with two.own.calls.around_command("own", "shell"):
            pass
    assert await two.told() == []
    assert await two.other.told() == [("created", "new")]


@pytest.mark.parametrize("after", [False, True])
async def test_what_a_tool_records_at_a_look_is_not_of_a_command_in_the_background(
    two: _Two, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    over = asyncio.Event()
    async with two.own.calls.around_command("server", "shell") as found:
        found.goes_on(over.wait)
        # It is looked at when the call returns, when the turn ends, and when the next command begins.
        _at_the_look(monkeypatch, two.own, lambda: two.other.write(("first", "1\n")), after=after)
    _at_the_look(monkeypatch, two.own, lambda: two.other.write(("second", "1\n")), after=after)
    await two.own.journal.scan()
    _at_the_look(monkeypatch, two.own, lambda: two.other.write(("third", "1\n")), after=after)
    await two.own.run("echo >> second")
    await two.own.journal.scan()
    two.own.put("late", "the server's\n")
    over.set()
    await two.own.journal.close()
    edits = [(edit.call, edit.kind, edit.path) for edit in await two.own.edits()]
    assert edits == [("call-1", "changed", "second"), ("server", "created", "late")]
    assert await two.other.told() == [("created", name) for name in ("first", "second", "third")]


async def test_what_a_tool_makes_of_a_file_after_the_last_look_is_not_changed_back(
    two: _Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two.own.calls.around_command("own", "shell"):
        two.own.put("there", "own\n")
        two.own.put("new", "own\n")
        work = [("there", "later\n"), ("new", "later\n")]
        _before(monkeypatch, "record", lambda: two.other.write(*work))
    edits = [(edit.kind, edit.path, edit.after.size) for edit in await two.own.edits()]
    assert sorted(edits) == [("changed", "there", 4), ("created", "new", 4)]
    assert await two.other.told() == [("changed", "there"), ("changed", "new")]


async def test_what_is_written_after_the_look_is_what_the_command_found(
    two: _Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        two.own.put("there", "written\n")

    _at_the_look(monkeypatch, two.own, write, after=True)
    async with two.own.calls.around_command("own", "shell"):
        two.own.put("there", "own\n")
    (edit,) = await two.own.edits()
    assert (edit.before.size, edit.before.kept) == (len("written\n"), True)
    await two.own.undo.apply(await two.own.undo.back_to(0))
    assert (two.own.root / "there").read_text() == "written\n"


async def test_a_settled_command_knows_what_was_written_after_the_look(
    two: _Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        two.own.put("there", "written\n")

    _at_the_look(monkeypatch, two.own, write, after=True)
    commands = two.own.journal.commands
    origin = await (await two.own.journal.edits()).origin(two.own.conversation)
    begun = await commands.begin(WatchedCall(origin, "killed", "shell"), [])
    two.own.put("there", "own\n")
    two.own.journal.unfinished[begun.intent] = StoreError("The disk is full.")
    await two.own.journal.settle()
    (edit,) = await two.own.edits()
    assert (edit.before.size, edit.before.kept) == (len("written\n"), True)
    await commands.end(begun, CommandEdits(StoredCopies()))


async def test_what_another_command_writes_after_the_last_look_is_shared(
    two: _Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        two.other.put("there", "both\n")

    async with AsyncExitStack() as stack:
        async with two.own.calls.around_command("own", "shell"):
            two.own.put("there", "own\n")
            settle()
            await stack.enter_async_context(_command(two.other))
            _at_the_look(monkeypatch, two.own, write, after=True)
        (edit,) = await two.own.edits()
        assert (edit.after.size, edit.shared_with) == (len("both\n"), (two.other.conversation,))
