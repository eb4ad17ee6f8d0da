"""Undo of what was changed before its file, or a directory above it, was renamed by an edit that stays."""

import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from random import Random

import pytest

from cogency_tui.agent.edits.undo_selection import steps
from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.three_way_merge import hunks
from tests.agent.edits.test_undo_selection import A, B, edit
from tests.agent.journaling import Desk, desk_at
from tests.exhaustive import sampled

LINES = "".join(f"line {number}\n" for number in range(12))
CHANGED = LINES.replace("line 3\n", "LINE 3\n")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


async def undo(desk: Desk, turn: int) -> list[Edit]:
    return await desk.undo.apply(await desk.undo.of_turn(turn))


def files(root: Path) -> dict[str, tuple[int, bytes]]:
    found = (path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return {path.relative_to(root).as_posix(): _content(path) for path in found}


def _content(path: Path) -> tuple[int, bytes]:
    if path.is_symlink():
        return 0, os.fsencode(path.readlink())
    return stat.S_IMODE(path.stat().st_mode), path.read_bytes()


RENAMINGS = {
    "nothing": [],
    "a file": ["mv packages/api/NAME.js packages/api/NAME-main.js"],
    "a file with a directory": ["mv packages/api/NAME.js NAME.js", "mv packages apps"],
    "a directory": ["mv packages apps"],
    "into another": ["mv packages other"],
    "twice": ["mv packages apps", "mv apps/api apps/core"],
    "there and back": ["mv packages apps", "mv apps packages"],
    "swapped": ["mv packages apps", "mv other packages", "mv apps other"],
    "another in its place": ["mv packages apps", "mkdir -p packages/api; cp other/NAME packages/api/NAME.js"],
}
CHANGES = {
    "changed": "sed -i 's/line 3/LINE 3/' packages/api/changed.js",
    "mode": "chmod 755 packages/api/mode.js",
    "link": "ln -sf y packages/api/link.js",
    "created": "cp other/x packages/api/created.js",
    "renamed": "mv packages/api/old packages/api/renamed.js",
}


def of_each(command: str, names: Iterable[str]) -> str:
    """A command that is done to each file of these names."""
    return "; ".join(command.replace("NAME", name) for name in names) if "NAME" in command else command


def in_terminal(root: Path, command: str) -> None:
    subprocess.run(["bash", "-c", command], cwd=root, check=False, capture_output=True)


@pytest.mark.parametrize("renaming", sampled(RENAMINGS, quick=2))
async def test_what_an_undo_leaves_is_as_if_only_the_renaming_had_been(desk: Desk, renaming: str) -> None:
    # Both may rename the same part of the path: see below.
    changes = [change for change in CHANGES if change != "renamed" or not renaming.startswith("a file")]
    renamings = [of_each(command, changes) for command in RENAMINGS[renaming]]
    desk.put("other/x", "other\n")
    desk.put("packages/api/y", "y\n")
    for change in changes:
        desk.put(f"other/{change}", f"other {change}\n")
        if change not in ("created", "renamed"):
            desk.put(f"packages/api/{change}.js", f"{change}\n{LINES}", 0o644)
    if "renamed" in changes:
        desk.put("packages/api/old", LINES)
    alone = Path(shutil.copytree(desk.root, desk.root.with_name("alone"), symlinks=True))
    await desk.run("; ".join(CHANGES[change] for change in changes))
    await desk.say()
    for command in renamings:
        await desk.run(command)
        in_terminal(alone, command)
    before = desk.tree()
    await undo(desk, 1)
    assert files(desk.root) == files(alone)
    await desk.undo.apply(await desk.undo.redo())
    assert files(desk.root) == {path: each for path, each in before.items() if not path.endswith("/")}
    if renamings:
        await undo(desk, 2)
        await undo(desk, 1)
        assert not [path for path in files(desk.root) if path.startswith("apps")]


async def test_renamings_of_the_same_part_of_a_path_are_in_the_way_of_each_other(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.run("mv src lib")
    await desk.say()
    await desk.run("mv lib pkg")
    before = desk.tree()
    plan = await desk.undo.of_turn(1)
    assert [(each.path, each.reason) for each in plan.obstacles] == [
        ("lib/a", "it was renamed since, to pkg/a")
    ]
    with pytest.raises(WorkspaceError):
        await desk.undo.apply(plan)
    assert desk.tree() == before
    await desk.undo.apply(await desk.undo.back_to(0))
    assert files(desk.root) == {"src/a": (0o644, LINES.encode())}


async def test_the_plan_says_what_the_file_was_called(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED))
    await desk.say()
    await desk.run("mv src lib")
    plan = await desk.undo.of_turn(1)
    (planned,) = plan.changes
    assert planned.change.path == "lib/a"
    assert planned.diff.startswith("src/a is now lib/a.\n--- ")
    assert plan.former == {"lib/a": ("src/a",)}

    desk.put("lib/a", CHANGED.replace("LINE 3", "the person's"))
    (obstacle,) = (await desk.undo.of_turn(1)).obstacles
    assert (obstacle.path, obstacle.reason) == (
        "lib/a",
        "the same lines have changed since (line 4); its name was src/a then",
    )


async def test_what_came_after_the_renaming_stays(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED))
    await desk.say()
    await desk.run("mv src lib")
    await desk.write(("lib/a", CHANGED.replace("line 9", "LINE 9")))
    await undo(desk, 1)
    assert files(desk.root) == {"lib/a": (0o644, LINES.replace("line 9", "LINE 9").encode())}
    await undo(desk, 2)
    assert files(desk.root) == {"src/a": (0o644, LINES.encode())}


