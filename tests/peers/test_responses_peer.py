"""The Responses peer as the vendor's own client sees it, over HTTP and WebSocket."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import openai
import pytest
from openai.resources.responses.responses import AsyncResponsesConnection
from openai.types.responses import (
    FunctionToolParam,
    Response,
    ResponseCompletedEvent,
    ResponseErrorEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseInputItemParam,
    ResponseReasoningItem,
    ResponseStreamEvent,
)
from openai.types.responses.response import (
    PromptCacheDiagnosticsCacheHit,
    PromptCacheDiagnosticsCacheMiss,
    PromptCacheDiagnosticsComparisonResponseNotFound,
)
from openai.types.responses.responses_server_event import (
    ResponsesServerEvent,
    ResponseTextWsDelta,
    ResponseWsCompleted,
    ResponseWsError,
)
from websockets.exceptions import ConnectionClosedOK, InvalidStatus

from tests.peers.responses import ResponsesPeer
from tests.peers.responses_events import NativeAnswer
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

QUESTION: list[ResponseInputItemParam] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Go on."},
]
ORDER = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


@asynccontextmanager
async def client_of(peer: ResponsesPeer, key: str = "sk-key") -> AsyncGenerator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=peer.base_url, api_key=key, max_retries=0) as client:
        yield client


@asynccontextmanager
async def connection_to(peer: ResponsesPeer) -> AsyncGenerator[AsyncResponsesConnection]:
    async with peer, client_of(peer) as client, client.responses.connect() as connection:
        yield connection


async def streamed(peer: ResponsesPeer, model: str = "test-model") -> list[ResponseStreamEvent]:
    async with client_of(peer) as client:
        stream = await client.responses.create(
            model=model,
            instructions="Be brief.",
            input=QUESTION,
            store=False,
            stream=True,
            reasoning={"summary": "auto"},
        )
        return [event async for event in stream]


def whole(event: ResponseStreamEvent | ResponsesServerEvent) -> None:
    """See that the client's own type takes the event: it reads without checking."""
    type(event).model_validate_json(event.to_json(), strict=True)


async def test_a_stream_has_the_vendors_events_in_their_order() -> None:
    async with ResponsesPeer(["Hello there."], always=Fault(reasoning="Thinking.")) as peer:
        events = await streamed(peer)
    assert [event.type for event in events] == ORDER
    assert [event.sequence_number for event in events] == list(range(len(ORDER)))
    for event in events:
        whole(event)
    end = events[-1]
    assert isinstance(end, ResponseCompletedEvent)
    assert end.response.output_text == "Hello there."
    usage = end.response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (peer.exchanges[0].input, 3 + 3)
    assert usage.output_tokens_details.reasoning_tokens == 3
    assert usage.input_tokens_details.cached_tokens == 0
    assert [message["role"] for message in peer.exchanges[0].context] == [
        *("system", "user", "assistant", "user")
    ]


async def test_an_input_that_is_a_text_is_taken_too() -> None:
    async with ResponsesPeer() as peer, client_of(peer) as client:
        stream = await client.responses.create(model="test-model", input="Hi.", stream=True)
        events = [event async for event in stream]
    assert peer.exchanges[0].context == [{"role": "user", "content": "Hi."}]
    assert not any("summary" in event.type for event in events)


async def test_a_limit_ends_a_stream_as_incomplete() -> None:
    async with ResponsesPeer(["Hello there."], always=Fault(finish="length")) as peer:
        events = await streamed(peer)
    end = events[-1]
    assert isinstance(end, ResponseIncompleteEvent)
    whole(end)
    assert end.response.incomplete_details is not None
    assert end.response.incomplete_details.reason == "max_output_tokens"


async def test_a_flat_error_in_mid_stream_is_an_event_of_the_vendors() -> None:
    flat = {
        "type": "error",
        "code": "server_error",
        "message": "Oh.",
        "param": None,
        "sequence_number": 2,
    }
    async with ResponsesPeer(always=Fault(frame=json.dumps(flat), after=2)) as peer:
        events = await streamed(peer)
    whole(events[-1])
    assert isinstance(events[-1], ResponseErrorEvent)
    assert events[-1].code == "server_error"


