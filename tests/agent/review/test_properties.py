"""Random histories: agent edits, a person's later edits, decisions and undos in any order."""

import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.journaling import Desk, Tree, desk_at
from tests.agent.review.conftest import review_of

pytestmark = pytest.mark.exhaustive

SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
OPENING = "".join(f"line {number % 7}\n" for number in range(14))

Steps = list[tuple[str, int]]
ACTIONS = ["keep", "revert", "edit", "undo", "redo", "file", "turn", "all", "resolve", "comment"]
STEPS = st.lists(
    st.tuples(st.sampled_from(["agent", "agent", "person", "say", "single", *ACTIONS]), st.integers(0, 99)),
    max_size=10,
)


async def decide(desk: Desk, what: str, number: int, text: str = "") -> bool:
    """One decision about something that there is; whether anything was done."""
    review, random = review_of(desk), Random(number)
    files = [file for group in (await review.overview()).groups for file in group.files]
    if not files:
        return False
    file = random.choice(files)
    if random.random() < 0.3:
        file = await review.file(FileKey(None, file.path)) if await has(desk, file.path) else file
    hunks = tuple(hunk.id for hunk in file.hunks if random.random() < 0.5)
    target = Target(file.key.turn, file.path, hunks)
    try:
        match what:
            case "keep":
                await review.keep(target)
            case "revert":
                await review.revert(target)
            case "edit":
                await review.edit(Target(file.key.turn, file.path, hunks[:1]), text)
            case "file":
                await review.revert(Target(file.key.turn, file.path))
            case "turn":
                await review.revert(Target(file.key.turn))
            case "all":
                await review.revert(Target(None))
            case "single":
                edits = [edit.id for edit in await desk.edits()]
                await desk.undo.apply(await desk.undo.of_edits([random.choice(edits)]))
            case "comment":
                await review.comment(target, text or "why?")
            case "resolve":
                for conflict in await review.conflicts(Target(file.key.turn)):
                    places = len(conflict.merged.conflicts) if conflict.merged else 1
                    choices: list[Choice] = ["ours"] * places
                    await review.resolve(Target(file.key.turn), conflict, choices)
            case "undo":
                await review.undo()
            case _:
                await review.redo()
    except (UsageError, WorkspaceError):
        return False
    return True


async def has(desk: Desk, path: str) -> bool:
    try:
        await review_of(desk).file(FileKey(None, path))
    except UsageError:
        return False
    return True


def lines_in(desk: Desk, name: str) -> list[str]:
    path = desk.root / name
    return path.read_text().splitlines(keepends=True) if path.exists() else []


async def agent_edits(desk: Desk, number: int, never: set[str]) -> None:
    """The agent changes a few lines of a file, but none of these."""
    random = Random(number)
    name = random.choice("ab")
    lines = lines_in(desk, name)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(lines) + 1)
        if random.random() < 0.6 and at < len(lines) and lines[at] not in never:
            del lines[at]
        if random.random() < 0.8:
            lines.insert(at, f"the agent's {random.randrange(4)}\n")
    if "".join(lines) != "".join(lines_in(desk, name)):
        await desk.write((name, "".join(lines)))


def person_edits(desk: Desk, number: int, step: int) -> str:
    """The person adds a line somewhere, or puts it in the place of one of the agent's; the line."""
    random = Random(number)
    name = random.choice("ab")
    lines = lines_in(desk, name)
    own = f"the person's {step}\n"
    agents = [index for index, line in enumerate(lines) if line.startswith("the agent's")]
    if agents and random.random() < 0.5:
        lines[random.choice(agents)] = own
    else:
        lines.insert(random.randrange(len(lines) + 1), own)
    desk.put(name, "".join(lines))
    return own


@settings(max_examples=16, suppress_health_check=SLOW)
@given(steps=STEPS)
async def test_no_line_of_the_persons_is_ever_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        for name in "ab":
            desk.put(name, OPENING)
        added: set[str] = set()
        for step, (what, number) in enumerate(steps):
            if what == "agent":
                await agent_edits(desk, number, added)
            elif what == "person":
                added.add(person_edits(desk, number, step))
            elif what == "say":
                await desk.say()
            else:
                await decide(desk, what, number, f"edited {step}\n")
            there = {*lines_in(desk, "a"), *lines_in(desk, "b")}
            if what == "edit":
                # What the user writes in the place of a hunk takes that of their own lines in it, too.
                added &= there
            assert added <= there, (step, what)
        assert not list(desk.root.rglob(".cogency-*"))


