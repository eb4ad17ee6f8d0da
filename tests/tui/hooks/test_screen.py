"""/hooks: listed with how they went; and what hooks did, in the conversation and in the review."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.hooks import HookSettings
from cogency_tui.config.schema import Settings
from cogency_tui.tui.conversation.activity_line import LiveLine
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.hooks.screen import HooksScreen
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.trust.screen import TrustScreen
from tests.agent.delegation import block
from tests.agent.hooks.bench import FORMAT, shell
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, at_work, detail_of, finished, main_of, prompt_of, send, shown, until
from tests.tui.looks import check_looks

pytestmark = pytest.mark.exhaustive

UGLY = "first = [1,\n  2]\n\n\n" + "# -\n" * 9 + "\n\ndef last():\n    return 1\n"


def agent_in(project: Path, *replies: str, **hooks: HookSettings) -> Agent:
    return Agent(
        ScriptedProvider(*replies, size=1000),
        project=project,
        data=project.parent / "data",
        settings=Settings(hooks=hooks, titles=False),
        permissions="auto",
    )


def settings_of(folder: Path, hooks: Any) -> None:
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def claude(command: str) -> list[Any]:
    return [{"hooks": [{"type": "command", "command": command}]}]


async def stored_messages(agent: Agent, conversation: str | None) -> list[str]:
    assert conversation is not None
    events = await (await agent.store()).events(conversation)
    return [event["content"] for event in events if event["type"] == "user"]


async def hooks_screen(pilot: Pilot[Any]) -> HooksScreen:
    await send(pilot, "/hooks")
    await until(pilot, lambda: isinstance(pilot.app.screen, HooksScreen))
    screen = pilot.app.screen
    assert isinstance(screen, HooksScreen)
    await until(pilot, lambda: shown(screen.rows).strip() or shown(screen.query_one("#hooks-note")).strip())
    return screen


async def test_what_a_hook_did_is_below_its_call_and_named_in_the_review(project: Path) -> None:
    (project / "a.py").write_text(UGLY)
    agent = agent_in(
        project,
        block(("edit", {"file": "a.py", "old": "return 1", "new": "return 2"})),
        block(("shell", {"command": "rm -r build"})),
        "Done.",
        fmt=FORMAT,
        lint=shell("after_edit", "echo '\x1b[2Ja.py:1: [@click=app.quit]bad[/]' >&2; exit 1"),
        guard=shell("before_call", "echo Not here. >&2; exit 2", tools=["shell"]),
        quiet=shell("after_call", "true"),
    )
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        conversation = shown(main_of(pilot).query_one(Conversation))
        assert "hook fmt  +1 −2" in conversation
        assert "hook lint  exit 1: " in conversation
        assert "[@click=app.quit]bad[/]" in conversation
        assert "\x1b" not in conversation
        assert "Blocked by the hook guard: Not here." in conversation
        assert "hook guard" not in conversation.replace("the hook guard", "")
        assert "quiet" not in conversation
        await pilot.press("f4")
        await until(pilot, lambda: "quiet" in shown(detail_of(pilot)) or "guard" in shown(detail_of(pilot)))
        screen = await hooks_screen(pilot)
        rows = shown(screen.rows)
        assert "✓ fmt" in rows
        assert "! lint" in rows
        note = screen.query_one("#hooks-note")
        await until(pilot, lambda: "Last run (after_edit): +1 −2" in shown(note))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await until(pilot, lambda: "by hook fmt" in shown(pilot.app.screen.query_one(DiffView)))


async def test_what_a_hook_does_to_another_file_is_named_as_such(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    (project / "old.bin").write_bytes(b"\0" * 64)
    agent = agent_in(
        project,
        block(("edit", {"file": "a.py", "old": "x = 1", "new": "x = 2"})),
        "Done.",
        "Ok.",
        gen=shell("after_edit", "echo '# generated' > gen.py"),
        tidy=shell("after_turn", "rm -f old.bin"),
    )
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        conversation = shown(main_of(pilot).query_one(Conversation))
        assert "hook gen  +1 in gen.py" in conversation, conversation
        provider: Any = agent.provider
        said = "[The hook gen changed a file that you have not read: gen.py]"
        assert said in str([*provider.sent, *provider.seeds])
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        screen = pilot.app.screen
        assert isinstance(screen, ReviewScreen)
        view = screen.query_one(DiffView)
        for _ in range(8):
            if "Deleted by" in shown(view):
                break
            await pilot.press("n")
            await pilot.pause(0.05)
        await until(pilot, lambda: "Deleted by the hook tidy (64 B)." in shown(view))


async def test_what_hooks_add_is_below_the_message_and_the_call(project: Path) -> None:
    agent = agent_in(
        project,
        block(("shell", {"command": "true"})),
        "Done.",
        ctx=shell("before_message", "printf 'It is late.\\nBe brief.\\n'"),
    )
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        assert "hook ctx  added 2 lines for the model" in shown(main_of(pilot).query_one(Conversation))


async def test_a_hook_that_runs_is_named_as_the_activity(project: Path) -> None:
    go_on = project.parent / "go-on"
    os.mkfifo(go_on)
    agent = agent_in(project, "Done.", slow=shell("before_message", 'cat "$1"', str(go_on)))
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "Running hook slow" in shown(main_of(pilot).query_one(LiveLine)))
        await asyncio.to_thread(go_on.write_text, "")
        await finished(pilot)


async def test_a_message_is_on_the_screen_while_a_hook_runs_before_it(project: Path) -> None:
    go_on = project.parent / "go-on"
    os.mkfifo(go_on)
    agent = agent_in(project, "Done.", "Done.", slow=shell("before_message", 'cat "$1"', str(go_on)))
    async with at_work(agent) as pilot:
        bridge, view = main_of(pilot).bridge, main_of(pilot).query_one(Conversation)
        for turn, message in enumerate(("go on", "and on\nfor long")):
            await send(pilot, message)
            await until(pilot, lambda: "hook slow  running" in shown(view))
            last = message.splitlines()[-1]
            assert shown(view).index(last) < shown(view).index("hook slow  running")
            assert view.transcript.turns == turn
            assert len(await stored_messages(agent, bridge.conversation_id)) == turn
            await asyncio.to_thread(go_on.write_text, "late")
            await finished(pilot)
            await until(pilot, lambda: "hook slow  running" not in shown(view))
            assert shown(view).count(last) == 1
            assert view.transcript.turns == turn + 1
        assert await stored_messages(agent, bridge.conversation_id) == ["go on", "and on\nfor long"]


async def test_a_message_that_a_hook_blocks_is_in_the_prompt_again(project: Path) -> None:
    go_on = project.parent / "go-on"
    os.mkfifo(go_on)
    agent = agent_in(
        project, "Done.", guard=shell("before_message", 'cat "$1"; echo "Not today" >&2; exit 2', str(go_on))
    )
    async with at_work(agent) as pilot:
        view = main_of(pilot).query_one(Conversation)
        await send(pilot, "drop the table")
        await until(pilot, lambda: "hook guard  running" in shown(view))
        assert "drop the table" in shown(view)
        assert prompt_of(pilot).text == ""
        await asyncio.to_thread(go_on.write_text, "")
        await finished(pilot)
        await until(pilot, lambda: prompt_of(pilot).text == "drop the table")
        await until(pilot, lambda: "Not today" in shown(view))
        assert "drop the table" not in shown(view)
        assert "running" not in shown(view)


async def test_esc_while_a_message_is_checked_returns_it_to_the_prompt(project: Path) -> None:
    go_on = project.parent / "go-on"
    os.mkfifo(go_on)
    agent = agent_in(project, "Done.", slow=shell("before_message", 'cat "$1"', str(go_on)))
    async with at_work(agent) as pilot:
        await send(pilot, "the secret")
        await until(pilot, lambda: "Running hook slow" in shown(main_of(pilot).query_one(LiveLine)))
        await pilot.press("escape")
        await until(pilot, lambda: prompt_of(pilot).text == "the secret")
        await finished(pilot)
        text = shown(main_of(pilot).query_one(Conversation))
        assert "Interrupted: the message was not sent." in text
        assert "the secret" not in text
        assert not main_of(pilot).bridge.retryable
    assert isinstance(agent.provider, ScriptedProvider)
    assert agent.provider.sent == []


async def test_a_file_that_is_not_trusted_is_not_read_and_leads_to_the_review(project: Path) -> None:
    settings_of(project, {"Stop": claude("echo secret-command")})
    async with at_work(agent_in(project)) as pilot:
        screen = await hooks_screen(pilot)
        assert "? settings.json" in shown(screen.rows)
        text = shown(screen.rows) + shown(screen.query_one("#hooks-note"))
        assert "secret-command" not in text
        assert "enter review trust" in shown(screen.query_one(Choices)).casefold()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TrustScreen))


async def test_why_a_file_is_not_used_ends_with_one_period(project: Path) -> None:
    (project / ".claude").mkdir()
    os.mkfifo(project / ".claude" / "settings.json")
    async with at_work(agent_in(project)) as pilot:
        note = shown((await hooks_screen(pilot)).query_one("#hooks-note"))
        assert "is a FIFO, not a file" in note
        assert ".." not in note


async def test_without_hooks_it_says_how_to_add_one(project: Path) -> None:
    async with at_work(agent_in(project)) as pilot:
        screen = await hooks_screen(pilot)
        assert "No hooks. Add one" in shown(screen.query_one("#hooks-note")).replace("\n", " ")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))


@pytest.mark.parametrize("name", ["hooks", "hooks-none"])
async def test_looks(project: Path, sealed_home: Path, name: str) -> None:
    hooks: dict[str, HookSettings] = {}
    if name == "hooks":
        hooks = {
            "ruff-format": HookSettings(on="after_edit", command="ruff format {file}", files="*.py"),
            "tests": HookSettings(on="after_turn", command="./run-tests --quick", timeout=300, enabled=False),
        }
        settings_of(
            sealed_home, {"PreToolUse": claude("~/.claude/hooks/guard.sh"), "PreCompact": claude("save.py")}
        )
        settings_of(project, {"Stop": claude("echo done")})
    agent = agent_in(project, **hooks)

    async def prepare(pilot: Pilot[Any]) -> None:
        await hooks_screen(pilot)

    await check_looks(name, lambda: app_over(agent), prepare)
