"""Two conversations that edit one file at the same time, by random schedules, in one process and in two.

Every line is attributed to the conversation that wrote it, a revert leaves the other's lines, and whatever was
ever written is in the file or can be restored.
"""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.blame import blame_of
from cogency_tui.agent.review.model import FileKey
from cogency_tui.agent.review.review import Review
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.store import Store
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.paths import Workspace
from tests.agent.edits.parties import Call, Elsewhere, Party, parties_here
from tests.agent.templates import TEMPLATES
from tests.exhaustive import sampled

NAME = "app.py"
START = [f"start {number}" for number in range(1, 16)]
STEPS = 7
SCHEDULES = range(100)
"""In one process, and as many in two."""


def writer_of(line: str) -> str:
    """The conversation that wrote a line; `start` for those that were there."""
    return line.partition(" ")[0]


class Schedule:
    """One random schedule, and what must hold after each of its steps."""

    def __init__(self, seed: int, project: Path, store: Store, parties: Sequence[Party]) -> None:
        self.random = Random(seed)
        self.path = project / NAME
        self.store = store
        self.parties = parties
        self.journal = Journal(Workspace(project), self._store)
        self.written = set(START)
        self.restored = set[str]()
        """Lines that a command brought back, since it had read the file before the other party replaced them:
        they are of the command, whoever wrote them first."""
        self.returned = set[str]()
        """Lines that a command of the other party had removed, since it rewrote the file, and a decision on
        that brought back: another decision may remove them again."""
        self.log: list[str] = []
        self._count = itertools.count(1)

    async def _store(self) -> Store:
        return self.store

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    async def run(self) -> None:
        for _ in range(STEPS):
            what = self.random.choice(["work", "work", "both", "both", "decide", "decide", "over"])
            one, other = self.random.sample(self.parties, 2)
            if what == "work":
                await self._work(one)
            elif what == "both":
                await self._both(one, other)
            elif what == "over":
                await self._redo_over(one, other)
            else:
                await self._decide(one, other)
            await self._check()

    async def _work(self, party: Party) -> None:
        """One of them works alone: nothing but what it replaces is gone."""
        before = self.lines
        added, removed, calls = self._change(party, before)
        done = (await party.call(*calls))[-1]
        assert done, self.log
        assert set(self.lines) == (set(before) | {added}) - {removed}, self.log

    async def _both(self, one: Party, other: Party) -> None:
        """Both work at the same time: of tools, what each reports as done is there."""
        before = self.lines
        changes = [self._change(party, before) for party in (one, other)]
        done = await asyncio.gather(
            *(party.call(*calls) for party, (_, _, calls) in zip((one, other), changes, strict=True))
        )
        if any(calls[-1][0] == "shell" for _, _, calls in changes):
            # A command that rewrites a file does not notice what was written meanwhile.
            replaced = {old for (_, old, _), succeeded in zip(changes, done, strict=True) if succeeded[-1]}
            self.restored |= replaced.intersection(self.lines)
            return
        expected = set(before)
        for (added, removed, _), succeeded in zip(changes, done, strict=True):
            if succeeded[-1]:
                expected = (expected | {added}) - {removed}
        assert set(self.lines) == expected, self.log

    async def bring_back(self, one: Party, other: Party) -> None:
        """A command of one has read the file when the other replaces a line of its own, and writes it back."""
        theirs, better, own = (f"{party.name} {next(self._count)}" for party in (other, other, one))
        self.written |= {theirs, better, own}
        read, go = (self.path.with_name(name) for name in ("read", "go"))
        for fifo in (read, go):
            os.mkfifo(fifo)
        rewrite = f"sed -i -e '1e echo > {read.name}; cat {go.name}' -e '$a {own}' {NAME}"
        assert await other.call(("edit", {"file": NAME, "old": "start 8\n", "new": f"{theirs}\n"})) == [True]
        command = asyncio.create_task(one.call(("shell", {"command": rewrite})))
        await in_thread(read.read_text)
        assert await other.call(("edit", {"file": NAME, "old": theirs, "new": better})) == [True]
        await in_thread(go.write_text, "")
        assert await command == [True]
        assert {theirs, own} <= set(self.lines)
        assert better not in self.lines
        self.restored.add(theirs)
        await self._check()

    async def _decide(self, one: Party, other: Party) -> None:
        """The user reverts changes of one of them, or undoes that: the other's lines stay."""
        before = self.lines
        what = self.random.choice(["revert", "revert", "all", "undo", "redo", "back", "again"])
        self.log.append(f"{one.name} {what}")
        left = await one.decide(what, self.random.randrange(1000))
        self.log.append(f"-> {left}")
        theirs = self._staying(other, before)
        now = [line for line in self.lines if line in set(theirs)]
        assert now == theirs, (self.log, before, self.lines)
        self._note_returned(other, before)
        if what == "all" and not left and not await self._shared():
            left_over = [line for line in self.lines if writer_of(line) == one.name]
            assert self.restored.issuperset(left_over), (self.log, self.lines)

    async def _redo_over(self, one: Party, other: Party) -> None:
        """The user undoes the last turn of one, the other works, and the user redoes it: what the other wrote
        stays, and what was undone is there again, unless it conflicts.
        """
        before = self.lines
        self.log.append(f"{one.name} undo, redo over {other.name}")
        left = await one.decide("undo", 0)
        undone = self.lines
        self._note_returned(other, before)
        await self._work(other)
        between = self.lines
        left += await one.decide("redo", 0)
        self.log.append(f"-> {left}")
        theirs = self._staying(other, between)
        now = self.lines
        assert [line for line in now if line in set(theirs)] == theirs, (self.log, between, now)
        if not left:
            back = set(before) - set(undone)
            gone = set(undone) - set(before)
            assert back <= set(now), (self.log, before, now)
            assert not gone & set(now), (self.log, before, now)
            assert set(between) - gone <= set(now), (self.log, between, now)

    def _note_returned(self, party: Party, before: Sequence[str]) -> None:
        """Note the lines of a party that a decision on the other's changes has brought back."""
        self.returned.update(line for line in set(self.lines) - set(before) if writer_of(line) == party.name)

    def _staying(self, party: Party, lines: Sequence[str]) -> list[str]:
        """The lines of a party that no decision on the other's changes may touch."""
        exempt = self.returned | self.restored
        return [line for line in lines if writer_of(line) == party.name and line not in exempt]

    async def _shared(self) -> bool:
        """True if some change may be of either of them."""
        edits = await (await self.journal.edits()).of_project(self.journal.root, limit=1000)
        return any(edit.shared_with for edit in edits)

    def _change(self, party: Party, lines: Sequence[str]) -> tuple[str, str, list[Call]]:
        """A line that a party adds, one that it replaces (or none), and the calls that do so."""
        new = f"{party.name} {next(self._count)}"
        at = self.random.randrange(len(lines))
        old = lines[at]
        replaces = writer_of(old) in ("start", party.name) and self.random.random() < 0.4
        tool = self.random.choice(["edit", "edit", "write", "shell"])
        self.log.append(f"{party.name} {tool}: {new} {'for' if replaces else 'after'} {old}")
        self.written.add(new)
        if tool == "shell":
            command = f"sed -i '/^{old}$/{'c' if replaces else 'a'} {new}' {NAME}"
            return new, old if replaces else "", [("shell", {"command": command})]
        put = [new] if replaces else [old, new]
        if tool == "edit":
            text = "".join(f"{line}\n" for line in put)
            return new, old if replaces else "", [("edit", {"file": NAME, "old": f"{old}\n", "new": text})]
        whole: Call = ("put", {"file": NAME, "old": old, "new": put})
        return new, old if replaces else "", [("read", {"file": NAME}), whole]

    async def _check(self) -> None:
        edits = [
            edit
            for edit in reversed(await (await self.journal.edits()).of_project(self.journal.root, limit=1000))
            if edit.path == NAME and edit.kind != "snapshot"
        ]
        await self._check_owners()
        await self._check_reviews()
        await self._check_contents(edits)

    async def _check_owners(self) -> None:
        for line in (await blame_of(self.journal, self.store, NAME)).lines:
            edit, writer = line.edit, writer_of(line.text)
            owners = {"start"} if edit is None else {edit.origin.conversation, *edit.shared_with}
            assert writer in owners or line.text in self.restored, (line, self.log)

    async def _check_reviews(self) -> None:
        """The hunks of a conversation add no line of another."""
        for party in self.parties:
            review = Review(self.journal, self._store, party.name)
            for group in (await review.overview()).groups:
                for file in group.files:
                    diff = await review.diff(FileKey(file.key.turn, file.path, file.key.replaced))
                    for hunk in diff.hunks:
                        added = [row.text for row in diff.rows(hunk) if row.kind == "added"]
                        strange = [
                            line
                            for line in added
                            if writer_of(line) not in (party.name, "start") and line not in self.restored
                        ]
                        shared = any(edit.shared_with for edit in hunk.edits)
                        assert not strange or hunk.outline.mixed or shared, (party.name, added, self.log)

    async def _check_contents(self, edits: Sequence[Edit]) -> None:
        """Every content is stored, nothing was changed beside the edits, and no line is lost."""
        blobs = await self.journal.blobs()
        contents = [
            blobs.read(version.digest).decode()
            for edit in edits
            for version in (edit.before, edit.after)
            if version.kept
        ]
        assert all(edit.before.kept and edit.after.kept for edit in edits), self.log
        for earlier, later in itertools.pairwise(edits):
            is_chained = earlier.after.holds(later.before) or later.shared_with
            assert is_chained, (earlier, later, self.log)
        there = {line for content in contents for line in content.splitlines()} | set(self.lines)
        made = {line for line in self.written if line in there or writer_of(line) == "start"}
        assert set(self.lines) <= self.written, self.log
        assert made >= set(self.lines)


