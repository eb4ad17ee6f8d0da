"""`/doctor` shows what the checks find, as they find it."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import config_path
from cogency_tui.tui.help.doctor_screen import DoctorScreen
from cogency_tui.tui.kit.dialogs import DialogBody
from tests.tui.driving import at_work, send, shown, until


async def test_it_reports_the_installation_with_its_problems_and_copies_the_report(project: Path) -> None:
    agent = Agent("offline", project=project, data=project.parent / "data")
    async with at_work(agent, (120, 100)) as pilot:
        config_path().parent.mkdir(parents=True, exist_ok=True)
        config_path().write_text("mode = 'sideways'\n")
        await send(pilot, "/doctor")
        await until(pilot, lambda: isinstance(pilot.app.screen, DoctorScreen))
        screen = pilot.app.screen
        await until(pilot, lambda: "1 problem" in shown(screen.query_one("#doctor-title")))
        body = shown(screen.query_one(DialogBody))
        for name in ("✓ program", "✓ python", "✗ configuration", "✓ store", "✓ interface", "sandbox"):
            assert name in body
        await pilot.press("y")
        await until(pilot, lambda: "✗ configuration:" in pilot.app.clipboard)
