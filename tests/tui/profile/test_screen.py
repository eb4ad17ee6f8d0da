"""`/profile`: shown with what it is from, changed, taken back, forgotten; offered once, without a dialog."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.profile.profile import OFFER, OFFER_AFTER
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings, config_path
from cogency_tui.errors import AuthenticationError
from cogency_tui.store.profile import Fact
from cogency_tui.store.profile_material import LearningState
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.dialogs import Choices, Confirmation
from cogency_tui.tui.profile.model import ProfileData, Shown
from cogency_tui.tui.profile.screen import ProfileScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    at_work,
    conversation_of,
    finished,
    main_of,
    opened,
    send,
    shown,
    told,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.scripted import EPOCH, ScriptedAgent


def agent_in(project: Path, **options: Any) -> Agent:
    settings = Settings(**options)
    return Agent("offline", project=project, data=project.parent / "data", settings=settings)


async def talk(pilot: Pilot[Any], *texts: str) -> None:
    # Nobody types so early; what is said before the agent is open is not learned from.
    await opened(pilot)
    title = main_of(pilot).query_one("#conversation-title")
    for text in texts:
        before = shown(title)
        await send(pilot, text)
        await until(pilot, lambda before=before: shown(title) != before)
        await finished(pilot)


async def profile(pilot: Pilot[Any]) -> ProfileScreen:
    await send(pilot, "/profile")
    await until(pilot, lambda: isinstance(pilot.app.screen, ProfileScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ProfileScreen)
    await until(pilot, lambda: note(pilot))
    return screen


async def filled(agent: Agent, *lines: str) -> None:
    for line in lines:
        await agent.profile.write(line)


def note(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot.app.screen.query_one("#profile-note")).split())


def said(pilot: Pilot[Any]) -> str:
    return " ".join(shown(conversation_of(pilot)).split())


def listed(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#profile-list"))


@pytest.mark.exhaustive
async def test_it_is_offered_once_in_the_conversation_and_turned_on(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        await talk(pilot, "my name is Ada", "I prefer short answers", *["list files"] * (OFFER_AFTER - 3))
        assert OFFER not in said(pilot)
        await talk(pilot, "list files")
        await until(pilot, lambda: OFFER in said(pilot))
        assert pilot.app.screen is main_of(pilot)
        await send(pilot, "/profile on")
        await until(pilot, lambda: "learning from this conversation" in told(pilot))
        assert load_settings().profile == "on"
        screen = await profile(pilot)
        await until(pilot, lambda: "Prefers short answers" in shown(screen.query_one("#profile-list")))
        await until(pilot, lambda: "on, 2 facts" in shown(screen.query_one("#profile-title")))
        assert "From “My name is Ada”, turn 1, by offline/offline-1." in note(pilot)
        assert "2 learned" in note(pilot)


async def test_it_is_not_offered_after_a_failed_turn(project: Path) -> None:
    replies = [*["Yes."] * (OFFER_AFTER - 1), AuthenticationError("The key is wrong.", "Set another.")]
    provider = ScriptedProvider(*replies, "Again.", resumes=False)
    agent = Agent(provider, project=project, data=project.parent / "data")
    async with at_work(agent) as pilot:
        await talk(pilot, *["go"] * OFFER_AFTER)
        await until(pilot, lambda: "The key is wrong." in said(pilot))
        assert OFFER not in said(pilot)
        await talk(pilot, "and now?")
        await until(pilot, lambda: OFFER in said(pilot))


async def test_a_fact_is_edited_removed_and_given_back(project: Path) -> None:
    agent = agent_in(project)
    await filled(agent, "who: Called Ada", "style: Short answers", "I use tabs")
    async with at_work(agent) as pilot:
        screen = await profile(pilot)
        await pilot.press("down", "e")
        field = screen.query_one(Input)
        await until(pilot, lambda: screen.focused is field)
        assert field.value == "style: Short answers"
        await pilot.press(*["backspace"] * len("answers"), *"words", "enter")
        await until(pilot, lambda: "Short words" in listed(pilot))
        await until(pilot, lambda: screen.focused is None)
        assert "Written by you" in note(pilot)
        await pilot.press("d")
        await until(pilot, lambda: "Short words" not in listed(pilot))
        assert note(pilot).startswith("I use tabs")
        assert "u undo" in shown(screen.query_one(Choices))
        await pilot.press("u")
        await until(pilot, lambda: "Short words" in listed(pilot))
        await pilot.press("u")
        await until(pilot, lambda: "Short answers" in listed(pilot))
        await until(pilot, lambda: "u undo" not in shown(screen.query_one(Choices)))
        assert [fact.text for fact in await agent.profile.facts()] == [
            "Called Ada",
            "Short answers",
            "I use tabs",
        ]


@pytest.mark.exhaustive
async def test_a_fact_is_added_and_what_cannot_be_kept_is_told(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        screen = await profile(pilot)
        await pilot.press("e", "d")
        field = screen.query_one(Input)
        assert not field.display
        await pilot.press("a", *"focus:", "enter")
        await until(pilot, lambda: "The text is empty." in told(pilot))
        assert field.display
        await pilot.press("space", *"parsers", "enter")
        await until(pilot, lambda: "parsers" in listed(pilot))
        (fact,) = await agent.profile.facts()
        assert (fact.kind, fact.text, fact.edited) == ("focus", "parsers", True)
        await pilot.press("a", *"Parsers", "enter")
        await until(pilot, lambda: "already" in told(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not field.display)
        assert pilot.app.screen is screen
        await pilot.press("u")
        await until(pilot, lambda: "0 facts" in shown(screen.query_one("#profile-title")))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))


@pytest.mark.exhaustive
async def test_everything_is_forgotten_after_a_question_and_it_is_turned_on_and_off(project: Path) -> None:
    agent = agent_in(project)
    await filled(agent, "who: Called Ada", "misc: x")
    async with at_work(agent) as pilot:

        async def answer(key: str) -> None:
            await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
            assert len(await agent.profile.facts()) == 2
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(pilot.app.screen, Confirmation))

        async def titled(text: str) -> None:
            await until(pilot, lambda: text in shown(pilot.app.screen.query_one("#profile-title")))

        async def escape() -> None:
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await send(pilot, "/profile clear")
        await answer("n")
        await profile(pilot)
        for key, left in (("n", "2 facts"), ("y", "0 facts")):
            await pilot.press("x")
            await answer(key)
            await titled(left)
        assert await agent.profile.facts() == []

        assert "Profile off" in note(pilot)
        await pilot.press("t")
        await titled("on, 0 facts")
        assert "Nothing remembered about you yet" in note(pilot)
        assert load_settings().profile == "on"
        await escape()
        await send(pilot, "/profile off")
        await until(pilot, lambda: "Profile off." in told(pilot))
        assert load_settings().profile == "off"
        assert not agent.profile.on

        await filled(agent, "who: Called Ada", "misc: x")
        await send(pilot, "/profile clear")
        await answer("y")
        await until(pilot, lambda: "Forgot 2 facts." in told(pilot))
        assert await agent.profile.facts() == []


@pytest.mark.exhaustive
async def test_a_configuration_that_cannot_be_changed_is_told(project: Path) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text("this is = not = toml\n")
    async with at_work(agent_in(project)) as pilot:
        await send(pilot, "/profile on")
        await until(pilot, lambda: "is not valid TOML" in told(pilot))
        await profile(pilot)
        await pilot.press("t")
        await until(pilot, lambda: "is not valid TOML" in told(pilot))
        assert "off" in shown(pilot.app.screen.query_one("#profile-title"))


@pytest.mark.exhaustive
async def test_pastes_and_the_messages_of_files_teach_nothing(project: Path) -> None:
    agent = agent_in(project, profile="on", profile_every=1)
    async with at_work(agent) as pilot:
        await opened(pilot)
        bridge = main_of(pilot).bridge
        title = main_of(pilot).query_one("#conversation-title")
        for number, message in enumerate(
            (
                Written("my name is Mallory", own=False),
                Written("I use uv. [Pasted 1]", {"[Pasted 1]": "\nmy name is Mallory"}),
            ),
            1,
        ):
            bridge.send(message)
            await until(pilot, lambda number=number: f"{number} turn" in shown(title))
            await finished(pilot)
        await profile(pilot)
        await until(pilot, lambda: "Uses uv" in listed(pilot))
        assert [fact.text for fact in await agent.profile.facts()] == ["Uses uv"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "theme"), [((100, 30), "night"), ((80, 24), "day")], ids=str)
async def test_looks(project: Path, size: tuple[int, int], theme: str) -> None:
    facts = [
        Fact(1, "who", "Called Ada", "c", 1, "openai/gpt-5.6-sol", EPOCH, title="Fix the flaky test"),
        Fact(
            2,
            "style",
            "Wants short answers, " * 8,
            "c",
            4,
            "openai/gpt-5.6-sol",
            EPOCH,
            title="Hostile \x1b[2J",
        ),
        Fact(3, "focus", "The checkout service", "gone", 2, "openai/gpt-5.6-sol", EPOCH, edited=True),
        Fact(4, "misc", "Uses uv [bold]not pip", created=EPOCH, edited=True),
    ]
    state = LearningState(1, True, EPOCH, "The model's answer is not as asked for", True, 2)
    agent = ScriptedAgent(project)

    async def prepare(pilot: Pilot[Any]) -> None:
        book = ProfileData(agent, None)  # pyright: ignore[reportArgumentType]
        screen = ProfileScreen(book, Shown(True, 5, facts, state), clock=lambda: EPOCH + 1e7)
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: "Called Ada" in listed(pilot))
        await pilot.press("down")
        await pilot.pause()

    await check_looks("profile", lambda: app_over(agent), prepare, sizes=[size], themes=[theme])
