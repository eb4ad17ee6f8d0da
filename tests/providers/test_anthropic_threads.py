"""Sessions over Anthropic's message threads, over real sockets: what is sent, what is billed, and their ends."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from cogency_tui.agent.model_channels import AutoChannel, ResumeChannel
from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.errors import BadRequestError, NetworkError, SessionLostError, SessionRefusedError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.anthropic_threads import LIFETIME, thread_sessions
from cogency_tui.providers.base import (
    PLAIN,
    Chunk,
    Notice,
    Options,
    ProviderSession,
    TextDelta,
    Usage,
)
from cogency_tui.providers.configured_providers import create_provider, known_providers
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.peers.anthropic_answers import Answer, Call, Text, Thinking
from tests.peers.server import Fault
from tests.providers.anthropic_native import (
    TOOLS,
    answered,
    call,
    calls_of,
    check_types,
    result,
    results_of,
    says,
    text,
)
from tests.providers.asked import KEY

FACTS = ModelFacts(reasoning=True, threads=True, efforts={"low": "low", "high": "high"})
SYSTEM: Message = {"role": "system", "content": "s" * 4 * 2000}
FIRST: Message = {"role": "user", "content": "Look."}
SECOND: Message = {"role": "user", "content": "u" * 400}
LOOKS = Answer(Thinking("Which?"), Text("I look."), Call("read", '{"file": "a"}'), Call("shell"))


@dataclass
class Clock:
    """A clock that is put on by hand."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Threaded:
    """A provider whose sessions are threads, and what was waited for."""

    provider: HttpProvider
    clock: Clock = field(default_factory=Clock)
    waits: list[float] = field(default_factory=list[float])


@asynccontextmanager
async def threaded(peer: AnthropicPeer, model: str = "claude-sonnet-5") -> AsyncGenerator[Threaded]:
    """A provider that asks a peer, with threads."""
    peer.model = model
    endpoint = Endpoint("anthropic", peer.base_url, peer.model, "ANTHROPIC_API_KEY", KEY)
    clock, waits = Clock(), list[float]()

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    sessions = thread_sessions(endpoint, FACTS, own=True, clock=clock, wait=wait, jitter=lambda: 0.0)
    wire = AnthropicWire(endpoint, FACTS, own=True)
    provider = HttpProvider(endpoint, wire, sessions=sessions, native=True, facts=FACTS, wait=wait)
    try:
        yield Threaded(provider, clock, waits)
    finally:
        await provider.close()
    for request in peer.requests:
        check_types(request.body)


async def ask(session: ProviderSession, *messages: Message) -> list[Chunk]:
    await session.send(messages)
    async with aclosing(session.receive()) as chunks:
        return [chunk async for chunk in chunks]


def usage_of(chunks: Sequence[Chunk]) -> Usage:
    [usage] = [chunk for chunk in chunks if isinstance(chunk, Usage)]
    return usage


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def threads_of(peer: AnthropicPeer) -> list[str]:
    return [request.body.get("thread", {}).get("type", "none") for request in peer.requests]


async def test_a_thread_is_created_with_all_and_continued_with_what_is_new_alone() -> None:
    async with AnthropicPeer(["Hello.", "Done."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM], TOOLS)
        assert not peer.requests
        await ask(session, FIRST)
        assert session.reusable
        chunks = await ask(session, {"role": "assistant", "content": "Hello."}, SECOND)
        await session.close()
    assert text_of(chunks) == "Done."
    create, next = peer.requests
    assert "message-threads-2026-08-12" in create.headers["anthropic-beta"].split(",")
    assert create.body["thread"] == {"type": "create"}
    assert {"system", "tools"} <= create.body.keys()
    assert next.body["thread"] == {"type": "continue", "previous_message_id": f"msg_{1:024d}"}
    assert not {"system", "tools"} & next.body.keys()
    assert [turn["role"] for turn in next.body["messages"]] == ["user"]
    assert [block["text"] for block in next.body["messages"][0]["content"]] == ["u" * 400]
    roles = [message["role"] for message in peer.exchanges[1].context]
    assert roles == ["system", "user", "assistant", "user"]


