"""The store fails in the middle of a turn: what happened is still shown, and the turn still ends as every turn."""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import CogencyError, JournalError, StoreError
from cogency_tui.protocol import Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.store.store import Store
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import block
from tests.agent.faults import Faults, fill
from tests.agent.journaling import desk_at
from tests.agent.user_commands import command_events

SCRIPTS: dict[Dialect, tuple[str, ...]] = {
    "xml": (
        "I look.\n"
        + block(("read", {"file": "greet.py"}), ("write", {"file": "new.txt", "content": "new\n"})),
        block(("shell", {"command": "echo line >> log.txt"})),
        "Done.",
    ),
    "action": (
        '<action id="a">{"name": "write", "parameters": {"file": "new.txt", "content": "new"}}</action>'
        '<action id="b">{"name": "shell", "parameters": {"command": "echo line >> log.txt"}}</action>',
        "<response>Done.</response>",
    ),
}


async def _turn(agent: Agent, id: str = "c", *, chunks: bool) -> tuple[list[Event], str]:
    """The events of a turn, and why it could not begin, where it could not."""
    events: list[Event] = []
    try:
        async for event in agent.stream("go on", conversation_id=id, chunks=chunks):
            events.append(event)
    except CogencyError as exc:
        return events, str(exc)
    return events, ""


def _ids(events: Sequence[Event], kind: str) -> Counter[str]:
    return Counter(
        event["id"]
        for event in events
        if (event["type"] == "call" or event["type"] == "result")
        and event["type"] == kind
        and not event.get("partial")
    )


def _is_error(event: Event) -> bool:
    return event["type"] == "error" and not event["payload"].get("notice")


def _check(events: list[Event], why: str) -> None:
    if why:
        assert events == []
        return
    ending = next(event for event in reversed(events) if event["type"] != "end")
    assert events[-1]["type"] == "end"
    assert ending["type"] == "error"
    assert "full" in ending["payload"]["error"]
    calls, results = _ids(events, "call"), _ids(events, "result")
    assert calls == results
    assert set(calls.values()) <= {1}


class Full:
    """Has the disk be full from the transaction numbered `at` on, or for that one."""

    def __init__(self, at: int, *, lasting: bool) -> None:
        self.count = 0
        self._at = at
        self._lasting = lasting

    def step(self, what: str) -> None:
        """Something that the store does."""
        self.count += what == "transaction"
        if self.count == self._at or (self._lasting and self.count > self._at):
            fill(what)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("dialect", "lasting"), [("xml", True), ("action", False)])
async def test_wherever_the_store_fails_calls_get_results_and_the_turn_its_error_and_end(
    make_agent: MakeAgent,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    dialect: Dialect,
    lasting: bool,
) -> None:
    failed: list[bool] = []
    for at in count(1):
        id, full = f"c{at}", Full(at, lasting=lasting)
        async with make_agent(*SCRIPTS[dialect], dialect=dialect) as agent:
            with monkeypatch.context() as patch:
                faults = Faults(1, full.step)
                faults.install(patch.setattr)
                faults.armed = True
                events, why = await _turn(agent, id, chunks=at % 2 == 0)
                faults.armed = False
            if full.count < at:
                break
            failed.append(bool(why) or any(map(_is_error, events)))
            if failed[-1]:
                _check(events, why)
            store = await agent.store()
            if await store.conversation(id):
                await store.recover(id)
                kept = await store.events(id)
                assert _ids(kept, "result") <= _ids(kept, "call")
                assert set(_ids(kept, "call").values()) <= {1}
        for name in ("new.txt", "log.txt"):
            (project / name).unlink(missing_ok=True)
    assert len(failed) > 10
    assert all(failed) or not lasting


@pytest.mark.exhaustive
async def test_an_output_that_cannot_be_stored_is_stored_as_a_call_that_ran(
    make_agent: MakeAgent, tmp_path: Path, project: Path
) -> None:
    (project / "long.txt").write_text("x" * 60 * 1000 + "\n")
    command = "for i in 1 2 3 4 5 6 7 8; do cat long.txt; done; echo ran >> ran.txt"
    agent = make_agent(block(("shell", {"command": command})), "Never asked.")
    async with agent:
        store = await agent.store()

        def limit(connection: sqlite3.Connection) -> None:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + 9}")

        await store.database.read(limit)
        events, why = await _turn(agent, chunks=False)
        assert why == ""
        _check(events, why)
        kept = await store.events("c")
    (result,) = [event for event in kept if event["type"] == "result"]
    assert "could not be stored" in json.dumps(result)
    assert (project / "ran.txt").read_text() == "ran\n"


async def test_what_a_user_ran_is_shown_though_it_cannot_be_stored(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent("Done.")
    async with agent:
        await _turn(agent, chunks=True)

        async def full(*_args: object) -> None:
            raise StoreError("The disk is full.")

        monkeypatch.setattr(Store, "append", full)
        events = [event async for event in command_events(agent, "echo seen", conversation_id="c")]
    assert [event["type"] for event in events if not event.get("partial")] == ["user", "error", "end"]
    assert "seen" in json.dumps(events[-3])


@pytest.mark.parametrize("way", ["removed", "replaced"])
@pytest.mark.parametrize("moment", ["user", "call", "result"])
async def test_a_store_that_goes_away_in_mid_turn_ends_it_with_an_error(
    make_agent: MakeAgent, tmp_path: Path, moment: str, way: str
) -> None:
    agent = make_agent(*SCRIPTS["xml"])
    events: list[Event] = []
    async with agent:
        async for event in agent.stream("go on", conversation_id="c", chunks=False):
            events.append(event)
            if event["type"] == moment and (tmp_path / "data/cogency.db-wal").exists():
                for path in (tmp_path / "data").glob("cogency.db*"):
                    path.unlink()
                if way == "replaced":
                    (tmp_path / "data/cogency.db").write_bytes(b"")
    assert [event["type"] for event in events[-2:]] == ["error", "end"]
    assert "removed or replaced" in json.dumps(events[-2])
    assert _ids(events, "call") == _ids(events, "result")


async def test_a_data_directory_that_was_moved_away_in_mid_command_and_put_back_is_gone_on_with(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        async with desk.calls.around_command("first", "shell") as found:
            away = data.rename(tmp_path / "away")
            desk.put("b", "new\n")
        assert "was removed or replaced" in found.unrecorded
        with pytest.raises(JournalError, match=r"cannot be recorded yet: .* was removed or replaced"):
            await desk.run("echo never > c")
        assert not (data / "blobs").exists()
        shutil.rmtree(data, ignore_errors=True)
        away.rename(data)
        await desk.run("echo d > d")
        await desk.journal.settle()
        assert sorted(path for _kind, path in await desk.told()) == ["b", "d"]
