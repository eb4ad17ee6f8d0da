"""The choice of a model: filtered as one types, live where the endpoint says, used from the next cycle on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import ProviderSettings, Settings, config_path
from cogency_tui.providers.models import ModelFacts
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.models.screen import PickerScreen
from tests.peers.chat import ChatPeer
from tests.peers.server import Request
from tests.tui.driving import (
    app_over,
    at_work,
    conversation_of,
    finished,
    main_of,
    send,
    shown,
    status_of,
    told,
    type_text,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent

KEY = "sk-very-secret-1234"
LIST = '{"object": "list", "data": [{"id": "alpha-1"}, {"id": "alpha-2"}, {"id": "beta"}]}'


class Lister(ChatPeer):
    """Has three models."""

    def whole(self, request: Request) -> tuple[int, str] | None:
        return (200, LIST) if request.method == "GET" else None


@asynccontextmanager
async def slow_server(may_answer: asyncio.Event) -> AsyncGenerator[str]:
    """The address of a server that says which models it has when it may."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await may_answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: %d\r\n\r\n%s" % (len(LIST), LIST.encode()))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def agent_at(address: str, project: Path) -> Agent:
    """An agent with the offline model that knows two providers more: `mine`, and `keyed`, without its key."""
    providers = {
        "mine": ProviderSettings(address, "house"),
        "keyed": ProviderSettings(address, "m", "A_KEY_THAT_IS_NOT_SET"),
    }
    settings = Settings(providers=providers, permissions="auto", titles=False)
    return Agent("offline", project=project, data=project.parent / "data", settings=settings)


async def picker(pilot: Pilot[Any]) -> PickerScreen:
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
    screen = pilot.app.screen
    assert isinstance(screen, PickerScreen)
    return screen


async def escape(pilot: Pilot[Any]) -> None:
    """Close the choice."""
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.screen is main_of(pilot))


def providers_in(screen: PickerScreen) -> str:
    return shown(screen.query_one("#picker-list"))


def models_in(screen: PickerScreen) -> str:
    return shown(screen.query_one("#picker-list"))


def picks_model(screen: PickerScreen) -> bool:
    return "save as default" in shown(screen.query_one(Choices))


def note_in(screen: PickerScreen) -> str:
    return " ".join(shown(screen.query_one("#picker-note")).split())


async def pick_provider(pilot: Pilot[Any], name: str) -> PickerScreen:
    screen = await picker(pilot)
    await type_text(pilot, name)
    await pilot.press("enter")
    await until(pilot, lambda: picks_model(screen))
    return screen


@pytest.mark.exhaustive
async def test_providers_say_what_they_support_and_where_their_key_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with ChatPeer() as peer, at_work(agent_at(peer.base_url, project), (160, 45)) as pilot:
        for size, set_, unset in (
            ((160, 45), "key in OPENAI_API_KEY", "ANTHROPIC_API_KEY not set"),
            ((80, 24), "key set", "key not set"),
        ):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: pilot.app.screen.size == size)
            screen = await picker(pilot)
            rows = {
                line.split()[0].strip("●"): line
                for line in providers_in(screen).replace("● ", "●").splitlines()
                if line
            }
            assert f"resume, replay  ✓ {set_}" in rows["openai"]
            assert f" resume, replay  ✗ {unset}" in rows["anthropic"]
            assert " replay            no key needed" in rows["mine"]
            assert "mine            house" in rows["mine"]
            assert "●offline" in rows["offline"]
            assert KEY not in "".join(rows.values())
            await escape(pilot)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_default_model_is_shown_on_a_narrow_screen(project: Path, size: tuple[int, int]) -> None:
    async with at_work(agent_at("http://127.0.0.1:9", project), size) as pilot:
        screen = await picker(pilot)
        await until(pilot, lambda: "offline-1" in providers_in(screen))
        assert "no key needed" in providers_in(screen)
        assert "key not set" in providers_in(screen)


async def test_a_list_that_cannot_be_had_is_replaced_in_whole_sentences(project: Path) -> None:
    async with at_work(agent_at("http://127.0.0.1:9/v1", project)) as pilot:
        screen = await pick_provider(pilot, "mine")
        await until(pilot, lambda: "built-in list" in note_in(screen))
        assert ". Showing the built-in list." in note_in(screen)


