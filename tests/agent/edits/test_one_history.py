"""Random histories of files: undo, review, timeline and patch agree on what the agent's edits come to."""

import subprocess
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cogency_tui.agent.edits.file_history import agents_histories, by_file, change_of, histories
from cogency_tui.agent.review.model import Target
from cogency_tui.agent.timeline.model import Past, Placed
from cogency_tui.agent.timeline.timeline import files_at
from cogency_tui.errors import UsageError
from cogency_tui.store.edit_records import Edit, Version
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.journaling import Desk, Tree, desk_at

pytestmark = pytest.mark.exhaustive

NAMES = ["a", "b", "d/a", "d/e/f"]
KINDS = ["write", "write", "append", "delete", "rename", "rename", "swap", "mode", "turn"]
Steps = list[tuple[str, int]]
DELETED_THEN_ANOTHER_RENAMED: Steps = [
    *[("delete", 0), ("delete", 0), ("turn", 0)],
    *[("write", 34), ("rename", 0), ("delete", 0)],
]
BACK_AND_AWAY_AGAIN: Steps = [("swap", 0), ("delete", 0), ("rename", 0), ("rename", 0), ("delete", 0)]
RENAMED_THERE_AND_BACK: Steps = [("write", 0), ("turn", 0), ("write", 0), ("rename", 5), ("rename", 0)]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 99)), max_size=9)


async def act(desk: Desk, kind: str, number: int, step: int) -> None:
    """What an agent does: files are created, changed, deleted, renamed, and created again at their names."""
    random = Random(number)
    there = [name for name in NAMES if (desk.root / name).exists()]
    free = [name for name in NAMES if name not in there]
    name = random.choice(there) if there else ""
    if kind == "turn":
        await desk.say()
    elif kind == "write":
        await desk.write((random.choice(NAMES), f"step {step}\n" * 3))
    elif kind == "append" and name:
        await desk.write((name, (desk.root / name).read_text() + f"more {step}\n"))
    elif kind == "delete" and name:
        await desk.run(f"rm {name}")
    elif kind == "mode" and name:
        await desk.run(f"chmod {random.choice(['600', '755'])} {name}")
    elif kind == "rename" and name and free:
        other = random.choice(free)
        await desk.run(f"mkdir -p {Path(other).parent}; mv {name} {other}")
    elif kind == "swap" and len(there) > 1:
        one, other = random.sample(there, 2)
        await desk.run(f"mv {one} t")
        await desk.run(f"mv {other} {one}")
        await desk.run(f"mv t {other}")


def files(desk: Desk) -> Tree:
    return {name: found for name, found in desk.tree().items() if not name.endswith("/")}


async def stored(desk: Desk, version: Version) -> tuple[int, bytes]:
    blobs = await desk.journal.blobs()
    return version.mode, blobs.read(version.digest, version.size)


async def after(desk: Desk, before: Tree, edits: list[Edit]) -> Tree:
    """The files after the net changes of these edits."""
    found = histories(edits)
    for change in (each.change for each in found if each.change.before.kind != "absent"):
        assert await stored(desk, change.before) == before[change.old_path or change.path]
    gone = {each.change.old_path or each.change.path for each in found}
    tree = {path: file for path, file in before.items() if path not in gone}
    for change in (each.change for each in found if each.change.after.kind != "absent"):
        assert change.path not in tree
        tree[change.path] = await stored(desk, change.after)
    return tree


async def as_of(desk: Desk, edits: list[Edit], turn: int) -> Tree:
    """The files that the timeline shows after a turn."""
    conversation = await desk.store.conversation(desk.conversation)
    assert conversation is not None
    placed = [Placed(edit.origin.turn, edit) for edit in edits]
    past = Past(conversation, [], [], placed, [], [], [], here=True, shared=0)
    found = files_at(past, turn)
    assert len({file.path for file in found}) == len(found)
    return {file.path: await stored(desk, file.then) for file in found if file.then.kind != "absent"}