@settings(max_examples=12, suppress_health_check=SLOW)
@given(steps=STEPS, ending=st.sampled_from(["\n", "\r\n"]), final=st.booleans())
async def test_reverting_everything_gives_the_first_bytes_and_modes(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, ending: str, final: bool
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        opening = OPENING.replace("\n", ending)
        desk.put("a", opening if final else opening.removesuffix(ending), 0o755)
        desk.put("b", OPENING, 0o640)
        before = desk.tree()
        for step, (what, number) in enumerate(steps):
            if what == "agent":
                await some_edit(desk, number, step)
            elif what == "say":
                await desk.say()
        turns = sorted({edit.origin.turn for edit in await desk.edits()}, reverse=True)
        for turn in turns:
            try:
                outcome = await review_of(desk).revert(Target(turn))
            except UsageError:
                # What the agent did in this turn came to nothing.
                continue
            assert not outcome.conflicts
        assert desk.tree() == before


async def some_edit(desk: Desk, number: int, step: int) -> None:
    """What an agent does to files: all kinds of changes."""
    random = Random(number)
    name = random.choice("abc")
    path = desk.root / name
    data = path.read_bytes() if path.exists() else b""
    lines = data.splitlines(keepends=True)
    kind = random.choice(["lines", "lines", "lines", "rm", "chmod", "mv", "binary"])
    if kind == "lines":
        at = random.randrange(len(lines) + 1)
        lines[at : at + random.randrange(3)] = [f"agent {step}\n".encode()] * random.randrange(3)
        await desk.write((name, b"".join(lines)))
    elif path.exists():
        command = {"rm": f"rm {name}", "chmod": f"chmod 700 {name}", "mv": f"mv -f {name} {name}{step}"}
        await desk.run(command.get(kind, f"printf '\\0{step}' > {name}"))


@settings(max_examples=12, suppress_health_check=SLOW)
@given(
    before=STEPS,
    actions=st.lists(st.tuples(st.sampled_from(ACTIONS[:-1]), st.integers(0, 99)), min_size=1, max_size=6),
)
async def test_undoing_every_action_gives_the_state_before_and_redoing_that_after(
    tmp_path_factory: pytest.TempPathFactory, before: Steps, actions: Steps
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        for name in "ab":
            desk.put(name, OPENING, 0o700)
        for step, (what, number) in enumerate(before):
            if what == "agent":
                await agent_edits(desk, number, set())
            elif what == "person":
                person_edits(desk, number, step)
            elif what == "say":
                await desk.say()
        first, decided = desk.tree(), await standing(desk)
        for step, (what, number) in enumerate(actions):
            await decide(desk, what, number, f"edited {step}\n")
        last, decided_last = desk.tree(), await standing(desk)
        undone = await all_of(desk, "undo")
        assert (desk.tree(), await standing(desk)) == (first, decided)
        assert await all_of(desk, "redo") >= undone
        if not any(what in ("undo", "redo") for what, _ in actions):
            assert (desk.tree(), await standing(desk)) == (last, decided_last)


async def standing(desk: Desk) -> list[tuple[object, ...]]:
    overview = await review_of(desk).overview()
    return [(file.key, file.states) for group in overview.groups for file in group.files]


async def all_of(desk: Desk, what: str) -> int:
    """Undo or redo until there is no more; how often."""
    count = 0
    while True:
        overview = await review_of(desk).overview()
        if not (overview.can_undo if what == "undo" else overview.can_redo):
            return count
        review = review_of(desk)
        await (review.undo() if what == "undo" else review.redo())
        count += 1


def put_tree(root: Path, tree: Tree) -> None:
    for name, (mode, data) in tree.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        elif mode:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)


def git_apply(directory: Path, patch: bytes) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    return subprocess.run(command, cwd=directory, input=patch, capture_output=True, check=False)


@settings(max_examples=12, suppress_health_check=SLOW)
@given(steps=STEPS)
async def test_the_kept_patch_applies_to_the_files_before_and_gives_those_after(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps
) -> None:
    base = tmp_path_factory.mktemp("random")
    async with desk_at(base / "project", base / "data") as desk:
        for name in ("a", "b", "c"):
            desk.put(name, OPENING)
        before = desk.tree()
        for step, (what, number) in enumerate(steps):
            if what == "agent":
                await some_edit(desk, number, step)
            elif what == "say":
                await desk.say()
            elif what in ("keep", "revert", "edit", "undo", "redo", "file", "turn", "all", "single"):
                await decide(desk, what, number, f"edited {step}\n")
        try:
            patch = await review_of(desk).patch()
        except UsageError:
            return
        after = {name: data for name, (_, data) in desk.tree().items()}
        copy = base / "copy"
        copy.mkdir()
        put_tree(copy, before)
        if patch.files:
            applied = await in_thread(git_apply, copy, patch.data)
            assert applied.returncode == 0, (applied.stderr, patch.data)
        left_out = {each.split(":")[0] for each in patch.left_out}
        found = {path.name: path.read_bytes() for path in copy.iterdir()}
        if not left_out:
            assert found == after
