"""What the user edits while a command runs in the background: it may be either's, and no plain revert takes it."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.cli.edits import Choice, Consent, EditCommands
from cogency_tui.cli.patch_and_blame import print_blame
from cogency_tui.errors import ConsentError, UsageError
from cogency_tui.store.edit_records import USER, Edit
from cogency_tui.tools.shell.background import Background
from tests.agent.conftest import MakeAgent
from tests.agent.journaling import Desk, desk_at, orphan, settle, until
from tests.agent.test_turns import block, results, turn

_IDLE = "sleep 600"


class _Office:
    """A desk with a real command in the background."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.background = Background(grace=0.2)

    async def start(self, command: str = _IDLE) -> None:
        async with self.desk.calls.around_command("server", "shell") as found:
            id = await self.background.start(command, self.desk.root, os.environ)
            found.goes_on(lambda: self.background.over(id), self.background.pid(id))

    async def scanned(self) -> list[Edit]:
        await self.desk.journal.scan()
        return await self.desk.edits()


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[_Office]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        office = _Office(desk)
        yield office
        await office.background.close()
        await desk.journal.close()


def _commands(desk: Desk) -> EditCommands:
    return EditCommands(desk.store, desk.root.resolve(), desk.conversation, as_json=False)


async def test_what_nobody_can_tell_whose_it_is_is_possibly_the_users(office: _Office) -> None:
    office.desk.put("there", "old\n")
    settle()
    await office.start()
    office.desk.put("there", "mine\n")
    office.desk.put("new", "mine\n")
    found = await office.scanned()
    assert [(edit.call, edit.kind, edit.path, edit.shared_with) for edit in found] == [
        ("server", "created", "new", (USER,)),
        ("server", "changed", "there", (USER,)),
    ]


async def test_a_file_that_the_command_has_open_for_writing_is_its_own(office: _Office) -> None:
    log = office.desk.root / "server.log"
    office.desk.put("read", "")
    settle()
    await office.start("exec 3> server.log 4< read; echo started >&3; sleep 600")
    office.desk.put("read", "mine\n")
    await until(log.exists)
    await until(lambda: bool(log.read_text()))
    shared = {edit.path: edit.shared_with for edit in await office.scanned()}
    assert shared == {"server.log": (), "read": (USER,)}


async def test_a_plain_undo_leaves_and_names_it(office: _Office, capsys: pytest.CaptureFixture[str]) -> None:
    desk = office.desk
    await office.start()
    await desk.write(("agents", "exact\n"))
    desk.put("mine", "mine\n")
    *_, edit = await office.scanned()
    assert edit.path == "mine"

    assert await _commands(desk).revert(Choice(), Consent(yes=True)) == 0

    assert sorted(desk.tree()) == ["mine"]
    shown = capsys.readouterr()
    assert "mine stays unchanged: you may have made the change while a background command ran." in shown.out
    assert f"edits revert {edit.id} --conversation {desk.conversation}`" in shown.out
    await _commands(desk).list_all()
    assert "mine  (possibly yours)" in capsys.readouterr().out
    with pytest.raises(UsageError, match="mine stays unchanged"):
        await desk.undo.of_turn()
    with pytest.raises(UsageError, match="mine stays unchanged"):
        await desk.undo.back_to(0)


async def test_who_chooses_it_is_asked_and_reverts_it(office: _Office) -> None:
    desk = office.desk
    await office.start()
    desk.put("mine", "mine\n")
    (edit,) = await office.scanned()
    plan = await desk.undo.of_edits([edit.id])
    assert await desk.undo.asks_about(plan) == "You may have made the changes to mine."
    with pytest.raises(ConsentError):
        await desk.undo.apply(plan)
    assert (desk.root / "mine").exists()
    await desk.undo.apply(plan, agreed=True)
    assert not (desk.root / "mine").exists()


