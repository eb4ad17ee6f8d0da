"""Titles: one short request in the background after the first exchange, and never over the user's own."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.titles import read_title, title_request
from cogency_tui.agent.until import Limits, Until
from cogency_tui.config.schema import Settings
from cogency_tui.errors import ProviderError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, Chunk, Options
from tests.agent.test_turns import turn
from tests.cases import cases
from tests.peers.scripted import ScriptedProvider


class Titling(ScriptedProvider):
    """Answers a request for a title with `title`, which may be an error; counts the requests."""

    def __init__(self, *replies: str, title: str | ProviderError) -> None:
        super().__init__(*replies)
        self.requests: list[Sequence[Message]] = []
        self._title = title

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        if messages[0]["content"].startswith("Task: title"):
            self.requests.append(messages)
            if isinstance(self._title, ProviderError):
                raise self._title
            self.title = self._title
        async for chunk in super().stream(messages, options):
            yield chunk


def agent_over(provider: Any, tmp_path: Path, project: Path, **options: Any) -> Agent:
    settings = Settings(**options)
    agent = Agent(provider, project=project, data=tmp_path / "data", settings=settings, mode="replay")
    agent.titled = ignore
    return agent


def ignore(_id: str, _title: str) -> None:
    return


async def titled(agent: Agent) -> str:
    """The title of the conversation `c` once no request is in progress."""
    await agent._conversations.titles().settle()  # pyright: ignore[reportPrivateUsage]
    conversation = await (await agent.store()).conversation("c")
    return conversation.title if conversation else ""


async def test_the_first_exchange_gives_the_title(tmp_path: Path, project: Path) -> None:
    provider = Titling("It sleeps first.", "Done.", title="Flaky checkout test\n")
    async with agent_over(provider, tmp_path, project) as agent:
        named: list[tuple[str, str]] = []
        agent.titled = lambda id, title: named.append((id, title))
        await turn(agent, "why is it flaky?", conversation_id="c")
        assert await titled(agent) == "Flaky checkout test"
        await turn(agent, "fix it", conversation_id="c")
        assert await titled(agent) == "Flaky checkout test"
    assert named == [("c", "Flaky checkout test")]
    (request,) = provider.requests
    assert "why is it flaky?" in request[1]["content"]
    assert "It sleeps first." in request[1]["content"]


async def test_a_conversation_that_begins_with_a_command_gets_one(tmp_path: Path, project: Path) -> None:
    provider = Titling("I see.", title="Broken checkout")
    async with agent_over(provider, tmp_path, project) as agent:
        async for _event in agent.until(Until("false", Limits(turns=1)), conversation_id="c"):
            pass
        assert await titled(agent) == "Broken checkout"


async def test_a_title_of_the_users_stays(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", title="Another")
    async with agent_over(provider, tmp_path, project) as agent:
        store = await agent.store()
        await store.create_conversation(str(project), id="c", dialect="xml", provider="p", model="m")
        await store.rename("c", "Mine")
        await turn(agent, "hello", conversation_id="c")
        assert await titled(agent) == "Mine"
    assert provider.requests == []


async def test_a_title_given_meanwhile_stays(tmp_path: Path, project: Path) -> None:
    async with agent_over(ScriptedProvider("Yes."), tmp_path, project) as agent:
        await turn(agent, "hello", conversation_id="c")
        store = await agent.store()
        await store.rename("c", "Mine")
        assert not await store.name("c", "Another", instead_of="hello")
        assert await titled(agent) == "Mine"


async def test_a_request_that_fails_leaves_the_first_words(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", "And yes.", title=ProviderError("no"))
    async with agent_over(provider, tmp_path, project) as agent:
        for message in ("first words", "second"):
            await turn(agent, message, conversation_id="c")
            assert await titled(agent) == "first words"
    assert len(provider.requests) == 1


async def test_nothing_is_requested_when_off(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", title="A title")
    async with agent_over(provider, tmp_path, project, titles=False) as agent:
        await turn(agent, "first words", conversation_id="c")
        assert await titled(agent) == "first words"
    assert provider.requests == []


async def test_nothing_is_requested_for_a_program_that_shows_no_titles(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", title="A title")
    async with agent_over(provider, tmp_path, project) as agent:
        agent.titled = None
        await turn(agent, "first words", conversation_id="c")
    assert provider.requests == []


async def test_one_turn_without_the_interface_makes_no_second_request(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", title="A title")
    await turn(agent_over(provider, tmp_path, project), "first words", conversation_id="c")
    assert provider.requests == []


async def test_the_offline_model_titles_from_the_words(tmp_path: Path, project: Path) -> None:
    async with agent_over("offline", tmp_path, project) as agent:
        await turn(agent, "could you please list the files? Thanks", conversation_id="c")
        assert await titled(agent) == "List the files"


async def test_secrets_are_not_sent(tmp_path: Path, project: Path) -> None:
    provider = Titling("Yes.", title="A title")
    environ = {"OPENAI_API_KEY": "sk-very-secret-1234"}
    data = tmp_path / "data"
    async with Agent(provider, project=project, data=data, settings=Settings(), environ=environ) as agent:
        agent.titled = ignore
        await turn(agent, "my key is sk-very-secret-1234", conversation_id="c")
        await titled(agent)
    assert "sk-very-secret-1234" not in str(provider.requests)


@cases(
    "answer, title",
    [
        ("Flaky checkout test", "Flaky checkout test"),
        ('**"Flaky checkout test."**', "Flaky checkout test"),
        ("Title: Flaky checkout test", "Flaky checkout test"),
        ("<think>Hm.\nShort.</think>\n\nFlaky checkout test", "Flaky checkout test"),
        ("Flaky\x1b[31m test", "Flaky test"),
        ("Create n3.txt, then run `sleep 6`", "Create n3.txt, then run `sleep 6`"),
        ("**`Flaky checkout test`**", "Flaky checkout test"),
        ("Run `pytest` with `--flaky", "Run `pytest` with --flaky"),
        ("word " * 60, ""),
        ('<execute>[{"name": "list"}]</execute>', ""),
        (" \n ", ""),
    ],
)
def test_a_title_is_read_from_any_answer(answer: str, title: str) -> None:
    assert read_title(answer) == title


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_request_is_small(size: int) -> None:
    request = title_request("x" * size, "y" * size)
    assert sum(len(message["content"]) for message in request) < 4000
