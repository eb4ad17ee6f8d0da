"""A turn that is run again in a scratch copy of the files as they were then."""

import json
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.edits.startup_recovery import settle_left
from cogency_tui.agent.rerun import (
    RerunChoice,
    ScratchCopy,
    prepare,
    read_turn,
    rerunning,
    seconds_at_work,
    states_after,
    states_before,
)
from cogency_tui.agent.rerun_marks import any_left_open
from cogency_tui.config.schema import Permissions, Settings
from cogency_tui.errors import ConfigError, UsageError
from cogency_tui.protocol.events import Event, Measure, ResultPayload
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, Edit, Version
from cogency_tui.store.trash import Trash
from cogency_tui.temporary_files import prefix
from cogency_tui.workspace.paths import Workspace
from tests.agent.repositories import git, output
from tests.peers.scripted import ScriptedProvider


def written(path: str, text: str) -> str:
    args = {"file": path, "content": text, "overwrite": True}
    return f"<execute>{json.dumps([{'name': 'write', 'args': args}])}</execute>"


def read(path: str) -> str:
    return f"<execute>{json.dumps([{'name': 'read', 'args': {'file': path}}])}</execute>"


def failing() -> str:
    return read("missing.txt")


def agent_in(project: Path, *replies: str) -> Agent:
    return Agent(
        ScriptedProvider(*replies),
        project=project,
        data=project.parent / "data",
        settings=Settings(permissions="auto", sandbox="off"),
    )


@pytest.fixture
async def worked(project: Path) -> AsyncIterator[tuple[Agent, str]]:
    """A conversation of two turns, each of which has written a file, and a change of the user's since."""
    (project / "kept.txt").write_text("mine\n")
    agent = agent_in(
        project,
        written("notes.txt", "one\n"),
        "First.",
        written("notes.txt", "two\n"),
        "Second.",
    )
    async with agent:
        async for _event in agent("begin"):
            pass
        store = await agent.store()
        (conversation,) = await store.conversations(limit=2)
        async for _event in agent("go on", conversation_id=conversation.id):
            pass
        yield agent, conversation.id


async def test_a_turn_runs_again_in_the_files_as_they_were_and_leaves_the_project_alone(
    worked: tuple[Agent, str], project: Path
) -> None:
    agent, id = worked
    other = ScriptedProvider(read("notes.txt"), written("notes.txt", "three\n"), failing(), "Better.")
    choice = RerunChoice(check="grep -q three notes.txt")
    async with rerunning(agent, id, 2, choice, provider=other) as again:
        root = again.copy.root
        assert (root / "notes.txt").read_text() == "one\n"
        assert (root / "kept.txt").read_text() == "mine\n"
        events = [event async for event in again.stream()]
        assert (root / "notes.txt").read_text() == "three\n"
        found = await again.compare()

    assert events[-1]["type"] == "end"
    assert (project / "notes.txt").read_text() == "two\n"
    assert not root.parent.exists()
    left, right = found.left, found.right
    assert (left.prompts, right.prompts) == (("go on",), ("go on",))
    assert (left.answers, right.answers) == (("Second.",), ("Better.",))
    assert (left.files, right.files) == ((("notes.txt", "changed"),), (("notes.txt", "changed"),))
    assert "+two" in left.diffs[0]
    assert "+three" in right.diffs[0]
    assert "-one" in right.diffs[0]
    assert (left.calls, left.failed, right.calls, right.failed) == (1, 0, 3, 1)
    assert right.tokens > 0
    assert not right.interrupted
    assert left.check is not None
    assert right.check is not None
    assert (left.check.passed, right.check.passed) == (False, True)
    store = await agent.store()
    assert [each.id for each in await store.conversations(limit=5)] == [id]
    assert [each.id for each in await Trash(store.database).listed(limit=5)] == [right.conversation.id]


async def test_the_model_and_the_log_say_that_the_copy_has_no_history(
    worked: tuple[Agent, str], project: Path
) -> None:
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Mine"]):
        git(project, *words)
    agent, id = worked
    for turn in (1, 2):
        async with rerunning(agent, id, turn, RerunChoice(), provider=ScriptedProvider("Done.")) as again:
            (message, *_) = [event async for event in again.stream()]
            log = output(again.copy.root, "log", "--format=%s")
        assert log == "Scratch copy of the project, without its history\n"
        assert message["type"] == "user"
        said = "Git: branch main, clean; this scratch copy is without the project's history\n"
        assert said in message.get("environment", "")