async def test_undo_goes_on_to_the_turn_before_and_names_what_it_passed_over(office: _Office) -> None:
    desk = office.desk
    await desk.write(("first", "1\n"))
    await desk.say()
    await office.start()
    desk.put("mine", "mine\n")
    await office.scanned()
    plan = await desk.undo.of_turn()
    assert (plan.turn, [each.change.path for each in plan.changes]) == (1, ["first"])
    assert [each.path for each in plan.left] == ["mine"]


async def test_the_review_of_a_turn_leaves_and_names_it(office: _Office) -> None:
    desk = office.desk
    text = "".join(f"{number}\n" for number in range(30))
    desk.put("both", text)
    settle()
    await office.start()
    await desk.write(("both", text.replace("3\n", "agent\n", 1)), ("agents", "exact\n"))
    desk.put("both", (desk.root / "both").read_text().replace("\n25\n", "\nmine\n"))
    desk.put("mine", "mine\n")
    await office.scanned()
    review = desk.review
    hunks = (await review.diff(FileKey(1, "both"))).hunks
    assert [hunk.is_possibly_users for hunk in hunks] == [False, True]

    outcome = await review.revert(Target(1))

    assert sorted(outcome.left) == ["both", "mine"]
    assert sorted(desk.tree()) == ["both", "mine"]
    assert (desk.root / "both").read_text() == text.replace("\n25\n", "\nmine\n")
    with pytest.raises(
        UsageError, match="Nothing was reverted: you may have made the changes to both and mine"
    ):
        await review.revert(Target(None))
    asked: list[str] = []

    async def agree(question: str) -> bool:
        asked.append(question)
        return True

    review.ask_with(agree)
    await review.revert(Target(1, "both"), Target(1, "mine"))
    assert asked == ["You may have made the changes to both and mine."]
    assert {name: data for name, (_, data) in desk.tree().items()} == {"both": text.encode()}
    await review.undo()
    assert (await review.keep(Target(None))).left == ()


async def test_a_killed_programs_background_command_leaves_it_possibly_the_users(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        over = asyncio.Event()
        async with desk.calls.around_command("server", "shell") as found:
            found.goes_on(over.wait)
        desk.put("mine", "mine\n")
        settle()
        await orphan(desk, data)
        (notice,) = await Desk(desk.root, desk.store, desk.conversation, desk.journal.limits).journal.settle()
        assert "mine" in notice
        (edit,) = await desk.edits()
        assert (edit.path, edit.shared_with) == ("mine", (USER,))
        over.set()
        await desk.journal.close()


async def test_blame_marks_it(office: _Office, capsys: pytest.CaptureFixture[str]) -> None:
    desk = office.desk
    await office.start()
    desk.put("mine", "mine\n")
    await office.scanned()
    await print_blame(desk.store, desk.root.resolve(), "mine", as_json=False)
    assert "shell?" in capsys.readouterr().out


async def test_the_model_learns_of_it_and_its_own_log_is_its_own(
    make_agent: MakeAgent, project: Path
) -> None:
    command = (
        "exec 3> server.log; echo started >&3; until [ -e go ]; do sleep 0.01; done; echo went >&3; sleep 600"
    )
    start = block(("shell", {"command": command, "background": True}))
    read = block(("read", {"file": "greet.py"}))
    edit = block(("edit", {"file": "greet.py", "old": "hello", "new": "goodbye"}))
    agent = make_agent(read, start, "Started.", block(("shell", {"command": "true"})), edit, "Done.")
    async with agent:
        await turn(agent, conversation_id="c")
        text = (project / "greet.py").read_text()
        (project / "greet.py").write_text(f"# mine\n{text}")
        (project / "go").touch()
        await until(lambda: "went" in (project / "server.log").read_text())
        events = await turn(agent, conversation_id="c")
        _, result = results(events)
        assert [each["by"] for each in result["payload"].get("changed_by", [])] == ["background"]
        assert "changed by the user or by a background command" in str(result["payload"])
        edits = await (await agent.journal.edits()).of_project(str(project), limit=20)
    shared = {(edit.tool, edit.path): edit.shared_with for edit in edits}
    assert shared["shell", "greet.py"] == (USER,)
    assert shared["shell", "server.log"] == ()
    assert shared["edit", "greet.py"] == ()
