"""Undo: the agent's lines go, everybody else's stay, nothing is half done, and every undo can be undone."""

import os
import subprocess
from collections.abc import AsyncIterator
from itertools import zip_longest
from pathlib import Path

import pytest

from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.errors import ConsentError, LossError, StoreError, UsageError, WorkspaceError
from cogency_tui.store.edit_records import Edit
from cogency_tui.workspace.three_way_merge import hunks
from tests.agent.journaling import Desk, desk_at

LINES = "".join(f"line {number}\n" for number in range(12))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


def swapped(text: str, *lines: tuple[int, str]) -> str:
    """A text with other lines in some places."""
    for number, new in lines:
        text = text.replace(f"line {number}\n", new)
    return text


def act(desk: Desk, command: str) -> None:
    """What a person does in a terminal of their own."""
    subprocess.run(["bash", "-c", command], cwd=desk.root, check=True)


async def undo(desk: Desk, turn: int | None = None) -> list[Edit]:
    return await desk.undo.apply(await desk.undo.of_turn(turn))


async def redo(desk: Desk) -> list[Edit]:
    return await desk.undo.apply(await desk.undo.redo())


async def states(desk: Desk) -> dict[tuple[int, str], str]:
    marks = await (await desk.journal.edits()).marks(desk.conversation)
    return {(mark.edit, mark.hunk): mark.state for mark in marks}


CONTENTS = {
    "utf-8": "α\nβ\nγ\n".encode(),
    "crlf": b"one\r\ntwo\r\nthree\r\n",
    "mixed endings": b"one\r\ntwo\nthree\r\n",
    "no final newline": b"one\ntwo\nthree",
    "latin-1": "één\ntwo\nthree\n".encode("latin-1"),
    "utf-16": "één\ntwo\nthree\n".encode("utf-16"),
    "utf-16 big": b"\xfe\xff" + "één\r\ntwo\r\nthree".encode("utf-16-be"),
    "byte order mark": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "binary": b"\0\1\2\xff" * 100,
    "empty": b"",
    "large": b"0123456789abcdef\n" * 130_000,
}


MODES = (0o644, 0o755, 0o444, 0o600)


@pytest.mark.exhaustive
async def test_files_come_out_of_a_command_and_its_undo_as_they_were(desk: Desk) -> None:
    for number, data in enumerate(CONTENTS.values()):
        desk.put(f"{number}/real", data, MODES[number % len(MODES)])
        (desk.root / f"{number}/link").symlink_to("real")
    before = desk.tree()
    await desk.run(
        "chmod u+w */real; for i in */link; do echo 'the agent was here' >> $i; done; sed -i 's/o/0/' */real; "
        "chmod 640 */real"
    )
    after = desk.tree()
    assert [name for name in before if before[name] == after[name] and name.endswith("real")] == []
    await undo(desk)
    assert desk.tree() == before
    await redo(desk)
    assert desk.tree() == after


async def test_no_undo_makes_a_file_run_as_another_user(desk: Desk) -> None:
    desk.put("real", "1\n", 0o4755)
    await desk.run("echo 2 > real; chmod 640 real")
    await undo(desk)
    assert desk.tree() == {"real": (0o755, b"1\n")}


@pytest.mark.exhaustive
async def test_files_come_out_of_a_write_and_its_undo_as_they_were(desk: Desk) -> None:
    for number, data in enumerate(CONTENTS.values()):
        desk.put(f"src/{number}", data, 0o755)
        (desk.root / f"link{number}").symlink_to(f"src/{number}")
    before = desk.tree()
    longer = [(f"link{number}", data + b"more\n") for number, data in enumerate(CONTENTS.values())]
    await desk.write(*longer, ("new/deep/file", b"x"))
    after = desk.tree()
    assert all(before[f"src/{number}"] != after[f"src/{number}"] for number in range(len(CONTENTS)))
    await undo(desk)
    assert desk.tree() == before
    await redo(desk)
    assert desk.tree() == after