async def test_the_first_turn_begins_without_the_file_that_it_has_created(worked: tuple[Agent, str]) -> None:
    agent, id = worked
    async with rerunning(agent, id, 1, RerunChoice(), provider=ScriptedProvider("No file needed.")) as again:
        assert not (again.copy.root / "notes.txt").exists()
        async for _event in again.stream():
            pass
        found = await again.compare()
    assert found.shared == 0
    assert (found.left.answers, found.right.answers) == (("First.",), ("No file needed.",))
    assert (found.left.files, found.right.files) == ((("notes.txt", "created"),), ())
    assert found.right.check is None


async def test_what_is_left_of_a_run_is_removed_with_the_program(
    worked: tuple[Agent, str], project: Path
) -> None:
    _, id = worked
    async with agent_in(project) as other:
        again = await prepare(other, id, 2, RerunChoice(), provider=ScriptedProvider("Never sent."))
        assert again.copy.root.exists()
    assert not again.copy.root.parent.exists()
    async with agent_in(project) as later:
        trashed = await Trash((await later.store()).database).listed(limit=5)
    assert [each.id for each in trashed] == [again.id]


async def test_a_rerun_of_a_killed_program_is_in_the_trash_at_the_next_start(
    worked: tuple[Agent, str], project: Path
) -> None:
    agent, id = worked
    again = await prepare(agent, id, 2, RerunChoice(), provider=ScriptedProvider("Never sent."))
    (mark,) = (agent.data / "reruns").iterdir()
    assert not any_left_open(agent.data)
    # This process began at another time than the one that is named.
    mark.rename(mark.with_name(f"{os.getpid()}-{'0' * 12}.{again.id}"))
    assert any_left_open(agent.data)
    await settle_left(agent.data)
    assert not any_left_open(agent.data)
    trash = Trash((await agent.store()).database)
    assert [each.id for each in await trash.listed(limit=5)] == [again.id]


@pytest.mark.parametrize(
    ("configured", "chosen", "expected"),
    [("ask", None, "edits"), ("plan", None, "plan"), ("edits", "ask", "ask"), ("ask", "auto", "auto")],
)
async def test_edits_of_the_copy_need_no_question(
    worked: tuple[Agent, str], configured: Permissions, chosen: Permissions | None, expected: str
) -> None:
    agent, id = worked
    agent.permissions = configured
    choice = RerunChoice(permissions=chosen)
    async with rerunning(agent, id, 2, choice, provider=ScriptedProvider("Never sent.")) as again:
        assert again.agent.permissions == expected


def test_the_time_is_without_that_of_the_users_answers() -> None:
    payload: ResultPayload = {"outcome": "done", "content": "", "error": False, "state": "done"}
    result: Event = {
        "type": "result",
        "timestamp": 100.0,
        "id": "a",
        "tool": "shell",
        "duration": 2.0,
        "payload": payload,
    }
    asked: Measure = {"duration": 90.0, "ttft": 1.0, "writing": 3.0}
    plain: Measure = {"duration": 4.0}
    assert seconds_at_work([(100.0, asked), (104.0, plain)], [result]) == 10.0
    assert seconds_at_work([(100.0, asked)], []) == 4.0


async def test_a_turn_that_is_stopped_is_compared_as_far_as_it_has_come(worked: tuple[Agent, str]) -> None:
    agent, id = worked
    provider = ScriptedProvider(read("notes.txt"), written("notes.txt", "three\n"), "Better.")
    async with rerunning(agent, id, 2, RerunChoice(), provider=provider) as again:
        async for event in again.stream():
            if event["type"] == "result" and event["tool"] == "write":
                again.interrupt()
        found = await again.compare()
    assert found.right.files == (("notes.txt", "changed"),)
    assert found.right.answers == ()
    assert found.right.interrupted


async def test_a_model_that_cannot_be_used_leaves_no_copy(worked: tuple[Agent, str]) -> None:
    agent, id = worked
    before = {*Path(tempfile.gettempdir()).glob(f"{prefix('rerun')}*")}
    with pytest.raises(ConfigError, match="nobody"):
        async with rerunning(agent, id, 2, RerunChoice("nobody")):
            pass
    assert {*Path(tempfile.gettempdir()).glob(f"{prefix('rerun')}*")} == before


