"""The journal: every change once, by whom it was made, with what was there before, whatever ends a call."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import Image
from cogency_tui.store.edit_records import ABSENT, Edit, Version
from cogency_tui.store.export_import import exported
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import Draft, Prompts
from cogency_tui.store.store import Store
from cogency_tui.tools import file_writes
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.journaling import Desk, desk_at, settle, until


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


def file(data: bytes, mode: int = 0o644, *, kept: bool = True) -> Version:
    return Version("file", hashlib.sha256(data).hexdigest(), len(data), mode, kept)


async def content(desk: Desk, version: Version) -> bytes:
    return (await desk.journal.blobs()).read(version.digest, version.size)


async def test_a_write_is_recorded_with_what_was_there_before(desk: Desk) -> None:
    desk.put("a", b"old\r\n\xff", 0o755)
    await desk.write(("a", b"new"), ("new/deep/b", "made"))

    first, second = await desk.edits()
    assert (first.kind, first.path, first.before, first.after) == (
        "changed",
        "a",
        file(b"old\r\n\xff", 0o755),
        file(b"new", 0o755),
    )
    assert (second.kind, second.before, second.after, second.made) == (
        "created",
        ABSENT,
        file(b"made"),
        "new",
    )
    assert (first.call, first.tool, first.origin.turn) == ("call-1", "write", 1)
    assert await content(desk, first.before) == b"old\r\n\xff"
    assert await content(desk, first.after) == b"new"


async def test_a_write_through_a_link_is_one_of_the_file_behind_it(desk: Desk) -> None:
    desk.put("real", "old")
    (desk.root / "link").symlink_to("real")
    await desk.write(("link", "new"))
    assert await desk.told() == [("changed", "real")]


async def test_a_write_that_is_refused_records_nothing(desk: Desk) -> None:
    location = desk.workspace.locate("a")
    stale = file_writes.Change(location, b"as it was read", b"new", "")
    desk.put("a", "the person's")
    with pytest.raises(ToolError, match="has just changed"):
        async with desk.calls.writing("c", "write", [stale]):
            await in_thread(file_writes.apply, desk.workspace, [stale])
    assert await desk.edits() == []


async def test_of_a_write_that_breaks_off_what_was_made_is_recorded(desk: Desk) -> None:
    desk.put("a", "1")
    desk.put("b", "1")
    both = [file_writes.Change(desk.workspace.locate(name), b"1", b"2", "") for name in "ab"]

    async def write() -> None:
        async with desk.calls.writing("c", "write", both):
            await in_thread(file_writes.apply, desk.workspace, both[:1])
            await asyncio.Event().wait()

    task = asyncio.create_task(write())
    await until(lambda: (desk.root / "a").read_bytes() == b"2")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await desk.told() == [("changed", "a")]


@pytest.mark.exhaustive
async def test_a_make_like_command_is_forty_edits_of_one_turn(desk: Desk) -> None:
    for number in range(60):
        desk.put(f"src/{number}.c", f"int f{number};\n")
    desk.put("build.sh", "for i in {0..39}; do echo '/* built */' >> src/$i.c; done\n")

    edits = await desk.run("bash build.sh")

    assert sorted(edit.path for edit in edits) == sorted(f"src/{number}.c" for number in range(40))
    assert await desk.edits(turn=1) == edits
    assert {(edit.kind, edit.call, edit.tool) for edit in edits} == {("changed", "call-1", "shell")}
    by_path = {edit.path: edit for edit in edits}
    assert by_path["src/7.c"].before == file(b"int f7;\n")
    assert await content(desk, by_path["src/7.c"].before) == b"int f7;\n"
    assert by_path["src/7.c"].after == file(b"int f7;\n/* built */\n")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a; touch a; true", []),
        ("echo b > tmp; rm tmp", []),
        ("printf 'a\\n' > a", []),
        ("cp a copy; mv copy a", []),
        ("chmod 755 a", [("mode", "a", "")]),
        ("rm a", [("deleted", "a", "")]),
        ("mv a b", [("renamed", "b", "a")]),
        ("cp a b; rm a", [("renamed", "b", "a")]),
        ("mv a b; echo more >> b", [("created", "b", ""), ("deleted", "a", "")]),
        ("ln -s a l", [("created", "l", "")]),
        ("rm a; ln -s elsewhere a", [("changed", "a", "")]),
        ("rm a; mkdir a; echo x > a/x", [("created", "a/x", ""), ("deleted", "a", "")]),
        (
            "printf '\\0\\1' > bin; head -c 3000000 /dev/urandom > big",
            [("created", "big", ""), ("created", "bin", "")],
        ),
    ],
)
async def test_a_command_is_recorded_by_what_files_hold(
    desk: Desk, command: str, expected: list[tuple[str, str, str]]
) -> None:
    desk.put("a", "a\n")
    edits = await desk.run(command)
    assert sorted((edit.kind, edit.path, edit.old_path) for edit in edits) == expected
    for edit in edits:
        for version in (edit.before, edit.after):
            assert version.kind == "absent" or await content(desk, version) is not None


async def test_a_second_command_knows_what_the_first_one_and_the_person_left(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.run("echo 2 >> a")
    desk.put("a", "the person's\n")
    (edit,) = await desk.run("echo 3 >> a")
    assert await content(desk, edit.before) == b"the person's\n"


async def test_what_is_too_large_to_be_kept_beforehand_is_said_to_be_unknown(tmp_path: Path) -> None:
    limits = JournalLimits(small=1000, largest=5000, left=3000, beforehand=0)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        desk.put("a", bytes(2000))
        desk.put("b", bytes(2000))
        desk.put("c", bytes(2000))
        settle()
        edits = await desk.run("echo >> a; chmod 600 b; mv c d; head -c 6000 /dev/zero > e; touch none")
        found = {edit.path: (edit.kind, edit.before, edit.after) for edit in edits}
        assert found == {
            "a": ("changed", Version("file", "", 2000, 0o644), file(bytes(2000) + b"\n")),
            "b": ("mode", file(bytes(2000)), file(bytes(2000), 0o600)),
            "d": ("renamed", file(bytes(2000)), file(bytes(2000))),
            "e": ("created", ABSENT, file(bytes(6000), kept=False)),
            "none": ("created", ABSENT, file(b"")),
        }


async def test_only_so_much_is_kept_beforehand_the_latest_files_first(tmp_path: Path) -> None:
    async with desk_at(
        tmp_path / "project", tmp_path / "data", JournalLimits(small_files=2, beforehand=0)
    ) as desk:
        for age, name in enumerate(("new", "newer", "old", "oldest")):
            moment = 1e9 - age * 100 + (name == "newer") * 500
            os.utime(desk.put(name, "1\n"), (moment, moment))
        settle()
        edits = await desk.run("for f in *; do echo 2 >> $f; done")
        assert {edit.path for edit in edits if edit.before.known} == {"new", "newer"}
        assert {edit.path for edit in edits} == {"new", "newer", "old", "oldest"}


async def test_nothing_is_put_on_the_disk_before_a_file_changes(desk: Desk) -> None:
    for name in "abc":
        desk.put(name, f"{name}\n")
    settle()
    await desk.journal.warm()
    blobs = await desk.journal.blobs()
    assert blobs.used == 0
    await desk.run("echo 2 >> b")
    assert sum(path.is_file() for path in blobs.directory.rglob("*")) == 2


@pytest.mark.exhaustive
async def test_a_command_that_times_out_or_is_cancelled_is_recorded(desk: Desk) -> None:
    edits = await desk.run("echo 1 > a; sleep 60", timeout=3)
    assert [edit.path for edit in edits] == ["a"]

    task = asyncio.create_task(desk.run("echo 1 > b; sleep 60"))
    await until((desk.root / "b").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await desk.told() == [("created", "a"), ("created", "b")]


async def test_what_a_tool_writes_meanwhile_is_not_the_commands(desk: Desk) -> None:
    desk.put("a", "1\n")
    task = asyncio.create_task(desk.run("while [ ! -e go ]; do sleep 0.01; done; rm go; echo 2 > own"))
    await asyncio.sleep(0.1)
    await desk.write(("a", "the tool's\n"), ("b", "the tool's\n"))
    desk.put("go", "")
    await task
    assert sorted((edit.tool, edit.path) for edit in await desk.edits()) == [
        ("shell", "own"),
        ("write", "a"),
        ("write", "b"),
    ]


async def test_what_a_command_did_before_and_after_a_tool_is_told_apart(desk: Desk) -> None:
    desk.put("a", "1\n")
    command = "echo 2 >> a; touch ready; while [ ! -e go ]; do sleep 0.01; done; echo 4 >> a; rm go ready"
    task = asyncio.create_task(desk.run(command))
    await until((desk.root / "ready").exists)
    await desk.write(("a", "1\n2\n3\n"))
    desk.put("go", "")
    await task
    edits = await desk.edits(path="a")
    steps = {(edit.tool, await content(desk, edit.before), await content(desk, edit.after)) for edit in edits}
    # What it had done before the tool did is known by what the tool found.
    assert steps == {
        ("shell", b"1\n", b"1\n2\n"),
        ("write", b"1\n2\n", b"1\n2\n3\n"),
        ("shell", b"1\n2\n3\n", b"1\n2\n3\n4\n"),
    }


async def test_of_two_commands_at_once_the_change_is_that_of_one(desk: Desk) -> None:
    desk.put("a", "1\n")
    first = asyncio.create_task(desk.run("while [ ! -e go ]; do sleep 0.01; done"))
    second = asyncio.create_task(desk.run("sleep 0.2; echo 2 >> a"))
    await second
    desk.put("go", "")
    await first
    assert [(edit.call, edit.path) for edit in await desk.edits(path="a")] == [("call-2", "a")]


async def test_an_edit_by_another_process_is_not_the_commands(desk: Desk, tmp_path: Path) -> None:
    task = asyncio.create_task(desk.run("while [ ! -e go ]; do sleep 0.01; done; rm go"))
    await asyncio.sleep(0.2)
    async with await Store.open(tmp_path / "data") as store:
        other = Desk(desk.root, store, desk.conversation, JournalLimits())
        await other.write(("theirs", "x"))
    desk.put("go", "")
    assert await task == []
    assert await desk.told() == [("created", "theirs")]


async def test_an_edit_of_a_sub_agent_is_in_the_persons_turn(desk: Desk) -> None:
    agent = await desk.store.create_conversation(
        os.path.realpath(desk.root),
        dialect="xml",
        provider="p",
        model="m",
        parent=desk.conversation,
        call="c1",
    )
    async with desk.journal.of(agent.id).around_command("c2", "shell") as found:
        desk.put("a", "x")
    assert [(edit.origin.turn, edit.origin.caller) for edit in found.edits] == [(1, agent.id)]
    assert await desk.edits(turn=1) == found.edits


async def test_what_is_at_stake_is_kept_though_ignored_and_its_loss_recorded(desk: Desk) -> None:
    desk.put(".gitignore", "build/\n*.key\n")
    desk.put("build/out/a.o", b"\0object")
    desk.put("build/node_modules/x.js", "made again")
    desk.put("my.key", "secret")
    (desk.root / "build/link").symlink_to("/etc")
    edits = await desk.run("rm -rf build my.key", "build", "my.key", "not there")

    assert sorted((edit.kind, edit.path) for edit in edits) == [
        ("deleted", "build/link"),
        ("deleted", "build/out/a.o"),
        ("deleted", "my.key"),
    ]
    kept = [edit for edit in await desk.edits() if edit.kind == "snapshot"]
    assert sorted(edit.path for edit in kept) == ["build/link", "build/out/a.o", "my.key"]
    by_path: dict[str, Edit] = {edit.path: edit for edit in edits}
    assert await content(desk, by_path["build/out/a.o"].before) == b"\0object"
    assert await content(desk, by_path["build/link"].before) == b"/etc"


async def test_what_is_at_stake_beyond_the_limits_is_counted(tmp_path: Path) -> None:
    limits = JournalLimits(stake_files=2, stake_total=100)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        for number in range(4):
            desk.put(f"d/{number}", bytes(30))
        desk.put("d/z", bytes(1000))
        kept = await desk.calls.snapshot_paths("c", "shell", [desk.root / "d"])
        assert (len(kept.edits), kept.left_out, kept.left_out_size) == (2, 3, 30 * 2 + 1000)


async def test_hard_links_are_recorded_under_all_their_names(desk: Desk) -> None:
    desk.put("a", "1\n")
    (desk.root / "b").hardlink_to(desk.root / "a")
    edits = await desk.run("echo 2 >> a")
    assert sorted((edit.path, edit.after.digest) for edit in edits) == [
        (name, file(b"1\n2\n").digest) for name in ("a", "b")
    ]


async def test_odd_names_are_recorded(desk: Desk) -> None:
    edits = await desk.run("echo > $'new\\nline'; echo > $'\\xff'; echo > ' '")
    assert sorted(edit.path for edit in edits) == [" ", "new\nline", "\udcff"]


async def test_clean_up_removes_what_no_edit_needs(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.run("echo 2 >> a")
    blobs = await desk.journal.blobs()
    unneeded = blobs.put_bytes(b"seen in a plan that was not carried out")
    for path in blobs.directory.rglob("*"):
        os.utime(path, (1, 1))

    cleaned = await desk.journal.clean_up()

    assert cleaned.contents == 1
    assert not blobs.has(unneeded.digest)
    (edit,) = await desk.edits()
    assert await content(desk, edit.before) == b"1\n"
    assert await content(desk, edit.after) == b"1\n2\n"


async def test_what_was_cleaned_up_is_not_relied_on(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(small=1, beforehand=0)) as desk:
        desk.put("a", "1\n")
        await desk.run("echo 2 >> a")
        (edit,) = await desk.run("echo 3 >> a")
        assert edit.before == file(b"1\n2\n")
        (await desk.journal.blobs()).clean((), grace=-1)
        (edit,) = await desk.run("echo 4 >> a")
        assert edit.before == file(b"1\n2\n3\n", kept=False)


async def test_a_crowded_store_is_cleaned_when_it_is_opened(tmp_path: Path) -> None:
    limits = JournalLimits(quota=1000)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        blobs = await desk.journal.blobs()
        blobs.put_bytes(os.urandom(950))
        assert blobs.crowded
        for path in blobs.directory.rglob("*"):
            os.utime(path, (1, 1))
        again = Desk(desk.root, desk.store, desk.conversation, limits)
        assert (await again.journal.blobs()).used == 0


async def test_clean_up_leaves_the_images_of_conversations_and_drafts(desk: Desk) -> None:
    blobs, store = await desk.journal.blobs(), await desk.journal.store()
    sent, waiting, gone = (blobs.put_bytes(word) for word in (b"sent", b"waiting", b"gone"))
    image: Image = {
        **{"name": "a.png", "digest": sent.digest, "media_type": "image/png", "width": 1, "height": 1},
        "size": sent.size,
    }  # pyright: ignore[reportAssignmentType]
    made = await store.create_conversation(str(desk.root), dialect="xml", provider="o", model="m")
    await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": "See", "images": [image]})
    Prompts(store.database.path.parent, desk.root).save(Draft(Written(f"draft {waiting.digest}")))
    for path in blobs.directory.rglob("*"):
        os.utime(path, (1, 1))
    await desk.journal.clean_up()
    assert [blobs.has(each.digest) for each in (sent, waiting, gone)] == [True, True, False]


async def test_edits_of_a_project_that_is_not_here_are_of_this_one_only_if_it_has_the_same_name(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.write(("a", "new"))
    [edit] = await desk.edits()
    database = desk.store.database

    async def counted(project: Path) -> int:
        sql = "UPDATE edits SET project = ?"
        await database.write(lambda connection: connection.execute(sql, (str(project),)) and None)
        return len(await desk.journal.in_history(edit.origin.conversation))

    assert await counted(desk.root) == 1
    assert await counted(tmp_path / "elsewhere" / desk.root.name) == 1
    assert await counted(tmp_path / "elsewhere" / "other") == 0
    (tmp_path / "there" / desk.root.name).mkdir(parents=True)
    assert await counted(tmp_path / "there" / desk.root.name) == 0


async def test_an_export_leaves_out_decisions_in_another_project(desk: Desk) -> None:
    await desk.write(("a", "new"), ("b", "new"))
    edit, _ = await desk.edits()
    await desk.store.database.write(
        lambda connection: (
            connection.execute("UPDATE edits SET project = '/x' WHERE id = ?", (edit.id,)) and None
        )
    )
    blobs = await desk.journal.blobs()
    lines = await desk.store.database.read(
        lambda connection: [*exported(connection, edit.origin.conversation, blobs)]
    )
    assert [line["edit"]["path"] for line in lines if "edit" in line] == ["b"]