@pytest.mark.parametrize("command", ["echo 2 > new", "echo 2 > a", "rm a", "mv a b", "chmod 755 a"])
async def test_a_change_made_again_after_its_undo_is_undone_and_redone_by_itself(
    desk: Desk, command: str
) -> None:
    desk.put("a", "1\n", 0o644)
    before = desk.tree()
    await desk.run(command)
    after = desk.tree()
    await undo(desk)
    await desk.say()
    await desk.run(command)
    for _ in range(2):
        await undo(desk, 2)
        assert desk.tree() == before
        await redo(desk)
        assert desk.tree() == after


async def test_what_the_person_changed_since_stays(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped(LINES, (2, "the agent's\n"), (9, ""))))
    desk.put(
        "a", "the person's first\n" + swapped(LINES, (2, "the agent's\n"), (6, "the person's\n"), (9, ""))
    )
    await undo(desk)
    assert (desk.root / "a").read_text() == "the person's first\n" + swapped(LINES, (6, "the person's\n"))


async def test_the_same_lines_are_a_conflict_that_a_person_decides(desk: Desk) -> None:
    desk.put("a", LINES)
    desk.put("b", "old\n")
    await desk.write(("a", swapped(LINES, (2, "the agent's\n"))), ("b", "new\n"))
    desk.put("a", swapped(LINES, (2, "both of us\n")), 0o755)
    before = desk.tree()

    plan = await desk.undo.of_turn()
    (obstacle,) = plan.obstacles
    assert (obstacle.path, obstacle.reason) == ("a", "the same lines have changed since (line 3)")
    assert obstacle.merged is not None
    (conflict,) = obstacle.merged.conflicts
    assert (conflict.ours, conflict.theirs) == (b"both of us\n", b"line 2\n")
    with pytest.raises(WorkspaceError, match=r"Nothing was changed\. a: the same lines"):
        await desk.undo.apply(plan)
    assert desk.tree() == before

    with pytest.raises(UsageError, match="Nothing to decide for b"):
        await desk.undo.resolve(plan, "b", b"")
    decided = await desk.undo.resolve(plan, "a", obstacle.merged.resolved([b"decided\n"]))
    await desk.undo.apply(decided)
    assert desk.tree() == {
        "a": (0o755, swapped(LINES, (2, "decided\n")).encode()),
        "b": (0o644, b"old\n"),
    }
    assert set((await states(desk)).values()) == {"reverted"}


async def test_files_in_the_way_can_be_left_out(desk: Desk) -> None:
    await desk.write(("a", "1\n"), ("b", "1\n"))
    desk.put("a", "the person's\n")
    plan = await desk.undo.of_turn()
    assert [(each.path, each.reason) for each in plan.obstacles] == [
        ("a", "it has changed since it was created")
    ]
    await desk.undo.apply(plan.without(["a"]))
    assert desk.tree() == {"a": (0o644, b"the person's\n")}


IN_THE_WAY = [
    ("echo 2 >> a", "rm a", "it has been deleted or renamed since"),
    ("rm a", "echo theirs > a", "another file has been created there since"),
    ("rm a", "mkdir a", "a directory is there now"),
    ("mv a b", "echo theirs > a", "another file is there now"),
    ("echo 2 >> a", "rm a; ln -s b a", "it is no longer the same kind of file"),
    ("echo 2 >> a", "rm a; mkfifo a", "is a FIFO"),
    ("chmod 755 a", "chmod 700 a", "its mode has changed since, too (it is 700)"),
    ("printf '\\0' > a", "printf '\\1\\0' > a", "the same lines have changed since"),
]


