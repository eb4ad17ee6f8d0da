"""The Gemini peer as the vendor's own client sees it, on all three surfaces."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from google import genai
from google.genai import errors, types
from google.genai.live import AsyncSession

from tests.peers.gemini import GeminiPeer, error_body, exhausted
from tests.peers.gemini_acts import Acts, Call, Pause, Said
from tests.peers.gemini_live import LiveManners
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

TEXT = types.LiveConnectConfig(response_modalities=[types.Modality.TEXT])


@asynccontextmanager
async def client_of(peer: GeminiPeer, key: str = "key", base_url: str = "") -> AsyncGenerator[genai.Client]:
    options = types.HttpOptions(base_url=base_url or peer.base_url)
    client = genai.Client(api_key=key, http_options=options)
    try:
        yield client
    finally:
        await client.aio.aclose()
        client.close()


# Generating content.


async def generate(
    peer: GeminiPeer, question: Any = "Hi.", *, key: str = "key", model: str = "test-model", **config: Any
) -> list[types.GenerateContentResponse]:
    async with client_of(peer, key) as client:
        models: Any = client.aio.models
        chunks = await models.generate_content_stream(
            model=model, contents=question, config=types.GenerateContentConfig(**config)
        )
        return [chunk async for chunk in chunks]


def told(chunks: list[types.GenerateContentResponse]) -> str:
    return "".join(chunk.text or "" for chunk in chunks)


def reason_of(chunk: types.GenerateContentResponse) -> types.FinishReason | None:
    assert chunk.candidates
    return chunk.candidates[0].finish_reason


async def test_an_answer_is_complete_to_the_vendors_client() -> None:
    async with GeminiPeer(["Hello there."]) as peer:
        chunks = await generate(peer, system_instruction="Be brief.")
    assert [chunk.text for chunk in chunks] == ["Hell", "o th", "ere.", ""]
    assert [reason_of(chunk) for chunk in chunks] == [None, None, None, types.FinishReason.STOP]
    usage = chunks[-1].usage_metadata
    assert usage
    assert (usage.prompt_token_count, usage.candidates_token_count) == (peer.exchanges[0].input, 3)
    assert usage.total_token_count == peer.exchanges[0].input + 3
    assert peer.exchanges[0].context == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
    ]


async def test_thoughts_come_only_where_they_are_asked_for() -> None:
    thinking = types.ThinkingConfig(include_thoughts=True)
    async with GeminiPeer(["Hello."], always=Fault(reasoning="Let me think")) as peer:
        [thought, *_] = await generate(peer, thinking_config=thinking)
        assert [part.thought for part in thought.parts or ()] == [True]
        assert thought.usage_metadata
        assert thought.usage_metadata.thoughts_token_count == 3
        chunks = await generate(peer)
        assert told(chunks) == "Hello."
        assert not any(part.thought for chunk in chunks for part in chunk.parts or ())


async def test_what_was_sent_before_is_served_from_the_cache() -> None:
    async with GeminiPeer() as peer:
        question = [types.UserContent("x" * 8000)]
        counts = [(await generate(peer, question))[-1].usage_metadata for _ in range(2)]
    assert [count and count.cached_content_token_count for count in counts] == [None, 2000]


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"])
async def test_other_reasons_to_stop_are_the_vendors(reason: str) -> None:
    async with GeminiPeer(always=Fault(finish=reason, deltas=[])) as peer:
        [chunk] = await generate(peer)
    assert reason_of(chunk) is types.FinishReason(reason)


async def test_refusals_are_errors_of_the_vendors_client() -> None:
    async with GeminiPeer(key="right", always=Fault(status=429, body=exhausted(13))) as peer:
        failures: list[Any] = []
        for key, model in (("wrong", "test-model"), ("right", "nope"), ("right", "test-model")):
            with pytest.raises(errors.ClientError) as caught:
                await generate(peer, key=key, model=model)
            failures.append(caught.value)
    assert [(failure.code, failure.status) for failure in failures] == [
        (400, "INVALID_ARGUMENT"),
        (404, "NOT_FOUND"),
        (429, "RESOURCE_EXHAUSTED"),
    ]
    assert [(failure.message or "").split(".")[0] for failure in failures] == [
        "API key not valid",
        "models/nope is not found for API version v1beta, or is not supported for generateContent",
        "You exceeded your current quota, please check your plan and billing details",
    ]
    assert failures[2].details["error"]["details"][1]["retryDelay"] == "13s"


async def test_an_error_in_mid_stream_is_one_to_the_vendors_client() -> None:
    body = error_body(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
    async with GeminiPeer(["Hello there."], always=Fault(frame=body, after=2)) as peer:
        with pytest.raises(errors.ServerError, match="overloaded"):
            await generate(peer)


async def test_models_are_listed() -> None:
    async with GeminiPeer() as peer, client_of(peer) as client:
        models = [model async for model in await client.aio.models.list()]
    assert [model.name for model in models] == ["models/test-model", "models/text-embedding"]
    assert models[0].supported_actions == ["generateContent", "countTokens"]


# Native calls, as the vendor's own chat returns them.

READ = types.FunctionDeclaration(
    name="read", parameters_json_schema={"type": "object", "properties": {"path": {"type": "string"}}}
)
NATIVE = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[READ])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
CALLS: Acts = [
    Said("Both."),
    Call("read", {"path": "a"}, "fc-1", signature="c2lnMQ=="),
    Call("read", {"path": "b"}, "fc-2"),
]


def results(calls: list[types.FunctionCall]) -> list[types.Part]:
    responses = [
        types.FunctionResponse(id=each.id, name=each.name, response={"output": "x"}) for each in calls
    ]
    return [types.Part(function_response=response) for response in responses]


async def test_calls_and_their_results_are_complete_to_the_vendors_chat() -> None:
    acts: list[Acts | None] = [CALLS, [Said("Done.", "c2lnMg==")], None]
    async with GeminiPeer(acts=acts, model="gemini-4-test") as peer, client_of(peer) as client:
        chats: Any = client.aio.chats
        chat = chats.create(model=peer.model, config=NATIVE)
        chunks = [chunk async for chunk in await chat.send_message_stream("Read both.")]
        calls = [call for chunk in chunks for call in chunk.function_calls or ()]
        assert [(call.id, call.name, call.args) for call in calls] == [
            ("fc-1", "read", {"path": "a"}),
            ("fc-2", "read", {"path": "b"}),
        ]
        chunks = [chunk async for chunk in await chat.send_message_stream(results(calls))]
        assert told(chunks) == "Done."
        chunks = [chunk async for chunk in await chat.send_message_stream("Thanks.")]
        assert told(chunks) == "Hello."
    assert len(peer.exchanges) == 3


@pytest.mark.parametrize(
    ("answered", "signature", "words"),
    [
        (0, b"sig", "number of function response parts"),
        (2, b"sig", "number of function response parts"),
        (1, None, "missing a thought_signature"),
        (1, b"other", "Corrupted thought signature"),
    ],
)
async def test_calls_without_a_result_or_a_signature_are_refused(
    answered: int, signature: bytes | None, words: str
) -> None:
    call = types.FunctionCall(name="read", args={"path": "a"})
    response = types.Part.from_function_response(name="read", response={"output": "x"})
    history = [
        types.UserContent("Read."),
        types.ModelContent([types.Part(function_call=call, thought_signature=signature)]),
        types.UserContent([response] * answered or "And?"),
    ]
    async with GeminiPeer(model="gemini-4-test") as peer:
        peer.signatures.give("c2ln", {"functionCall": {"name": "read", "args": {"path": "a"}}})
        with pytest.raises(errors.ClientError, match=words):
            await generate(peer, history, model=peer.model)


# Interactions.


async def interact(peer: GeminiPeer, question: Any = "Hi.", key: str = "key", **body: Any) -> list[Any]:
    async with client_of(peer, key) as client:
        events: Any = await client.aio.interactions.create(
            model=peer.model, input=question, stream=True, **body
        )
        return [event async for event in events]


def heard(events: list[Any]) -> str:
    started = [event.step for event in events if event.event_type == "step.start"]
    begun = [part.text for step in started if step.type == "model_output" for part in step.content]
    deltas = [event.delta for event in events if event.event_type == "step.delta"]
    return "".join([*begun, *(delta.text for delta in deltas if delta.type == "text")])


async def test_an_interaction_is_complete_to_the_vendors_client() -> None:
    async with GeminiPeer(["Hello there."], always=Fault(reasoning="Let me think")) as peer:
        events = await interact(peer, generation_config={"thinking_summaries": "auto"})
    assert [event.event_type for event in events] == [
        "interaction.created",
        "interaction.status_update",
        "step.start",
        "step.delta",
        "step.delta",
        "step.stop",
        "step.start",
        "step.delta",
        "step.delta",
        "step.stop",
        "interaction.completed",
    ]
    assert heard(events) == "Hello there."
    assert events[3].delta.content.text == "me think"
    ended = events[-1].interaction
    assert ended.status == "completed"
    assert (ended.usage.total_input_tokens, ended.usage.total_output_tokens) == (1, 3)
    assert (ended.usage.total_thought_tokens, ended.usage.total_tokens) == (3, 7)


async def test_an_interaction_goes_on_from_one_that_was_heard_to_its_end() -> None:
    async with GeminiPeer(["Hello.", "Fine."]) as peer:
        first = await interact(peer, system_instruction="Be brief.")
        name = first[-1].interaction.id
        await interact(peer, "How are you?", previous_interaction_id=name)
        assert peer.exchanges[1].context == [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "How are you?"},
        ]
        assert peer.exchanges[1].sent == 3
        peer.interactions.forget()
        with pytest.raises(Exception, match="previous_interaction_id not found") as caught:
            await interact(peer, "And now?", previous_interaction_id=name)
    assert type(caught.value).__name__ == "NotFoundError"


async def test_steps_of_both_sides_can_be_given() -> None:
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "One"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Two"}]},
        {"type": "user_input", "content": [{"type": "text", "text": "Three"}]},
    ]
    async with GeminiPeer(["Four"]) as peer:
        events = await interact(peer, steps)
    assert heard(events) == "Four"
    assert [each["content"] for each in peer.exchanges[0].context] == ["One", "Two", "Three"]


FUNCTION: dict[str, Any] = {
    "type": "function",
    "name": "read",
    "parameters": {"type": "object", "properties": {}},
}


async def test_calls_and_thoughts_of_interactions_are_complete_to_the_vendors_client() -> None:
    async with GeminiPeer(acts=[CALLS, None, None], model="gemini-4-test") as peer:
        events = await interact(peer, tools=[FUNCTION])
        started = [event.step for event in events if event.event_type == "step.start"]
        assert [step.type for step in started] == [
            "model_output",
            "thought",
            "function_call",
            "function_call",
        ]
        deltas = [event.delta for event in events if event.event_type == "step.delta"]
        pieces = [delta.arguments for delta in deltas if delta.type == "arguments_delta"]
        assert "".join(pieces) == '{"path": "a"}{"path": "b"}'
        assert [delta.signature for delta in deltas if delta.type == "thought_signature"] == ["c2lnMQ=="]
        ended = events[-1].interaction
        assert ended.status == "requires_action"
        results = [
            {"type": "function_result", "call_id": each, "name": "read", "result": "x"}
            for each in ("fc-1", "fc-2")
        ]
        with pytest.raises(Exception, match="function_result is missing") as caught:
            await interact(peer, results[:1], tools=[FUNCTION], previous_interaction_id=ended.id)
        assert type(caught.value).__name__ == "BadRequestError"
        events = await interact(peer, results, tools=[FUNCTION], previous_interaction_id=ended.id)
        assert heard(events) == "Hello."


async def test_steps_of_a_model_need_their_signatures() -> None:
    call: dict[str, Any] = {"type": "function_call", "id": "fc-1", "name": "read", "arguments": {}}
    steps: list[dict[str, Any]] = [
        {"type": "user_input", "content": [{"type": "text", "text": "Read."}]},
        call,
        {"type": "function_result", "call_id": "fc-1", "name": "read", "result": "x"},
    ]
    async with GeminiPeer(model="gemini-4-test") as peer:
        with pytest.raises(Exception, match="missing a thought_signature"):
            await interact(peer, steps)
        steps.insert(1, {"type": "thought", "signature": "bm9uZQ=="})
        with pytest.raises(Exception, match="Corrupted thought signature"):
            await interact(peer, steps)


async def test_the_vendors_client_continues_an_answer_of_pieces() -> None:
    acts: Acts = [Said("One, "), Pause(), Said("two, "), Pause(), Said("three.")]
    async with GeminiPeer(acts=[acts], token=100) as peer:
        events = await interact(peer)
    assert heard(events) == "One, two, three."
    assert [request.body.get("continuation_token") for request in peer.requests] == [
        None,
        "t-v1_00000001",
        "t-v1_00000002",
    ]


async def test_a_wrong_key_is_refused_for_interactions_too() -> None:
    async with GeminiPeer(key="right") as peer:
        with pytest.raises(Exception, match="API key not valid") as caught:
            await interact(peer, key="wrong")
    assert type(caught.value).__name__ == "BadRequestError"


# Live. The client speaks nothing but TLS there, so it is ended in front of the peer.


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return ca


@asynccontextmanager
async def secured(peer: GeminiPeer, authority: trustme.CA) -> AsyncGenerator[str]:
    """The address of a relay that ends TLS before `peer`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate: Any = authority.issue_cert("127.0.0.1")
    certificate.configure_cert(context)
    port = int(peer.origin.rpartition(":")[2])
    relays: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        relays.add(task)
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.gather(*relays, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def talk(
    peer: GeminiPeer,
    authority: trustme.CA,
    config: types.LiveConnectConfig = TEXT,
    key: str = "key",
    model: str = "test-model",
) -> AsyncGenerator[AsyncSession]:
    async with (
        secured(peer, authority) as base_url,
        client_of(peer, key, base_url) as client,
        client.aio.live.connect(model=model, config=config) as session,
    ):
        yield session


async def ask(session: AsyncSession, text: str) -> list[types.LiveServerMessage]:
    await session.send_client_content(turns=types.Content(role="user", parts=[types.Part(text=text)]))
    return [message async for message in session.receive()]


async def test_a_live_conversation_keeps_its_context(authority: trustme.CA) -> None:
    config = TEXT.model_copy(update={"system_instruction": "Be brief."})
    async with GeminiPeer(["Hello there.", "Fine."]) as peer, talk(peer, authority, config) as session:
        first = await ask(session, "Hi.")
        await ask(session, "How are you?")
    assert "".join(message.text or "" for message in first) == "Hello there."
    last = first[-1]
    assert last.server_content
    assert last.server_content.turn_complete
    assert last.usage_metadata
    assert (last.usage_metadata.prompt_token_count, last.usage_metadata.response_token_count) == (3, 3)
    assert [each["content"] for each in peer.exchanges[1].context] == [
        "Be brief.",
        "Hi.",
        "Hello there.",
        "How are you?",
    ]
    assert [exchange.sent for exchange in peer.exchanges] == [3, 3]


async def test_a_history_is_given_without_an_answer(authority: trustme.CA) -> None:
    async with GeminiPeer(["Three."]) as peer, talk(peer, authority) as session:
        turns = [types.UserContent("One"), types.ModelContent("Two")]
        await session.send_client_content(turns=[*turns], turn_complete=False)
        await ask(session, "And?")
    [exchange] = peer.exchanges
    assert [(each["role"], each["content"]) for each in exchange.context] == [
        ("user", "One"),
        ("assistant", "Two"),
        ("user", "And?"),
    ]


async def test_a_question_within_an_answer_interrupts_it(authority: trustme.CA) -> None:
    long = "word " * 1000
    async with GeminiPeer([long, "Yes."], latency=0.001) as peer, talk(peer, authority) as session:
        await session.send_client_content(turns=types.UserContent("Tell me."))
        messages = [message async for message in _interrupted(session)]
        again = [message async for message in session.receive()]
    contents = [message.server_content for message in messages if message.server_content]
    assert [content.interrupted for content in contents if content.interrupted] == [True]
    assert contents[-1].turn_complete
    assert "".join(message.text or "" for message in again) == "Yes."
    said = peer.exchanges[1].context[1]["content"]
    assert 0 < len(said) < len(long)
    assert long.startswith(said)


async def _interrupted(session: AsyncSession) -> AsyncGenerator[types.LiveServerMessage]:
    asked = False
    async for message in session.receive():
        if message.text and not asked:
            asked = True
            await session.send_client_content(turns=types.UserContent("Stop. Is it done?"))
        yield message


async def test_a_session_goes_on_with_its_handle(authority: trustme.CA) -> None:
    resumable = TEXT.model_copy(update={"session_resumption": types.SessionResumptionConfig()})
    async with GeminiPeer(["One.", "Two."], live=LiveManners(leaves_after=1)) as peer:
        async with talk(peer, authority, resumable) as session:
            goodbye, *_ = await ask(session, "Hi.")
            update = await anext(session.receive())
        assert goodbye.go_away
        assert goodbye.go_away.time_left == "50s"
        assert update.session_resumption_update
        assert update.session_resumption_update.resumable
        handle = update.session_resumption_update.new_handle
        again = resumable.model_copy(
            update={"session_resumption": types.SessionResumptionConfig(handle=handle)}
        )
        async with talk(peer, authority, again) as session:
            await ask(session, "And?")
    assert [each["content"] for each in peer.exchanges[1].context] == ["Hi.", "One.", "And?"]


@pytest.mark.parametrize(
    ("options", "key", "model", "code", "words"),
    [
        ({"live": LiveManners(refuses_text=1007)}, "key", "test-model", 1007, "invalid argument"),
        ({"live": LiveManners(refuses_text=1011)}, "key", "test-model", 1011, "Internal error"),
        ({"key": "right"}, "wrong", "test-model", 1007, "API key not valid"),
        ({}, "key", "nope", 1008, "models/nope is not found"),
    ],
)
async def test_live_refuses_by_closing(
    options: dict[str, Any], key: str, model: str, code: int, words: str, authority: trustme.CA
) -> None:
    async with GeminiPeer(**options) as peer:
        with pytest.raises(errors.APIError, match=words) as caught:
            async with talk(peer, authority, TEXT, key, model) as session:
                await ask(session, "Hi.")
    assert caught.value.code == code
