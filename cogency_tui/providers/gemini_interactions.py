"""Sessions over Gemini's Interactions, and their wire protocol: Google stores each answer, and the next
request continues from it.

A round is one POST that names the last interaction that completed and brings what is new. An interaction
that was cut short is not continued; its question is sent again, with the stored part of its answer. An
answer that takes more than one request may decode arrives in pieces, each an interaction, and is one.

Privacy: continuing from an interaction needs `store: true`. Google then stores requests and answers, 55
days for a paid project and one day for a free one. Replay mode stores nothing there.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import (
    BadRequestError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message, ToolSpec
from cogency_tui.providers.base import (
    PLAIN,
    WRITTEN,
    CallDelta,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import VERSION, key_header, models_in, version_path
from cogency_tui.providers.gemini_interactions_reader import LABEL, NO_CONTINUATION, InteractionsReader
from cogency_tui.providers.gemini_steps import steps
from cogency_tui.providers.gemini_thinking import checks_signatures, generation_config
from cogency_tui.providers.http_provider import EndpointRequests, Opener
from cogency_tui.providers.http_transport import Timeouts, Wait, with_retries
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.refused_parameters import RETURNED_REASONING
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.token_counting import RepeatingUsage

_PIECES = 16
"""Pieces of one answer at most. Each is a request, which is billed with all of its context."""


class InteractionsWire:
    """`POST /{version}/interactions` for one conversation. `previous` names the interaction that the next
    request continues from, `answer` is the reader of the last answer. With `continued`, the next request is
    for the next piece of that. The rest as for `GeminiWire`."""

    label = LABEL

    def __init__(
        self, endpoint: Endpoint, facts: ModelFacts | None = None, *, version: str = VERSION
    ) -> None:
        self.previous = ""
        self.continued = NO_CONTINUATION
        self.answer = InteractionsReader(endpoint)
        self._endpoint = endpoint
        self._facts = facts or ModelFacts()
        prefix = version_path(endpoint.base_url, version)
        self.path = f"{prefix}/interactions"
        self.models_path = f"{prefix}/models"

    def headers(self) -> Mapping[str, str]:
        """Return the key in Google's own header."""
        return key_header(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request. The system prompt, the tools and the settings apply to one
        interaction only, and have to be in each request."""
        refused = set(refused)
        body: dict[str, Any] = {
            "model": self._endpoint.model.removeprefix("models/"),
            "stream": True,
            "store": True,
            **self._settings(refused, options),
            **_system_field(messages),
            **_tools_field(options.tools),
        }
        signs = RETURNED_REASONING not in refused
        return json.dumps(body | self._input(messages, options, signs)).encode()

    def reader(self, options: Options = PLAIN) -> "InteractionsReader":
        """Create a reader for one answer, or for the next piece of it."""
        calls = self.answer.calls if self.continued.token else 0
        self.answer = InteractionsReader(self._endpoint, calls)
        return self.answer

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models that generate content, without `models/` before their names."""
        return models_in(body)

    def _settings(self, refused: Collection[str], options: Options) -> dict[str, Any]:
        config = generation_config(self._facts, options.effort, refused)
        settings: dict[str, Any] = {"generation_config": config} if config else {}
        if options.tier:
            settings["service_tier"] = options.tier
        return settings

    def _input(self, messages: Sequence[Message], options: Options, signs: bool) -> dict[str, Any]:
        """Return what the interaction continues from, and what is new."""
        if self.continued.token:
            return {
                "previous_interaction_id": self.continued.interaction,
                "continuation_token": self.continued.token,
            }
        previous = {"previous_interaction_id": self.previous} if self.previous else {}
        checked = checks_signatures(self._endpoint.model)
        return {**previous, "input": steps(messages, options, signs=signs, checked=checked)}


def _system_field(messages: Sequence[Message]) -> dict[str, Any]:
    system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
    return {"system_instruction": "\n\n".join(system)} if system else {}


def _tools_field(tools: Iterable[ToolSpec]) -> dict[str, Any]:
    functions = [
        {
            "type": "function",
            "name": tool["name"],
            "description": whole_text(tool["description"]),
            "parameters": tool["parameters"],
        }
        for tool in tools
    ]
    return {"tools": functions} if functions else {}


def interaction_sessions(
    endpoint: Endpoint,
    timeouts: Timeouts | None = None,
    *,
    facts: ModelFacts | None = None,
    version: str = VERSION,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> Opener:
    """Return a function that opens sessions with one model. Nothing is sent before the first answer is
    requested."""

    refused: set[str] = set()

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        wire = InteractionsWire(endpoint, facts, version=version)
        requests = EndpointRequests(endpoint, wire, timeouts, refused)
        return InteractionsSession(endpoint, wire, requests, messages, options, wait=wait, jitter=jitter)

    return open_session


class InteractionsSession:
    """A chain of interactions. It survives lost connections and answers that were cut short."""

    expires: float | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        wire: InteractionsWire,
        requests: EndpointRequests,
        seed: Sequence[Message],
        options: Options = PLAIN,
        *,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._answers = requests
        self._options = options
        self._system = [each for each in seed if each["role"] == "system"]
        self._pending = [each for each in seed if each["role"] != "system"]
        self._wait = wait
        self._jitter = jitter
        self._usage = RepeatingUsage(seed, endpoint.model)
        self._answer = ""
        self._closed = False

    @property
    def reusable(self) -> bool:
        """True if it was not closed: there is no connection to lose."""
        return not self._closed

    async def send(self, messages: Sequence[Message]) -> None:
        """Queue `messages` for the request for the answer. After an answer that was cut short, these are
        all messages since the last interaction that completed, including the stored part of the answer.

        Raises:
            SessionLostError: the session was closed, or remembers more than the store.
        """
        if self._closed:
            raise SessionLostError(f"The session with {self._endpoint.name} was closed.", "Try again.")
        check_memory(self._endpoint, self._answer, messages)
        new = messages if self._pending else unanswered(messages)
        self._usage.sending(new)
        self._pending += new

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Request the answer and stream it, with retries where these may help. An early close closes the
        response.

        Raises:
            SessionLostError: the interaction to continue from is gone.
            SessionRefusedError: there are no interactions at this endpoint.
            ProviderError: the endpoint refused, failed or broke off.
        """
        self._usage.repeating()
        answer = _ReceivedAnswer()
        try:
            async with aclosing(self._stream(answer)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ProviderError as error:
            if answer.begun:
                raise
            # No attempts are left.
            error.retryable = False
            meaning = self._meaning(error)
            if meaning is error:
                raise
            raise meaning from error
        finally:
            if completed := self._wire.answer.completed:
                self._wire.previous = completed
                self._pending = []
            self._answer = "".join(answer.texts) if completed else ""
            self._wire.continued = NO_CONTINUATION

    async def close(self) -> None:
        """Close the connections. Google's stored interactions stay until they expire."""
        self._closed = True
        await self._answers.close()

    async def _stream(self, answer: "_ReceivedAnswer") -> AsyncGenerator[Chunk, None]:
        """Stream the answer as one, whose usage is that of all its pieces."""
        try:
            async with aclosing(self._pieces(answer)) as chunks:
                async for chunk in chunks:
                    if answer.add(chunk):
                        yield chunk
        except ProviderError:
            if answer.usages:
                yield self._used(answer)
            raise
        yield self._used(answer)

    async def _pieces(self, answer: "_ReceivedAnswer") -> AsyncGenerator[Chunk, None]:
        """Stream the pieces of the answer. An endpoint that decodes only so much in one request asks to be
        continued."""
        for _piece in range(_PIECES):
            attempts = with_retries(lambda: self._request(answer), wait=self._wait, jitter=self._jitter)
            async with aclosing(attempts) as chunks:
                async for chunk in chunks:
                    yield chunk
            answer.thought += self._wire.answer.thought
            if not self._continue():
                return

    def _request(self, answer: "_ReceivedAnswer") -> AsyncGenerator[Chunk, None]:
        return self._answers.stream(self._system + self._pending, self._options, wrote=answer.wrote)

    def _continue(self) -> bool:
        """Prepare the request for the next piece, and return whether there is one."""
        continuation = self._wire.answer.continuation
        goes_on = continuation.token not in ("", self._wire.continued.token)
        self._wire.continued = continuation if goes_on else NO_CONTINUATION
        return goes_on

    def _used(self, answer: "_ReceivedAnswer") -> Usage:
        usages = answer.usages
        if any(usage.estimated for usage in usages):
            return self._usage.estimated(answer.written)
        output = sum(usage.output for usage in usages)
        cached = sum(usage.cached or 0 for usage in usages)
        usage = self._usage.reported(usages[0].input, output, cached=cached, retained=output - answer.thought)
        billed = sum(each.input for each in usages)
        return replace(usage, billed_input=billed, model=usages[-1].model, tier=usages[-1].tier)

    def _meaning(self, error: ProviderError) -> ProviderError:
        """Convert `error`, raised before anything was received, to its meaning for a session."""
        name = self._endpoint.name
        unheard = isinstance(error, ProviderProtocolError)
        if not self._wire.previous and unheard:
            return SessionRefusedError(
                f"{name} ({self._endpoint.host}) has no {LABEL}: {error}", "Use replay mode."
            )
        refused = isinstance(error, BadRequestError | PermissionDeniedError)
        named = refused and "interaction" in str(error).lower()
        if self._wire.previous and (unheard or named):
            return SessionLostError(
                f"{name} no longer has the conversation.", "It is sent again from the local store."
            )
        return error


class _ReceivedAnswer:
    """An answer as received so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.written: list[str] = []
        """Its text, reasoning and calls."""
        self.usages: list[Usage] = []
        self.thought = 0
        self.wrote = False
        """True if there is text, or a call."""

    @property
    def begun(self) -> bool:
        """True if anything of the model's was received."""
        return bool(self.written or self.usages)

    def add(self, chunk: Chunk) -> bool:
        """Add a chunk, and return whether the caller of the session gets it: usage is summed instead."""
        if isinstance(chunk, Usage):
            self.usages.append(chunk)
            return False
        if isinstance(chunk, WRITTEN):
            self.written.append(chunk.arguments if isinstance(chunk, CallDelta) else chunk.text)
            self.wrote = self.wrote or not isinstance(chunk, ReasoningDelta)
        if isinstance(chunk, TextDelta):
            self.texts.append(chunk.text)
        return True
