"""Whole tasks over every wire protocol against a mock that we did not write, as in `test_ways`.

It is installed from the registry for the run, and all is skipped where that cannot be.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.errors import (
    ContextTooLongError,
    ModelNotFoundError,
    ProviderError,
    ProviderProtocolError,
    SessionRefusedError,
)
from cogency_tui.protocol.events import ErrorPayload, Event, Measure
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Provider, Retrying
from tests.agent.test_every_wire import SAME, STEPS, Work, modes, stored, turn
from tests.agent.test_turns import types
from tests.peers.aimock import (
    SURFACES,
    Aimock,
    Arrived,
    Surface,
    Unavailable,
    fails,
    install,
    running,
    says,
)
from tests.peers.ways import KEY, WAYS, Way

pytestmark = pytest.mark.xdist_group("aimock")
"""One installation and one server are enough for all of them."""


def ways(*needs: str, mode: str = "", every: bool = False) -> pytest.MarkDecorator:
    """Every way (of one mode); one that aimock does not serve so that the test can be done is skipped. The quick
    run tries two, or `every` one."""
    params: list[Any] = []
    for name, way in WAYS.items():
        if mode not in ("", way.mode):
            continue
        surface = SURFACES.get(name)
        reasons = (
            [surface.lacks[need] for need in needs if need in surface.lacks] if surface else ["not served"]
        )
        params.append(pytest.param(name, marks=pytest.mark.skip("; ".join(reasons)) if reasons else ()))
    if not every:
        served = [each for each in params if not each.marks]
        for each in served[1:-1]:
            params[params.index(each)] = pytest.param(*each.values, marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("name", params)


USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}


def call(step: int) -> str:
    return f'<think>Step {step}.</think>\n\n<execute>\n[{{"name": "mark", "args": {{"step": {step}}}}}]\n</execute>'


def answer(number: int) -> str:
    return f"Answer {number} after {STEPS} steps."


SAID = {
    "task one": call(0),
    "step 0 done": call(1),
    "step 1 done": answer(1),
    "task two": call(2),
    "step 2 done": call(3),
    "step 3 done": answer(2),
}
"""What the model of `test_ways` says in two turns."""

# The latest first, because a message may bring up what was before it.
TASK = [says(asked, text, chunkSize=5, usage=USAGE) for asked, text in reversed(SAID.items())]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    directory = tmp_path_factory.mktemp("aimock")
    try:
        script = install(directory)
    except Unavailable as reason:
        pytest.skip(f"aimock cannot be run: {reason}")
    with running(script, directory, KEY, os.environ["PATH"]) as mock:
        yield mock


@pytest.fixture
def work(name: str, tmp_path: Path) -> Work:
    return Work(WAYS[name], tmp_path)


def measures(events: Sequence[Event]) -> list[Measure]:
    return [event["step"] for event in events if event["type"] == "metric"]


def problems(events: Sequence[Event]) -> list[ErrorPayload]:
    return [event["payload"] for event in events if event["type"] == "error"]


def without_notices(events: Sequence[Event]) -> list[str]:
    return [
        event["type"] for event in events if not (event["type"] == "error" and "notice" in event["payload"])
    ]


@pytest.mark.exhaustive
@ways(every=True)
async def test_a_task_of_several_cycles_gives_the_same_events_and_the_figures_that_were_reported(
    server: Aimock, work: Work
) -> None:
    server.script(*TASK)
    async with work.agent(work.way.connect(server)) as agent:
        first = await turn(agent, "task one")
        second = await turn(agent, "task two")
    assert types(first) == SAME
    assert types(second) == SAME
    assert work.runs == list(range(2 * STEPS))
    assert modes([*first, *second]) == {work.way.mode}
    seen = server.journal()
    assert [each.status for each in seen] == [200] * 2 * (STEPS + 1)
    surface = SURFACES[work.way.name]
    if "usage" not in surface.lacks:
        check_usage(measures([*first, *second]))
    if work.way.mode == "replay":
        check_that_each_request_begins_with_all_of_the_last(seen)
    else:
        check_that_one_session_is_sent_what_is_new_alone(seen, surface)


def check_usage(steps: Sequence[Measure]) -> None:
    assert [step.get("billed_input", step.get("input")) for step in steps] == [1000] * 2 * (STEPS + 1)
    assert [step.get("output") for step in steps] == [20] * len(steps)
    assert not any(step.get("estimated") for step in steps)


def check_that_one_session_is_sent_what_is_new_alone(seen: Sequence[Arrived], surface: Surface) -> None:
    asked = [each.asked for each in seen]
    assert len({each.socket for each in seen}) == 1
    assert bool(seen[0].socket) == surface.socket
    if surface.remembers:
        # What it has of the conversation at the end: each message once, its own answers among them.
        kept = [each["content"] for each in seen[-1].messages if each["role"] != "system"]
        assert kept == [text for pair in zip(asked, SAID.values(), strict=True) for text in pair][:-1]
    else:
        for each in seen:
            assert [message["role"] for message in each.messages if message["role"] != "system"] == ["user"]


def check_that_each_request_begins_with_all_of_the_last(seen: Sequence[Arrived]) -> None:
    sent = [each.messages for each in seen]
    assert [len(messages) for messages in sent] == [2 * number for number in range(1, len(sent) + 1)]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


@pytest.mark.exhaustive
@ways("reasoning")
async def test_reasoning_beside_the_text_is_told_as_thoughts(server: Aimock, work: Work) -> None:
    asked = says("task one", "Nothing to do.", chunkSize=5)
    asked["response"]["reasoning"] = "The person asks for nothing."
    server.script(asked)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
    assert types(events) == ["user", "think", "respond", "metric", "end"]
    assert [e["content"] for e in events if e["type"] == "think"] == ["The person asks for nothing."]
    assert [e["content"] for e in events if e["type"] == "respond"] == ["Nothing to do."]


@ways("history")
async def test_an_interrupted_answer_is_kept_and_the_next_message_goes_on(server: Aimock, work: Work) -> None:
    server.script(says("task one", call(0), chunkSize=5, latency=15, first=True), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events: list[Event] = []
        async for event in agent.stream("task one", conversation_id="c"):
            events.append(event)
            if event["type"] == "think":
                agent.interrupt()
        assert types(events)[-1] == "interrupt"
        assert await stored(agent) == ["user", "think"]
        events = await turn(agent, "task two")
    assert without_notices(events) == SAME
    assert work.runs == [*range(STEPS, 2 * STEPS)]


BEFORE: Mapping[str, Any] = {"latency": 200, "disconnectAfterMs": 1}
"""Broken off before anything of the answer was sent."""


@ways()
async def test_a_connection_that_dies_before_the_first_answer_is_made_again(
    server: Aimock, work: Work
) -> None:
    server.script(says("task one", call(0), first=True, **BEFORE), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
    assert without_notices(events) == SAME
    assert work.runs == [*range(STEPS)]
    assert [each.interrupted for each in server.journal()].count(True) == 1


@ways("history")
@pytest.mark.parametrize("begun", [False, True])
async def test_a_connection_that_dies_in_mid_answer_runs_no_call_twice(
    server: Aimock, work: Work, begun: bool
) -> None:
    # Every other wire breaks within the thought, the others within the call.
    chunks = (7, 14)[[*WAYS].index(work.way.name) % 2]
    how = {"latency": 3, "truncateAfterChunks": chunks} if begun else BEFORE
    dying = says("step 0 done", call(1), chunkSize=5, first=True, **how)
    server.script(dying, says("was lost", call(1), chunkSize=5), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
        kept = await stored(agent)
    assert types(events)[-1] == "end", events[-1]
    assert work.runs == [*range(STEPS)]
    assert any("Continuing from the partial" in notice["error"] for notice in problems(events)) == begun
    assert kept.count("call") <= kept.count("result")
    done = [e for e in events if e["type"] == "result" and not e["payload"]["error"]]
    assert len(done) == STEPS
    seen = server.journal()
    assert [each.interrupted for each in seen].count(True) == 1
    assert any("was lost" in each.asked for each in seen) == begun


@ways("history")
async def test_what_is_written_after_a_block_is_not_taken(server: Aimock, work: Work) -> None:
    invented = '\n<results>\n[{"tool": "mark", "content": "step 0 done"}]\n</results>\n\n'
    server.script(says("task one", call(0) + invented * 5 + answer(9), chunkSize=20, latency=5), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
        kept = await stored(agent)
    assert without_notices(events) == SAME
    assert work.runs == [*range(STEPS)]
    assert kept.count("respond") == 1
    assert [e["content"] for e in events if e["type"] == "respond"] == [answer(1)]


@ways()
async def test_a_conversation_goes_on_in_the_other_mode_after_a_restart(server: Aimock, work: Work) -> None:
    server.script(*TASK)
    async with work.agent(work.way.connect(server)) as agent:
        await turn(agent, "task one")
    other = WAYS[work.way.other]
    async with work.agent(other.connect(server), other) as agent:
        events = await turn(agent, "task two")
        kept = await stored(agent)
    assert types(events) == SAME
    assert modes(events) == {other.mode}
    assert work.runs == list(range(2 * STEPS))
    assert kept == [kind for kind in SAME if kind not in ("execute", "metric", "end")] * 2
    given = server.journal()[STEPS + 1].messages
    assert [each["role"] for each in given] == ["system", *["user", "assistant"] * (STEPS + 1), "user"]
    assert [sum(f'"step": {step}' in each["content"] for each in given) for step in range(STEPS)] == [
        1
    ] * STEPS


_REFUSED = "invalid_request_error"

Refusal = tuple[int, Mapping[str, str]]
"""A status with the error that a vendor sends with it."""

REFUSALS: Mapping[str, Mapping[str, Refusal]] = {
    "openai": {
        "rate": (429, {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}),
        "broken": (500, {"message": "The server had an error", "type": "server_error"}),
        "busy": (503, {"message": "Our servers are overloaded", "type": "service_unavailable_error"}),
        "model": (404, {"message": "No such model", "type": _REFUSED, "code": "model_not_found"}),
        "context": (400, {"message": "Too long", "type": _REFUSED, "code": "context_length_exceeded"}),
    },
    "anthropic": {
        "rate": (429, {"message": "This would exceed your rate limit", "type": "rate_limit_error"}),
        "broken": (500, {"message": "Internal server error", "type": "api_error"}),
        "busy": (529, {"message": "Overloaded", "type": "overloaded_error"}),
        "model": (404, {"message": "model: claude-sonnet-5", "type": "not_found_error"}),
        "context": (400, {"message": "prompt is too long: 208310 tokens > 200000", "type": _REFUSED}),
    },
    "gemini": {
        "rate": (429, {"message": "Resource has been exhausted", "type": "RESOURCE_EXHAUSTED"}),
        "broken": (500, {"message": "An internal error has occurred", "type": "INTERNAL"}),
        "busy": (503, {"message": "The model is overloaded", "type": "UNAVAILABLE"}),
        "model": (404, {"message": "models/gemini-x is not found", "type": "NOT_FOUND"}),
        "context": (
            400,
            {"message": "The input token count (1200000) exceeds the maximum", "type": "INVALID_ARGUMENT"},
        ),
    },
}


def refusal(work: Work, which: str) -> Refusal:
    return REFUSALS[work.way.provider][which]


async def told(provider: Provider, way: Way) -> str:
    """Ask one question that is refused; why it may be asked again.

    Raises:
        ProviderError: it may not.
    """
    system: Message = {"role": "system", "content": "Be brief."}
    question: Message = {"role": "user", "content": "task one"}
    async with AsyncExitStack() as stack:
        stack.push_async_callback(provider.close)
        if way.mode == "resume":
            session = await provider.connect([system])
            stack.push_async_callback(session.close)
            await session.send([question])
            chunks = session.receive()
        else:
            chunks = provider.stream([system, question])
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    if isinstance(chunk, Retrying):
                        return chunk.cause
        except ProviderError as error:
            # A session over a socket leaves it to the agent to ask again.
            if error.retryable:
                return str(error)
            raise
    raise AssertionError("It was answered.")


@ways()
@pytest.mark.parametrize(
    ("which", "meaning"),
    [("rate", "Rate limited by"), ("broken", "is unavailable"), ("busy", "is unavailable")],
)
async def test_a_failure_that_may_pass_is_known_as_one(
    server: Aimock, work: Work, which: str, meaning: str
) -> None:
    status, error = refusal(work, which)
    server.script(fails("task one", status, error))
    why = await told(work.way.connect(server), work.way)
    assert meaning in why
    assert error["message"] in why
    assert len(server.journal()) == 1


@ways()
@pytest.mark.parametrize(("which", "kind"), [("model", ModelNotFoundError), ("context", ContextTooLongError)])
async def test_a_refusal_that_repeating_does_not_help_is_raised_at_once(
    server: Aimock, work: Work, which: str, kind: type[ProviderError]
) -> None:
    status, error = refusal(work, which)
    server.script(fails("task one", status, error))
    with pytest.raises(kind) as caught:
        await told(work.way.connect(server), work.way)
    assert error["message"] in str(caught.value)
    assert caught.value.hint
    assert len(server.journal()) == 1


@ways()
async def test_an_endpoint_that_cannot_answer_now_is_asked_again(server: Aimock, work: Work) -> None:
    server.script(fails("task one", *refusal(work, "busy"), first=True), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
    assert without_notices(events) == SAME
    assert "is unavailable" in problems(events)[0]["error"]
    assert work.runs == [*range(STEPS)]


@ways("retry-after")
async def test_a_limit_of_the_rate_is_waited_for_as_long_as_it_says(server: Aimock, work: Work) -> None:
    server.script(fails("task one", *refusal(work, "rate"), retryAfter=0, first=True), *TASK)
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
    assert without_notices(events) == SAME
    [notice] = problems(events)
    assert "Rate limited by" in notice["error"]
    assert notice.get("retry") == 0
    assert work.runs == [*range(STEPS)]


@ways("retry-after")
async def test_a_wait_that_is_too_long_is_reported_instead(server: Aimock, work: Work) -> None:
    server.script(fails("task one", *refusal(work, "rate"), retryAfter=3600))
    async with work.agent(work.way.connect(server)) as agent:
        events = await turn(agent, "task one")
    [problem] = problems(events)
    assert "Rate limited by" in problem["error"]
    assert types(events)[-2:] == ["error", "end"]
    assert len(server.journal()) == 1


@ways()
async def test_a_wrong_key_is_one_error_that_says_what_to_do(server: Aimock, work: Work) -> None:
    server.script(*TASK)
    async with work.agent(work.way.connect(server, "sk-wrong-9876543210")) as agent:
        events = await turn(agent, "task one")
    [problem] = problems(events)
    assert "rejected the API key (HTTP 401): Invalid API key" in problem["error"]
    assert "_API_KEY" in problem.get("hint", "")
    assert types(events) == ["user", "error", "end"]
    assert server.journal() == []


@ways("chaos")
async def test_an_answer_that_is_no_stream_is_told_as_such(server: Aimock, work: Work) -> None:
    server.script(says("task one", "Hello.", chaos={"malformedRate": 1}))
    with pytest.raises(ProviderError) as caught:
        await told(work.way.connect(server), work.way)
    # To a session it means that there are none.
    assert isinstance(caught.value, ProviderProtocolError | SessionRefusedError)
    assert "non-streaming response (application/json): {malformed json: <<<chaos>>>" in str(caught.value)
