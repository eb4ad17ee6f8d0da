"""The edits of a file are in their order, also where another call writes it while a command runs."""

import itertools
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.review.blame import blame_of
from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.store.edit_records import Edit
from cogency_tui.tools.journal_protocol import Consent
from tests.agent.journaling import Desk, desk_at, settle


@pytest.fixture(params=["one process", "two processes"])
async def two(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[tuple[Desk, Desk]]:
    """Two desks in one project, which share a journal, or each have one as two processes have."""
    places = tmp_path / "project", tmp_path / "data"
    async with desk_at(*places) as own, desk_at(*places) as other:
        if request.param == "one process":
            other.journal, other.calls = own.journal, own.journal.of(other.conversation)
        own.put("there", "old\n")
        settle()
        yield own, other


async def _edits_of(desk: Desk, path: str) -> list[Edit]:
    """The edits of a file, the oldest first; each begins with what the one before has left."""
    found = await (await desk.journal.edits()).of_project(desk.journal.root, path=path, limit=100)
    found.reverse()
    assert all(earlier.after.holds(later.before) for earlier, later in itertools.pairwise(found))
    return found


async def test_what_a_command_wrote_before_a_tool_comes_first(two: tuple[Desk, Desk]) -> None:
    own, other = two
    async with own.calls.around_command("c", "shell") as found:
        own.put("there", "by the command\nold\n")
        await other.write(("there", "by the tool\nby the command\nold\n"))
        own.put("there", "by the tool\nby the command\nold\nat last\n")
        own.put("new", "new\n")

    made = await _edits_of(own, "there")
    assert [each.origin.conversation for each in made] == [
        own.conversation,
        other.conversation,
        own.conversation,
    ]
    assert [(each.call, each.tool) for each in (made[0], made[2])] == [("c", "shell")] * 2
    assert {each.id for each in found.edits} == {each.id for each in await own.edits()}
    lines = (await blame_of(own.journal, own.store, "there")).lines
    writers = [line.edit and line.edit.origin.conversation for line in lines]
    assert writers == [other.conversation, own.conversation, None, own.conversation]


async def test_what_a_command_made_or_removed_comes_first(two: tuple[Desk, Desk]) -> None:
    own, other = two
    async with own.calls.around_command("c", "shell") as found:
        own.put("new", "by the command\n")
        await other.write(("new", "by the tool\n"))
        (own.root / "there").unlink()
        await other.write(("there", "by the tool\n"))

    assert [each.kind for each in await _edits_of(own, "new")] == ["created", "changed"]
    assert [each.kind for each in await _edits_of(own, "there")] == ["deleted", "created"]
    assert sorted((each.kind, each.path) for each in found.edits) == [
        ("created", "new"),
        ("deleted", "there"),
    ]
    assert await other.told() == [("changed", "new"), ("created", "there")]


async def test_a_tool_records_nothing_for_a_command_that_has_not_changed_its_files(
    two: tuple[Desk, Desk],
) -> None:
    own, other = two
    async with own.calls.around_command("c", "shell") as found:
        own.put("beside", "by the command\n")
        await other.write(("there", "by the tool\n"), ("new", "by the tool\n"))
        await other.write(("there", "again\n"))
        assert await own.told() == []

    assert [each.path for each in found.edits] == ["beside"]


async def test_what_a_command_left_ignored_stays_unrecorded(two: tuple[Desk, Desk]) -> None:
    own, other = two
    own.put(".gitignore", "*.log\n")
    async with own.calls.around_command("c", "shell") as found:
        own.put("a.log", "by the command\n")
        await other.write(("a.log", "by the tool\n"))

    assert found.edits == []
    assert await other.told() == [("changed", "a.log")]


async def test_what_a_command_wrote_before_a_decision_of_the_user_comes_first(two: tuple[Desk, Desk]) -> None:
    own, other = two
    own.put("there", "one\ntwo\nthree\nfour\nfive\n")
    settle()
    await other.write(("there", "one\ntwo\nthree\nfour\nby the tool\n"))
    async with own.calls.around_command("c", "shell") as found:
        own.put("there", "by the command\ntwo\nthree\nfour\nby the tool\n")
        await other.review.revert(Target(None))

    assert (own.root / "there").read_text() == "by the command\ntwo\nthree\nfour\nfive\n"
    tools = [each.tool for each in await _edits_of(own, "there")]
    assert tools == ["write", "shell", "undo"]
    assert [each.path for each in found.edits] == ["there"]


async def test_a_line_that_a_command_brings_back_is_of_the_command(two: tuple[Desk, Desk]) -> None:
    own, other = two
    await other.write(("there", "theirs\nold\n"))
    settle()
    async with own.calls.around_command("c", "shell"):
        # As `sed -i` does: it has read the file when the other replaces the line, and writes all of it.
        read = (own.root / "there").read_text()
        await other.write(("there", "better\nold\n"))
        own.put("there", f"{read}own\n")

    *_, last = await _edits_of(own, "there")
    lines = (await blame_of(own.journal, own.store, "there")).lines
    assert [line.edit and line.edit.id for line in lines] == [last.id, None, last.id]
    assert (last.origin.conversation, last.shared_with) == (own.conversation, ())
    await own.review.revert(Target(None))
    assert (own.root / "there").read_text() == "better\nold\n"


async def test_the_user_is_asked_about_a_protected_file_that_a_tool_wrote_after_the_command(
    two: tuple[Desk, Desk],
) -> None:
    own, other = two
    own.put("AGENTS.md", "one\ntwo\nthree\nfour\nfive\n")
    settle()
    asked: list[str] = []

    async def refuse(changed: Sequence[str], _diff: str) -> bool:
        asked.extend(changed)
        return False

    async with own.calls.around_command("c", "shell", consent=Consent(refuse)) as found:
        own.put("AGENTS.md", "evil\ntwo\nthree\nfour\nfive\n")
        await other.write(("AGENTS.md", "evil\ntwo\nthree\nfour\nby the tool\n"))

    assert any("AGENTS.md" in each for each in asked)
    assert found.put_back
    assert (own.root / "AGENTS.md").read_text() == "one\ntwo\nthree\nfour\nby the tool\n"


async def test_lines_of_another_are_named_though_a_command_of_its_may_have_changed_the_file(
    two: tuple[Desk, Desk],
) -> None:
    own, other = two
    lines = [f"{number}\n" for number in range(30)]
    own.put("there", "".join(lines))
    settle()
    async with own.calls.around_command("c", "shell"):
        own.put("there", "".join(["own\n", *lines[1:]]))
        await other.write(("there", "".join(["own\n", *lines[1:10], "tool\n", *lines[11:]])))
        async with other.calls.around_command("d", "shell"):
            own.put(
                "there", "".join(["own\n", *lines[1:10], "tool\n", *lines[11:20], "shared\n", *lines[21:]])
            )
    (shared,) = [each for each in await other.edits() if each.shared_with]
    assert shared.shared_with == (own.conversation,)
    found = await own.review.others(FileKey(1, "there"))
    assert [ranges for _title, ranges in found] == [((10, 11), (20, 21))]
    question = await other.undo.asks_about(await other.undo.of_edits([shared.id]))
    assert question == "A command of conversation “go on” may have made the changes to there."
