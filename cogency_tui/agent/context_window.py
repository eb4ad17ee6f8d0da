"""A conversation as its model receives it: the system prompt, a summary of the old part, the rest.

The events in the store do not change. When they outgrow the model's context, the model itself writes a
summary of the older ones; it is stored, and replaces these in requests from then on.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from cogency_tui.agent.background_request import record_request
from cogency_tui.agent.cycle_metrics import Calibration, characters_in
from cogency_tui.agent.request_messages import (
    MessageLog,
    Way,
    build_messages,
    capped,
    framed,
    summary_message,
    verbatim,
)
from cogency_tui.config.schema import Settings
from cogency_tui.errors import ContextTooLongError, ProviderProtocolError, UsageError
from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.events import Event, Message
from cogency_tui.protocol.transcript import user_message
from cogency_tui.providers.base import Provider, TextDelta, Usage
from cogency_tui.providers.token_counting import CHARACTERS_PER_TOKEN
from cogency_tui.store.requests import Frame
from cogency_tui.store.store import Store
from cogency_tui.store.summaries import Summaries, Summary

RETAINED = 0.25
"""The part of the context that is left to the latest events when the older ones are summarised."""

SHORT_OUTPUT = 2_000
"""Characters of a result in a conversation that is too long to be summarised otherwise."""

VERBATIM = 0.2
"""The part of the context that the user's summarised messages may fill verbatim."""

_ROOM = 40_000
"""Characters for them where the context's size is unknown."""

_REQUESTS = "Keep: the user's requests, word for word while they are still open;"
_NOT_REQUESTS = "The user's own messages stay in your context verbatim: do not repeat them. Keep:"

INSTRUCTION = """\
[engine] The conversation is about to outgrow your context. Write a summary that replaces it;
anything not in it is forgotten. {requests}
decisions and their reasons; findings, with file names and line numbers; changes and their reasons;
failures; next steps. Leave out pleasantries and file contents that can be read again.
Answer with the summary alone, in Markdown. Call no tools."""


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of the context: its name for the user, and its tokens (estimated)."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that is ready: its `messages` are the events above `since` up to `through` in `frame`."""

    messages: list[Message]
    since: int
    through: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Compacted:
    """The effect of a summary: the number of events it replaced, and the tokens of the context before and
    after (estimated).
    """

    events: int
    before: int
    after: int