async def test_providers_are_found_by_their_default_models_too(project: Path) -> None:
    async with at_work(agent_at("http://127.0.0.1:9", project)) as pilot:
        screen = await picker(pilot)
        await type_text(pilot, "house")
        await until(pilot, lambda: [row.name for row in screen.rows.rows] == ["mine"])
        await type_text(pilot, "x")
        await until(pilot, lambda: providers_in(screen).strip() == "No matching providers or models.")


@pytest.mark.exhaustive
async def test_what_the_endpoint_lists_takes_the_place_of_what_is_known(project: Path) -> None:
    may_answer = asyncio.Event()
    async with slow_server(may_answer) as address, at_work(agent_at(address, project)) as pilot:
        screen = await pick_provider(pilot, "mine")
        await until(pilot, lambda: "house" in models_in(screen))
        await until(pilot, lambda: "Loading the models of mine" in note_in(screen))
        may_answer.set()
        await until(pilot, lambda: "alpha-2" in models_in(screen))
        await until(pilot, lambda: note_in(screen) == "")
        assert "mine · 3 models" in shown(screen.query_one("#picker-title"))


async def test_the_choice_answers_from_the_next_request_on(project: Path) -> None:
    async with Lister() as peer:
        async with at_work(agent_at(peer.base_url, project)) as pilot:
            screen = await pick_provider(pilot, "mine")
            await until(pilot, lambda: "alpha-2" in models_in(screen))
            await type_text(pilot, "alpha 2")
            await until(pilot, lambda: "beta" not in models_in(screen))
            await pilot.press("enter")
            await until(pilot, lambda: "mine/alpha-2" in shown(status_of(pilot)))
            await send(pilot, "hi")
            await finished(pilot)
            await until(pilot, lambda: "Hello." in shown(conversation_of(pilot)))
        asked = [request.body["model"] for request in peer.requests if request.method == "POST"]
    assert asked == ["alpha-2"]


async def test_a_provider_without_sessions_is_never_resumed(project: Path) -> None:
    async with ChatPeer(["Hi."]) as peer:
        agent = agent_at(peer.base_url, project)
        async with at_work(agent) as pilot:
            await send(pilot, "/model mine")
            await until(pilot, lambda: "mine/house" in shown(status_of(pilot)))
            await send(pilot, "/mode resume")
            await until(pilot, lambda: "mine has no sessions to resume. Session mode is still" in told(pilot))
            assert agent.mode == "auto"
            await pilot.press("ctrl+o")
            await until(
                pilot, lambda: "whole conversation. mine has no sessions" in " ".join(told(pilot).split())
            )
            assert agent.mode == "replay"

            # One that the configuration sets anyway fails with the way out.
            agent.mode = "resume"
            await send(pilot, "hi")
            await until(pilot, lambda: "/mode replay" in shown(conversation_of(pilot)))
            await pilot.press("ctrl+o")
            assert agent.mode == "replay"