async def test_what_is_sent_and_what_is_billed_are_two_figures() -> None:
    first: Message = {"role": "user", "content": "u" * 40}
    stored: Message = {"role": "assistant", "content": "Hello..."}
    async with AnthropicPeer([stored["content"], "Done."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        one = usage_of(await ask(session, first))
        two = usage_of(await ask(session, stored, SECOND))
        await session.close()
    create, next = peer.bills
    assert (one.input, one.billed_input, one.cached) == (2010, 2010, 0)
    assert one.cache_written == create.written == 2010
    assert two.billed_input == next.full + next.written + next.read == 2010 + 2 + 100
    assert (two.input, two.cached) == (100, 2010)
    assert (two.model, two.tier, two.answer) == ("claude-sonnet-5", "standard", f"msg_{2:024d}")


async def test_a_tool_loop_answers_each_call_once_within_the_thread() -> None:
    async with AnthropicPeer([LOOKS, LOOKS, "Done."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM], replace(TOOLS, effort="high"))
        answers = [answered(await ask(session, FIRST))]
        for _cycle in range(2):
            answers.append(answered(await ask(session, answers[-1], results_of(answers[-1]))))
        await session.close()
    assert [len(calls_of(answer)) for answer in answers] == [2, 2, 0]
    sent = [request.body["messages"][0]["content"] for request in peer.requests[1:]]
    for blocks, answer in zip(sent, answers, strict=False):
        assert [block["tool_use_id"] for block in blocks] == [each["id"] for each in calls_of(answer)]
    assert {str(request.body["output_config"]) for request in peer.requests} == {"{'effort': 'high'}"}
    assert threads_of(peer) == ["create", "continue", "continue"]


async def test_a_thread_keeps_the_thinking_that_it_began_with() -> None:
    async with AnthropicPeer([LOOKS, LOOKS]) as peer, threaded(peer, "claude-haiku-4-5") as own:
        # Of another model, without thinking, which the vendor requires before calls if it is to think on.
        seed = [SYSTEM, FIRST, says("assistant", call("c1"))]
        session = await own.provider.connect(seed, TOOLS)
        answer = answered(await ask(session, says("user", result("c1"))))
        await ask(session, answer, results_of(answer))
        await session.close()
    assert ["thinking" in request.body for request in peer.requests] == [False, False]
    assert threads_of(peer) == ["create", "continue"]


async def test_many_results_are_read_from_the_cache_beside_all_before_them() -> None:
    many = Answer(*(Call("read", f'{{"file": "{number}"}}') for number in range(15)))
    async with AnthropicPeer([many, many, "Done."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM], TOOLS)
        answer = answered(await ask(session, FIRST))
        for _cycle in range(2):
            answer = answered(await ask(session, answer, results_of(answer)))
        await session.close()
    first, second, third = peer.bills
    assert second.read == first.read + first.written
    assert third.read == second.read + second.written


async def test_a_channel_states_when_its_thread_expires() -> None:
    async with AnthropicPeer(["Hello.", "Done."]) as peer, threaded(peer) as own:
        channel = AutoChannel(own.provider)
        assert channel.expires is None
        own.clock.now += 10
        messages: list[Message] = [SYSTEM, FIRST]
        async for _chunk in channel.generate(messages):
            pass
        assert channel.expires == own.clock.now + LIFETIME
        own.clock.now += 200
        answer: Message = {"role": "assistant", "content": "Hello."}
        messages += [answer, SECOND]
        async for _chunk in channel.generate(messages):
            pass
        assert channel.expires == own.clock.now + LIFETIME
        own.clock.now += LIFETIME
        # Over: nothing is held any more.
        assert channel.expires is None
        await channel.close()
        assert channel.expires is None


async def test_a_thread_ends_five_minutes_after_its_last_answer() -> None:
    async with AnthropicPeer(["Hello."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        own.clock.now += LIFETIME - 1
        await ask(session, FIRST)
        own.clock.now += LIFETIME - 1
        assert session.reusable
        own.clock.now += 1
        assert not session.reusable
        await session.close()


async def test_an_answer_that_is_cut_short_ends_the_thread() -> None:
    async with AnthropicPeer(["Hello there, all of you."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        await session.send([FIRST])
        async with aclosing(session.receive()) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    break
        assert not session.reusable
        with pytest.raises(SessionLostError):
            await session.send([SECOND])
        await session.close()


@cases("finish", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_that_reached_a_limit_ends_the_thread(finish: str) -> None:
    async with AnthropicPeer(always=Fault(finish=finish)) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        await ask(session, FIRST)
        assert not session.reusable
        await session.close()


async def test_text_after_the_end_of_the_stored_answer_ends_the_thread() -> None:
    async with AnthropicPeer(["Hello. <results>made up</results>"]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        await ask(session, FIRST)
        with pytest.raises(SessionLostError, match="after its end"):
            await session.send([{"role": "assistant", "content": "Hello."}, SECOND])
        await session.close()


async def test_a_thread_that_the_vendor_lost_is_reported_as_lost_without_another_try() -> None:
    async with AnthropicPeer(["Hello."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        await ask(session, FIRST)
        peer.threads.forget()
        with pytest.raises(SessionLostError, match="no longer held"):
            await ask(session, {"role": "assistant", "content": "Hello."}, SECOND)
        await session.close()
    assert (len(peer.requests), own.waits) == (2, [])


async def test_a_thread_that_was_continued_elsewhere_is_lost() -> None:
    async with AnthropicPeer(["Hello.", "Done."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        await ask(session, FIRST)
        peer.threads.continue_all()
        with pytest.raises(SessionLostError, match="continued elsewhere"):
            await ask(session, {"role": "assistant", "content": "Hello."}, SECOND)
        await session.close()


async def generate(
    channel: ResumeChannel | AutoChannel, messages: list[Message], options: Options
) -> Message:
    """One cycle; its answer is added to the messages, with the results of its calls."""
    async with aclosing(channel.generate(messages, options)) as chunks:
        got = [chunk async for chunk in chunks]
    answer = answered(got)
    messages += [answer, results_of(answer) if calls_of(answer) else SECOND]
    return answer


async def test_a_lost_thread_is_created_again_from_the_store_and_no_call_is_repeated() -> None:
    async with AnthropicPeer([LOOKS, LOOKS, "Done."]) as peer, threaded(peer) as own:
        channel, messages = ResumeChannel(own.provider), [SYSTEM, FIRST]
        await generate(channel, messages, TOOLS)
        peer.threads.forget()
        await generate(channel, messages, TOOLS)
        await generate(channel, messages, TOOLS)
        await channel.close()
    assert threads_of(peer) == ["create", "continue", "create", "continue"]
    seeded = peer.requests[2].body["messages"]
    assert [block["type"] for block in seeded[1]["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block["type"] for block in seeded[2]["content"]] == ["tool_result", "tool_result"]


async def notices_of(channel: AutoChannel, messages: list[Message]) -> list[str]:
    async with aclosing(channel.generate(messages, PLAIN)) as chunks:
        got = [chunk async for chunk in chunks]
    messages += [answered(got), SECOND]
    return [chunk.text for chunk in got if isinstance(chunk, Notice)]


async def test_where_threads_are_not_supported_requests_go_on() -> None:
    async with AnthropicPeer(["Hello."]) as peer, threaded(peer) as own:
        peer.threads.unsupported = True
        channel, messages = AutoChannel(own.provider), [SYSTEM, FIRST]
        [notice] = await notices_of(channel, messages)
        assert await notices_of(channel, messages) == []
        await channel.close()
    assert "refused a message thread" in notice
    assert threads_of(peer) == ["create", "none", "none"]


async def test_a_server_that_does_not_know_the_field_is_asked_without_threads() -> None:
    async with AnthropicPeer(["Hello."], refuses=["thread"]) as peer, threaded(peer) as own:
        channel, messages = AutoChannel(own.provider), [SYSTEM, FIRST]
        [notice] = await notices_of(channel, messages)
        await channel.close()
    assert "has no message threads" in notice
    assert threads_of(peer) == ["create", "none"]


async def test_a_server_that_ignores_the_field_never_answers_from_half_a_conversation() -> None:
    async with AnthropicPeer(["Hello.", "Who are you?", "Done."]) as peer, threaded(peer) as own:
        peer.threads.unknown = True
        channel, messages = AutoChannel(own.provider), [SYSTEM, FIRST]
        await notices_of(channel, messages)
        [notice] = await notices_of(channel, messages)
        await channel.close()
    assert "ignores message threads" in notice
    assert messages[-2]["content"] == "Done."
    assert threads_of(peer) == ["create", "continue", "none"]


async def test_where_no_thread_is_stored_requests_go_on_after_two() -> None:
    async with AnthropicPeer(["Hello."]) as peer, threaded(peer) as own:
        peer.threads.full = True
        channel, messages = AutoChannel(own.provider), [SYSTEM, FIRST]
        notices = [await notices_of(channel, messages) for _cycle in range(4)]
        await channel.close()
    assert threads_of(peer) == ["create", "continue", "create", "continue", "none", "none"]
    assert ["does not hold message threads" in "".join(each) for each in notices] == [
        False,
        False,
        True,
        False,
    ]


async def test_requests_that_fail_before_the_first_token_are_repeated() -> None:
    busy = Fault(status=529, body='{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}')
    async with AnthropicPeer(["Hello."], faults=[busy]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        assert text_of(await ask(session, FIRST)) == "Hello."
        assert session.reusable
        await session.close()
    assert (len(peer.requests), own.waits) == (2, [0.5])


async def test_a_connection_that_drops_in_mid_answer_is_reported() -> None:
    fault = Fault(drop="within", after=4)
    async with AnthropicPeer(["Hello there."], always=fault) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM])
        with pytest.raises(NetworkError):
            await ask(session, FIRST)
        assert not session.reusable
        await session.close()


async def test_other_refusals_are_not_taken_for_the_threads() -> None:
    async with AnthropicPeer(["Hello."]) as peer, threaded(peer) as own:
        session = await own.provider.connect([SYSTEM], TOOLS)
        stray = says("user", text(" "), result("toolu_1"))
        first = answered(await ask(session, FIRST))
        with pytest.raises(BadRequestError, match="unexpected `tool_use_id`") as caught:
            await ask(session, first, stray)
        await session.close()
    assert not isinstance(caught.value, SessionRefusedError)


@cases(
    ("provider", "table", "resumes"),
    [
        ("anthropic", ProviderSettings(resume=True), True),
        ("anthropic", ProviderSettings(resume=False), False),
        ("gateway", ProviderSettings("http://127.0.0.1:1", "claude-x", api="anthropic"), False),
        ("gateway", ProviderSettings("http://127.0.0.1:1", "claude-x", api="anthropic", resume=True), True),
    ],
)
def test_a_configured_provider_has_threads_where_its_table_or_its_model_does(
    provider: str, table: ProviderSettings, resumes: bool
) -> None:
    settings = Settings(provider=provider, providers={provider: table})
    created = create_provider(settings, {})
    assert created.resumes is resumes
    assert created.native
    [known] = [each for each in known_providers(settings, {}) if each.name == provider]
    assert known.resumes is resumes