async def test_what_cannot_be_taken_back_is_said_and_left_alone(desk: Desk) -> None:
    for number in range(len(IN_THE_WAY)):
        desk.put(f"{number}/a", f"1 {number}\n")
    desk.put("z", "1\n")
    commands = "; ".join(f"(cd {number}; {command})" for number, (command, _, _) in enumerate(IN_THE_WAY))
    await desk.run(f"{commands}; echo 2 >> z")
    for number, (_, since, _) in enumerate(IN_THE_WAY):
        act(desk, f"cd {number}; {since}")
    names = sorted(desk.root.rglob("*"))
    plan = await desk.undo.of_turn()
    reasons = {each.path.split("/")[0]: each.reason for each in plan.obstacles}
    assert len(plan.obstacles) == len(IN_THE_WAY)
    for number, (_, _, reason) in enumerate(IN_THE_WAY):
        assert reason in reasons[f"{number}"]
    with pytest.raises(WorkspaceError, match="Nothing was changed"):
        await desk.undo.apply(plan)
    assert sorted(desk.root.rglob("*")) == names
    assert (desk.root / "z").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("target", "where"), [("..", "that leads outside the project"), ("b", "to another directory")]
)
async def test_a_link_in_place_of_a_directory_is_named(desk: Desk, target: str, where: str) -> None:
    desk.put("d/e/a", "1\n")
    desk.put("b/x", "")
    await desk.write(("d/e/a", "2\n"))
    act(desk, f"mv d c; ln -s {target} d")
    (obstacle,) = (await desk.undo.of_turn()).obstacles
    assert (obstacle.path, obstacle.reason) == ("d/e/a", f"d is a symbolic link {where}")


async def test_what_a_command_made_unreadable_is_recorded_and_said(desk: Desk) -> None:
    path = desk.put("a", "1\n")
    (edit,) = await desk.run("chmod 000 a")
    if os.access(path, os.R_OK):
        pytest.skip("nothing is unreadable for root")
    assert (edit.kind, edit.before.digest, edit.after.mode) == ("mode", edit.after.digest, 0)
    (obstacle,) = (await desk.undo.of_turn()).obstacles
    assert obstacle.reason == "permission denied"


async def test_a_mode_that_the_person_set_stays(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.write(("a", "2\n"))
    (desk.root / "a").chmod(0o700)
    await undo(desk)
    assert desk.tree() == {"a": (0o700, b"1\n")}


async def test_one_undo_takes_back_what_a_make_like_command_did(desk: Desk) -> None:
    for number in range(60):
        desk.put(f"src/{number}.c", f"int f{number};\n")
    desk.put("keep.me", "x")
    desk.put("old", "moved\n")
    before = desk.tree()
    await desk.run(
        "for i in {0..39}; do echo '/* built */' >> src/$i.c; done; mkdir -p out/deep; echo 1 > out/deep/a;"
        "rm src/50.c; mv old new; chmod +x keep.me; rm src/51.c; mkdir src/51.c; echo > src/51.c/x"
    )
    after = desk.tree()

    edits = await undo(desk)

    assert desk.tree() == before
    assert len(edits) == 40 + 6
    assert len({edit.call for edit in edits}) == 1
    assert {edit.kind for edit in edits} == {"changed", "deleted", "created", "renamed", "mode"}
    await redo(desk)
    assert desk.tree() == after


@pytest.mark.exhaustive
async def test_undo_and_redo_go_turn_by_turn(desk: Desk) -> None:
    trees = [desk.tree()]
    for number in range(3):
        await desk.say()
        await desk.write(("a", f"{number}\n"), (f"new/{number}", "x"))
        await desk.run(f"echo {number} >> log; mv a b; mv b a")
        trees.append(desk.tree())

    for number in (2, 1, 0):
        await undo(desk)
        assert desk.tree() == trees[number]
    with pytest.raises(UsageError, match="Nothing to undo"):
        await desk.undo.of_turn()
    for number in (1, 2, 3):
        await redo(desk)
        assert desk.tree() == trees[number]
    with pytest.raises(UsageError, match="Nothing to redo"):
        await desk.undo.redo()
    await undo(desk)
    assert desk.tree() == trees[2]
    await redo(desk)
    assert desk.tree() == trees[3]


async def test_a_plan_names_its_turn_if_it_is_one(desk: Desk) -> None:
    for number in range(2):
        await desk.say()
        await desk.write((f"{number}.txt", LINES))
    assert ((await desk.undo.of_turn()).turn, await desk.undo.prompt(3)) == (3, "go on")
    await undo(desk)
    assert (await desk.undo.of_turn()).turn == 2
    assert (await desk.undo.redo()).turn == 3
    await redo(desk)
    await desk.undo.apply(await desk.undo.back_to(0))
    assert (await desk.undo.redo()).turn == 0
    assert await desk.undo.prompt(0) == await desk.undo.prompt(4) == ""


async def test_a_turn_in_the_middle_is_taken_back_alone(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped(LINES, (1, "first\n"))))
    await desk.say()
    await desk.write(("a", swapped(LINES, (1, "first\n"), (5, "second\n"))))
    await desk.say()
    await desk.write(("a", swapped(LINES, (1, "first\n"), (5, "second\n"), (9, "third\n"))))
    await undo(desk, 2)
    assert (desk.root / "a").read_text() == swapped(LINES, (1, "first\n"), (9, "third\n"))
    with pytest.raises(UsageError, match="already reverted"):
        await desk.undo.of_turn(2)


