"""A model that says what the test wrote, through the real provider and session contracts."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from cogency_tui.errors import NetworkError, ProviderError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, Chunk, Options, ReasoningDelta, TextDelta, Usage, unanswered
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.offline.title_words import is_title_task
from cogency_tui.providers.token_counting import estimate_tokens

Reply = str | ProviderError | ReasoningDelta | Sequence[Chunk] | Callable[[], str]


class ScriptedProvider:
    """Answers with `replies`, one a request, in pieces of `size` characters with `pause` seconds between.

    `sent` has what each request, or each send of a session, carried. A reply that is an error is
    raised; one that is chunks is sent as it is; one that ends in `hang` never ends. `refuse_sessions` makes `connect` fail.
    """

    name = "scripted"
    model = "scripted-1"
    title = ""
    """The answer to the request for a title."""
    facts = ModelFacts(context_size=8000)

    def __init__(
        self,
        *replies: Reply,
        size: int = 7,
        pause: float = 0,
        resumes: bool = True,
        refuse_sessions: bool = False,
        native: bool = False,
    ) -> None:
        self.resumes = resumes
        self.native = native
        self.sent: list[list[Message]] = []
        self.seeds: list[list[Message]] = []
        self.options: list[Options] = []
        self.closed = 0
        self.hanging = asyncio.Event()
        self._replies = list(replies)
        self._size = size
        self._pause = pause
        self._refuse_sessions = refuse_sessions

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        self.options.append(options)
        if is_title_task(messages):
            # Asked beside the turns, whose requests `sent` and `replies` are about.
            yield TextDelta(self.title)
            return
        self.sent.append(list(messages))
        async for chunk in self.answer(messages):
            yield chunk

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        """The next reply, as chunks."""
        reply = self._replies.pop(0) if self._replies else "Nothing more to say."
        if isinstance(reply, ProviderError):
            raise reply
        if isinstance(reply, ReasoningDelta):
            # A model that reasons beside its text, and writes none.
            yield reply
            return
        if not (isinstance(reply, str) or callable(reply)):
            for chunk in reply:
                yield chunk
                await asyncio.sleep(self._pause)
            return
        text = reply() if callable(reply) else reply
        text, hangs, broken = text.partition("<<hang>>")
        for index in range(0, len(text), self._size):
            yield TextDelta(text[index : index + self._size])
            await asyncio.sleep(self._pause)
        if broken:
            raise NetworkError(broken)
        if hangs:
            self.hanging.set()
            await asyncio.Event().wait()
        yield Usage(estimate_tokens(m["content"] for m in messages), estimate_tokens([text]))

    async def connect(self, messages: Sequence[Message], options: Options = PLAIN) -> "ScriptedSession":
        self.options.append(options)
        if self._refuse_sessions:
            raise NetworkError("no sessions today")
        self.seeds.append(list(messages))
        return ScriptedSession(self)

    async def models(self) -> list[ListedModel]:
        return [ListedModel(self.model)]

    async def close(self) -> None:
        self.closed += 1


class ScriptedSession:
    """A session of a `ScriptedProvider`."""

    reusable = True
    expires: float | None = None

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider
        self._fresh: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> None:
        self._fresh = list(unanswered(messages))
        self._provider.sent.append(self._fresh)

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        async for chunk in self._provider.answer(self._fresh):
            yield chunk

    async def close(self) -> None:
        self._provider.closed += 1
