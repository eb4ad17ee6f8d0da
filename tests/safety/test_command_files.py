"""Command files of a hostile project: prompts, and never anything that runs by itself."""

from pathlib import Path

import pytest

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.prompt.prompt import Prompt
from tests.tui.driving import app_over, finished, prompt_of, until
from tests.tui.scripted import ScriptedAgent, respond


@pytest.mark.parametrize("text", ["!touch PWN; id", "---\ndescription: x\n---\n\n ! touch PWN", "/until id"])
async def test_one_that_looks_like_a_command_is_sent(project: Path, text: str) -> None:
    folder = project.with_name("config") / "commands"
    folder.mkdir(parents=True)
    (folder / "explain.md").write_text(text)
    agent = ScriptedAgent(project, [respond("ok")], [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        prompt_of(pilot).post_message(Prompt.Sent(Written("/explain")))
        await until(pilot, lambda: len(agent.asked) == 1)
        await finished(pilot)
        assert agent.asked[0].endswith(text.rpartition("---\n\n ")[2])
        # Given back to the prompt it is still no command.
        prompt_of(pilot).post_message(Prompt.Sent(Written(agent.asked[0])))
        await until(pilot, lambda: agent.asked == [agent.asked[0]] * 2)