async def test_refusals_are_the_clients_own_errors() -> None:
    async with ResponsesPeer(key="sk-right", context_size=10) as peer:
        with pytest.raises(openai.AuthenticationError, match="Incorrect API key provided: sk-key") as key:
            await streamed(peer)
        peer.key = ""
        with pytest.raises(openai.NotFoundError) as model:
            await streamed(peer, "another-model")
        peer.refuses = ["reasoning"]
        with pytest.raises(openai.BadRequestError) as parameter:
            await streamed(peer)
        peer.refuses = []
        async with client_of(peer) as client:
            with pytest.raises(openai.BadRequestError) as length:
                await client.responses.create(model="test-model", input="x" * 100, stream=True)
            with pytest.raises(openai.BadRequestError) as unknown:
                await client.responses.create(
                    model="test-model", input="Hi.", previous_response_id="resp_1", stream=True
                )
            with pytest.raises(openai.BadRequestError) as field:
                await client.responses.create(
                    model="test-model", input="Hi.", stream=True, extra_body={"stop": ["x"]}
                )
            with pytest.raises(openai.NotFoundError):
                await client.embeddings.create(model="test-model", input="Hi.")
    assert key.value.code == "invalid_api_key"
    assert model.value.code == "model_not_found"
    assert (parameter.value.code, parameter.value.param) == ("unsupported_value", "reasoning.summary")
    assert length.value.code == "context_length_exceeded"
    assert unknown.value.code == "previous_response_not_found"
    assert (field.value.code, field.value.param) == ("unknown_parameter", "stop")


async def test_contents_of_the_wrong_kind_are_refused() -> None:
    wrong: ResponseInputItemParam = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "input_text", "text": "Hello."}],
    }
    async with ResponsesPeer() as peer, client_of(peer) as client:
        with pytest.raises(openai.BadRequestError, match="output_text") as caught:
            await client.responses.create(model="test-model", input=[wrong], stream=True)
    assert caught.value.param == "input[0].content[0]"


async def test_rate_limits_carry_their_wait() -> None:
    body = '{"error": {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded"}}'
    async with ResponsesPeer(always=Fault(status=429, headers={"retry-after": "7"}, body=body)) as peer:
        with pytest.raises(openai.RateLimitError) as caught:
            await streamed(peer)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "7"


async def test_diagnostics_compare_with_the_response_that_the_request_names() -> None:
    async with ResponsesPeer() as peer, client_of(peer) as client:

        async def asked(text: str, previous: str | None = None) -> Response:
            stream = await client.responses.create(
                model="test-model",
                instructions=text,
                input=QUESTION,
                stream=True,
                prompt_cache_options={"comparison_response_id": previous},
            )
            events = [event async for event in stream]
            for event in events:
                whole(event)
            assert isinstance(events[-1], ResponseCompletedEvent)
            return events[-1].response

        first = await asked("Be brief.")
        answers = [
            await asked("Be brief.", first.id),
            await asked("Be long.", first.id),
            await asked("", "resp_x"),
        ]
    assert first.prompt_cache_diagnostics is None
    hit, miss, gone = (each.prompt_cache_diagnostics for each in answers)
    assert isinstance(hit, PromptCacheDiagnosticsCacheHit)
    assert isinstance(miss, PromptCacheDiagnosticsCacheMiss)
    assert (miss.reason, miss.cache_missed_tokens, miss.comparison_reusable_tokens) == ("input_changed", 6, 0)
    assert isinstance(gone, PromptCacheDiagnosticsComparisonResponseNotFound)
    assert answers[1].prompt_cache_options is not None
    assert answers[1].prompt_cache_options.comparison_response_id == first.id


async def test_models_are_listed() -> None:
    async with ResponsesPeer(model="gpt-test") as peer, client_of(peer) as client:
        assert [model.id for model in (await client.models.list()).data] == ["gpt-test"]


async def answer_on(connection: AsyncResponsesConnection) -> Response:
    """Read one answer to its end."""
    texts: list[str] = []
    while not isinstance(event := await connection.recv(), ResponseWsCompleted):
        whole(event)
        if isinstance(event, ResponseTextWsDelta):
            texts.append(event.delta)
    whole(event)
    assert event.response.output_text == "".join(texts)
    return event.response


async def ask(connection: AsyncResponsesConnection, text: str, previous: str | None = None) -> None:
    await connection.response.create(
        model="test-model",
        store=False,
        input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
        previous_response_id=previous,
    )


async def refusal_on(connection: AsyncResponsesConnection) -> ResponseWsError:
    event = await connection.recv()
    whole(event)
    assert isinstance(event, ResponseWsError)
    return event


async def test_a_socket_goes_on_from_its_latest_answer_alone() -> None:
    peer = ResponsesPeer(["One.", "Two.", "Three."])
    async with connection_to(peer) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        await ask(connection, "Second?", first.id)
        second = await answer_on(connection)
        assert second.previous_response_id == first.id
        await ask(connection, "Third?", first.id)
        refusal = await refusal_on(connection)
        await ask(connection, "Third?", second.id)
        third = await answer_on(connection)
    assert (first.output_text, second.output_text) == ("One.", "Two.")
    assert [message["content"] for message in peer.exchanges[1].context] == ["First?", "One.", "Second?"]
    assert second.usage is not None
    assert second.usage.input_tokens == peer.exchanges[1].input == 5
    assert peer.exchanges[1].sent == 2
    assert (refusal.status, refusal.error.code) == (400, "previous_response_not_found")
    assert refusal.error.param == "previous_response_id"
    assert third.output_text == "Three."