async def test_back_to_a_point_undoes_undos_too(desk: Desk) -> None:
    desk.put("a", "0\n")
    await desk.write(("a", "1\n"))
    first = desk.tree()
    await desk.say()
    await undo(desk, 1)
    await desk.write(("a", "2\n"), ("b", "2\n"))
    last = desk.tree()

    await desk.undo.apply(await desk.undo.back_to(1))
    assert desk.tree() == first
    await redo(desk)
    assert desk.tree() == last
    await desk.undo.apply(await desk.undo.back_to(0))
    assert desk.tree() == {"a": (0o644, b"0\n")}


async def test_back_to_an_edit(desk: Desk) -> None:
    for number in range(4):
        await desk.write(("a", f"{number}\n"), (f"f{number}", ""))
    third = (await desk.edits(path="a"))[2]
    later = {edit.id for edit in await desk.edits() if edit.id > third.id}
    await desk.undo.apply(await desk.undo.of_own(later))
    assert desk.tree() == {
        "a": (0o644, b"2\n"),
        "f0": (0o644, b""),
        "f1": (0o644, b""),
    }


async def test_single_edits_and_one_path_of_a_turn(desk: Desk) -> None:
    await desk.write(("a", "1\n"), ("b", "1\n"), ("c", "1\n"))
    edits = await desk.edits()
    await desk.undo.apply(await desk.undo.of_edits([edits[1].id]))
    assert set(desk.tree()) == {"a", "c"}
    await desk.undo.apply(await desk.undo.of_turn(1, "a"))
    assert set(desk.tree()) == {"c"}
    await redo(desk)
    await redo(desk)
    assert set(desk.tree()) == {"a", "b", "c"}


async def test_hunks_are_taken_back_one_by_one(desk: Desk) -> None:
    desk.put("a", LINES, 0o755)
    changed = swapped(LINES, (1, "first\n"), (6, "second\n"), (10, ""))
    await desk.write(("a", changed))
    (edit,) = await desk.edits()
    desk.put("a", changed + "the person's\n")
    first, second, third = hunks(LINES.encode(), changed.encode())

    await desk.revert_hunks(edit, second.id)
    assert (desk.root / "a").read_text() == swapped(LINES, (1, "first\n"), (10, "")) + "the person's\n"
    assert await states(desk) == {(edit.id, second.id): "reverted"}
    await redo(desk)
    assert (desk.root / "a").read_text() == changed + "the person's\n"
    assert (await states(desk))[edit.id, second.id] == "new"
    await desk.revert_hunks(edit, first.id, third.id)
    await undo(desk)
    assert desk.tree() == {"a": (0o755, (LINES + "the person's\n").encode())}
    with pytest.raises(UsageError, match="no hunk 'none'"):
        await desk.revert_hunks(edit, "none")


