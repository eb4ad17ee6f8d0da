"""/skills: listed with their state, started in the prompt; and a skill that was used, in the conversation."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings, config_directory
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.text_dialog import TextDialog
from cogency_tui.tui.skills.screen import SkillsScreen
from cogency_tui.tui.trust.screen import TrustScreen
from tests.agent.delegation import block
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    at_work,
    finished,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    type_text,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent

pytestmark = pytest.mark.exhaustive


def put(folder: Path, name: str, description: str = "Reads forms.", more: str = "") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {json.dumps(description)}\n{more}---\nOpen the form.\n")
    return path


def agent_in(project: Path, *replies: str) -> Agent:
    return Agent(
        ScriptedProvider(*replies, size=1000),
        project=project,
        data=project.parent / "data",
        settings=Settings(),
    )


async def skills_screen(pilot: Pilot[Any]) -> SkillsScreen:
    await send(pilot, "/skills")
    await until(pilot, lambda: isinstance(pilot.app.screen, SkillsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SkillsScreen)
    await until(pilot, lambda: shown(screen.rows).strip())
    return screen


async def test_a_skill_is_started_from_the_list_and_stands_in_the_conversation(
    project: Path, sealed_home: Path
) -> None:
    put(sealed_home / ".claude/skills", "pdf", more="allowed-tools: Bash(git:*)\n")
    put(project / ".claude/skills", "csv")
    agent = agent_in(project, block(("skill", {"name": "pdf"})), "Filled.")
    async with at_work(agent) as pilot:
        screen = await skills_screen(pilot)
        assert "✓ pdf" in shown(screen.rows)
        assert "? csv" in shown(screen.rows)
        note = screen.query_one("#skills-note")
        await until(pilot, lambda: "In use." in shown(note))
        assert "This grants nothing" in shown(note)
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextDialog))
        await until(pilot, lambda: "Open the form." in shown(pilot.app.screen.query_one("#skill-text-body")))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert prompt_of(pilot).text == "/pdf "
        await type_text(pilot, "fill in a.pdf")
        await pilot.press("enter")
        await finished(pilot)
        provider: Any = agent.provider
        assert "Use the skill pdf: fill in a.pdf" in str([*provider.seeds, *provider.sent])
        conversation = shown(main_of(pilot).query_one(Conversation))
        assert "skill pdf" in conversation
        assert "Open the form" not in conversation


@pytest.mark.parametrize("name", ["review", "Data.Sets", "fix"])
async def test_one_whose_name_is_no_command_of_it_is_started_by_a_message(
    project: Path, sealed_home: Path, name: str
) -> None:
    put(sealed_home / ".claude/skills", name)
    commands = config_directory() / "commands/fix.md"
    commands.parent.mkdir(parents=True)
    commands.write_text("Fix it.")
    async with at_work(agent_in(project)) as pilot:
        await skills_screen(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert prompt_of(pilot).text == f"Use the skill {name}: "


async def test_the_filter_has_the_skill_of_that_name_first(project: Path, sealed_home: Path) -> None:
    put(sealed_home / ".agents/skills", "a-doc", "Reads pdf and docs.")
    put(sealed_home / ".claude/skills", "pdf-merge", "Merges.")
    put(sealed_home / ".claude/skills", "pdf", "Fills in forms.")
    put(sealed_home / ".agents/skills", "pdf", "Another.")
    async with at_work(agent_in(project)) as pilot:
        screen = await skills_screen(pilot)
        assert "3 in use, 1 shadowed" in seen(pilot)
        assert screen.rows.row is not None
        assert screen.rows.row.name == "a-doc"
        await type_text(pilot, "pdf")
        await until(pilot, lambda: screen.rows.row is not None and screen.rows.row.name == "pdf")
        names = [line.split()[1] for line in shown(screen.rows).splitlines() if line.split()]
        assert names == ["pdf", "pdf", "pdf-merge", "a-doc"]


async def test_one_that_is_not_trusted_leads_to_the_review(project: Path) -> None:
    put(project / ".claude/skills", "csv")
    async with at_work(agent_in(project)) as pilot:
        screen = await skills_screen(pilot)
        assert "enter review trust" in shown(screen.query_one(Choices)).casefold()
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextDialog))
        text = pilot.app.screen
        await until(pilot, lambda: "Open the form." in shown(text.query_one("#skill-text-body")))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TrustScreen))


async def test_what_is_typed_filters_and_the_title_counts_those_to_review(
    project: Path, sealed_home: Path
) -> None:
    put(sealed_home / ".claude/skills", "pdf", "Fills in forms.")
    put(sealed_home / ".claude/skills", "notes", "Writes release notes.")
    put(project / ".claude/skills", "csv")
    (project / ".claude/skills/again").symlink_to("csv")
    async with at_work(agent_in(project)) as pilot:
        screen = await skills_screen(pilot)
        assert "2 in use, 1 to review" in shown(screen.heading)
        assert "link to .claude/skills/csv" in shown(screen.rows)
        await pilot.press(*"rele")
        await until(pilot, lambda: [row.name for row in screen.rows.rows] == ["notes"])
        await pilot.press(*"x")
        await until(pilot, lambda: "No matching skills." in shown(screen.rows))
        await pilot.press("f2", "escape")
        await until(pilot, lambda: len(screen.rows.rows) == 4)
        assert pilot.app.screen is screen
        # What was typed just before counts.
        await pilot.press(*"notes", "enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert prompt_of(pilot).text == "/notes "


async def test_without_skills_it_says_where_they_go(project: Path) -> None:
    async with at_work(agent_in(project)) as pilot:
        screen = await skills_screen(pilot)
        assert "No skills found" in shown(screen.rows)
        await pilot.press("f2", "enter")
        assert pilot.app.screen is screen
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def test_hostile_skills_are_drawn_as_text(project: Path, sealed_home: Path) -> None:
    put(sealed_home / ".claude/skills", "pdf", "a\x1b[2J\u202eb [/] [@click=app.quit]x[/]")
    put(project / ".claude/skills", "c\x1b[2J\u202ed")
    async with at_work(agent_in(project)) as pilot:
        screen = await skills_screen(pilot)
        text = shown(screen.rows) + shown(screen.query_one("#skills-note"))
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[@click=app.quit]x[/]" in text


@pytest.mark.parametrize("name", ["skills", "skills-none"])
async def test_looks(project: Path, sealed_home: Path, name: str) -> None:
    if name == "skills":
        own, theirs = sealed_home / ".claude/skills", project / ".agents/skills"
        put(own, "pdf-forms", "Extracts text and tables from PDF files, fills in forms. Use for PDF.")
        put(own, "release-notes", "Writes the notes of a release from the commits since the last tag.")
        put(theirs, "pdf-forms")
        put(theirs, "migrations")
        put(theirs, "colours")
        agent = ScriptedAgent(project)
        agent.project_settings.accept(agent.project_settings.survey())
        put(theirs, "colours", "Now another.")
        put(theirs, "deploy", "Deploys.")
        (theirs / "broken").mkdir()
        (theirs / "broken/SKILL.md").symlink_to("/etc/passwd")
    agent = ScriptedAgent(project)

    async def prepare(pilot: Pilot[Any]) -> None:
        await skills_screen(pilot)

    await check_looks(name, lambda: app_over(agent), prepare)
