"""What commands change is found, whatever they do, whenever they do it, and each change is one command's."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cogency_tui.agent.edits import command_watch
from cogency_tui.agent.edits.command_watch import CommandEdits
from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.tools.shell.background import Background
from cogency_tui.workspace import watch
from tests.agent.journaling import Desk, desk_at, settle, until

LARGE = (bytes(1001) + os.urandom((1 << 20) - 1001)) * 2
"""A binary of 2 MB; what is written into its first zeros makes it another."""

LIMITS = JournalLimits(left=1 << 20, at_once=1 << 20)
"""Limits that it exceeds."""


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


def _git(desk: Desk, *arguments: str) -> None:
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *person, *arguments], cwd=desk.root, check=True, capture_output=True)


def _commit(desk: Desk) -> None:
    _git(desk, "init", "-q")
    _git(desk, "add", "-A")
    _git(desk, "commit", "-qm", "x")


async def _undo(desk: Desk) -> None:
    plan = await desk.undo.of_turn()
    assert plan.obstacles == ()
    await desk.undo.apply(plan)


async def _seen(desk: Desk, command: str) -> CommandEdits:
    """What is found of a command."""
    async with desk.calls.around_command("call", "shell") as found:
        process = await asyncio.create_subprocess_exec("bash", "-c", command, cwd=desk.root)
        assert await process.wait() == 0
    return found


PASSING: list[tuple[str, list[str], list[str]]] = [
    ("true", [], []),
    ("echo > tmp; rm tmp", ["tmp"], []),
    ("echo > sub/tmp; echo > tmp; rm tmp sub/tmp", ["sub/tmp", "tmp"], []),
    ("mkdir d; rmdir d", ["d"], []),
    ("echo > x.log; rm x.log; mkdir node_modules; echo > node_modules/x; rm -r node_modules", [], []),
    ("echo 2 > a; printf '1\\n' > a", [], ["a"]),
    ("cp -p a ../was; echo 2 > a; printf '1\\n' > a; touch -r ../was a", [], ["a"]),
    ("mv a b; mv b a", ["b"], ["a"]),
    ("echo 2 > a; echo > new; rm sub/x", [], []),
    ("mv a b", [], []),
]
"""Commands, what they make and remove, and what they write and leave as it was."""


async def test_what_does_not_last_is_noted(desk: Desk) -> None:
    for number in range(len(PASSING)):
        desk.put(f"{number}/a", "1\n")
        desk.put(f"{number}/sub/x", "1\n")
    desk.put(".gitignore", "*.log\n")
    settle()
    commands = enumerate(
        command.replace("../was", f"../../was{n}") for n, (command, _, _) in enumerate(PASSING)
    )
    found = await _seen(desk, "; ".join(f"(cd {number}; {command})" for number, command in commands))
    gone = [f"{number}/{name}" for number, (_, names, _) in enumerate(PASSING) for name in names]
    touched = [f"{number}/{name}" for number, (_, _, names) in enumerate(PASSING) for name in names]
    assert (found.made_and_removed, found.touched, found.unwatched) == (gone, touched, "")


async def test_notes_are_short_whatever_was_touched(desk: Desk) -> None:
    desk.put("a", "1\n")
    settle()
    found = await _seen(desk, "for i in {1..30}; do echo > $'\\e'$i; rm $'\\e'$i; done; touch a")
    first, second = found.notes
    assert first.startswith("[created and then deleted: \\x1b1, ")
    assert first.endswith(" and 27 more]")
    assert second == "[written or touched, but unchanged: a]"


OF_A_MOMENT = [
    "python3 -m py_compile a.py; mv __pycache__/*.pyc a.pyc; rm -r a.pyc __pycache__",
    "mkdir pytest-cache-files-x1; echo > pytest-cache-files-x1/tag; rm -r pytest-cache-files-x1",
    "mkdir -p .my_cache/v; rm -r .my_cache; echo > .coverage.host.1; rm .coverage.host.1",
    "sed -i s/1/2/ a.py",
    "echo > .a.py.swp; echo > a.py~; rm .a.py.swp a.py~",
]


async def test_caches_and_files_of_a_moment_are_no_news(desk: Desk) -> None:
    for number in range(len(OF_A_MOMENT)):
        desk.put(f"{number}/a.py", "1\n")
    settle()
    found = await _seen(
        desk, "; ".join(f"(cd {number}; {command})" for number, command in enumerate(OF_A_MOMENT))
    )
    of = {name.split("/")[0] for name in found.made_and_removed}
    assert of | {"0"} == {f"{number}" for number in range(len(OF_A_MOMENT))}
    assert found.notes == []


@pytest.mark.exhaustive
async def test_where_not_all_can_be_watched_that_is_said_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (watch, command_watch):
        monkeypatch.setattr(module, "MOST_DIRECTORIES", 20)
    for number in range(21):
        (desk.root / f"{number}").mkdir()
    assert "Only 20 of the project's directories are watched" in (await _seen(desk, "true")).notes[0]
    assert (await _seen(desk, "true")).notes == []
    (edit,) = (await _seen(desk, "echo > 20/x")).edits
    assert edit.kind == "created"


@pytest.mark.exhaustive
async def test_a_large_file_that_git_has_comes_back_byte_for_byte(tmp_path: Path) -> None:
    # Nothing is kept beforehand: it can only come from git.
    async with desk_at(tmp_path / "project", tmp_path / "data", replace(LIMITS, beforehand=0)) as desk:
        desk.put("large.bin", LARGE, 0o755)
        desk.put("deleted.bin", LARGE[::-1])
        _commit(desk)
        settle()
        before = desk.tree()
        await desk.run(
            "printf x >> large.bin; chmod 600 large.bin; rm deleted.bin; git add -A; git commit -qm y"
        )
        assert sorted(await desk.told()) == [("changed", "large.bin"), ("deleted", "deleted.bin")]
        await _undo(desk)
        after = desk.tree()
        assert {name: after[name] for name in ("large.bin", "deleted.bin")} == {
            name: before[name] for name in ("large.bin", "deleted.bin")
        }


async def test_what_git_has_with_other_line_ends_is_not_taken_for_the_file(tmp_path: Path) -> None:
    async with desk_at(
        tmp_path / "project", tmp_path / "data", JournalLimits(small=10, beforehand=0)
    ) as desk:
        desk.put(".gitattributes", "*.txt text eol=crlf\n")
        desk.put("a.txt", b"one\r\ntwo\r\nthree\r\n")
        _commit(desk)
        settle()
        (edit,) = await desk.run("echo >> a.txt")
        assert (edit.before.known, edit.before.size) == (False, 17)


async def test_a_large_file_that_git_does_not_have_comes_back_byte_for_byte(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", replace(LIMITS, at_once=4 << 20)) as desk:
        desk.put("large.bin", LARGE)
        before = desk.tree()
        await desk.run("printf x | dd of=large.bin conv=notrunc bs=1 seek=1000 2>/dev/null")
        await _undo(desk)
        assert desk.tree() == before


async def test_what_one_command_left_is_known_to_the_next_however_large(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(left=1000)) as desk:
        await desk.run("head -c 3000000 /dev/urandom > large")
        settle()
        data = (desk.root / "large").read_bytes()
        await desk.say()
        await desk.run("rm large")
        await _undo(desk)
        assert (desk.root / "large").read_bytes() == data


async def test_all_is_kept_in_the_background_within_the_limits(tmp_path: Path) -> None:
    limits = JournalLimits(small=10, at_once=0, largest=5000, beforehand=9000)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        for number, size in enumerate((4000, 6000, 4000, 4000)):
            path = desk.put(f"{number}", os.urandom(size))
            os.utime(path, (1e9 - number, 1e9 - number))
        settle()
        await desk.journal.warm()
        edits = await desk.run("for f in *; do echo >> $f; done")
        assert {edit.path: edit.before.kept for edit in edits} == {
            "0": True,
            "1": False,
            "2": True,
            "3": False,
        }


async def test_what_was_there_before_is_known_though_another_command_begins(desk: Desk) -> None:
    desk.put("a", "1\n")
    settle()
    first = asyncio.create_task(desk.run("echo 2 > a; touch ready; while [ ! -e go ]; do sleep 0.01; done"))
    await until((desk.root / "ready").exists)
    await desk.run("true")
    await desk.journal.warm()
    desk.put("go", "")
    await first
    (edit,) = await desk.edits(path="a")
    assert edit.call == "call-1"
    assert (await desk.journal.blobs()).read(edit.before.digest, edit.before.size) == b"1\n"


@pytest.mark.exhaustive
async def test_overlapping_commands_share_no_change(desk: Desk) -> None:
    for number in range(40):
        desk.put(f"{number}", "0\n")
    settle()
    # All of them begin before any of them changes something: what had changed before one began is told by
    # another, which may end, and tell it, later.
    place = desk.root.parent
    text = (
        "touch %(place)s/begun-%(name)s; while [ ! -e %(place)s/go ]; do sleep 0.01; done; "
        "for i in {0..39}; do echo %(name)s >> $i; done"
    )
    texts = [text % {"place": place, "name": name} for name in ("x", "y", "z")]
    running = [asyncio.create_task(desk.run(each)) for each in texts]
    await until(lambda: len(list(place.glob("begun-*"))) == 3)
    (place / "go").touch()
    await asyncio.gather(*running)
    edits = await desk.edits()
    for number in range(40):
        chain = [edit for edit in edits if edit.path == f"{number}"]
        assert chain
        # Each goes on where the one before ended: nothing is told twice, nothing is left out.
        for earlier, later in pairwise(chain):
            assert later.before.equals(earlier.after)
        assert chain[0].before.size == 2
        assert chain[-1].after.size == 8
    await _undo(desk)
    assert {(desk.root / f"{number}").read_text() for number in range(40)} == {"0\n"}


class _Office:
    """A desk with commands in the background."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.background = Background(grace=0.2)

    async def start(self, call: str, command: str) -> str:
        """Start a command whose call returns at once."""
        async with self.desk.calls.around_command(call, "shell") as found:
            id = await self.background.start(command, self.desk.root, os.environ)
            found.goes_on(lambda: self.background.over(id))
        return id

    async def told(self) -> list[tuple[str, str, str]]:
        return [(edit.call, edit.kind, edit.path) for edit in await self.desk.edits()]

    async def close(self) -> None:
        await self.background.close()
        await self.desk.journal.close()


