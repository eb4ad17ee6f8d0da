"""Turns over connections that break off: nothing is lost, and no call runs twice."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.model_channels import PAUSE, AutoChannel, ResumeChannel
from cogency_tui.config.schema import Mode
from cogency_tui.errors import (
    AuthenticationError,
    NetworkError,
    ProviderError,
    RateLimitError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol import Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, Chunk, Notice, Options, Retrying, TextDelta
from cogency_tui.providers.models import ListedModel, ModelFacts
from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import provider_of, results, turn, types
from tests.peers.scripted import ScriptedProvider

MODES: tuple[Mode, ...] = ("resume", "replay", "auto")
WRITE = '<execute>[{"name": "write", "args": {"file": "a", "content": "x"}}]</execute>'
SYSTEM: Message = {"role": "system", "content": "s"}


def said(role: Any, content: str) -> Message:
    return {"role": role, "content": content}


def notices(events: Sequence[Event]) -> list[str]:
    return [e["payload"]["error"] for e in events if e["type"] == "error" and e["payload"].get("notice")]


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_goes_on_after_its_connection_broke_in_mid_answer(
    make_agent: MakeAgent, mode: Mode
) -> None:
    agent = make_agent("It is so that<<hang>>The wire broke.", "the rest follows.", mode=mode)
    async with agent:
        events = await turn(agent, conversation_id="c")
        stored = await (await agent.store()).events("c")
    assert types(events) == ["user", "respond", "result", "metric", "error", "respond", "metric", "end"]
    assert notices(events) == ["The wire broke. Continuing from the partial response."]
    assert [event["content"] for event in stored if event["type"] == "respond"] == [
        "It is so that",
        "the rest follows.",
    ]
    assert stored[1].get("interrupted")
    asked = provider_of(agent)
    last = asked.sent[-1] if mode == "replay" else [*asked.seeds[-1], *asked.sent[-1]]
    assert last[-2]["content"] == "It is so that"
    assert "was lost here" in last[-1]["content"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("dialect", "cut", "whole", "answer"),
    [
        ("xml", WRITE[:-12], WRITE, "Done."),
        ("xml", WRITE[:25], WRITE, "Done."),
        (
            "delimiter",
            '§call: {"name": "write", "args": {"file": "a", "content": "x"}}\n§exe',
            '§call: {"name": "write", "args": {"file": "a", "content": "x"}}\n§execute\n',
            "§respond: Done.\n§end",
        ),
    ],
)
async def test_a_block_that_was_cut_off_runs_once_when_it_is_whole(
    make_agent: MakeAgent, project: Path, mode: Mode, dialect: Dialect, cut: str, whole: str, answer: str
) -> None:
    agent = make_agent(f"{cut}<<hang>>The wire broke.", whole, answer, mode=mode, dialect=dialect)
    async with agent:
        events = await turn(agent, conversation_id="c")
    assert types(events)[-1] == "end"
    ran = [event for event in results(events) if not event["payload"]["error"]]
    assert [event["tool"] for event in ran] == ["write"]
    assert (project / "a").read_text() == "x"


@pytest.mark.parametrize("mode", MODES)
async def test_actions_that_ran_before_the_break_are_not_run_again(
    make_agent: MakeAgent, project: Path, mode: Mode
) -> None:
    action = '<action id="w">{"name": "write", "parameters": {"file": "a", "content": "x"}}</action>'
    cut = f'{action}<action id="v">{{"name": "rea<<hang>>The wire broke.'
    agent = make_agent(cut, "<response>Done.</response>", mode=mode, dialect="action")
    async with agent:
        events = await turn(agent, conversation_id="c")
    assert types(events)[-1] == "end"
    assert [(event["tool"], event["payload"]["error"]) for event in results(events)] == [("write", False)]
    assert (project / "a").read_text() == "x"


async def test_a_connection_that_keeps_breaking_ends_the_turn(make_agent: MakeAgent) -> None:
    agent = make_agent(*["Half<<hang>>The wire broke."] * 3, mode="replay")
    events = await turn(agent)
    assert types(events)[-3:] == ["metric", "error", "end"]
    last = events[-2]
    assert last["type"] == "error"
    assert last["payload"]["error"] == "The wire broke."
    assert len(notices(events)) == 2


async def test_auto_falls_back_to_replay_and_says_why(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider("Hello.", refuse_sessions=True)
    events = await turn(make_agent(llm=provider, mode="auto"))
    assert types(events) == ["user", "error", "respond", "metric", "end"]
    assert notices(events) == ["no sessions today. Continuing in replay mode."]
    metric = events[-2]
    assert metric["type"] == "metric"
    assert metric["step"].get("mode") == "replay"
    assert metric["step"].get("reason") == "auto: no session (no sessions today)"


async def test_auto_goes_on_with_requests_in_mid_turn_when_sessions_keep_breaking(
    make_agent: MakeAgent, project: Path
) -> None:
    agent = make_agent(
        WRITE, "Half<<hang>>The wire broke.", "Half<<hang>>The wire broke.", "Done.", mode="auto"
    )
    async with agent:
        events = await turn(agent, conversation_id="c")
    assert types(events)[-1] == "end"
    modes = [event["step"].get("mode") for event in events if event["type"] == "metric"]
    assert modes == ["resume", "resume", "replay", "replay"]
    assert [event["tool"] for event in results(events) if not event["payload"]["error"]] == ["write"]


class Line:
    """A provider whose sessions end as the test says; each round answers with what it was sent."""

    name = "line"
    model = "m"
    facts = ModelFacts()
    resumes = True
    native = False

    def __init__(self, *, opening: Sequence[ProviderError | None] = ()) -> None:
        self.opening = list(opening)
        self.sessions: list[LineSession] = []

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        del options
        yield TextDelta(f"request of {len(messages)}")

    async def connect(self, messages: Sequence[Message], options: Options = PLAIN) -> "LineSession":
        del options
        failure = self.opening.pop(0) if self.opening else None
        if failure is not None:
            raise failure
        self.sessions.append(LineSession(list(messages)))
        return self.sessions[-1]

    async def models(self) -> list[ListedModel]:
        return []

    async def close(self) -> None:
        pass


class LineSession:
    expires: float | None = None

    def __init__(self, seed: list[Message]) -> None:
        self.seed = seed
        self.sent: list[list[Message]] = []
        self.reusable = True
        self.failure: ProviderError | None = None

    async def send(self, messages: Sequence[Message]) -> None:
        if self.failure is not None:
            raise self.failure
        self.sent.append(list(messages))

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        yield TextDelta(f"round of {len(self.sent[-1])}")

    async def close(self) -> None:
        self.reusable = False


async def collect(channel: ResumeChannel | AutoChannel, messages: Sequence[Message]) -> list[Chunk]:
    return [chunk async for chunk in channel.generate(messages)]


HISTORY = [SYSTEM, said("user", "one"), said("assistant", "a"), said("user", "two")]


async def test_a_session_is_sent_its_own_answer_and_what_is_new() -> None:
    line = Line()
    channel = ResumeChannel(line)
    await collect(channel, HISTORY[:2])
    assert await collect(channel, HISTORY) == [TextDelta("round of 2")]
    [session] = line.sessions
    assert session.seed == [SYSTEM]
    assert session.sent == [[HISTORY[1]], HISTORY[2:]]


async def test_a_session_that_is_lost_is_seeded_again_at_once() -> None:
    line = Line()
    channel = ResumeChannel(line)
    await collect(channel, HISTORY[:2])
    line.sessions[0].failure = SessionLostError("It was evicted.")
    assert await collect(channel, HISTORY) == [
        Notice("It was evicted. A new session continues the conversation."),
        TextDelta("round of 1"),
    ]
    assert line.sessions[1].seed == HISTORY[:3]


async def test_a_session_that_cannot_be_used_again_is_seeded_again() -> None:
    line = Line()
    channel = ResumeChannel(line)
    await collect(channel, HISTORY[:2])
    line.sessions[0].reusable = False
    [notice, _text] = await collect(channel, HISTORY)
    assert notice == Notice("The session with line has ended. A new session continues the conversation.")


async def test_opening_a_session_is_tried_again_with_waits() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    line = Line(opening=[NetworkError("No route."), RateLimitError("Slow down.", retry_after=7.0)])
    channel = ResumeChannel(line, wait=wait, jitter=lambda: 0.0)
    assert await collect(channel, HISTORY) == [
        Retrying(2, 0.5, "No route.", 5),
        Retrying(3, 7.0, "Slow down.", 5),
        TextDelta("round of 1"),
    ]
    assert waits == [0.5, 7.0]


async def test_auto_tries_a_session_again_after_a_failure_that_may_pass() -> None:
    now = 0.0
    line = Line(opening=[NetworkError("No route.")])
    channel = AutoChannel(line, clock=lambda: now)
    assert await collect(channel, HISTORY) == [
        Notice("No route. Continuing in replay mode."),
        TextDelta("request of 4"),
    ]
    now = PAUSE - 1
    await collect(channel, HISTORY)
    assert channel.mode == "replay"
    now = PAUSE
    assert await collect(channel, HISTORY) == [TextDelta("round of 1")]
    assert channel.mode == "resume"


async def test_auto_does_not_ask_again_for_sessions_that_are_refused() -> None:
    now = 0.0
    channel = AutoChannel(Line(opening=[SessionRefusedError("There are none.")]), clock=lambda: now)
    await collect(channel, HISTORY)
    now = 10 * PAUSE
    assert await collect(channel, HISTORY) == [TextDelta("request of 4")]
    assert channel.reason == "auto: no session (There are none.)"


async def test_auto_does_not_repeat_with_a_request_what_a_request_would_be_refused_for() -> None:
    channel = AutoChannel(Line(opening=[AuthenticationError("Wrong key.")]))
    with pytest.raises(AuthenticationError):
        await collect(channel, HISTORY)
    assert channel.mode == "resume"