async def test_edits_before_and_after_the_renaming_are_taken_back_without_it(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED))
    await desk.run("mv src lib")
    await desk.write(("lib/a", CHANGED.replace("LINE 3", "Line 3")))
    first, _, last = await desk.edits()
    await desk.undo.apply(await desk.undo.of_edits([first.id, last.id]))
    assert files(desk.root) == {"lib/a": (0o644, LINES.encode())}


async def test_a_hunk_is_taken_back_by_the_name_that_the_file_has_now(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED.replace("line 9", "LINE 9")))
    await desk.run("mv src lib")
    change = (await desk.edits())[0]
    blobs = await desk.journal.blobs()
    before, after = (blobs.read(side.digest, side.size) for side in (change.before, change.after))
    last = hunks(before, after)[-1]
    (hunk,) = [
        each
        for each in (await desk.review.file(FileKey(None, "lib/a"))).hunks
        if Part(change.id, last.id) in each.parts
    ]
    await desk.review.revert(Target(None, "lib/a", (hunk.id,)))
    assert files(desk.root) == {"lib/a": (0o644, CHANGED.encode())}


async def test_an_undo_is_done_again_after_a_renaming(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED))
    await undo(desk, 1)
    await desk.run("mv src lib")
    await desk.undo.apply(await desk.undo.redo())
    assert files(desk.root) == {"lib/a": (0o644, CHANGED.encode())}


async def test_a_renaming_of_the_users_own_is_not_followed(desk: Desk) -> None:
    desk.put("src/a", LINES)
    await desk.write(("src/a", CHANGED))
    in_terminal(desk.root, "mv src lib")
    plan = await desk.undo.of_turn(1)
    assert [each.reason for each in plan.obstacles] == ["it has been deleted or renamed since"]


@pytest.mark.parametrize(
    "commands",
    [
        ["mv a t", "mv b a", "mv t b", "rm a", "rm b"],
        ["mv a t", "mv b a", "mv t b", "rm b", "echo new > a"],
        ["mv a c", "mv c t", "mv b c", "mv t b", "rm b", "echo new > c"],
        ["mv a c", "rm c", "mv b c"],
    ],
)
async def test_files_that_changed_places_before_one_was_deleted_return_to_theirs(
    desk: Desk, commands: list[str]
) -> None:
    desk.put("a", "a\n")
    desk.put("b", "b\n")
    before = files(desk.root)
    for command in commands:
        await desk.run(command)
    after = files(desk.root)
    await undo(desk, 1)
    assert files(desk.root) == before
    await desk.undo.apply(await desk.undo.redo())
    assert files(desk.root) == after


async def test_a_file_whose_place_is_taken_stays_with_all_that_depends_on_it(desk: Desk) -> None:
    desk.put("a", "a\n")
    desk.put("b", "b\n")
    await desk.run("mv a c")
    await desk.run("mv b a")
    await desk.write(("a", "changed\n"))
    desk.put("b", "the person's\n")
    there = files(desk.root)
    outcome = await desk.review.revert(Target(1))
    assert files(desk.root) == there
    assert {undone.edit for each in outcome.conflicts for undone in each.undoes} == {
        each.id for each in await desk.edits()
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
async def test_random_renamings_keep_each_edit_revocable(desk: Desk, seed: int) -> None:
    """Each file has its own change, in any order with renamings; each is taken back alone, in any order."""
    random = Random(seed)
    places = [f"{directory}{number}" for number in range(3) for directory in ("", "a/", "b/c/")]
    for place in places:
        desk.put(place, f"{place}\n{LINES}")
    names = {place: place for place in places}
    for number, place in enumerate(random.sample(places, len(places))):
        for _ in range(random.randrange(3)):
            old = random.choice([*names.values(), "a", "b/c", "b", "n"])
            new = f"new{random.randrange(1000)}"
            if not (desk.root / old).exists() or (desk.root / new).exists():
                continue
            await desk.run(f"mv {old} {new}")
            names = {
                key: new + name[len(old) :] if name == old or name.startswith(f"{old}/") else name
                for key, name in names.items()
            }
        await desk.write((names[place], f"{place}\n{LINES}changed {number}\n"))
    changed = [each for each in await desk.edits() if each.kind == "changed"]
    for each in random.sample(changed, len(changed)):
        await desk.undo.apply(await desk.undo.of_edits([each.id]))
    assert files(desk.root) == {name: (0o644, f"{place}\n{LINES}".encode()) for place, name in names.items()}


def test_following_renamings_takes_time_in_proportion_to_the_edits() -> None:
    def renamed(count: int) -> list[Edit]:
        return [edit(n, f"{n + 1}", B, B, old=f"{n}") for n in range(1, count)]

    for count in (1_000, 4_000):
        first = edit(0, "1", A, B)
        (step,) = steps([first], [first, *renamed(count)])
        assert (step.change.path, step.former) == (f"{count}", ("1",))
