"""What runs without a question: listed, withdrawn and given back, over the real engine and rules."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.grants import Grant
from cogency_tui.agent.permissions.rules import Rule
from cogency_tui.config.options import options
from cogency_tui.config.schema import PERMISSIONS, Settings, config_directory
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.list_dialog import Note
from cogency_tui.tui.kit.select_list import Heading, SelectList
from cogency_tui.tui.permissions.model import GrantRow, Ledger, ModeRow, RuleRow, list_rows
from cogency_tui.tui.permissions.screen import PermissionsScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    app_over,
    at_work,
    finished,
    main_of,
    opened,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.looks import SIZES, check_looks
from tests.tui.scripted import EPOCH, ScriptedAgent

pytestmark = pytest.mark.usefixtures("short_pause")

MORNING = EPOCH - 14_000
"""The same day in every time zone but few."""


def shell(command: str) -> str:
    return f"<execute>{json.dumps([{'name': 'shell', 'args': {'command': command}}])}</execute>"


def agent_in(project: Path, *replies: str) -> Agent:
    return Agent(
        ScriptedProvider(*replies, size=1000),
        project=project,
        data=project.parent / "data",
        settings=Settings(),
    )


def working(agent: Agent) -> AbstractAsyncContextManager[Pilot[Any]]:
    return at_work(agent, (110, 40))


async def permissions(pilot: Pilot[Any]) -> SelectList[Any]:
    await send(pilot, "/permissions")
    await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, PermissionsScreen)
    listed = screen.rows
    await until(pilot, lambda: "auto" in shown(listed))
    return listed


async def select(pilot: Pilot[Any], listed: SelectList[Any], kind: type[Any]) -> None:
    while not isinstance(listed.row, kind):
        before = listed.selected
        await pilot.press("down")
        assert listed.selected != before


async def test_a_mode_is_shown_with_its_meaning_and_chosen(project: Path) -> None:
    agent = agent_in(project)
    async with working(agent) as pilot:
        listed = await permissions(pilot)
        text = shown(listed)
        assert "● ask" in text
        assert "Allowed in this conversation  none" in text
        assert "Always in this project  none" in text
        assert "edits project files; asks before commands and web access" in text
        assert isinstance(listed.row, ModeRow)
        assert listed.row.current
        await pilot.press("down", "enter")
        await until(pilot, lambda: "● edits" in shown(listed))
        assert agent.permissions == "edits"
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await send(pilot, "/permissions plan")
        await until(pilot, lambda: agent.permissions == "plan")
        assert pilot.app.screen is main_of(pilot)


async def test_the_note_begins_with_the_whole_meaning_of_the_selected_mode(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent, (60, 16)) as pilot:
        listed = await permissions(pilot)
        await pilot.press("up")
        for mode in PERMISSIONS:
            await until(pilot, lambda mode=mode: listed.row == ModeRow(mode, current=mode == "ask"))
            note = " ".join(shown(pilot.app.screen.query_one("#permissions-note", Note)).split())
            assert note.startswith(f"{mode}: {options()['permissions'].means[mode]}.")
            await pilot.press("down")


async def test_a_click_on_the_badge_shows_the_modes_and_widens_nothing(project: Path) -> None:
    agent = agent_in(project)
    async with working(agent) as pilot:
        await opened(pilot)
        await pilot.click(status_of(pilot), offset=(2, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
        assert agent.permissions == "ask"


@pytest.mark.exhaustive
async def test_a_rule_that_is_withdrawn_is_asked_about_again_and_can_be_given_back(project: Path) -> None:
    agent = agent_in(
        project, shell("ls"), "One.", shell("ls"), "Two.", shell("ls"), "Three.", shell("ls"), "Four."
    )
    async with working(agent) as pilot:
        await send(pilot, "one")
        await answer(pilot, "A")
        await finished(pilot)
        (rule,) = agent.rules.list()
        await send(pilot, "two")
        await finished(pilot)

        listed = await permissions(pilot)
        assert "Always in this project" in shown(listed)
        await select(pilot, listed, RuleRow)
        described = 'Simple commands that begin with "ls" run without asking'
        await until(pilot, lambda: described in shown(pilot.app.screen.query_one("#permissions-note")))
        note = shown(pilot.app.screen.query_one("#permissions-note"))
        assert f"Added {rule.added}, stored in ~/.config/cogency-tui/permissions.toml" in note
        await pilot.press("d")
        await until(pilot, lambda: not agent.rules.list())
        gate = agent.gate(main_of(pilot).bridge.conversation_id or "")
        assert gate is not None
        assert not list(gate.granted)
        await until(pilot, lambda: "none granted" in shown(pilot.app.screen.query_one("#permissions-title")))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await send(pilot, "three")
        await answer(pilot, "n")
        await finished(pilot)

        # Given back only while the screen is open: two rules, the last withdrawn first.
        listed = await permissions(pilot)
        assert "u undo" not in shown(pilot.app.screen.query_one(Choices))
        await pilot.press("u")
        assert not agent.rules.list()
        await pilot.press("escape")
        agent.rules.add("command", "pytest")
        agent.rules.add("command", "ls")
        before = list(agent.rules.list())
        listed = await permissions(pilot)
        await select(pilot, listed, RuleRow)
        await pilot.press("d")
        await until(pilot, lambda: before[0] not in agent.rules.list())
        assert isinstance(listed.row, RuleRow)
        await pilot.press("d")
        await until(pilot, lambda: not agent.rules.list())
        await pilot.press("u")
        await until(pilot, lambda: len(agent.rules.list()) == 1)
        await pilot.press("u")
        await until(pilot, lambda: list(agent.rules.list()) == before)
        await pilot.press("escape")
        await send(pilot, "four")
        await finished(pilot)


@pytest.mark.exhaustive
async def test_what_was_allowed_for_the_conversation_is_withdrawn_and_some_files_are_not_all(
    project: Path,
) -> None:
    def write(file: str) -> str:
        call = {"name": "write", "args": {"file": file, "content": "x"}}
        return f"<execute>{json.dumps([call])}</execute>"

    commands = [shell("ls; true"), "One.", shell("ls; true"), "Two."]
    files = [write("src/new.py"), "One.", write("src/api/new.py"), "Two.", write("setup.py"), "Three."]
    agent = agent_in(project, *commands, *files)
    async with working(agent) as pilot:
        await send(pilot, "one")
        await answer(pilot, "c")
        await finished(pilot)
        listed = await permissions(pilot)
        await select(pilot, listed, GrantRow)
        assert "ls; true" in shown(listed)
        await until(
            pilot,
            lambda: "this exact command: ls; true" in shown(pilot.app.screen.query_one("#permissions-note")),
        )
        await pilot.press("d")
        await until(pilot, lambda: "ls; true" not in shown(listed))
        # Enter would change nothing.
        await until(pilot, lambda: isinstance(listed.row, ModeRow) and listed.row.current)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await send(pilot, "two")
        await answer(pilot, "n")
        await finished(pilot)

        # A yes to some files for good is none to all files.
        await send(pilot, "one")
        await answer(pilot, "A")
        await finished(pilot)
        await send(pilot, "two")
        await finished(pilot)
        assert (project / "src/api/new.py").exists()
        await send(pilot, "three")
        await answer(pilot, "n")
        await finished(pilot)
        assert not (project / "setup.py").exists()


@pytest.mark.exhaustive
async def test_a_rule_that_another_has_withdrawn_is_told_and_broken_rules_say_why_none_counts(
    project: Path,
) -> None:
    agent = agent_in(project)
    rule = agent.rules.add("command", "ls")
    async with working(agent) as pilot:
        listed = await permissions(pilot)
        # A heading is nothing to select.
        before = listed.selected
        await pilot.click("#permissions-list", offset=(4, 4))
        assert listed.selected == before
        await select(pilot, listed, RuleRow)
        await pilot.press(*["down"] * 3)
        assert isinstance(listed.row, RuleRow)

        agent_in(project).rules.revoke(rule.id)
        await pilot.press("d")
        await until(pilot, lambda: "not found" in told(pilot))
        await until(pilot, lambda: "none granted" in shown(pilot.app.screen.query_one("#permissions-title")))
        await pilot.press("escape")

        (config_directory() / "permissions.toml").write_text("[[rules]]\nid = 1\n")
        await permissions(pilot)
        note = pilot.app.screen.query_one("#permissions-note")
        await until(pilot, lambda: "✗ Rules not applied" in shown(note))
        assert "line 1" in " ".join(shown(note).split())


def test_rules_are_grouped_by_where_they_hold() -> None:
    rules = [
        Rule("1", "command", "ls", "/a"),
        Rule("2", "command", "ls", ""),
        Rule("3", "write", "src/**", "/b"),
    ]
    rows = list_rows("auto", [], rules, "/a")
    assert [row.text for row in rows if isinstance(row, Heading) and row.text] == [
        "Allowed in this conversation",
        "Always in this project",
        "Always in every project",
        "Always in other projects",
    ]
    assert [(row.rule.id, row.elsewhere) for row in rows if isinstance(row, RuleRow)] == [
        ("1", False),
        ("2", False),
        ("3", True),
    ]
    assert [row.mode for row in rows if isinstance(row, ModeRow) and row.current] == ["auto"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["permissions", "permissions-empty"])
async def test_looks(project: Path, name: str) -> None:
    agent = ScriptedAgent(project)
    rules = agent_in(project).rules
    rules.path.parent.mkdir(parents=True, exist_ok=True)
    text = ""
    if name == "permissions":
        for number, (effect, pattern, where) in enumerate(
            [
                ("command", "git status", str(project)),
                ("write", "src/**", str(project)),
                ("network", "docs.python.org", ""),
                ("command", "npm run build", "/home/other/a project"),
            ]
        ):
            text += f'[[rules]]\nid = "r{number}"\neffect = "{effect}"\npattern = "{pattern}"\n'
            text += f'project = "{where}"\nadded = "2026-07-0{number + 1}"\n'
    rules.path.write_text(text)

    class Given(Ledger):
        """With what a conversation was allowed, at a time that stands still."""

        async def rows(self) -> Any:
            given = [
                Grant(
                    ("command", "x"),
                    "command",
                    "this exact command",
                    "pytest -q; \x1b[2Jls",
                    frozenset(),
                    MORNING,
                ),
                Grant(
                    ("write", ""), "write", "all changes to files in the project", "", frozenset(), MORNING
                ),
            ]
            return list_rows("ask", given if name == "permissions" else [], rules.list(), str(project))

        @property
        def rules(self) -> Any:
            return rules

    async def choose(_mode: str) -> None:
        return

    async def prepare(pilot: Pilot[Any]) -> None:
        screen = PermissionsScreen(Given(agent, None, lambda: False), choose, clock=lambda: EPOCH + 1e7)  # pyright: ignore[reportArgumentType]
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: "● " in shown(screen.rows))
        if name == "permissions":
            await select(pilot, screen.rows, RuleRow)
        await pilot.pause()

    # The smallest keeps what is selected in sight: how far it scrolls depends on where it was selected.
    for sizes in (SIZES[:-1], SIZES[-1:]) if name == "permissions" else (SIZES,):
        await check_looks(name, lambda: app_over(agent), prepare, sizes=sizes)