@pytest.fixture
async def office(desk: Desk) -> AsyncIterator[_Office]:
    office = _Office(desk)
    yield office
    await office.close()


_WAIT = "while [ ! -e {0} ]; do sleep 0.01; done; rm {0}; "


async def test_what_a_background_command_changes_by_its_end_is_its_calls(office: _Office) -> None:
    office.desk.put("a", "1\n")
    settle()
    await office.start("server", _WAIT.format("go") + "echo 2 >> a; echo > made")
    assert await office.told() == []
    await office.desk.say()
    office.desk.put("go", "")
    await office.desk.journal.close()
    assert await office.told() == [("server", "changed", "a"), ("server", "created", "made")]
    (edit, _) = await office.desk.edits()
    assert edit.origin.turn == 1
    assert (await office.desk.journal.blobs()).read(edit.before.digest, edit.before.size) == b"1\n"


async def test_what_a_background_command_changed_is_found_when_the_turn_ends(office: _Office) -> None:
    await office.start("server", ": > made; sleep 60")
    await until((office.desk.root / "made").exists)
    await office.desk.journal.scan()
    assert await office.told() == [("server", "created", "made")]
    await office.desk.journal.scan()
    await office.close()
    assert await office.told() == [("server", "created", "made")]


async def test_a_later_command_takes_only_what_changes_while_it_runs(office: _Office) -> None:
    root = office.desk.root
    await office.start("server", _WAIT.format("go") + "echo > between; echo > own; sleep 60")
    office.desk.put("go", "")
    await until((root / "own").exists)
    async with office.desk.calls.around_command("later", "shell"):
        office.desk.put("later", "")
    office.desk.put("after", "")
    async with office.desk.calls.around_command("last", "shell"):
        pass
    assert sorted(await office.told()) == [
        ("later", "created", "later"),
        ("server", "created", "after"),
        ("server", "created", "between"),
        ("server", "created", "own"),
    ]


