"""An effort that a model has refused is known to be out of force, for that model and level alone."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import ProviderSettings, Settings
from tests.peers.chat import ChatPeer


async def test_it_is_known_and_not_recorded_as_that_of_a_request(project: Path) -> None:
    async with ChatPeer(["Hi.", "Hi."], refuses=["reasoning_effort"]) as peer:
        providers = {"mine": ProviderSettings(peer.base_url, "house")}
        settings = Settings(provider="mine", providers=providers, titles=False)
        agent = Agent(project=project, data=project.parent / "data", settings=settings, effort="max")
        assert not agent.refuses("max")
        async with agent:
            events = [event async for event in agent("hi")]
            metrics = [event["step"] for event in events if event["type"] == "metric"]
            assert agent.refuses("max")
            assert not agent.refuses("high"), "it may accept another"
            await agent.choose_model("mine", "other")
            assert not agent.refuses("max")
    assert metrics
    assert not any("effort" in step for step in metrics)
    notices = [event["payload"]["error"] for event in events if event["type"] == "error"]
    assert notices == ["house does not accept the reasoning effort max. Its own default applies instead."]