async def run(
    seed: int, tmp_path: Path, parties: Sequence[Party], *, after_bringing_back: bool = False
) -> None:
    project, data = tmp_path / "project", tmp_path / "data"
    async with await Store.open(data) as store:
        schedule = Schedule(seed, project, store, parties)
        if after_bringing_back:
            await schedule.bring_back(*parties)
        await schedule.run()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    project, data = tmp_path / "project", tmp_path / "data"
    project.mkdir()
    (project / NAME).write_text("".join(f"{line}\n" for line in START))
    TEMPLATES.copy_store(data)
    return project, data


@pytest.mark.parametrize("seed", sampled(SCHEDULES, quick=4))
async def test_in_one_process(seed: int, tmp_path: Path, places: tuple[Path, Path]) -> None:
    async with parties_here(*places) as parties:
        await run(seed, tmp_path, parties)


@pytest.fixture(scope="module")
def elsewhere() -> Generator[list[Elsewhere]]:
    parties = [Elsewhere(name) for name in "ab"]
    yield parties
    for party in parties:
        party.end()


@asynccontextmanager
async def inside(parties: Sequence[Elsewhere], places: tuple[Path, Path]) -> AsyncGenerator[None]:
    """The block in which these are in the project."""
    for party in parties:
        await party.enter(*places)
    try:
        yield
    finally:
        for party in parties:
            await party.leave()


@pytest.mark.parametrize("seed", sampled(SCHEDULES, quick=4))
async def test_in_two_processes(
    seed: int, tmp_path: Path, places: tuple[Path, Path], elsewhere: list[Elsewhere]
) -> None:
    async with inside(elsewhere, places):
        await run(seed, tmp_path, elsewhere)


@pytest.mark.parametrize("seed", sampled(range(20), quick=1))
async def test_after_a_command_has_brought_back_what_the_other_process_replaced(
    seed: int, tmp_path: Path, places: tuple[Path, Path], elsewhere: list[Elsewhere]
) -> None:
    async with inside(elsewhere, places):
        await run(seed, tmp_path, elsewhere, after_bringing_back=True)