@pytest.mark.exhaustive
async def test_an_endpoint_is_noted_tested_and_asked_and_escape_goes_back_one_step(project: Path) -> None:
    async with ChatPeer() as peer, at_work(agent_at(peer.base_url, project)) as pilot:
        # A click on the model opens the choice.
        place = shown(status_of(pilot)).index("offline/")
        await pilot.click(status_of(pilot), offset=(place, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
        screen = pilot.app.screen
        assert isinstance(screen, PickerScreen)
        await until(pilot, lambda: "Built-in demo model" in note_in(screen))
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: "Endpoint https://api.openai.com/v1" in note_in(screen))
        assert "Key not set. Run export OPENAI_API_KEY=…" in note_in(screen)
        await type_text(pilot, "azure")
        await until(pilot, lambda: 'Set base_url = "https://RESOURCE.openai.azure.com' in note_in(screen))
        await pilot.press(*["backspace"] * 5)

        await type_text(pilot, "mine")
        await until(pilot, lambda: f"Endpoint {peer.base_url}" in note_in(screen))
        await pilot.press(*["backspace"] * 4)

        # It is tested when the person says so.
        await type_text(pilot, "keyed")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "✗ keyed needs an API key, and $A_KEY_THAT_IS_NOT_SET" in note_in(screen))
        await pilot.press(*["backspace"] * 5)
        await type_text(pilot, "mine")
        await until(pilot, lambda: f"Endpoint {peer.base_url}" in note_in(screen))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "✓ mine/house: OK" in note_in(screen))
        assert [request.method for request in peer.requests] == ["POST"]

        await pilot.press("enter")
        await until(pilot, lambda: picks_model(screen))
        await pilot.press("escape")
        assert not picks_model(screen)
        assert "openai" in providers_in(screen), "the filter is empty again"
        await escape(pilot)
        assert "offline/offline-1" in shown(status_of(pilot))

        # One that cannot be asked says why.
        refused = await pick_provider(pilot, "keyed")
        await until(pilot, lambda: "✗" in note_in(refused))
        assert "keyed needs an API key, and $A_KEY_THAT_IS_NOT_SET is not set." in note_in(refused)
        assert "→ Set A_KEY_THAT_IS_NOT_SET" in note_in(refused)
        assert models_in(refused).split() == ["m", "replay"]


@pytest.mark.exhaustive
async def test_a_model_is_chosen_by_the_mouse_and_one_that_is_not_listed_typed(project: Path) -> None:
    async with (
        ChatPeer(model="house") as peer,
        at_work(agent_at(peer.base_url, project)) as pilot,
    ):
        screen = await picker(pilot)
        row = next(y for y, line in enumerate(providers_in(screen).splitlines()) if "mine" in line)
        await pilot.click("#picker-list", offset=(8, row))
        await until(pilot, lambda: picks_model(screen))
        await pilot.click("#picker-list", offset=(8, 0))
        await until(pilot, lambda: "mine/house" in shown(status_of(pilot)))

        screen = await pick_provider(pilot, "mine")
        await type_text(pilot, "my-own")
        await until(pilot, lambda: models_in(screen).split() == ["my-own", "replay"])
        await pilot.press("enter")
        await until(pilot, lambda: "mine/my-own" in shown(status_of(pilot)))


@pytest.mark.exhaustive
async def test_a_model_is_chosen_by_its_name(project: Path) -> None:
    async with ChatPeer() as peer, at_work(agent_at(peer.base_url, project)) as pilot:
        for command, model, says in (
            ("/model nobody", "offline/offline-1", "Unknown provider 'nobody'"),
            ("/model ollama", "offline/offline-1", "needs a model name"),
            ("/model offline", "offline/offline-1", "Already using offline/offline-1."),
            ("/model mine", "mine/house", "Switched to mine/house."),
            ("/model mine/a/b", "mine/a/b", "Switched to mine/a/b."),
            ("/model keyed", "keyed/m", "Set A_KEY_THAT_IS_NOT_SET and restart to use it."),
        ):
            await send(pilot, command)
            await until(pilot, lambda says=says: says in " ".join(told(pilot).split()))
            assert model in shown(status_of(pilot)), command
            assert len(pilot.app.screen.query("Toast")) == 1, "one notice, even of a model without a key"


@pytest.mark.exhaustive
async def test_a_choice_is_written_when_the_person_says_so(project: Path) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    async with ChatPeer(model="house") as peer:
        path.write_text(f'# mine\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "house"\n')
        agent = Agent(project=project, data=project.parent / "data")
        async with at_work(agent) as pilot:
            await pick_provider(pilot, "mine")
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "saved as the default in ~/.config" in " ".join(told(pilot).split()))
            assert "mine/house" in shown(status_of(pilot))
    assert path.read_text().startswith('# mine\n\nprovider = "mine"\nmodel = "house"\n')
    again = Agent(project=project)
    assert (again.provider.name, again.provider.model) == ("mine", "house")
    assert again.configured.origin("provider").where == f"{path}:3"