async def test_the_message_has_the_note_that_the_model_was_sent_with_it(worked: tuple[Agent, str]) -> None:
    agent, id = worked
    store = await agent.store()
    conversation = await store.resolve(id)
    turn = await read_turn(store, conversation, 2)
    assert (turn.prompt, turn.before > 0, len(turn.events) > 2) == ("go on", True, True)
    turn.message["review"] = {"text": "[The user reverted a.py.]", "action": 1, "edit": 1}
    assert turn.prompt == "go on\n\n[The user reverted a.py.]"


async def test_a_turn_that_does_not_exist_names_those_that_do(worked: tuple[Agent, str]) -> None:
    agent, id = worked
    with pytest.raises(UsageError, match="no turn 3") as missing:
        async with rerunning(agent, id, 3, RerunChoice()):
            pass
    assert "1 to 2" in missing.value.hint


async def test_a_conversation_of_another_project_is_refused(worked: tuple[Agent, str], project: Path) -> None:
    agent, id = worked
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    async with agent_in(elsewhere) as other:
        with pytest.raises(UsageError, match="another project"):
            async with rerunning(other, id, 1, RerunChoice()):
                pass
    del agent


def edit(id: int, path: str, before: Version, after: Version, old_path: str = "") -> Edit:
    return Edit(path, before, after, old_path, id=id)


def test_edits_are_taken_back_and_made_again_with_their_renames() -> None:
    one, two, three = (Version("file", digit * 64, 1, 0o644, kept=True) for digit in "123")
    edits = [
        edit(1, "a", one, two),
        edit(2, "b", two, two, "a"),
        edit(3, "b", two, three),
        edit(4, "new", ABSENT, one),
        edit(5, "gone", one, ABSENT),
    ]
    assert states_before(reversed(edits)) == {"a": one, "b": ABSENT, "new": ABSENT, "gone": one}
    assert states_after(edits) == {"a": ABSENT, "b": three, "new": one, "gone": ABSENT}


def test_a_path_that_leads_out_of_the_copy_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    copy = ScratchCopy(tmp_path / "copy")
    copy.root.mkdir()
    (copy.root / "link").symlink_to(tmp_path / "outside")
    blobs = Blobs(tmp_path / "blobs")
    stored = blobs.put_bytes(b"x")
    version = Version("file", stored.digest, 1, 0o644, kept=True)
    paths = ("../up", "/absolute", "link/in", ".git/hooks/pre-commit")
    copy.put(
        dict.fromkeys(paths, version) | {"deep/ok": version, "lost": Version("file", "0" * 64, 9)}, blobs
    )
    assert [*(tmp_path / "outside").iterdir()] == []
    assert not (tmp_path / "up").exists()
    assert sorted(path.name for path in copy.root.iterdir()) == ["deep", "link"]
    assert (copy.root / "deep/ok").read_bytes() == b"x"
    assert copy.uncertain == ["lost"]


def test_the_copy_lacks_ignored_files_and_links_that_lead_out(project: Path, tmp_path: Path) -> None:
    (project / ".gitignore").write_text("*.log\n/build/\n")
    for name in ("a.txt", "run.log", "src/b.py", "build/out", "node_modules/x/index.js", ".git/config"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    (project / "src/run.sh").write_text("exit 0")
    (project / "src/run.sh").chmod(0o755)
    for link, target in (
        ("inside", "src/b.py"),
        ("out", "/etc/passwd"),
        ("above", "../data"),
        ("src/up", "../a.txt"),
    ):
        (project / link).symlink_to(target)

    copy = ScratchCopy(tmp_path / "copy" / "shop")
    copy.copy_from(Workspace(project))
    found = sorted(path.relative_to(copy.root).as_posix() for path in copy.root.rglob("*"))
    assert found == [".gitignore", "a.txt", "greet.py", "inside", "src", "src/b.py", "src/run.sh", "src/up"]
    assert (copy.root / "src/run.sh").stat().st_mode & 0o777 == 0o755
    assert (copy.root / "src/up").read_text() == "a.txt"
    assert copy.remarks[0].startswith("Left out of the copy: ")
    assert sorted(copy.left_out) == ["above", "build", "node_modules", "out", "run.log"]
