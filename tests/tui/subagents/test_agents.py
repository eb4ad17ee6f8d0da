"""The agents of a conversation after its turn: the tree, and what each of them was sent, did, cost and changed."""

from pathlib import Path
from typing import Any

import pytest

from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.settings.screen import SettingsScreen
from cogency_tui.tui.subagents.details import PromptView
from cogency_tui.tui.transcript.units import Problem
from tests.agent.delegation import block, named
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, calls_of, conversation_of, main_of, send, shown, told, until
from tests.tui.recall.past import agent_in
from tests.tui.review.stage import Reviewer, answered
from tests.tui.subagents.stage import REPLIES, Watcher, delegating, make_agents, watching


async def test_the_tree_has_each_agent_below_the_one_that_started_it(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        conversation, reviewer, editor, tester = agents.tree
        assert conversation.startswith("✓ Conversation  Fix the price")
        assert reviewer.startswith("├ ✓ reviewer  Look at the price")
        assert editor.startswith("│ └ ✓ editor  Double it")
        assert editor.endswith("+3 −1")
        assert tester.startswith("└ ✗ tester  Run the tests")
        assert "3 sub-agents" in shown(agents.screen.query_one("#agents-header"))


async def test_the_prompt_is_shown_as_it_was_sent(project: Path) -> None:
    model = ScriptedProvider(*REPLIES, size=10_000)
    async with watching(delegating(project, model)) as agents:
        await agents.press("down", "1")
        assert "Look at the price" in agents.prompt
        exchange: Any = vars(agents.screen.query_one(PromptView))["_exchange"]
        assert exchange.messages == model.sent[1]
        before = agents.screen.query_one(PromptView).virtual_size.height
        await agents.press("p", "enter")
        assert agents.screen.query_one(PromptView).virtual_size.height > before + 20
        assert "You are a coding agent" in agents.prompt


async def test_the_messages_are_drawn_as_the_conversation_is(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("down")
        assert "2 calls" in agents.tabs
        assert "I read." in agents.messages
        assert "The price is right now." in agents.messages
        assert "answered after 2 calls" in agents.messages
        await agents.press("down")
        assert "✎ src/app.py  +1 −1" in agents.messages
        assert "It is doubled." in agents.messages
        assert "The price" not in agents.messages


async def test_files_are_named_as_in_the_conversation(project: Path) -> None:
    file = str(project / "src" / "app.py")
    delegate = block(named("agent", "reviewer", task="Look at the price"))
    model = ScriptedProvider(delegate, block(("read", {"file": file})), "Fine.", "Done.", size=10_000)
    async with watching(delegating(project, model)) as agents:
        for key in ("down", "up"):
            await agents.press(key)
            assert str(project) not in agents.messages
        await agents.press("down")
        assert "read src/app.py" in agents.messages


async def test_a_failed_agent_shows_why(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("down", "down", "down")
        assert "✗ Turn stopped after 1 step (the maximum)." in agents.messages
        assert "→ Send another message to continue, or raise Maximum steps per turn" in agents.messages
        units = agents.screen.query_one("#agents-messages", Conversation).transcript.units
        await agents.press("up", "down")
        assert sum(isinstance(unit, Problem) for unit in units) == 1


async def test_a_declined_agent_shows_why_and_nothing_of_another(project: Path) -> None:
    agent = agent_in(project)
    id = await make_agents(agent)
    async with watching(agent, id=id) as agents:
        await agents.press("down")
        assert "2 calls" in agents.tabs
        await agents.press("G")
        assert agents.messages.strip() == "You declined."
        assert "call" not in agents.tabs
        await agents.press("up")
        assert "You declined." not in agents.messages
        await agents.press("down", "4")
        assert agents.files.strip() == "No files changed by this agent itself."


async def test_a_card_is_opened_and_leads_to_the_agent_below(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("down", "2")
        before = agents.messages
        await agents.press("left_square_bracket", "left_square_bracket", "enter")
        assert agents.messages != before
        assert "Double it" in agents.messages
        await agents.press("A")
        agent = agents.rows.agent
        assert agent is not None
        assert agent.node.name == "editor"
        assert "It is doubled." in agents.messages


async def test_the_cost_has_each_request_and_the_agents_below(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("down", "down", "3")
        assert "3 requests" in agents.tabs
        assert "Request 3" in agents.cost
        assert "With sub-agents" not in agents.cost
        assert "Sub-agents count toward /cost, /status and the spending limits" in " ".join(
            agents.cost.split()
        )
        await agents.press("tab", "up", "3")
        family = agents.cost.partition("Requests")[0]
        assert "With sub-agents" in family
        assert all(name in family for name in ("reviewer", "editor", "total"))
        assert "tester" not in family


async def test_enter_on_a_file_opens_the_review_at_its_changes(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("down", "down", "4")
        assert "2 files" in agents.tabs
        assert [line.split() for line in agents.files.splitlines()[:2]] == [
            ["M", "src/app.py", "+1", "−1"],
            ["A", "notes.md", "+2"],
        ]
        await agents.press("down", "enter")
        await agents.until(lambda: isinstance(agents.app.screen, ReviewScreen))
        review = Reviewer(agents.pilot)
        await agents.until(lambda: "notes.md" in shown(review.screen.query_one("#review-file-title")))


async def test_f5_opens_the_review_of_the_selected_agent(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("f5")
        assert agents.is_open
        await agents.press("down", "down", "f5")
        await agents.until(lambda: isinstance(agents.app.screen, ReviewScreen))


async def test_the_same_is_there_in_another_process(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        id = main_of(agents.pilot).bridge.conversation_id
        before = agents.tree
        await agents.press("down", "down")
        messages = agents.messages
    async with watching(delegating(project), id=id) as agents:
        assert agents.tree == before
        await agents.press("down", "down")
        assert agents.messages == messages


async def test_a_conversation_without_sub_agents_says_so(project: Path) -> None:
    async with watching(delegating(project, ScriptedProvider("Fine."))) as agents:
        assert agents.tree[1:] == ["No sub-agents yet."]
        await agents.press("down", "G")
        assert agents.rows.selected == 0
        assert "Fine." in agents.messages


async def test_an_empty_conversation_has_no_agents(project: Path) -> None:
    agent = delegating(project)
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await send(pilot, "/agents")
        await until(pilot, lambda: "Send a message first." in told(pilot))
        assert not Watcher(pilot).is_open
    await agent.close()


@pytest.mark.parametrize(
    ("size", "columns"),
    [
        ((160, 45), "time cost tokens lines"),
        ((100, 30), "time cost"),
        ((80, 24), "time cost tokens lines"),
        ((60, 16), "time cost tokens lines"),
    ],
)
async def test_columns_give_way_to_the_task(project: Path, size: tuple[int, int], columns: str) -> None:
    agent = agent_in(project)
    id = await make_agents(agent)
    async with watching(agent, size=size, id=id) as agents:
        title = shown(agents.screen.query_one("#agents-tree-title")).split()
        assert " ".join(title) == f"Agents {columns}"
        assert "$0.04" in agents.tree[2]
        assert all(" Look at" in line or "reviewer" not in line for line in agents.tree)


async def test_wide_screens_show_other_models(project: Path) -> None:
    agent = agent_in(project)
    id = await make_agents(agent)
    async with watching(agent, size=(220, 45), id=id) as agents:
        assert agents.tree[2].endswith("+2 −1  gpt-5-mini")
        assert not any("gpt-5.6" in line for line in agents.tree)


async def test_one_pane_at_a_time_where_the_screen_is_narrow(project: Path) -> None:
    async with watching(delegating(project), size=(80, 24)) as agents:
        left, right = agents.screen.query_one("#agents-left"), agents.screen.query_one("#agents-details")
        assert (left.display, right.display) == (True, False)
        await agents.press("down", "enter")
        assert (left.display, right.display) == (False, True)
        assert "I read." in agents.messages
        assert "Esc back" in shown(agents.screen.query_one("#footer"))
        await agents.press("3")
        assert "Request 1" in agents.cost
        await agents.press("escape")
        assert (left.display, right.display) == (True, False)
        assert agents.screen.focused is agents.rows
        assert "Esc close" in shown(agents.screen.query_one("#footer"))
        assert "Enter view" in shown(agents.screen.query_one("#footer"))
        await agents.press("4", "tab", "escape")
        assert not agents.is_open


async def test_the_call_of_an_agent_is_shown_in_the_conversation(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("o")
        assert agents.is_open
        await agents.press("down", "down", "o")
        assert not agents.is_open
        conversation = conversation_of(agents.pilot)
        await agents.until(lambda: conversation.has_focus and conversation.cursor.place)
        place = conversation.cursor.place
        assert place is not None
        assert conversation.transcript.call(place.unit).outcome == "answered after 2 calls"


async def test_help_and_commands_of_the_palette_work_here(project: Path) -> None:
    async with watching(delegating(project)) as agents:
        await agents.press("f1")
        assert isinstance(agents.app.screen, HelpScreen)
        await agents.press("escape")
        await agents.app.screen.run_action("command('settings')")
        await agents.until(lambda: isinstance(agents.app.screen, SettingsScreen))


async def test_the_card_and_the_detail_of_a_call_lead_to_its_agent(project: Path) -> None:
    agent = delegating(project)
    id = await answered(agent, "Fix the price")
    async with app_over(agent, conversation_id=id).run_test(size=(160, 45)) as pilot:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        conversation, agents = conversation_of(pilot), Watcher(pilot)
        calls = conversation.transcript.calls
        conversation.focus()
        conversation.go_to_unit(calls[1])
        await until(pilot, lambda: "A sub-agent" in shown(main_of(pilot).query_one("#footer")))
        await pilot.press("A")
        await agents.until(lambda: agents.is_open and agents.rows.agent and "tester" in _name(agents))
        await agents.press("q")
        await until(pilot, lambda: main_of(pilot).is_active)
        main_of(pilot).query_one(ToolCalls).go_to(calls[0])
        await until(pilot, lambda: calls_of(pilot).has_focus)
        assert "A sub-agent" in shown(main_of(pilot).query_one("#calls-hints"))
        await pilot.press("A")
        await agents.until(lambda: agents.is_open and agents.rows.agent and "reviewer" in _name(agents))
    await agent.close()


def _name(agents: Watcher) -> str:
    row = agents.rows.agent
    return row.node.name if row else ""
