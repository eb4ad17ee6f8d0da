"""A call that had not begun when the turn was stopped shows that it did not run."""

import json
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.linear.announcer import Announcer
from cogency_tui.protocol.events import ResultPayload, mark_of, outcome_shown
from cogency_tui.tui.calls.detail import DetailHead
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, asked, conversation_of, finished, main_of, send, shown, until
from tests.tui.review.stage import shell
from tests.tui.scripted import call, result


def rows_with(text: str, subject: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if subject in line]


async def test_a_command_whose_question_was_answered_with_escape_did_not_run(project: Path) -> None:
    (project / "docs").mkdir()
    agent = Agent(
        ScriptedProvider(shell("rm -rf docs"), size=1000),
        project=project,
        data=project.parent / "data",
        permissions="ask",
        settings=Settings(),
    )
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        await send(pilot, "go")
        await asked(pilot)
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "Interrupted" in shown(conversation_of(pilot)))
        assert rows_with(shown(conversation_of(pilot)), "rm -rf docs") == ["⊘ $ rm -rf docs not run"]
        assert "⊘ not run" in shown(main_of(pilot).query_one(DetailHead))
        assert (project / "docs").exists()
        id = main_of(pilot).bridge.conversation_id
    async with app_over(agent, conversation_id=id).run_test(size=(160, 45)) as pilot:
        await until(pilot, lambda: "not run" in shown(conversation_of(pilot)))
        assert "Interrupted" in shown(conversation_of(pilot))
    await agent.close()


async def test_what_runs_is_interrupted_and_what_waits_for_it_did_not_run(project: Path) -> None:
    calls = [
        {"name": "shell", "args": {"command": "sleep 60"}},
        {"name": "write", "args": {"file": "new.txt", "content": "x"}},
    ]
    agent = Agent(
        ScriptedProvider(f"<execute>{json.dumps(calls)}</execute>", size=1000),
        project=project,
        data=project.parent / "data",
        permissions="auto",
        settings=Settings(),
    )
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "running" in shown(conversation_of(pilot)))
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "Interrupted" in shown(conversation_of(pilot)))
        (command,) = rows_with(shown(conversation_of(pilot)), "sleep 60")
        assert command.startswith("■ $ sleep 60")
        assert "interrupted" not in command, "the end of the turn says it"
        assert rows_with(shown(conversation_of(pilot)), "new.txt") == ["⊘ write new.txt not run"]
    await agent.close()


@pytest.mark.parametrize(("not_run", "mark"), [(True, "⊘"), (False, "■")])
def test_both_differ_in_every_output(not_run: bool, mark: str) -> None:
    payload: ResultPayload = {
        "outcome": "interrupted",
        "content": None,
        "error": True,
        "state": "interrupted",
        "not_run": not_run,
    }
    assert mark_of(payload) == mark
    assert outcome_shown(payload) == ("Interrupted before it ran." if not_run else "interrupted")


def test_it_is_announced_as_not_run() -> None:
    ended = result("c", "shell", "interrupted", None, state="interrupted")
    assert ended["type"] == "result"
    ended["payload"]["not_run"] = True
    announcer = Announcer()
    announcer.feed(call("c", "shell", command="rm -rf docs"))
    assert announcer.feed(ended) == ["Tool shell (rm -rf docs) did not run: Interrupted before it ran."]