async def test_the_hunk_of_a_new_file_is_the_file(desk: Desk) -> None:
    await desk.write(("new/a", "1\n"))
    (edit,) = await desk.edits()
    (hunk,) = hunks(b"", b"1\n")
    await desk.revert_hunks(edit, hunk.id)
    assert desk.tree() == {}
    with pytest.raises(UsageError, match="Nothing to undo"):
        await desk.undo.of_turn()


CHAINS = [
    ["mv a b", "mv b c", "echo 2 >> c"],
    ["mv a b; echo new > a", "mv b c"],
    ["mkdir d; mv a d/a", "mv d e", "chmod 755 e/a"],
    ["mv a t; mv z a; mv t z"],
    ["rm a; mkdir a; mv z a/z", "mv a b"],
    ["rm -r dir; echo > dir", "mv dir a"],
    ["mv a b", "rm b", "echo other > a"],
    ["mv a b", "rm b"],
    ["mv a b", "mv b c", "rm c; echo 2 > b"],
    ["echo 2 >> a", "echo 3 >> a; rm z", "mv a z"],
    ["head -c 100000 /dev/urandom > big", "mv big bigger", "rm bigger"],
    ["ln -s a l", "mv l m", "rm m; ln -s z m"],
]


async def test_chains_of_renames_are_taken_back_and_made_again(desk: Desk) -> None:
    for number in range(len(CHAINS)):
        desk.put(f"{number}/a", f"1 {number}\n")
        desk.put(f"{number}/z", f"26 {number}\n")
        desk.put(f"{number}/dir/x", f"x {number}\n")
    before = desk.tree()
    for commands in zip_longest(*CHAINS, fillvalue="true"):
        await desk.run("; ".join(f"(cd {number}; {command})" for number, command in enumerate(commands)))
    after = desk.tree()
    await undo(desk)
    assert desk.tree() == before
    await redo(desk)
    assert desk.tree() == after


