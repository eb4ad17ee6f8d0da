"""A formatter that runs after each edit of the model's: what it changes is journaled as its own."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.review.model import Target
from cogency_tui.errors import UsageError, WorkspaceError
from tests.agent.delegation import results
from tests.agent.hooks.bench import (
    FORMAT,
    Bench,
    call,
    edit,
    edits,
    only_result,
    runs,
    shell,
    turn,
)

UGLY = "first = [1,\n  2]\n\n\n" + "# -\n" * 9 + "\n\ndef last():\n    return 1\n"
"""A list that ruff would format, far from a function."""

EDITED = UGLY.replace("return 1", "return 2")
BOTH = EDITED.replace("[1,\n  2]", "[1, 2]")


def put(bench: Bench, text: str = UGLY, name: str = "a.py") -> Path:
    path = bench.root / name
    path.write_text(text)
    return path


async def test_what_it_changes_is_recorded_shown_and_sent(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return 2"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        result = only_result(await turn(agent))
        assert file.read_text() == BOTH
        assert [(each.tool, each.call, each.path) for each in await edits(agent)] == [
            ("edit", result["id"], "a.py"),
            ("hook:fmt", result["id"], "a.py"),
        ]
    (run,) = runs([result])
    assert (run["name"], run["on"], run["state"], run["outcome"]) == ("fmt", "after_edit", "done", "")
    assert run["changes"] == [{"path": "a.py", "added": 1, "removed": 2}]
    assert "1 file reformatted" in run["output"]
    assert result["payload"]["state"] == "done"
    note = result["payload"].get("note", "")
    assert note.startswith("[The hook fmt changed a.py (+1 −2):\n@@ ")
    assert "+first = [1, 2]" in note
    assert "The hook fmt changed a.py" in bench.sent


async def test_both_hunks_are_reviewed_and_each_reverted_apart(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return 2"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        await turn(agent)
        review = agent.review("c")
        (group,) = (await review.overview()).groups
        diff = await review.diff(group.files[0].key)
        ours, theirs = diff.hunks[1], diff.hunks[0]
        assert (ours.hooks, theirs.hooks, theirs.is_of_hooks) == ((), ("fmt",), True)
        await review.revert(Target(1, "a.py", (theirs.id,)))
        assert file.read_text() == EDITED
        await review.undo()
        await review.revert(Target(1, "a.py", (ours.id,)))
        assert file.read_text() == BOTH.replace("return 2", "return 1")


async def test_the_model_learns_whose_change_was_reverted(bench: Bench) -> None:
    put(bench)
    hooks = {"fmt": FORMAT}
    async with bench.agent(edit("return 1", "return 2"), "Ok.", "Ok.", "Ok.", hooks=hooks) as agent:
        await turn(agent)
        review = agent.review("c")
        key = (await review.overview()).groups[0].files[0].key
        theirs, ours = (await review.diff(key)).hunks
        await review.revert(Target(1, "a.py", (theirs.id,)))
        await turn(agent, "first")
        assert (
            "- a.py: the change of the hook fmt in turn 1 was reverted; your own edit stands.\n" in bench.sent
        )
        await review.revert(Target(1, "a.py", (ours.id,)))
        await turn(agent, "second")
        assert "- a.py: your change of turn 1 was reverted.\n" in bench.sent


async def test_where_it_changed_the_models_lines_its_part_is_reverted_alone(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return   [2,3]"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        await turn(agent)
        formatted = file.read_text()
        assert "return [2, 3]" in formatted
        review = agent.review("c")
        (group,) = (await review.overview()).groups
        key = group.files[0].key
        first, both = (await review.diff(key)).hunks
        assert (first.last_edit, both.last_edit and both.last_edit.tool) == (None, "hook:fmt")
        await review.revert_last_edit(Target(1, "a.py", (both.id,)))
        assert file.read_text() == formatted.replace("return [2, 3]", "return   [2,3]")
        hunks = (await review.diff(key)).hunks
        assert [hunk.state for hunk in hunks] == ["new", "new"]
        assert hunks[1].last_edit is None
        with pytest.raises(UsageError, match="A single edit made this hunk"):
            await review.revert_last_edit(Target(1, "a.py", (hunks[1].id,)))
        await review.undo()
        assert file.read_text() == formatted
        await review.redo()
        await review.revert(Target(1, "a.py", (hunks[1].id,)))
        assert file.read_text() == formatted.replace("return [2, 3]", "return 1")
        await review.revert(Target(1))
        assert file.read_text() == UGLY


async def test_its_part_stays_where_the_lines_have_changed_since(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return   [2,3]"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        await turn(agent)
        mine = file.read_text().replace("return [2, 3]", "return 'mine'")
        file.write_text(mine)
        review = agent.review("c")
        (group,) = (await review.overview()).groups
        _, both = (await review.diff(group.files[0].key)).hunks
        with pytest.raises(WorkspaceError, match=r"Not reverted: a\.py"):
            await review.revert_last_edit(Target(1, "a.py", (both.id,)))
        assert file.read_text() == mine
        (group,) = (await review.overview()).groups
        assert group.files[0].states == ("new", "new")


async def test_an_undo_reverts_both_and_a_redo_brings_both_back(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return 2"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        await turn(agent)
        undo = await agent.undo("c")
        await undo.apply(await undo.of_turn())
        assert file.read_text() == UGLY
        await undo.apply(await undo.redo())
        assert file.read_text() == BOTH


async def test_where_both_changed_a_line_that_of_the_hook_alone_can_be_undone(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(edit("return 1", "return   2"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        await turn(agent)
        assert file.read_text() == BOTH
        _model, formatter = await edits(agent)
        undo = await agent.undo("c")
        await undo.apply(await undo.of_edits([formatter.id]))
        assert file.read_text() == UGLY.replace("return 1", "return   2")


async def test_the_timeline_restores_what_was_there_before_and_after(bench: Bench) -> None:
    file = put(bench)
    async with bench.agent(
        edit("return 1", "return 2"), edit("return 2", "return 3"), "Ok.", hooks={"fmt": FORMAT}
    ) as agent:
        await turn(agent)
        timeline = agent.timeline("c")
        past = await timeline.read()
        points = [index for index, point in enumerate(past.points) if point.event["type"] == "result"]
        undo = await agent.undo("c")
        await undo.apply(await timeline.restore(past, points[0]))
        assert file.read_text() == BOTH


async def test_the_models_next_edit_and_its_rewrite_are_not_refused(bench: Bench) -> None:
    file = put(bench, "x = 1\n")
    async with bench.agent(
        call("read", file="a.py"),
        edit("x = 1", "x   =   2"),
        call("write", file="a.py", content="y  =  3\n", overwrite=True),
        "Ok.",
        hooks={"fmt": FORMAT},
    ) as agent:
        states = [result["payload"]["state"] for result in results(await turn(agent))]
    assert states == ["done"] * 3
    assert file.read_text() == "y = 3\n"


async def test_it_runs_for_its_files_and_tools_only(bench: Bench) -> None:
    put(bench, "x\n", "notes.txt")
    put(bench, "x = 1\n")
    hooks = {
        "python": shell("after_edit", "true", "{file}", files="*.py"),
        "below": shell("after_edit", "true", "{file}", files=["src/**/*.py", "*.md"]),
        "writes": shell("after_edit", "true", tools=["Write"]),
        "off": shell("after_edit", "true", enabled=False),
    }
    steps = (
        edit("x", "y", "notes.txt"),
        edit("x = 1", "x = 2"),
        call("Write", file_path="src/deep/b.py", content="y = 1\n"),
        call("read", file="a.py"),
        call("shell", command="true"),
    )
    async with bench.agent(*steps, "Ok.", hooks=hooks) as agent:
        ran = [
            [run["name"] for run in result["payload"].get("hooks", ())]
            for result in results(await turn(agent))
        ]
    assert ran == [[], ["python"], ["python", "below", "writes"], [], []]


async def test_it_runs_once_for_each_file_or_once_for_all(bench: Bench) -> None:
    for name in ("a.py", "b.py"):
        put(bench, "old\n", name)
    hooks = {
        "each": shell("after_edit", 'echo "$# $1"', "{file}"),
        "all": shell("after_edit", 'echo "$#"', "{files}"),
        "none": shell("after_edit", 'echo "$#"'),
    }
    replace = call("replace", pattern="*.py", old="old", new="new")
    async with bench.agent(replace, "Ok.", hooks=hooks) as agent:
        outputs = [run["output"] for run in runs(await turn(agent))]
    assert outputs == [f"1 {bench.root}/a.py\n1 {bench.root}/b.py", "2", "0"]


async def test_hooks_run_in_the_order_of_the_file_each_on_what_the_one_before_left(bench: Bench) -> None:
    file = put(bench, "x = 1\n")
    add = 'printf "%s\\n" "$2" >> "$1"'
    hooks = {name: shell("after_edit", add, "{file}", name) for name in ("second", "first", "third")}
    async with bench.agent(edit("x = 1", "x = 2"), "Ok.", hooks=hooks) as agent:
        await turn(agent)
        made = [(each.tool, each.path) for each in await edits(agent)]
    assert file.read_text() == "x = 2\nsecond\nfirst\nthird\n"
    assert made == [(f"{tool}", "a.py") for tool in ("edit", "hook:second", "hook:first", "hook:third")]


async def test_a_failed_edit_runs_none(bench: Bench) -> None:
    put(bench, "x = 1\n")
    async with bench.agent(edit("nothing", "x"), "Ok.", hooks={"fmt": FORMAT}) as agent:
        assert runs(await turn(agent)) == []


async def test_a_large_change_is_sent_as_counts(bench: Bench) -> None:
    file = put(bench, "x = 1\n")
    hooks = {"long": shell("after_edit", 'seq 5000 > "$1"', "{file}")}
    async with bench.agent(edit("x = 1", "x = 2"), "Ok.", hooks=hooks) as agent:
        note = only_result(await turn(agent))["payload"].get("note", "")
    assert note == "[The hook long changed a.py (+5000 −1). Read it before you change it again.]"
    assert file.read_text().startswith("1\n2\n")


async def test_other_files_that_it_leaves_are_its_own_and_named_to_the_model_once(bench: Bench) -> None:
    put(bench, "x = 1\n")
    async with bench.agent(
        edit("x = 1", "x = 2"),
        "Ok.",
        edit("x = 2", "x = 3"),
        "Ok.",
        hooks={"log": shell("after_edit", "echo done >> log.txt")},
    ) as agent:
        note = only_result(await turn(agent))["payload"].get("note", "")
        assert [(each.tool, each.kind, each.path) for each in (await edits(agent))[1:]] == [
            ("hook:log", "created", "log.txt")
        ]
        assert note == "[The hook log changed a file that you have not read: log.txt]"
        assert only_result(await turn(agent))["payload"].get("note", "") == ""


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.agent.hooks.bench import Bench, edit, shell, turn

async def main():
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]))
    script = 'echo "# more" >> a.py; kill -9 "$1"; sleep 60'
    hooks = {"fmt": shell(sys.argv[3], script, str(os.getpid()))}
    async with bench.agent(edit("return 1", "return 2"), hooks=hooks) as agent:
        await turn(agent)

asyncio.run(main())
"""


