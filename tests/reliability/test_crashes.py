"""`kill -9` at random moments of real turns: nothing shown is lost, no call runs twice, it goes on.

The program is a process of its own, over a loopback endpoint, with a real store and a real shell.
`COGENCY_CRASHES` sets how often it is killed (12).
"""

import asyncio
import hashlib
import json
import os
import random
import re
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from cogency_tui.store.edit_records import ABSENT
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store
from tests import forkserver
from tests.peers.server import Context, Peer
from tests.peers.ways import WAYS, Way

pytestmark = pytest.mark.exhaustive

CRASHES = int(os.environ.get("COGENCY_CRASHES", "12"))
PARTS = 4
"""Parts of the turn, in which it is killed equally often."""

STEPS = 3
LONGEST = 3.0
"""Seconds from its first event in which it is killed; a turn takes about as long."""
LOST = 0.75
"""Seconds of text of the unit that still streams that may be lost here, by the clock of the program itself: a
checkpoint every 0.4, and what a loaded machine takes to write it."""

_PROSE = "The retry loop sleeps before it checks whether another attempt is left. "


class Model:
    """Thinks, runs a command that leaves a mark of its own, and answers after some steps."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, context: Context) -> str:
        # The environment stands before the first message of a conversation, and results before a later one.
        since = max(n for n, message in enumerate(context) if message["content"].endswith("task"))
        done = sum('"status": "success"' in message["content"] for message in context[since + 1 :])
        if done >= STEPS:
            return _PROSE * 30
        self.calls += 1
        command = f"echo mark-{self.calls} >> marks.txt; sleep 0.05; echo done"
        call = json.dumps([{"name": "shell", "args": {"command": command}}])
        return f"<think>{_PROSE * 10}</think>\n\nOn it.\n\n<execute>\n{call}\n</execute>"


class Shown:
    """What one run of the program showed before it ended."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.events: list[dict[str, Any]] = []
        for line in lines:
            try:
                self.events.append(json.loads(line))
            except ValueError:
                # The last one, cut in two by the kill.
                break

    @property
    def last(self) -> str:
        if not self.events:
            return ""
        last = self.events[-1]
        # A notice is of what the kill before has left undone.
        return "notice" if last["type"] == "error" and last["payload"].get("notice") else str(last["type"])

    @property
    def ended(self) -> float:
        """When the last event was shown: what a process that had no time since did not show cannot be lost."""
        return self.events[-1]["timestamp"] if self.events else 0.0

    def texts(self, until: float) -> dict[str, str]:
        """The text of each unit that was shown before the moment `until`."""
        texts: dict[str, str] = {}
        for event in self.events:
            if event["type"] in ("think", "respond") and event["timestamp"] <= until:
                texts[event["id"]] = texts.get(event["id"], "") + event["content"]
        return texts


async def run(
    project: Path, data: Path, way: Way, peer: Peer, conversation: str, kill: float | None
) -> Shown:
    """Run one turn; `kill -9` after so many seconds from its first event."""
    environ = {**os.environ, **way.environ(peer), "COGENCY_DATA": str(data)}
    arguments = ["run", "task", "--json", "--chunks", "--permissions", "auto", "--mode", way.mode]
    arguments += ["--provider", way.provider, "--model", way.model]
    arguments += ["--conversation", conversation] if conversation else []
    source, stdout = os.pipe()
    with tempfile.TemporaryFile() as nothing, tempfile.TemporaryFile() as errors, os.fdopen(source) as pipe:
        program = await asyncio.to_thread(
            forkserver.start,
            arguments,
            project,
            environ,
            stdin=nothing.fileno(),
            stdout=stdout,
            stderr=errors.fileno(),
        )
        os.close(stdout)
        lines = [await asyncio.to_thread(pipe.readline)]
        timer = threading.Timer(kill or 0, program.kill)
        if kill is not None:
            timer.start()
        lines += await asyncio.to_thread(pipe.readlines)
        await asyncio.to_thread(program.wait)
        timer.cancel()
        errors.seek(0)
        assert lines[0], errors.read().decode()
    return Shown(lines)


async def check(shown: Shown, data: Path, conversation: str) -> None:
    """Nothing that was shown is missing in the store, and the store is sound."""
    database = sqlite3.connect(next(data.glob("*.db")))
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    async with await Store.open(data) as store:
        await store.recover(conversation)
        stored = cast("list[dict[str, Any]]", await store.events(conversation))
    texts = {e["id"]: e["content"] for e in stored if e["type"] in ("think", "respond")}
    # Previews of a call do not end the unit before it: the call may turn out to be none.
    whole = [event for event in shown.events if not event.get("partial")]
    last = whole[-1] if whole else {"type": ""}
    open_unit = last["id"] if last["type"] in ("think", "respond") else ""
    # A unit's end is white space that may not have been shown, or was not kept.
    for unit, text in shown.texts(float("inf")).items():
        if unit != open_unit:
            assert texts[unit] == text
    for unit, text in shown.texts(shown.ended - LOST).items():
        assert texts[unit].startswith(text.rstrip())
    kept = {(event["type"], event["id"]) for event in stored if event["type"] in ("call", "result")}
    for event in shown.events:
        if event["type"] in ("call", "result") and not event.get("partial"):
            assert (event["type"], event["id"]) in kept


async def check_edits(project: Path, data: Path, conversation: str) -> None:
    """What the commands did to the file is recorded without a gap, from nothing to what it holds now."""
    async with await Store.open(data) as store:
        edits = await Edits(store.database).of_conversation(conversation, path="marks.txt")
    known = [edit for edit in edits if edit.kind != "snapshot"]
    assert known[0].before == ABSENT
    for earlier, later in pairwise(known):
        assert later.before.equals(earlier.after)
    digest = hashlib.sha256((project / "marks.txt").read_bytes()).hexdigest()
    assert known[-1].after.digest == digest
    assert all(edit.before.kept for edit in known[1:])
    assert not [*project.rglob(".cogency-*")]


@pytest.mark.timeout(60 + 6 * CRASHES)
async def test_a_program_that_is_killed_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    project, data = tmp_path / "project", tmp_path / "data"
    project.mkdir()
    chance = random.Random(20261122)
    model = Model()
    killed = Counter[str]()
    ways = [WAYS["Responses WebSocket"], WAYS["Responses"]]
    async with ways[0].peer(model, model=ways[0].model) as peer:
        shown = await run(project, data, ways[0], peer, "", None)
    assert [event["type"] for event in shown.events].count("error") == 0
    assert shown.last == "end"
    async with await Store.open(data) as store:
        [known] = await store.conversations(limit=2)
    conversation = known.id
    for number in range(CRASHES):
        way = ways[number % 2]
        moment = (number % PARTS + chance.random()) * LONGEST / PARTS
        async with way.peer(model, model=way.model, latency=0.004, token=6) as peer:
            shown = await run(project, data, way, peer, conversation, moment)
        killed[shown.last] += 1
        await check(shown, data, conversation)
        marks = Counter(re.findall(r"mark-\d+", (project / "marks.txt").read_text()))
        assert max(marks.values()) == 1, marks
    way = ways[0]
    async with way.peer(model, model=way.model) as peer:
        shown = await run(project, data, way, peer, conversation, None)
    assert shown.last == "end"
    await check_edits(project, data, conversation)
    # It was killed while it did different things, not always in the same place.
    assert len(killed) >= 3, killed
    assert killed["error"] == 0, killed