async def test_diagnostics_come_over_a_socket_too() -> None:
    async with connection_to(ResponsesPeer(["One.", "Two.", "Three."])) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        answers: list[Response] = []
        for previous in (first.id, None):
            await connection.response.create(
                model="test-model",
                store=False,
                input="Second?",
                previous_response_id=previous,
                prompt_cache_options={"comparison_response_id": first.id},
            )
            answers.append(await answer_on(connection))
    hit, miss = (each.prompt_cache_diagnostics for each in answers)
    assert isinstance(hit, PromptCacheDiagnosticsCacheHit)
    assert isinstance(miss, PromptCacheDiagnosticsCacheMiss)
    assert miss.reason == "input_changed"


async def test_instructions_are_no_part_of_what_a_socket_remembers() -> None:
    peer = ResponsesPeer(["One.", "Two."])
    async with connection_to(peer) as connection:
        await connection.response.create(model="test-model", instructions="Be brief.", input="First?")
        first = await answer_on(connection)
        await ask(connection, "Second?", first.id)
        await answer_on(connection)
    assert [message["role"] for message in peer.exchanges[0].context] == ["system", "user"]
    assert [message["role"] for message in peer.exchanges[1].context] == ["user", "assistant", "user"]


async def test_an_answer_can_be_evicted_at_a_given_request() -> None:
    peer = ResponsesPeer(evicts={1})
    async with connection_to(peer) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        await ask(connection, "Second?", first.id)
        assert (await refusal_on(connection)).error.code == "previous_response_not_found"
        await ask(connection, "Second?")
        await answer_on(connection)


async def test_a_failed_request_evicts_what_it_went_on_from() -> None:
    fault = Fault(status=429, body='{"error": {"message": "Slow.", "type": "tokens"}}', headers={"a": "b"})
    peer = ResponsesPeer(faults=[None, fault])
    async with connection_to(peer) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        await ask(connection, "Second?", first.id)
        limited = await refusal_on(connection)
        await ask(connection, "Second?", first.id)
        assert (await refusal_on(connection)).error.code == "previous_response_not_found"
    assert (limited.status, limited.error.message, limited.error.headers) == (429, "Slow.", {"a": "b"})


async def is_closed(connection: AsyncResponsesConnection) -> None:
    refusal = await refusal_on(connection)
    assert (refusal.status, refusal.error.code) == (400, "websocket_connection_limit_reached")
    with pytest.raises(ConnectionClosedOK):
        await connection.recv()


async def test_a_socket_takes_so_many_requests() -> None:
    async with connection_to(ResponsesPeer(most_responses=1)) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        await ask(connection, "Second?", first.id)
        await is_closed(connection)


async def test_a_socket_is_closed_when_its_time_is_up() -> None:
    async with connection_to(ResponsesPeer(expires_after=0.05)) as connection:
        await is_closed(connection)


async def test_upgrades_are_refused() -> None:
    async with ResponsesPeer(upgrades=[426], key="sk-right") as peer:
        for key, status in (("sk-right", 426), ("sk-wrong", 401)):
            async with client_of(peer, key) as client:
                with pytest.raises(InvalidStatus) as caught:
                    await client.responses.connect().enter()
            assert caught.value.response.status_code == status


READ: FunctionToolParam = {
    "type": "function",
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    "strict": False,
}
TWO = NativeAnswer(
    reasoning="Both.", calls=[("read", '{"path": "a"}'), ("write", "{}"), ("read", "")], piece=3
)
"""Two calls of a function that a request has, and one of another."""


async def called(
    client: openai.AsyncOpenAI, items: list[ResponseInputItemParam], *, encrypted: bool = True
) -> Response:
    """Let the client put an answer together from its events."""
    async with client.responses.stream(
        model="test-model",
        input=items,
        tools=[READ],
        store=False,
        include=["reasoning.encrypted_content"] if encrypted else [],
        reasoning={"effort": "low", "context": "all_turns"},
        service_tier="flex",
        prompt_cache_key="c1",
    ) as stream:
        return await stream.get_final_response()


def output_of(call: ResponseFunctionToolCall) -> ResponseInputItemParam:
    return {"type": "function_call_output", "call_id": call.call_id, "output": "Done."}


def returned(response: Response) -> list[ResponseInputItemParam]:
    """The output of an answer as the input of the next request."""
    return [item.to_dict() for item in response.output]  # pyright: ignore[reportReturnType] - as documented


def calls_in(response: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]


