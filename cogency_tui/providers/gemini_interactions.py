"""Sessions over Gemini's Interactions, and their wire protocol: Google stores each answer, and the next
request continues from it.

A round is one POST that names the last interaction that completed and brings what is new. An interaction
that was cut short is not continued; its question is sent again, with the stored part of its answer.

Privacy: continuing from an interaction needs `store: true`. Google then stores requests and answers, 55
days for a paid project and one day for a free one. Replay mode stores nothing there.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from cogency_tui.errors import (
    BadRequestError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import (
    PLAIN,
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
from cogency_tui.providers.http_provider import EndpointRequests, Opener
from cogency_tui.providers.http_transport import Timeouts, Wait, with_retries
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.token_counting import RepeatingUsage
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    count_of,
    items,
    malformed,
    read_object,
    table,
    text_of,
)

LABEL = "Interactions"

_ENDS: Mapping[str, Finish] = {
    "completed": "stop",
    "incomplete": "length",
    "requires_continuation": "length",
    "budget_exceeded": "length",
}


class InteractionsWire:
    """`POST /{version}/interactions` for one conversation. `previous` names the interaction that the next
    request continues from, `answer` is the reader of the last answer. `version` and `thoughts` as for
    `GeminiWire`."""

    label = LABEL

    def __init__(self, endpoint: Endpoint, *, version: str = VERSION, thoughts: bool = False) -> None:
        self.previous = ""
        self.answer = InteractionsReader(endpoint)
        self._endpoint = endpoint
        self._thoughts = thoughts
        prefix = version_path(endpoint.base_url, version)
        self.path = f"{prefix}/interactions"
        self.models_path = f"{prefix}/models"

    def headers(self) -> Mapping[str, str]:
        """Return the key in Google's own header."""
        return key_header(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request. The system prompt applies to one interaction only, and has to be in
        each request."""
        del options
        system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
        config: dict[str, Any] = {}
        if self._thoughts and failures.THINKING not in refused:
            config["thinking_summaries"] = "auto"
        body: dict[str, Any] = {
            "model": self._endpoint.model.removeprefix("models/"),
            "stream": True,
            "store": True,
        }
        if config:
            body["generation_config"] = config
        if system:
            body["system_instruction"] = "\n\n".join(system)
        if self.previous:
            body["previous_interaction_id"] = self.previous
        body["input"] = [_step(each) for each in messages if each["role"] != "system" and each["content"]]
        return json.dumps(body).encode()

    def reader(self) -> "InteractionsReader":
        """Create a reader for one answer."""
        self.answer = InteractionsReader(self._endpoint)
        return self.answer

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """Return the models that generate content, without `models/` before their names."""
        return models_in(body)


class InteractionsReader:
    """Reads the events of one answer. `completed` names its interaction once it is complete, and `thought`
    is its number of reasoning tokens."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.completed = ""
        self.thought = 0
        self._endpoint = endpoint
        self._created = ""

    def read(self, name: str, data: str) -> Frame:
        """Read one event.

        Raises:
            ProviderProtocolError: it is no event.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True)
        event = read_object(self._endpoint, LABEL, data)
        kind = text_of(event.get("event_type")) or name
        if kind == "error" or event.get("error"):
            raise failures.from_frame(self._endpoint, event)
        if kind == "step.start":
            return self._start(table(event.get("step")))
        if kind == "step.delta":
            return self._delta(table(event.get("delta")), data)
        if kind == "interaction.created":
            self._created = text_of(table(event.get("interaction")).get("id"))
        if kind == "interaction.completed":
            return self._end(table(event.get("interaction")))
        if kind == "message":
            raise malformed(self._endpoint, LABEL, data)
        return Frame()

    def _start(self, step: Mapping[str, Any]) -> Frame:
        """Read the start of a step, which may include its first words."""
        if step.get("type") == "model_output":
            return Frame(_words(step.get("content")))
        return Frame(reasoning=_words(step.get("summary")))

    def _delta(self, delta: Mapping[str, Any], data: str) -> Frame:
        kind = delta.get("type")
        if kind == "text":
            text = delta.get("text")
            if not isinstance(text, str):
                raise malformed(self._endpoint, LABEL, data)
            return Frame(text)
        if kind == "thought_summary":
            return Frame(reasoning=_words([delta.get("content")]))
        return Frame()

    def _end(self, interaction: Mapping[str, Any]) -> Frame:
        status = text_of(interaction.get("status"))
        if status == "failed":
            reported = next(iter(items(interaction.get("errors"))), None) or interaction.get("error")
            raise failures.from_frame(self._endpoint, reported or "The interaction failed.")
        if status == "completed":
            # Events of a stream may leave out repeated fields.
            self.completed = text_of(interaction.get("id")) or self._created
        return Frame(finish=_ENDS.get(status, "other"), usage=self._used(table(interaction.get("usage"))))

    def _used(self, reported: Mapping[str, Any]) -> Usage | None:
        sent, written = count_of(reported.get("total_input_tokens")), reported.get("total_output_tokens")
        if sent is None:
            return None
        self.thought = count_of(reported.get("total_thought_tokens")) or 0
        cached = count_of(reported.get("total_cached_tokens")) or 0
        return Usage(sent, (count_of(written) or 0) + self.thought, cached)


def _step(message: Message) -> dict[str, Any]:
    """Convert a message to a step of `input`."""
    kind = "model_output" if message["role"] == "assistant" else "user_input"
    return {"type": kind, "content": [{"type": "text", "text": whole_text(message["content"])}]}


def _words(content: object) -> str:
    """Return the text of a list of contents."""
    return "".join(text_of(table(each).get("text")) for each in items(content))


def interaction_sessions(
    endpoint: Endpoint,
    timeouts: Timeouts | None = None,
    *,
    version: str = VERSION,
    thoughts: bool = False,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> Opener:
    """Return a function that opens sessions with one model. Nothing is sent before the first answer is
    requested."""

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        del options
        wire = InteractionsWire(endpoint, version=version, thoughts=thoughts)
        return InteractionsSession(endpoint, wire, messages, timeouts, wait=wait, jitter=jitter)

    return open_session


class InteractionsSession:
    """A chain of interactions. It survives lost connections and answers that were cut short."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: InteractionsWire,
        seed: Sequence[Message],
        timeouts: Timeouts | None = None,
        *,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._answers = EndpointRequests(endpoint, wire, timeouts)
        self._system = [each for each in seed if each["role"] == "system"]
        self._pending = [each for each in seed if each["role"] != "system"]
        self._wait = wait
        self._jitter = jitter
        self._usage = RepeatingUsage(seed)
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
        sent = self._system + self._pending
        self._usage.repeating()
        written: list[str] = []
        answer: list[str] = []
        begun = False
        attempts = with_retries(lambda: self._answers.stream(sent), wait=self._wait, jitter=self._jitter)
        try:
            async with aclosing(attempts) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta | ReasoningDelta):
                        written.append(chunk.text)
                    if isinstance(chunk, TextDelta):
                        answer.append(chunk.text)
                    if isinstance(chunk, Usage):
                        chunk = self._used(chunk, written)
                    begun = begun or bool(written) or isinstance(chunk, Usage)
                    yield chunk
        except ProviderError as error:
            if begun:
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
            self._answer = "".join(answer) if completed else ""

    async def close(self) -> None:
        """Close the connections. Google's stored interactions stay until they expire."""
        self._closed = True
        await self._answers.close()

    def _used(self, billed: Usage, written: Sequence[str]) -> Usage:
        if billed.estimated:
            return self._usage.estimated(written)
        retained = billed.output - self._wire.answer.thought
        return self._usage.reported(billed.input, billed.output, cached=billed.cached, retained=retained)

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