class History:
    """One conversation for one model and dialect. All methods raise `StoreError`."""

    def __init__(
        self,
        store: Store,
        conversation_id: str,
        settings: Settings,
        dialect: Dialect,
        provider: Callable[[], Provider],
        system: Sequence[tuple[str, str]],
        calibration: Calibration,
        log: MessageLog,
    ) -> None:
        """`system` are the parts of the system prompt with their names; `log` holds the messages rendered
        before.
        """
        self._store = store
        self._conversation_id = conversation_id
        self._settings = settings
        self._dialect: Dialect = dialect
        self._provider = provider
        self._parts = system
        self._system = "".join(text for _name, text in system)
        self._calibration = calibration
        self._log = log
        self._summaries = Summaries(store.database)

    async def prepare(self, note: str = "") -> Prepared:
        """The next request; `note` is appended to its last message."""
        summary = await self.summary()
        frame, since = await self.frame(summary), summary.through if summary else 0
        log = self._log
        log.follow(Way(since, self._dialect, frame.output_limit))
        if not log.add(await self._store.numbered_events(self._conversation_id, log.through)):
            log.restart(in_parts=False)
            log.add(await self._store.numbered_events(self._conversation_id, since))
        return Prepared(framed(frame, log.messages(), log.asked, note), since, log.through, frame)

    async def frame(self, summary: Summary | None) -> Frame:
        """The parts around the events in a request now, with `summary` in place of earlier events."""
        settings, before = self._settings, await self._summary_text(summary)
        return Frame(
            tuple(self._parts), before, self._dialect, settings.output_limit, settings.history_window
        )

    async def is_due(self, messages: Sequence[Message]) -> bool:
        """Return whether these messages nearly fill the context, and there is an older part to summarise."""
        size = self._provider().facts.context_size
        used = self._calibration.tokens(characters_in(messages))
        if not size or not self._settings.compact_at or used <= size * self._settings.compact_at:
            return False
        return self._cut(await self._events(await self.summary())) > 0

    async def summary(self) -> Summary | None:
        """The summary in force, if there is one."""
        return await self._summaries.latest(self._conversation_id)

    async def edit_summary(self, text: str) -> None:
        """Replace the text of the summary with the user's.

        Raises:
            UsageError: there is no summary, or the text is empty.
        """
        summary = await self.summary()
        if summary is None:
            raise UsageError("This conversation has no summary.", "Create one with /compact.")
        if not text.strip():
            raise UsageError("A summary cannot be empty.", "Write what the model should remember.")
        await self._summaries.edit(summary.id, text)

    async def context(self) -> list[ContextPart]:
        """The parts that fill the context, empty ones left out."""
        summary = await self.summary()
        shown = [event for _number, event in await self._events(summary)]
        block = await self._environment()
        environment = len(f"{block}\n\n") if block else 0
        written = await self._verbatim(summary.through) if summary else []
        summarised = len(summary_message(summary, written=written))
        results = characters_in(self._render("", [e for e in shown if e["type"] == "result"])[1:])
        everything = characters_in(self._render(await self._summary_text(summary), shown)[1:])
        parts = [(name, len(text)) for name, text in self._parts]
        parts += [
            ("environment", environment),
            ("summary", summarised),
            ("history", everything - environment - summarised - results),
            ("results", results),
        ]
        return [ContextPart(name, self._calibration.tokens(size)) for name, size in parts if size > 0]

    async def compact(self, *, retain: bool = True) -> Compacted:
        """Have the model summarise the older events; with `retain`, the latest remain as they are.

        Raises:
            UsageError: there is nothing to summarise.
            ProviderError: the request to the model failed.
        """
        before = await self.summary()
        events = await self._events(before)
        count = self._cut(events) if retain else len(events)
        if count == 0:
            raise UsageError("There is nothing to summarize yet.", "Continue; it is tried again when needed.")
        old = [event for _number, event in events[:count]]
        provider = self._provider()
        text = await self._ask(before, old)
        whole = self._calibration.tokens(characters_in((await self.prepare()).messages))
        await self._summaries.add(
            self._conversation_id, events[count - 1][0], text, f"{provider.name}/{provider.model}"
        )
        after = self._calibration.tokens(characters_in((await self.prepare()).messages))
        return Compacted(count, whole, after)

    async def _summary_text(self, summary: Summary | None) -> str:
        """The message that replaces the summarised events in the model's context."""
        if summary is None:
            return ""
        environment = await self._environment(summary.through)
        return summary_message(summary, environment, await self._verbatim(summary.through))

    async def _verbatim(self, through: int) -> list[str]:
        """What the user has written up to an event, if it stays in the context."""
        if not self._settings.compact_keeps_messages:
            return []
        size = self._provider().facts.context_size
        key = through, round(size * VERBATIM * CHARACTERS_PER_TOKEN) or _ROOM
        if self._log.verbatim is None or self._log.verbatim[0] != key:
            written = await self._store.messages(self._conversation_id, through)
            self._log.verbatim = key, verbatim(written, key[1])
        return self._log.verbatim[1]

    async def _environment(self, through: int | None = None) -> str:
        """The latest environment block up to the event numbered `through`, if there is one."""
        blocks = await self._store.environments(self._conversation_id, through)
        return blocks[-1] if blocks else ""

    async def _events(self, summary: Summary | None) -> list[tuple[int, Event]]:
        """The events that no summary replaces, with their numbers."""
        return await self._store.numbered_events(self._conversation_id, summary.through if summary else 0)

    def _render(self, before: str, events: Sequence[Event], limit: int = 0) -> list[Message]:
        settings = self._settings
        return build_messages(
            self._system,
            events,
            self._dialect,
            limit or settings.output_limit,
            summary=before,
            window=settings.history_window,
        )

    def _cut(self, events: Sequence[tuple[int, Event]]) -> int:
        """The number of events to summarise, chosen so that the rest begins at the start of a message."""
        room = self._provider().facts.context_size * RETAINED
        left = 0
        cut = len(events)
        for index in range(len(events) - 1, -1, -1):
            event = events[index][1]
            left += self._calibration.tokens(_length(event, self._settings.output_limit))
            if left > room and cut < len(events):
                return cut
            if index == 0 or event["type"] == "user" or _begins_cycle(events, index):
                cut = index
        return cut

    async def _ask(self, before: Summary | None, old: Sequence[Event]) -> str:
        summarised = await self._summary_text(before)
        try:
            return await self._generate(self._render(summarised, old))
        except ContextTooLongError:
            return await self._generate(self._render(summarised, old, SHORT_OUTPUT))

    async def _generate(self, messages: list[Message]) -> str:
        requests = _NOT_REQUESTS if self._settings.compact_keeps_messages else _REQUESTS
        messages.append({"role": "user", "content": INSTRUCTION.format(requests=requests)})
        parser = create_parser(self._dialect)
        events: list[Event] = []
        usage: Usage | None = None
        provider = self._provider()
        async with aclosing(provider.stream(messages)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    events += parser.feed(chunk.text)
                elif isinstance(chunk, Usage):
                    usage = chunk
                if parser.finished:
                    break
        events += parser.close()
        if usage is not None:
            await record_request(self._store, self._conversation_id, provider, usage)
        text = "".join(event["content"] for event in events if event["type"] == "respond").strip()
        if not text:
            raise ProviderProtocolError(
                f"{provider.model} returned no summary.", "Try /compact again, or choose another model."
            )
        return text


def _begins_cycle(events: Sequence[tuple[int, Event]], index: int) -> bool:
    """Return whether the model starts to write here, after results."""
    return events[index][1]["type"] != "result" and events[index - 1][1]["type"] == "result"


def _length(event: Event, limit: int) -> int:
    if event["type"] == "result":
        return len(str(capped(event, limit)["payload"]))
    if event["type"] == "user":
        return len(user_message(event))
    return len(event.get("content", ""))