@pytest.mark.exhaustive
async def test_the_notice_names_an_effort_that_is_written_too(project: Path) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    async with ChatPeer(model="house") as peer:
        path.write_text(f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "house"\n')
        agent = Agent(project=project, data=project.parent / "data")
        async with at_work(agent) as pilot:
            await pick_provider(pilot, "mine")
            await pilot.press("ctrl+e", "ctrl+s")
            saved = "saved as the default, with effort none, in ~/.config"
            await until(pilot, lambda: saved in " ".join(told(pilot).split()))
    assert 'effort = "none"' in path.read_text()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "theme"), [((100, 30), "night"), ((80, 24), "day")])
async def test_looks(project: Path, size: tuple[int, int], theme: str) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        screen = await picker(pilot)
        await until(pilot, lambda: "Run export OPENAI_API_KEY" in note_in(screen))

    def make() -> CogencyApp:
        return app_over(ScriptedAgent(project))

    await check_looks("picker", make, prepare, sizes=[size], themes=[theme])


async def test_a_model_of_the_current_provider_is_found_without_entering_that(project: Path) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().with_name("models.toml").write_text('["mine/alpha-2"]\ncontext = 8000\n')
    async with ChatPeer() as peer:
        agent = agent_at(peer.base_url, project)
        await agent.choose_model("mine", "house")
        async with at_work(agent) as pilot:
            screen = await picker(pilot)
            assert "alpha-2" not in models_in(screen)
            await type_text(pilot, "mine")
            await until(pilot, lambda: "1 of" in shown(screen.heading))
            assert not picks_model(screen)
            screen.query_one("#picker-filter", Input).value = "alph"
            await until(pilot, lambda: "mine/alpha-2" in models_in(screen))
            assert picks_model(screen)
            assert peer.base_url in note_in(screen)
            await pilot.press("enter")
            await until(pilot, lambda: "Switched to mine/alpha-2." in told(pilot))
            assert (agent.provider.name, agent.provider.model) == ("mine", "alpha-2")
            screen = await picker(pilot)
            await type_text(pilot, "keyed")
            await pilot.press("enter")
            await until(pilot, lambda: "keyed · " in shown(screen.heading))


async def test_a_model_that_only_the_current_provider_lists_is_found_without_entering_that(
    project: Path,
) -> None:
    async with Lister() as peer:
        agent = agent_at(peer.base_url, project)
        await agent.choose_model("mine", "house")
        async with at_work(agent) as pilot:
            screen = await picker(pilot)
            await type_text(pilot, "keyed")
            screen.catch_up()
            assert peer.requests == []
            screen.query_one("#picker-filter", Input).value = "bet"
            await until(pilot, lambda: "mine/beta" in models_in(screen))
            assert picks_model(screen)
            screen.query_one("#picker-filter", Input).value = "alpha"
            await until(pilot, lambda: "mine/alpha-2" in models_in(screen))
            assert len(peer.requests) == 1


async def test_the_start_warns_of_a_model_that_ends_soon(project: Path) -> None:
    agent = ScriptedAgent(project)
    agent.provider.facts = ModelFacts(ends=date(2020, 1, 2))
    async with app_over(agent).run_test(size=(80, 24), notifications=True) as pilot:
        notice = f"{agent.provider.model} was retired on 2020-01-02: choose another with /model."
        await until(pilot, lambda: notice in " ".join(told(pilot).split()))


async def test_the_choice_shows_that_a_model_ends_and_warns_of_it(project: Path) -> None:
    config_path().parent.mkdir(parents=True)
    own = '["mine/old"]\ncontext = 8000\nprices = { input = 1, output = 2 }\nends = 2020-01-02\n'
    config_path().with_name("models.toml").write_text(own)
    async with ChatPeer(model="old") as peer, at_work(agent_at(peer.base_url, project), (80, 24)) as pilot:
        screen = await pick_provider(pilot, "mine")
        await until(pilot, lambda: "old" in models_in(screen))
        [row] = [line for line in models_in(screen).splitlines() if " old " in line]
        assert row.split() == ["old", "retired", "2020-01-02"]
        await type_text(pilot, "old")
        await pilot.press("enter")
        await until(pilot, lambda: "Switched to mine/old, which was retired on 2020-01-02." in told(pilot))