@pytest.mark.parametrize("event", ["after_edit", "before_edit"])
async def test_a_hook_that_the_end_of_the_program_cut_off_leaves_the_call_its_result(
    bench: Bench, event: str
) -> None:
    file = put(bench)
    words = [sys.executable, "-c", _KILLED, str(bench.root), str(bench.data), event]
    killed = await asyncio.to_thread(subprocess.run, words, check=False)
    assert killed.returncode == -signal.SIGKILL
    async with bench.agent("Ok.") as agent:
        await turn(agent, "go on")
        stored = await (await agent.store()).events("c")
    (result,) = results(stored)
    payload = result["payload"]
    assert result["tool"] == "edit"
    assert "# more" in file.read_text()
    if event == "after_edit":
        assert (payload["state"], payload["error"]) == ("done", False)
        assert payload["outcome"] == "done; the hook fmt was cut off"
        lines = ["Done: changed a.py.", "Then the program ended while the hook fmt ran."]
        assert payload["content"].splitlines()[:2] == lines
        assert "return 2" in file.read_text()
    else:
        assert (payload["state"], payload["error"]) == ("interrupted", True)
        assert "edit itself did not run." in payload["content"]
    assert payload["content"].endswith("The changes of the hook until then:\nchanged a.py")
    assert "hook:fmt" not in str(bench.provider.sent)