def patched(directory: Path, before: Tree, patch: bytes) -> dict[str, bytes]:
    """The contents of the files after `git apply`."""
    for name, (mode, data) in before.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    if patch:
        done = subprocess.run(command, cwd=directory, input=patch, capture_output=True, check=False)
        assert done.returncode == 0, (done.stderr, patch)
    there = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in there}


def share_paths(edits: list[Edit]) -> bool:
    """Whether a path was that of several files, one after the other."""
    here, replaced = by_file(edits, change_of)
    names = [
        {path for edit in own for path in (edit.path, edit.old_path)} for own in (*here.values(), *replaced)
    ]
    return any((one & other) - {""} for one, other in combinations(names, 2))


async def histories_of(desk: Desk, steps: Steps) -> list[Tree]:
    """The files before the first turn and after each turn in which the agent makes these steps."""
    for name in ("a", "d/a"):
        desk.put(name, f"{name}\n" * 3, 0o644)
    trees = [files(desk)]
    for step, (kind, number) in enumerate(steps):
        if kind == "turn":
            trees.append(files(desk))
            await desk.say()
        else:
            await act(desk, kind, number, step)
    return [*trees, files(desk)]


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, point=st.integers(0, 99), by_undo=st.booleans())
@example(steps=DELETED_THEN_ANOTHER_RENAMED, point=0, by_undo=False)
@example(steps=BACK_AND_AWAY_AGAIN, point=0, by_undo=False)
@example(steps=RENAMED_THERE_AND_BACK, point=1, by_undo=False)
async def test_undo_review_timeline_and_patch_agree_on_the_net_change(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, point: int, by_undo: bool
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        trees = await histories_of(desk, steps)
        first, last, turns = trees[0], trees[-1], len(trees) - 1
        edits = await desk.edits()
        assert histories(edits) == agents_histories(edits)
        assert await after(desk, first, edits) == last
        for turn in range(1, turns + 1):
            own = [edit for edit in edits if edit.origin.turn == turn]
            assert await after(desk, trees[turn - 1], own) == trees[turn]
            shown = await as_of(desk, edits, turn)
            assert shown.items() <= trees[turn].items()
            # A file that is as it was before the first edit of it is not shown.
            assert {path for path, file in trees[turn].items() if file != first.get(path)} <= shown.keys()

        await has_patch(desk, base / "copy", first)
        await (reverts_by_undo if by_undo else reverts_by_review)(desk, trees, point % turns)
        await has_patch(desk, base / "copy of reverted", first)


async def has_patch(desk: Desk, copy: Path, first: Tree) -> None:
    """The patch makes the files as they are now from those before the first turn."""
    if files(desk) != first:
        patch = await desk.review.patch()
        assert not patch.left_out
        found = await in_thread(patched, copy, first, patch.data)
        assert found == {path: data for path, (_, data) in files(desk).items()}


async def reverts_by_undo(desk: Desk, trees: list[Tree], point: int) -> None:
    """Undo reverts all that came after a point, and redo makes it again."""
    if trees[point] == trees[-1]:
        return
    plan = await desk.undo.back_to(point)
    if plan.obstacles:
        # What several files did at one path cannot always be taken apart.
        assert share_paths(await desk.edits())
        return
    await desk.undo.apply(plan)
    assert files(desk) == trees[point]
    await desk.undo.apply(await desk.undo.redo())
    assert files(desk) == trees[-1]


async def reverts_by_review(desk: Desk, trees: list[Tree], point: int) -> None:
    """The review reverts turn by turn to a point, and undo all that is left."""
    for turn in range(len(trees) - 1, point, -1):
        conflicts = ()
        # Edits that come to nothing are not in the review.
        with suppress(UsageError):
            conflicts = (await desk.review.revert(Target(turn))).conflicts
        if conflicts:
            assert share_paths(await desk.edits())
            return
        assert files(desk) == trees[turn - 1]
        if share_paths(await desk.edits()):
            # Nothing tells which of several files at one path has come back.
            return
    if files(desk) == trees[0]:
        return
    plan = await desk.undo.back_to(0)
    assert not plan.obstacles
    await desk.undo.apply(plan)
    assert files(desk) == trees[0]
