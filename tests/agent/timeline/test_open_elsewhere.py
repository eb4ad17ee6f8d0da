"""The timeline of a conversation belongs to another project, and of files that have no text to show."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import UsageError
from tests.agent.timeline.test_timeline import block, say, write
from tests.peers.scripted import ScriptedProvider


def agent_in(project: Path, *replies: str) -> Agent:
    project.mkdir(exist_ok=True)
    data = project.parent / "data"
    return Agent(ScriptedProvider(*replies), project=project, data=data, permissions="auto")


async def test_from_elsewhere_files_are_as_they_were_and_are_not_restored(tmp_path: Path) -> None:
    async with agent_in(tmp_path / "here", write("a.txt", "one\n"), "Done.") as agent:
        await say(agent, "go")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.txt").write_text("another file of this name\n")
    async with agent_in(tmp_path / "there") as agent:
        timeline = agent.timeline("c")
        past = await timeline.read()
        assert not past.here
        [(file, still)] = await timeline.files(past, len(past.points) - 1)
        assert (file.path, still) == ("a.txt", None)
        assert await timeline.content(file) == b"one\n"
        with pytest.raises(UsageError, match="belongs to another project"):
            await timeline.restore(past, 0)
    assert (tmp_path / "there" / "a.txt").read_text() == "another file of this name\n"


async def test_a_link_has_no_text_and_what_became_unreadable_is_not_known(tmp_path: Path) -> None:
    commands = block("shell", command="ln -s nowhere link; echo x > deep.txt")
    async with agent_in(tmp_path / "here", commands, "Done.") as agent:
        await say(agent, "go")
        timeline = agent.timeline("c")
        past = await timeline.read()
        found = {file.path: file for file, _still in await timeline.files(past, len(past.points) - 1)}
        with pytest.raises(UsageError, match="It was a symbolic link: link"):
            await timeline.content(found["link"])
        (tmp_path / "here" / "deep.txt").unlink()
        (tmp_path / "here" / "deep.txt").mkdir()
        still = {file.path: known for file, known in await timeline.files(past, len(past.points) - 1)}
        assert still["link"] is True
        assert still["deep.txt"] is not True
