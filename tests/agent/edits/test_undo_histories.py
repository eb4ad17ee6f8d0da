"""Undo under random histories: whatever happened, the person's lines stay and the first bytes come back."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.agent.review.model import Target
from cogency_tui.errors import UsageError
from tests.agent.journaling import Desk, desk_at

pytestmark = pytest.mark.exhaustive

LINES = "".join(f"line {number}\n" for number in range(12))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


async def redo(desk: Desk) -> None:
    await desk.undo.apply(await desk.undo.redo())


PATHS = ["a", "b", "c", "d/a", "d/b", "d/e/f", "g"]


def random_command(random: Random) -> str:
    one, other = random.choice(PATHS), random.choice(PATHS)
    return random.choice(
        [
            f"mkdir -p $(dirname {other}); mv -T {one} {other}",
            f"rm -rf {one}",
            f"mkdir -p $(dirname {one}); echo {random.random()} > {one}",
            f"echo {random.random()} >> {one}",
            f"chmod {random.choice(['600', '755', '644'])} {one}",
            f"mkdir -p $(dirname {other}); cp -p {one} {other}",
            f"rm -f {other}; mkdir -p $(dirname {other}); ln -sf {one} {other}",
            f"rm -rf {one}; mkdir -p {one}; echo {random.random()} > {one}/q",
            "rm -rf d; echo file > d",
            "mv d dd; mv dd/* .; rmdir dd",
            "mv g a; mv a c",
        ]
    )


@pytest.mark.parametrize("seed", range(4))
async def test_random_commands_are_taken_back_turn_by_turn_and_made_again(desk: Desk, seed: int) -> None:
    """Files become directories, links and other files; empty directories are nobody's concern."""

    def files() -> dict[str, tuple[int, bytes]]:
        return {path: found for path, found in desk.tree().items() if not path.endswith("/")}

    random = Random(seed)
    for path in ("a", "b", "d/a", "d/e/f"):
        desk.put(path, f"{path}\n", random.choice([0o644, 0o755]))
    trees = [files()]
    for _ in range(random.randint(1, 4)):
        for _ in range(random.randint(1, 3)):
            await desk.run(random_command(random))
        trees.append(files())
        await desk.say()

    point = random.randrange(len(trees))
    if trees[point] != trees[-1]:
        await desk.undo.apply(await desk.undo.back_to(point))
        assert files() == trees[point]
        await redo(desk)
        assert files() == trees[-1]
    for what in ("undo", "redo"):
        while await _try(desk, what):
            pass
        assert files() == (trees[0] if what == "undo" else trees[-1])
    assert not list(desk.root.rglob(".cogency-*"))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "person", "person", "command", "undo", "hunk", "redo", "say"]),
        st.sampled_from("ab"),
        st.integers(0, 11),
    ),
    max_size=8,
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_no_line_of_the_persons_is_ever_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
) -> None:
    """The person only ever adds lines; the agent changes, adds and removes lines, but never those."""
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        for name in "ab":
            desk.put(name, LINES)
        added: dict[str, set[str]] = {"a": set(), "b": set()}
        for number, (what, name, at) in enumerate(steps):
            path = desk.root / name
            lines = path.read_text().splitlines(keepends=True) if path.exists() else []
            if what == "person":
                own = f"the person's {number}\n"
                desk.put(name, "".join([*lines[:at], own, *lines[at:]]))
                added[name].add(own)
            elif what == "write":
                kept = [line for index, line in enumerate(lines) if index != at or line in added[name]]
                await desk.write((name, "".join([*kept[:at], f"the agent's {number}\n", *kept[at:]])))
            elif what == "command":
                await desk.run(f"sed -i 's/line {at}$/LINE {at}/' {name}")
            elif what == "say":
                await desk.say()
            elif what == "hunk":
                await _take_back_a_hunk(desk, name, at)
            else:
                await _try(desk, what)
            for each, own_lines in added.items():
                assert own_lines <= set((desk.root / each).read_text().splitlines(keepends=True))
        assert set(desk.tree()) == {"a", "b"}


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "rm", "mv", "chmod"])), max_size=3
        ),
        max_size=3,
    ),
    moves=st.lists(st.sampled_from(["undo", "redo"]), max_size=4),
)
async def test_on_untouched_files_undo_of_everything_gives_the_first_bytes(
    tmp_path_factory: pytest.TempPathFactory, turns: list[list[tuple[str, str]]], moves: list[str]
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        desk.put("a", "1\n", 0o755)
        desk.put("b", b"\0\xff")
        first = desk.tree()
        for number, turn in enumerate(turns):
            await desk.say()
            for name, what in turn:
                if what == "write":
                    await desk.write((name, f"{number}\n"))
                elif what == "mv":
                    await desk.run(f"[ -e {name} ] && mv {name} moved-{name}-{number}")
                else:
                    await desk.run(f"{what} {'700' if what == 'chmod' else '-f'} {name}")
        last = desk.tree()
        for move in moves:
            await _try(desk, move)
        try:
            await desk.undo.apply(await desk.undo.back_to(0))
        except UsageError:
            assert desk.tree() == first
        assert desk.tree() == first
        if last != first and not moves:
            await redo(desk)
            assert desk.tree() == last


async def _try(desk: Desk, what: str) -> bool:
    """Undo or redo, unless there is nothing to, or a person would have to decide; whether it was done."""
    try:
        plan = await (desk.undo.redo() if what == "redo" else desk.undo.of_turn())
    except UsageError:
        return False
    if not plan.obstacles:
        await desk.undo.apply(plan)
    return not plan.obstacles


async def _take_back_a_hunk(desk: Desk, name: str, number: int) -> None:
    groups = (await desk.review.overview()).groups
    found = [
        Target(file.key.turn, name, (hunk.id,))
        for group in groups
        for file in group.files
        for hunk in file.hunks
        if file.path == name
    ]
    if found:
        with suppress(UsageError):
            await desk.review.revert(found[number % len(found)])
