"""The effort and dialect of a conversation are shown again when it is reopened."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import ProviderSettings, Settings
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.tui.driving import app_over, at_work, finished, main_of, send, shown, status_of, told, until

WIDE = (160, 30)


def agent_in(project: Path) -> Agent:
    settings = Settings(permissions="auto", titles=False, footer=False)
    return Agent(project=project, data=project.parent / "data", settings=settings)


async def test_what_was_chosen_last_is_in_the_status_bar_after_a_restart(project: Path) -> None:
    async with at_work(agent_in(project), WIDE) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        await send(pilot, "/effort high")
        await send(pilot, "/dialect action")
        await until(pilot, lambda: "action" in shown(status_of(pilot)))
        id = main_of(pilot).bridge.conversation_id
        await until(pilot, lambda: not any(each.group == "choices" for each in main_of(pilot).workers))

    agent = agent_in(project)
    async with app_over(agent, conversation_id=id).run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "effort high" in shown(status_of(pilot)))
        assert "action" in shown(status_of(pilot))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id is None)
        assert not {"effort", "action"} & set(shown(status_of(pilot)).split()), "a new one has the configured"
        await send(pilot, "hi")
        await finished(pilot)
        assert not {"effort", "action"} & set(shown(status_of(pilot)).split())
    await agent.close()


async def test_a_conversation_beside_one_that_works_begins_by_the_configured_effort(project: Path) -> None:
    async with ChatPeer(["Hi."], always=Fault(hang="within", after=1)) as peer:
        providers = {"mine": ProviderSettings(peer.base_url, "house")}
        settings = Settings(provider="mine", providers=providers, titles=False, footer=False, effort="low")
        agent = Agent(project=project, data=project.parent / "data", settings=settings, dialect="xml")
        async with at_work(agent, WIDE) as pilot:
            await send(pilot, "/effort high")
            await send(pilot, "/dialect action")
            await send(pilot, "hi")
            await until(pilot, lambda: peer.exchanges)
            first = main_of(pilot)
            await pilot.press("ctrl+n")
            await until(pilot, lambda: main_of(pilot) is not first)
            await until(pilot, lambda: "effort low" in shown(status_of(pilot)))
            now = main_of(pilot).bridge.agent
            assert (now.dialect, now.provider.model) == ("xml", "house")
            assert (first.bridge.agent.effort, first.bridge.agent.dialect) == ("high", "action")


async def test_an_effort_of_auto_is_shown_where_the_configuration_has_another(project: Path) -> None:
    settings = Settings(permissions="auto", titles=False, footer=False, effort="high")
    agent = Agent(project=project, data=project.parent / "data", settings=settings)
    async with at_work(agent, WIDE) as pilot:
        assert "effort high" in shown(status_of(pilot))
        await send(pilot, "/effort auto")
        await until(pilot, lambda: "effort auto" in shown(status_of(pilot)))


async def test_a_model_that_is_gone_is_noted_when_its_conversation_is_opened(project: Path) -> None:
    providers = {"mine": ProviderSettings("http://127.0.0.1:9/v1", "house")}
    data = project.parent / "data"
    async with Agent(project=project, data=data, settings=Settings(providers=providers)) as agent:
        store = await agent.store()
        record = await store.create_conversation(
            str(agent.project), dialect="auto", provider="mine", model="house", model_chosen=True
        )
        await store.append(record.id, {"type": "user", "timestamp": 1.0, "content": "hi"})
    agent = agent_in(project)
    async with app_over(agent, conversation_id=record.id).run_test(size=WIDE, notifications=True) as pilot:
        notice = "mine/house is no longer configured. Continuing with offline/offline-1."
        await until(pilot, lambda: notice in " ".join(told(pilot).split()))
    await agent.close()