async def test_the_client_puts_calls_and_reasoning_together_and_returns_them() -> None:
    async with ResponsesPeer(["", "Done."], faults=[TWO]) as peer, client_of(peer) as client:
        first = await called(client, [*QUESTION])
        outputs = [output_of(call) for call in calls_in(first)]
        second = await called(client, [*QUESTION, *returned(first), *outputs])
    assert [(call.name, call.arguments) for call in calls_in(first)] == [
        ("read", '{"path": "a"}'),
        ("read", ""),
    ]
    assert isinstance(first.output[0], ResponseReasoningItem)
    assert first.output[0].encrypted_content
    assert second.output_text == "Done."
    assert (second.service_tier, second.prompt_cache_key) == ("flex", "c1")
    assert second.reasoning is not None
    assert (second.reasoning.effort, second.reasoning.context) == ("low", "all_turns")
    assert [each["role"] for each in peer.exchanges[1].context] == [
        *("user", "assistant", "user", "reasoning", "call", "call", "result", "result")
    ]


async def test_events_of_calls_are_the_vendors() -> None:
    async with ResponsesPeer([""], faults=[TWO]) as peer, client_of(peer) as client:
        stream = await client.responses.create(model="test-model", input="Hi.", tools=[READ], stream=True)
        events = [event async for event in stream]
    for event in events:
        whole(event)
    pieces = [event.delta for event in events if isinstance(event, ResponseFunctionCallArgumentsDeltaEvent)]
    assert pieces == ['{"p', "ath", '": ', '"a"', "}"]


async def test_histories_that_the_vendor_would_refuse_are_refused() -> None:
    async with ResponsesPeer([""], always=TWO) as peer, client_of(peer) as client:
        whole_answer = await called(client, [*QUESTION])
        without = await called(client, [*QUESTION], encrypted=False)
        reasoning, first, second = returned(whole_answer)
        outputs = [output_of(call) for call in calls_in(whole_answer)]
        forged: ResponseInputItemParam = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "encrypted_content": "forged",
        }
        refused = {
            "No tool output found for function call": [reasoning, first, second, outputs[0]],
            "No tool call found for function call output": [reasoning, first, *outputs],
            "without its required following item": [*QUESTION, reasoning],
            "of type 'reasoning' was provided": [reasoning, QUESTION[0], first, outputs[0]],
            "Items are not persisted": [*returned(without), *outputs],
            "could not be verified": [forged, first, outputs[0]],
        }
        for words, items in refused.items():
            with pytest.raises(openai.BadRequestError, match=words):
                await called(client, items)
        with pytest.raises(openai.BadRequestError, match="Invalid value: 'hard'") as effort:
            await client.responses.create(
                model="test-model", input="Hi.", extra_body={"reasoning": {"effort": "hard"}}, stream=True
            )
    assert effort.value.param == "reasoning.effort"


async def test_a_socket_remembers_calls_and_reasoning_until_they_are_answered() -> None:
    peer = ResponsesPeer(["", "Done.", "Yes."], faults=[TWO])
    async with connection_to(peer) as connection:
        await connection.response.create(model="test-model", store=False, input="Read a.", tools=[READ])
        first = await answer_on(connection)
        await connection.response.create(
            model="test-model",
            store=False,
            input=[output_of(call) for call in calls_in(first)],
            tools=[READ],
            previous_response_id=first.id,
        )
        second = await answer_on(connection)
        await ask(connection, "Sure?", second.id)
        await answer_on(connection)
    assert second.output_text == "Done."
    assert [each["role"] for each in peer.exchanges[1].context] == [
        *("user", "reasoning", "call", "call", "result", "result")
    ]
    assert "reasoning" not in [each["role"] for each in peer.exchanges[2].context]


async def test_a_socket_demands_the_results_of_its_answer() -> None:
    async with connection_to(ResponsesPeer([""], faults=[TWO])) as connection:
        await connection.response.create(model="test-model", store=False, input="Read a.", tools=[READ])
        first = await answer_on(connection)
        await ask(connection, "Never mind.", first.id)
        assert "No tool output found" in (await refusal_on(connection)).error.message


async def test_lanes_of_a_socket_answer_at_the_same_time_and_can_fork_each_other() -> None:
    async with connection_to(
        ResponsesPeer(["One.", "Left. " * 9, "Right. " * 9], latency=0.001)
    ) as connection:
        await ask(connection, "First?")
        first = await answer_on(connection)
        for lane in ("left", "right"):
            await connection.response.create(
                model="test-model", input=f"And {lane}?", previous_response_id=first.id, stream_id=lane
            )
        texts = {"left": "", "right": ""}
        order: list[str] = []
        while len(order) < 2:
            event = await connection.recv()
            whole(event)
            assert event.stream_id in texts
            if isinstance(event, ResponseTextWsDelta):
                texts[event.stream_id] += event.delta
            if isinstance(event, ResponseWsCompleted):
                assert event.response.previous_response_id == first.id
                order.append(event.stream_id)
    assert texts == {"left": "Left. " * 9, "right": "Right. " * 9}
