"""Data that hooks keep in `.claude/` need no consent; instructions beside them do."""

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.hooks import HookSettings
from tests.agent.delegation import block as call
from tests.agent.hooks.bench import Bench, runs, turn


@pytest.mark.parametrize("is_ignored", [False, True])
async def test_a_hook_keeps_its_data_unasked_and_writes_no_instructions(
    bench: Bench, *, is_ignored: bool
) -> None:
    if is_ignored:
        (bench.root / ".gitignore").write_text(".claude/\n")
    (bench.root / ".claude" / "commands").mkdir(parents=True)
    (bench.root / ".claude" / "commands" / "x.md").write_text("Good.\n")
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=False)

    async def after(script: str) -> None:
        hook = HookSettings(on="after_call", command=["sh", "-c", script])
        agent = bench.agent(call(("shell", {"command": "true"})), "Ok.", hooks={"h": hook})
        agent.ask = ask
        async with agent:
            assert runs(await turn(agent))

    await after("mkdir -p .claude/data/sessions; echo '{}' > .claude/data/sessions/7.json")
    await after(
        "echo '{\"a\": 1}' > .claude/data/sessions/7.json; mkdir .claude/logs; echo > .claude/logs/a.log"
    )
    assert not asked
    assert "a" in (bench.root / ".claude/data/sessions/7.json").read_text()
    await after("echo Evil. > .claude/commands/x.md")
    assert {question.tool for question in asked} == {"hook:h"}
    assert (bench.root / ".claude/commands/x.md").read_text() == "Good.\n"
