"""From the recall screen on: opening at the hit, forking from it, and what is put in order there."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import StoreError
from cogency_tui.store.store import StoredConversation
from cogency_tui.tui.recall.branch_comparison import ComparisonScreen
from cogency_tui.tui.recall.export import export
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen
from cogency_tui.tui.recall.search_bar import SearchField
from cogency_tui.tui.recall.statistics import StatisticsScreen
from tests.tui.driving import conversation_of, main_of, prompt_of, shown, told, type_text, until
from tests.tui.recall.past import (
    agent_in,
    begin,
    fork,
    is_open,
    list_of,
    listed,
    open_recall,
    previewed,
    recalled,
    screen_of,
    select,
    settled,
    small,
    usual,
)
from tests.tui.scripted import call, respond, result, user


async def gone_on(pilot: Pilot[Any]) -> str:
    """What the main screen shows, as soon as it shows a conversation."""
    await until(pilot, lambda: not is_open(pilot))
    await settled(pilot)
    await until(pilot, lambda: main_of(pilot).bridge.conversation_id)
    await until(pilot, lambda: conversation_of(pilot).transcript.units)
    await pilot.pause()
    return shown(conversation_of(pilot))


@pytest.mark.exhaustive
async def test_enter_opens_the_conversation_at_the_hit_or_its_end(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    parent = await sub_agent(agent)
    async with recalled(agent, (100, 24), query="needle") as pilot:
        await pilot.press("enter")
        assert "the needle in the output" in await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == made["flaky"].id
        assert pilot.app.focused is conversation_of(pilot)
        assert unit_of(pilot) == 3

        # At the hit that one went to.
        await open_recall(pilot, agent, "retry")
        await select(pilot, made["flaky"])
        await pilot.press("n")
        await settled(pilot)
        await pilot.press("enter")
        assert "The gateway may answer late: a retry hides that." in await gone_on(pilot)

        # A hit in a sub-agent: at the call that started it.
        await open_recall(pilot, agent, "haystack")
        assert "a haystack down below" in previewed(pilot)
        await pilot.press("enter")
        await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == parent.id
        assert unit_of(pilot) == 2

        # Without a hit: at the end.
        await open_recall(pilot, agent)
        await select(pilot, made["flaky"])
        await pilot.press("enter")
        assert "It passes: 3 runs, no failure." in await gone_on(pilot)


@pytest.mark.parametrize("size", [(120, 40), (60, 16)])
async def test_words_lead_to_where_they_are_together(project: Path, size: tuple[int, int]) -> None:
    agent = agent_in(project)
    report = "\n\n".join(f"Paragraph {number}: it has **{number + 3}** lines.\n" * 4 for number in range(12))
    await begin(await agent.store(), project, small("Report", f"# Overview\n\n{report}"))
    async with recalled(agent, size, query="paragraph 3") as pilot:
        assert "answer   …Paragraph 3: it has" in listed(pilot)
        await pilot.press("enter")
        await gone_on(pilot)
        await until(pilot, lambda: "▎ Paragraph 3:" in shown(conversation_of(pilot)))


def unit_of(pilot: Pilot[Any]) -> int:
    """Where the cursor of the conversation is."""
    cursor = conversation_of(pilot).cursor.place
    assert cursor is not None
    return cursor.unit


async def sub_agent(agent: Agent) -> StoredConversation:
    """A conversation with the call of a sub-agent as its second unit but one."""
    store = await agent.store()
    events = [
        *small("first"),
        call("a1", "agent", task="look for it"),
        result("a1", "agent", content="It is there."),
        *[respond("More text.\n\n" * 30, "r9")],
    ]
    made = await begin(store, agent.project, events, days=3)
    await begin(store, agent.project, small("look", "a haystack down below"), parent=made.id, call="a1")
    return made


@pytest.mark.exhaustive
async def test_f_goes_on_in_a_fork_from_the_hit(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent, (100, 30), query="needle") as pilot:
        await pilot.press("down", "f")
        text = await gone_on(pilot)
        assert "pytest -x tests" in text
        assert "It passes" not in text
        await is_fork_of(pilot, agent, made["flaky"])

        # One from what the person said has it in the prompt.
        before = main_of(pilot).bridge.conversation_id
        await open_recall(pilot, agent, '"and now"')
        await select(pilot, made["flaky"])
        await pilot.press("f")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id != before)
        assert "It passes" not in await gone_on(pilot)
        assert prompt_of(pilot).text == "and now?"

        # Without a hit it takes all.
        prompt_of(pilot).replace_text("")
        before = main_of(pilot).bridge.conversation_id
        await open_recall(pilot, agent)
        await select(pilot, made["flaky"])
        await pilot.press("f")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id != before)
        assert "It passes" in await gone_on(pilot)
        await is_fork_of(pilot, agent, made["flaky"])


async def is_fork_of(pilot: Pilot[Any], agent: Agent, parent: StoredConversation) -> None:
    found = await (await agent.store()).conversation(main_of(pilot).bridge.conversation_id or "")
    assert found is not None
    assert found.parent == parent.id


@pytest.mark.exhaustive
async def test_titles_are_given(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down", "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))
        await pilot.press("ctrl+a", "ctrl+k")
        await type_text(pilot, "It holds")
        await pilot.press("enter")
        await until(pilot, lambda: "It holds" in listed(pilot))
        assert await title_of(agent, made["flaky"]) == "It holds"
        await pilot.press("r", "escape")
        await pilot.pause()
        assert "It holds" in listed(pilot)

        # Though the list is another one by now: what was typed before comes to be found.
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))
        screen_of(pilot).query_one(SearchField).value = "httpx"
        await until(pilot, lambda: "It holds" not in listed(pilot))
        assert "Upgrade httpx" in listed(pilot)
        await pilot.press("ctrl+a", "ctrl+k", "x", "enter")
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)
        assert await title_of(agent, made["flaky"]) == "x"


async def title_of(agent: Agent, conversation: StoredConversation) -> str:
    found = await (await agent.store()).conversation(conversation.id)
    assert found is not None
    return found.title


async def test_d_moves_to_the_trash_and_u_takes_back(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down", "down", "d")
        await until(pilot, lambda: "Rename the cart" not in listed(pilot))
        assert "to the trash (u undo)" in told(pilot)
        entry = list_of(pilot).entry
        assert entry is not None
        assert entry.conversation.title == "Add pagination to orders"
        await pilot.press("u")
        await until(pilot, lambda: "Rename the cart" in listed(pilot))
        entry = list_of(pilot).entry
        assert entry is not None
        assert entry.conversation.title == "Rename the cart model"
        await pilot.press("u")
        await until(pilot, lambda: "The trash is empty." in listed(pilot))
        assert "No conversation was moved to the trash here." in told(pilot)


@pytest.mark.exhaustive
async def test_the_trash_is_listed_and_taken_and_gone_on_from(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    for name in ("old", "week"):
        await agent.recall.trash(made[name].id)
    async with recalled(agent) as pilot:
        assert "Upgrade httpx" not in listed(pilot)
        await pilot.press("f2", "f2")
        await settled(pilot)
        assert "Upgrade httpx" in listed(pilot)
        await select(pilot, made["week"])
        await pilot.press("d")
        await pilot.pause()
        assert "Already in the trash" in told(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "Add pagination" not in listed(pilot))
        await pilot.press("f2")
        await settled(pilot)
        assert "Add pagination" in listed(pilot)

        await pilot.press("f2", "f2")
        await settled(pilot)
        await select(pilot, made["old"])
        await pilot.press("enter")
        assert "Nothing to retry." in await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == made["old"].id
        assert "This conversation is in the trash." in told(pilot)


async def exported(pilot: Pilot[Any], agent: Agent, key: str) -> Path:
    """The file that this key of the dialog makes."""
    before = set((agent.data / "exports").glob("*"))
    await pilot.press("x")
    await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
    await pilot.press(key)
    await until(pilot, lambda: set((agent.data / "exports").glob("*")) - before)
    await settled(pilot)
    (path,) = set((agent.data / "exports").glob("*")) - before
    return path


@pytest.mark.exhaustive
async def test_x_exports_in_three_forms_and_says_where(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        markdown = await exported(pilot, agent, "m")
        assert markdown.name in told(pilot).replace("\n", "")
        assert markdown.read_text().startswith("# Fix the flaky checkout test")
        page = (await exported(pilot, agent, "h")).read_text()
        assert page.startswith("<!doctype html>")
        assert "needle in the output" in page
        lines = (await exported(pilot, agent, "l")).read_text().splitlines()
        assert all(json.loads(line) for line in lines)
        again = await exported(pilot, agent, "m")
        assert again != markdown
        assert again.read_text() == markdown.read_text()
        assert oct(again.stat().st_mode & 0o777) == "0o600"
        copy = await agent.recall.import_lines(lines)
        assert copy.title == made["flaky"].title

        # The page of a theme of the terminal has colours.
        await pilot.app.run_action("app.set_theme('ansi')")
        assert "background:#" in (await exported(pilot, agent, "h")).read_text()

        # One that cannot be written is told.
        (agent.data / "exports").rename(agent.data / "former")
        (agent.data / "exports").write_text("a file")
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        await pilot.press("m")
        await until(pilot, lambda: "Cannot write the export" in told(pilot))


@pytest.mark.exhaustive
async def test_b_shows_what_two_branches_came_to_or_says_where_there_is_none(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    numbered = await (await agent.store()).numbered_events(made["flaky"].id)
    await fork(agent, made["flaky"], numbered[6][0], "try a lock", "With a lock it is slower.")
    async with recalled(agent, (120, 40)) as pilot:
        await select(pilot, made["yesterday"])
        await pilot.press("b")
        await until(pilot, lambda: "no fork" in told(pilot))

        await pilot.press("home", "b")
        await until(pilot, lambda: isinstance(pilot.app.screen, ComparisonScreen))
        body = shown(pilot.app.screen.query_one("#comparison-body"))
        assert "7 shared events" in shown(pilot.app.screen.query_one("#comparison-title"))
        assert all(part in body for part in ("and now?", "try a lock", "With a lock", "It passes", "tokens"))
        assert "│" in body
        await pilot.press("escape")
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        await pilot.press("b")
        await until(pilot, lambda: isinstance(pilot.app.screen, ComparisonScreen))
        assert "│" not in shown(pilot.app.screen.query_one("#comparison-body"))
        await pilot.press("q")
        assert is_open(pilot)


@pytest.mark.exhaustive
async def test_s_shows_what_periods_came_to(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    await begin(
        await agent.store(), project.with_name("blog"), [user("hi"), call("x", "web"), result("x", "web")]
    )
    async with recalled(agent, (120, 40)) as pilot:
        await pilot.press("down", "s")
        await until(pilot, lambda: isinstance(pilot.app.screen, StatisticsScreen))
        screen = pilot.app.screen

        async def after(key: str, wanted: str) -> str:
            await pilot.press(key)
            await until(pilot, lambda: wanted in shown(screen.query_one("#statistics-title")))
            await until(pilot, lambda: not any(not each.is_finished for each in workers_of(pilot)))
            await pilot.pause()
            return shown(screen.query_one("#statistics-body"))

        always = await after("4", "all time, this project")
        assert "4 conversations · 5 turns" in always
        assert all(part in always for part in ("Tokens by day", "Calls by tool", "read", "▄", "1 failed"))
        assert "web" in await after("a", "all time, all projects")
        assert "web" in await after("3", "1 year, all projects")
        await after("2", "30 days")
        await after("1", "7 days")
        await pilot.press("escape")
        assert isinstance(pilot.app.focused, RecallList)


def workers_of(pilot: Pilot[Any]) -> list[Any]:
    workers: Any = pilot.app.workers
    return [each for each in workers if each.group == "statistics"]


@pytest.mark.exhaustive
async def test_an_export_is_written_though_one_leaves_meanwhile(project: Path) -> None:
    agent = agent_in(project)
    await begin(await agent.store(), project, small("long", "some *words* `each` time\n\n" * 1_000))
    async with recalled(agent) as pilot:
        await pilot.press("down", "x")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        # As fast as keys can be: one that came before the dialog was closed would be the dialog's.
        pilot.app.post_message(events.Key("h", "h"))
        await until(pilot, lambda: not isinstance(pilot.app.screen, ExportScreen))
        pilot.app.post_message(events.Key("escape", None))
        await until(pilot, lambda: not is_open(pilot) and not isinstance(pilot.app.screen, ExportScreen))
        await until(pilot, lambda: "Exported “long” to" in told(pilot))
        assert [path.suffix for path in (agent.data / "exports").iterdir()] == [".html"]


async def test_no_half_of_an_export_is_left(project: Path) -> None:
    agent = agent_in(project)
    made = await begin(await agent.store(), project, small("long", "word " * 40_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StoreError, match="Cannot write the export") as caught:
            await export(agent, made, "md", "night")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "Free some space" not in caught.value.advice
    assert [*(agent.data / "exports").iterdir()] == []
    await agent.close()
