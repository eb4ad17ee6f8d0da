"""Commands that stand in files: offered, sent as the messages that they are, and read again when they change."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.prompt.prompt import Prompt
from tests.tui.driving import (
    app_over,
    finished,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent, respond

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def commands(project: Path) -> Path:
    folder = project.with_name("config") / "commands"
    folder.mkdir(parents=True)
    (folder / "tidy-up.md").write_text("---\ndescription: Tidy a file\ntakes: FILE\n---\nTidy $ARGUMENTS.")
    return folder


def offered(pilot: Pilot[Any]) -> str:
    offers = main_of(pilot).query_one(Completion)
    return shown(offers) if offers.display else ""


async def test_it_is_offered_with_where_it_comes_from_and_sent_with_what_it_takes(
    project: Path, commands: Path
) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30), notifications=True) as pilot:
        await type_text(pilot, "/ti")
        await until(pilot, lambda: "/tidy-up" in offered(pilot))
        assert "Tidy a file · " in offered(pilot)
        assert "~/src/config/commands/tidy-up.md" in offered(pilot)
        await send(pilot, "/tidy-up")
        await until(pilot, lambda: "/tidy-up takes FILE." in told(pilot))
        assert agent.asked == []
        await send(pilot, "/tidy-up src/app.py")
        await until(pilot, lambda: agent.asked == ["Tidy src/app.py."])
        await until(pilot, lambda: "Tidy src/app.py." in shown(main_of(pilot).query_one("#conversation")))
        await finished(pilot)

        # What is saved while the program runs is offered.
        (commands / "timely.md").write_text("What time is it?")
        prompt_of(pilot).replace_text("")
        await type_text(pilot, "/ti")
        await until(pilot, lambda: "/timely" in offered(pilot))
        await send(pilot, "/timely")
        await until(pilot, lambda: agent.asked == ["Tidy src/app.py.", "What time is it?"])


async def test_it_is_found_when_it_is_sent_before_anything_was_offered(project: Path, commands: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        (commands / "late.md").write_text("Late.")
        prompt_of(pilot).post_message(Prompt.Sent(Written("/late")))
        await until(pilot, lambda: agent.asked == ["Late."])


async def test_it_takes_no_name_of_ours_and_stands_in_help_and_palette(project: Path, commands: Path) -> None:
    (commands / "quit.md").write_text("Do not quit.")
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 45)) as pilot:
        await until(pilot, lambda: any(each.name == "tidy-up" for each in main_of(pilot).commands))
        assert [each.handler for each in main_of(pilot).commands if each.name == "quit"] == ["leave"]
        await pilot.press("f1")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        await pilot.press(*"tid")
        await until(
            pilot, lambda: "/tidy-up FILE" in "".join(shown(each) for each in pilot.app.screen.query("*"))
        )


async def test_a_skill_that_changed_says_so_under_its_name(project: Path) -> None:
    file = project / ".claude/skills/docx/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: docx\ndescription: Writes.\n---\nWrite.\n")
    agent = ScriptedAgent(project)
    agent.project_settings.accept(agent.project_settings.survey())
    file.write_text("---\nname: docx\ndescription: Writes.\n---\nWrite it.\n")
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "/docx a.docx")
        told_below = "The skill docx changed since it was trusted. Review it with /trust"
        await until(pilot, lambda: told_below in seen(pilot))
        assert prompt_of(pilot).text in ("", "/docx a.docx")
        assert agent.asked == []