async def test_what_other_tools_do_meanwhile_is_theirs(office: _Office) -> None:
    office.desk.put("a", "1\n")
    await office.start("server", "sleep 60")
    await office.desk.write(("a", "2\n"), ("b", "2\n"))
    await office.close()
    assert {call for call, _, _ in await office.told()} == {"call-1"}


@pytest.mark.exhaustive
async def test_of_two_background_commands_the_later_has_what_changes(office: _Office) -> None:
    await office.start("one", "sleep 60")
    id = await office.start("two", "sleep 60")
    office.desk.put("a", "")
    await office.background.stop(id)
    await until(lambda: len(office.background.listed()) == 2 and office.background.get(id).ended is not None)
    await office.desk.journal.scan()
    office.desk.put("b", "")
    await office.close()
    found = {path: call for call, _, path in await office.told()}
    assert found["a"] == "two"
    assert set(found) == {"a", "b"}
    assert len(await office.told()) == 2


async def test_a_background_command_that_ends_during_another_is_recorded_once(office: _Office) -> None:
    async with office.desk.calls.around_command("other", "shell"):
        # At once: what a snapshot sees between the creation and a write is two changes.
        await office.start("server", ": > made")
        await until((office.desk.root / "made").exists)
        await office.desk.journal.close()
    await office.desk.journal.scan()
    assert [path for _, _, path in await office.told()] == ["made"]


async def test_the_model_is_told_that_the_project_directory_is_gone(desk: Desk) -> None:
    desk.put("a", "one\n")
    settle()
    async with desk.calls.around_command("c", "shell") as found:
        desk.root.rename(desk.root.with_name("elsewhere"))
    assert "[The project directory no longer exists.]" in found.notes
