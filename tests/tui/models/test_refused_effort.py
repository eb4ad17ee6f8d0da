"""An effort that a model refused is marked as such wherever the effort is shown."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.status.screen import StatusScreen
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.tui.driving import at_work, finished, main_of, seen, send, shown, status_of, told, until


async def test_it_is_marked_in_status_effort_and_picker(project: Path) -> None:
    async with ChatPeer(["Hi."], refuses=["reasoning_effort"]) as peer:
        providers = {"mine": ProviderSettings(peer.base_url, "house")}
        settings = Settings(provider="mine", providers=providers, titles=False, effort="max", footer=False)
        agent = Agent(project=project, data=project.parent / "data", settings=settings)
        async with at_work(agent, (160, 40)) as pilot:
            assert "effort max" in shown(status_of(pilot))
            await send(pilot, "hi")
            await finished(pilot)
            await until(pilot, lambda: "effort max (refused)" in shown(status_of(pilot)))

            await send(pilot, "/status")
            await until(pilot, lambda: isinstance(pilot.app.screen, StatusScreen))
            assert "max (refused): house uses its own default" in seen(pilot)
            await pilot.press("escape")

            await send(pilot, "/effort")
            await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
            assert "refused by house" in seen(pilot)
            await pilot.press("escape")

            await send(pilot, "/effort max")
            await until(pilot, lambda: "refused it before, and uses its own default." in told(pilot))

            await until(pilot, lambda: pilot.app.screen is main_of(pilot))
            await pilot.press("f2")
            await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
            assert "effort max (refused)" in shown(pilot.app.screen.query_one(Choices))


async def test_it_is_marked_as_soon_as_the_model_refuses_it(project: Path) -> None:
    unended = Fault(hang="within", after=1)
    async with ChatPeer(["Hi."], refuses=["reasoning_effort"], always=unended) as peer:
        providers = {"mine": ProviderSettings(peer.base_url, "house")}
        settings = Settings(provider="mine", providers=providers, titles=False, effort="max", footer=False)
        agent = Agent(project=project, data=project.parent / "data", settings=settings)
        async with at_work(agent, (160, 40)) as pilot:
            await send(pilot, "hi")
            await until(pilot, lambda: "effort max (refused)" in shown(status_of(pilot)))
            assert main_of(pilot).bridge.working