async def test_a_renamed_file_takes_the_persons_lines_back_to_its_old_name(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.run("mv a b")
    await desk.write(("b", swapped(LINES, (2, "the agent's\n"))))
    desk.put("b", swapped(LINES, (2, "the agent's\n"), (9, "the person's\n")))
    await undo(desk)
    assert desk.tree() == {"a": (0o644, swapped(LINES, (9, "the person's\n")).encode())}


async def test_a_renamed_file_that_the_person_removed_stays_away(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.run("mv a b; echo 2 > c")
    act(desk, "rm b")
    await undo(desk)
    assert desk.tree() == {}
    with pytest.raises(UsageError, match="Nothing to undo"):
        await desk.undo.of_turn()


async def test_of_a_file_with_an_obstacle_nothing_is_taken_back(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped(LINES, (2, "first\n"))))
    theirs = "the person's\n" + swapped(LINES, (2, "first\n"))
    desk.put("a", theirs)
    await desk.run("sed -i 's/line 9/second/' a")
    await desk.run("mv a b")
    desk.put("b", swapped(theirs, (9, "the person's, too\n")))
    plan = await desk.undo.of_turn()
    assert plan.changes == ()
    assert [(each.path, len(each.undoes)) for each in plan.obstacles] == [("b", 3)]


async def test_what_came_and_went_within_a_turn_is_in_nobodys_way(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(largest=1000)) as desk:
        desk.put("a", "1\n")
        await desk.run("head -c 5000 /dev/zero > big; echo 2 > a")
        await desk.run("rm big; echo 1 > a")
        desk.put("a", "the person's\n")
        await desk.undo.apply(await desk.undo.of_turn())
        assert desk.tree() == {"a": (0o644, b"the person's\n")}
        with pytest.raises(UsageError, match="Nothing to undo"):
            await desk.undo.of_turn()


async def test_what_was_not_known_or_not_kept_is_refused(tmp_path: Path) -> None:
    async with desk_at(
        tmp_path / "project", tmp_path / "data", JournalLimits(small=10, largest=100, beforehand=0)
    ) as desk:
        desk.put("unknown", bytes(50))
        await desk.run("echo >> unknown")
        with pytest.raises(WorkspaceError, match="unknown: its earlier content is unknown"):
            await undo(desk)
        # What a command writes is read.
        await desk.run("head -c 200 /dev/zero > unkept")
        await desk.say()
        await desk.run("rm unkept", "unkept")
        with pytest.raises(WorkspaceError, match="unkept: its content was not saved"):
            await undo(desk)


async def test_what_would_be_lost_for_good_needs_a_word(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(largest=100)) as desk:
        await desk.run(
            "head -c 200 /dev/zero > big; mkdir d; head -c 300 /dev/zero > d/bigger; chmod 600 d/bigger"
        )
        plan = await desk.undo.of_turn()
        assert plan.for_good == ("big", "d/bigger")
        with pytest.raises(LossError, match="lost permanently"):
            await desk.undo.apply(plan)
        assert (desk.root / "big").exists()
        await desk.undo.apply(plan, for_good=True)
        assert desk.tree() == {}


async def test_a_large_file_is_renamed_and_its_mode_set_without_its_bytes(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data", JournalLimits(largest=100)) as desk:
        desk.put("big", bytes(500))
        before = desk.tree()
        await desk.run("mkdir d; mv big d/large; chmod 755 d/large")
        after = desk.tree()
        await undo(desk)
        assert desk.tree() == before
        await redo(desk)
        assert desk.tree() == after


async def test_a_content_that_is_gone_is_an_error_and_nothing_is_changed(desk: Desk) -> None:
    desk.put("a", "1\n")
    desk.put("b", "1\n1\n")
    await desk.write(("a", "2\n"), ("b", "2\n2\n"))
    before = desk.tree()
    edit = (await desk.edits())[1]
    blobs = await desk.journal.blobs()
    (blobs.directory / edit.before.digest[:2] / edit.before.digest[2:]).write_bytes(b"=1\n2\n")
    plan = await desk.undo.of_turn()
    with pytest.raises(StoreError, match="damaged"):
        await desk.undo.apply(plan)
    assert desk.tree() == before
    assert len(await desk.edits()) == 2


async def test_what_changed_since_the_plan_is_not_overwritten(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.write(("a", "2\n"), ("b", "2\n"))
    plan = await desk.undo.of_turn()
    desk.put("a", "the person's\n")
    with pytest.raises(WorkspaceError, match="a was modified after the preview"):
        await desk.undo.apply(plan)
    assert desk.tree() == {"a": (0o644, b"the person's\n"), "b": (0o644, b"2\n")}


async def test_an_undo_that_cannot_be_recorded_is_taken_back(desk: Desk) -> None:
    desk.put("a", "1\n")
    await desk.write(("a", "2\n"), ("new/b", "2\n"))
    before = desk.tree()
    plan = await desk.undo.of_turn()
    await desk.store.database.write(
        lambda connection: connection.execute(
            "CREATE TRIGGER no_more BEFORE INSERT ON edits BEGIN SELECT raise(ABORT, 'disk full'); END"
        )
    )
    with pytest.raises(StoreError, match="disk full"):
        await desk.undo.apply(plan)
    assert desk.tree() == before


async def test_a_plan_shows_what_it_would_do(desk: Desk) -> None:
    desk.put("a", "1\n", 0o755)
    desk.put("gone", b"\0")
    await desk.run("echo 2 >> a; chmod 644 a; rm gone; mkdir d; mv d e; echo x > e/new; ln -s a l")
    plan = await desk.undo.of_turn()
    assert {each.change.path: each.diff for each in plan.changes} == {
        "a": "The mode of a changes from 644 to 755.\n--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n 1\n-2\n",
        "e/new": "--- a/e/new\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        "gone": "gone: nothing becomes a file of 1 bytes (6e340b9cffb3).\n",
        "l": "l: a symbolic link becomes nothing.\n",
    }


async def test_versions_are_restored_whatever_became_of_them(desk: Desk) -> None:
    desk.put("ignored/x", b"\0precious", 0o600)
    desk.put(".gitignore", "ignored/\n")
    kept = await desk.calls.snapshot_paths("c", "shell", [desk.root / "ignored"])
    await desk.write(("a", "1\n"))
    (edit,) = await desk.edits(path="a")
    desk.put("a", "the person's\n")
    act(desk, "rm -r ignored")

    await desk.undo.apply(await desk.undo.restore([*kept.edits, edit]))
    tree = desk.tree()
    assert (tree["ignored/x"], tree["a"]) == ((0o600, b"\0precious"), (0o644, b"1\n"))
    await desk.undo.apply(await desk.undo.restore([edit], before=True))
    assert "a" not in desk.tree()
    restored = (await desk.edits(path="a"))[-1]
    await desk.undo.apply(await desk.undo.of_edits([restored.id]))
    assert desk.tree()["a"] == (0o644, b"1\n")


async def test_an_edit_outside_the_project_is_taken_back(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("1\n")
    await desk.write((str(outside), "2\n"))
    with pytest.raises(ConsentError, match=r"outside\.txt, outside the project"):
        await undo(desk)
    assert outside.read_text() == "2\n"
    await desk.undo.apply(await desk.undo.of_turn(), agreed=True)
    assert outside.read_text() == "1\n"
    assert [edit.path for edit in await desk.edits()] == [os.path.realpath(outside)] * 2


async def test_a_directory_swapped_for_a_link_is_not_written_through(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("2\n")
    desk.put("src/a", "1\n")
    await desk.write(("src/a", "2\n"))
    (desk.root / "src").rename(tmp_path / "away")
    (desk.root / "src").symlink_to(outside)
    plan = await desk.undo.of_turn()
    assert [each.reason for each in plan.obstacles] == [
        "src is a symbolic link that leads outside the project"
    ]
    assert (outside / "a").read_text() == "2\n"


async def test_a_project_that_a_command_removed_comes_back(desk: Desk) -> None:
    desk.put("src/a", "1\n", 0o755)
    desk.put("b", "1\n")
    before = desk.tree()
    edits = await desk.run("rm -rf ../project")
    assert sorted((edit.kind, edit.path) for edit in edits) == [("deleted", "b"), ("deleted", "src/a")]
    plan = await desk.undo.of_turn()
    with pytest.raises(WorkspaceError, match="no such file"):
        await desk.undo.apply(plan)
    # Where it is to be is for the person to say.
    desk.root.mkdir()
    await desk.undo.apply(plan)
    assert desk.tree() == before


async def test_hard_links_get_their_content_back(desk: Desk) -> None:
    desk.put("a", "1\n")
    (desk.root / "b").hardlink_to(desk.root / "a")
    before = desk.tree()
    await desk.run("echo 2 >> a")
    await undo(desk)
    assert desk.tree() == before


async def test_the_undo_outlives_the_process(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "1\n")
        await desk.run("echo 2 >> a; echo > b")
        conversation, store_directory = desk.conversation, tmp_path / "data"
    async with desk_at(tmp_path / "project", store_directory) as other:
        again = Desk(other.root, other.store, conversation, JournalLimits())
        await undo(again)
        assert again.tree() == {"a": (0o644, b"1\n")}
