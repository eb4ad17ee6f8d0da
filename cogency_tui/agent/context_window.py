"""A conversation as its model receives it: the system prompt, a summary of the old part, the rest.

The events in the store do not change. When they outgrow the model's context, the model itself writes a
summary of the older ones; it is stored, and replaces these in requests from then on.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from msgspec import structs

from cogency_tui.agent.background_request import record_request
from cogency_tui.agent.compaction import Compaction, CompactionPlan, Fates, length_of
from cogency_tui.agent.cycle_metrics import Calibration, characters_in
from cogency_tui.agent.images import Images, images_of
from cogency_tui.agent.request_messages import (
    MessageLog,
    VerbatimPart,
    Way,
    characters_of,
    framed,
    left_out,
    messages_of,
    summary_message,
    tools_of,
)
from cogency_tui.agent.verbatim_parts import (
    describe_plan_for_model,
    describe_verbatim,
    name_of,
    pinned_part,
    verbatim_parts,
)
from cogency_tui.config.schema import Settings
from cogency_tui.errors import ContextTooLongError, ProviderProtocolError, UsageError
from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.events import CompactionFigures, Event
from cogency_tui.protocol.messages import AnswerItems, Message, images_in
from cogency_tui.providers import tokenizer
from cogency_tui.providers.base import Options, Provider, TextDelta, Usage
from cogency_tui.providers.image_tokens import tokens_of_images
from cogency_tui.providers.token_counting import CHARACTERS_PER_TOKEN
from cogency_tui.store.answer_items import StoredAnswerItems
from cogency_tui.store.pins import PinnedPart, Pins
from cogency_tui.store.requests import Frame
from cogency_tui.store.store import Store
from cogency_tui.store.summaries import Summaries, Summary
from cogency_tui.tools.worker_threads import in_thread

RETAINED = 0.25
"""The part of the context that is left to the latest events when the older ones are summarised."""

SHORT_OUTPUT = 2_000
"""Characters of a result in a conversation that is too long to be summarised otherwise."""

VERBATIM = 0.2
"""The part of the context that the user's summarised messages may fill verbatim."""

PINNED = 0.2
"""The part of the context that pinned parts may fill."""

_ROOM = 40_000
"""Characters for each of the two where the context's size is unknown."""

_NEW_SUMMARY = 800
"""Tokens of a summary that is still to be written, about."""

_REQUESTS = "Keep: the user's requests, word for word while they are still open;"
_NOT_REQUESTS = "The user's own messages stay in your context verbatim: do not repeat them. Keep:"
_PINNED = "These parts, which the user pinned, stay verbatim too: {}."

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
    options: Options
    since: int
    through: int
    frame: Frame
    image_tokens: int = 0
    """Tokens of the images."""
    images_left_out: bool = False
    """True if there are images that the model does not take."""

    @property
    def characters(self) -> int:
        """The total length of the messages and the tools."""
        return characters_of(self.frame, self.messages)


@dataclass(frozen=True, slots=True)
class PinnedSize:
    """The pinned parts: their number, their estimated tokens, and the most tokens that they may have."""

    parts: int
    tokens: int
    room: int


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
        options: Callable[[], Options],
        images: Images,
    ) -> None:
        """`system` are the parts of the system prompt with their names; `log` holds the messages rendered
        before. `options` returns those of the next request, but for the tools.
        """
        self._store = store
        self._conversation_id = conversation_id
        self._settings = settings
        self._dialect: Dialect = dialect
        self._provider = provider
        self._parts = tuple(system)
        self._options = options
        self._items = StoredAnswerItems(store.database)
        self._calibration = calibration
        self._log = log
        self._images = images
        self._summaries = Summaries(store.database)
        self._pins = Pins(store.database)

    async def prepare(self, note: str = "") -> Prepared:
        """The next request; `note` is appended to its last message."""
        summary = await self.summary()
        frame, since = await self.frame(summary), summary.through if summary else 0
        log = self._log
        log.follow(Way(since, self._dialect, frame.output_limit, frame.provider, frame.model))
        await self._add_items(frame)
        if not log.add(await self._store.numbered_events(self._conversation_id, log.through)):
            log.restart(in_parts=False)
            await self._add_items(frame)
            log.add(await self._store.numbered_events(self._conversation_id, since))
        messages = framed(frame, log.messages(), log.asked, note)
        await self._calibrate(messages)
        takes, model = self._takes_images, frame.model
        left_out = not takes and any(True for _ in images_in(messages))
        messages = await self._images.sendable(messages, takes_images=takes)
        images = tokens_of_images(model, images_in(messages))
        options = self._options_in(frame)
        return Prepared(messages, options, since, log.through, frame, images, left_out)

    @property
    def _takes_images(self) -> bool:
        return self._provider().facts.images

    def _tokens_of(self, prepared: Prepared) -> int:
        return self._calibration.tokens(prepared.characters, prepared.image_tokens)

    def _image_tokens(self, event: Event) -> int:
        """The tokens of the images of an event."""
        provider = self._provider()
        return tokens_of_images(provider.model, images_of(event)) if provider.facts.images else 0

    async def _calibrate(self, messages: Sequence[Message]) -> None:
        """Count the messages by the tokenizer of their model, if there is one, until its provider reports."""
        if not self._calibration.observed and tokenizer.covers(self._provider().model):
            texts = [message["content"] for message in messages]
            self._calibration.observe(*await in_thread(tokenizer.sample, texts))

    async def _add_items(self, frame: Frame) -> None:
        """Add what the model's provider has delivered beside its answers to the messages."""
        after = self._log.items_through
        items = await self._items.of(self._conversation_id, frame.provider, frame.model, after)
        self._log.add_items(items)

    def _options_in(self, frame: Frame) -> Options:
        return structs.replace(self._options(), tools=tools_of(frame))

    async def frame(self, summary: Summary | None) -> Frame:
        """The parts around the events in a request now, with `summary` in place of earlier events."""
        settings, before, provider = self._settings, await self._summary_text(summary), self._provider()
        return Frame(
            self._parts,
            before,
            self._dialect,
            settings.output_limit,
            settings.history_window,
            provider.name,
            provider.model,
        )

    async def is_due(self, prepared: Prepared) -> bool:
        """Return whether this request nearly fills the context, and there is an older part to summarise."""
        size = self._provider().facts.context_size
        used = self._tokens_of(prepared)
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
        frame = await self.frame(summary)
        shown = [event for _number, event in await self._events(summary)]
        block = await self._environment()
        environment = len(f"{block}\n\n") if block else 0
        verbatim = await self._verbatim(summary.through) if summary else ()
        pinned = sum(len(part.text) for part in verbatim if part.pinned)
        text = await self._verbatim_text(summary.through) if summary else ""
        summarised = len(summary_message(summary, verbatim=text)) - pinned
        only_results = [event for event in shown if event["type"] == "result"]
        results = characters_in(messages_of(replace(frame, summary=""), only_results)[1:])
        messages = messages_of(frame, shown)
        await self._calibrate(messages)
        everything = characters_in(messages[1:])
        parts = [(name, len(text)) for name, text in self._parts]
        parts += [
            ("environment", environment),
            ("summary", summarised),
            ("pinned", pinned),
            ("history", everything - environment - summarised - pinned - results),
            ("results", results),
        ]
        found = [ContextPart(name, self._calibration.tokens(size)) for name, size in parts if size > 0]
        images = sum(map(self._image_tokens, shown))
        return [*found, ContextPart("images", images)] if images else found

    async def covered(self) -> list[tuple[Summary, int]]:
        """The summaries, the newest first, with the number of messages and calls that each replaced."""
        return (await self._summaries.covered(self._conversation_id))[::-1]

    async def compactions(self) -> list[Compaction]:
        """The summaries with the parts that they replaced, the newest first."""
        summaries, events = await self._summaries.all(self._conversation_id), await self._events(None)
        fates = await self._fates(summaries[-1].through if summaries else 0)
        return await in_thread(fates.compactions, summaries, events)

    async def plan(self) -> CompactionPlan:
        """What `compact(retain=False)` would do now.

        Raises:
            UsageError: there is nothing to summarise.
        """
        summary, events = await self.summary(), await self._events(None)
        since = summary.through if summary else 0
        if not events or events[-1][0] <= since:
            raise UsageError("There is nothing to summarize yet.", "Send a message first.")
        fates, unread = await self._fates(events[-1][0]), await self._unread(await self._events(summary))
        parts = await in_thread(fates.parts, events, since, unread)
        before = self._tokens_of(await self.prepare())
        return CompactionPlan(parts, before, min(before, await self._after(summary, events[-1][0])))

    async def _after(self, summary: Summary | None, through: int) -> int:
        """The tokens of the context after a summary of the events up to the one numbered `through`, about."""
        verbatim = await self._verbatim_text(through)
        around = (
            sum(len(text) for _name, text in self._parts) + len(await self._environment()) + len(verbatim)
        )
        written = self._calibration.tokens(len(summary.text)) if summary else 0
        return self._calibration.tokens(around) + max(_NEW_SUMMARY, written)

    async def pin(self, number: int) -> bool:
        """Keep the part with the event of this number verbatim from now on; return whether it was
        summarised, so that the next request has it again.

        Raises:
            UsageError: there is no such part, or the pins would fill too much of the context.
        """
        part = await self._pins.part(self._conversation_id, number)
        if part is None:
            raise UsageError("This part cannot be pinned: it is not stored.", "Wait until it is complete.")
        others = await self._pins.parts(self._conversation_id)
        texts = [self._quote(each) for each in (*others, part) if each is part or each.number != number]
        size, room = sum(len(each.text) for each in texts), self._room(PINNED)
        if size > room:
            raise UsageError(
                f"Pins would fill about {self._calibration.tokens(size):,} tokens; "
                f"{self._calibration.tokens(room):,} at most ({self._share_of_pins()}).",
                "Unpin another part first." if len(texts) > 1 else "This part is too long to pin.",
            )
        await self._pins.set(self._conversation_id, number, pinned=True)
        return await self._is_summarised(number)

    async def unpin(self, number: int) -> bool:
        """Pin the part with the event of this number no longer; return whether it is summarised."""
        await self._pins.set(self._conversation_id, number, pinned=False)
        return await self._is_summarised(number)

    async def pinned(self) -> PinnedSize:
        """The pinned parts, summarised or not."""
        texts = [self._quote(part).text for part in await self._pins.parts(self._conversation_id)]
        tokens = self._calibration.tokens
        return PinnedSize(len(texts), tokens(sum(map(len, texts))), tokens(self._room(PINNED)))

    async def compact(self, *, retain: bool = True) -> CompactionFigures:
        """Have the model summarise the older events; with `retain`, the latest remain as they are.

        Raises:
            UsageError: there is nothing to summarise.
            ProviderError: the request to the model failed.
        """
        before = await self.summary()
        events = await self._events(before)
        count = self._cut(events) if retain else len(events)
        if count == 0:
            raise UsageError(
                "There is nothing to summarize yet.", "Continue; summarizing is retried when needed."
            )
        old = events[:count]
        provider, unread = self._provider(), await self._unread(old)
        text, limit = await self._ask(before, [event for _number, event in old], old[-1][0])
        whole = self._tokens_of(await self.prepare())
        id = await self._summaries.add(
            self._conversation_id,
            old[-1][0],
            text,
            f"{provider.name}/{provider.model}",
            unread=unread,
            result_limit=limit,
        )
        after = self._tokens_of(await self.prepare())
        await self._summaries.measure(id, whole, after)
        _summary, messages = (await self.covered())[0]
        return CompactionFigures(summary=id, messages=messages, before=whole, after=after)

    async def _summary_text(self, summary: Summary | None) -> str:
        """The message that replaces the summarised events in the model's context."""
        if summary is None:
            return ""
        environment = await self._environment(summary.through)
        return summary_message(summary, environment, await self._verbatim_text(summary.through))

    async def _verbatim_text(self, through: int) -> str:
        """The text of what stays verbatim of the events up to one: parts, and the plan at that point."""
        if self._log.plan is None or self._log.plan[0] != through:
            plan = await self._store.plan(self._conversation_id, through)
            self._log.plan = through, describe_plan_for_model(plan)
        parts = self._describe(await self._verbatim(through))
        return "\n\n".join(filter(None, (parts, self._log.plan[1])))

    async def _verbatim(self, through: int) -> Sequence[VerbatimPart]:
        """The parts up to an event that stay verbatim when they are summarised."""
        id, settings = self._conversation_id, self._settings
        keeps, limit = settings.compact_keeps_messages, settings.output_limit
        rooms = self._room(VERBATIM), self._room(PINNED)
        key = through, rooms, keeps, limit, await self._pins.version(id)
        if self._log.verbatim is None or self._log.verbatim[0] != key:
            written = await self._store.messages(id, through) if keeps else []
            pinned = [self._quote(part) for part in await self._pins.parts(id, through)]
            self._log.verbatim = key, verbatim_parts(written, pinned, *rooms)
        return self._log.verbatim[1]

    def _describe(self, parts: Sequence[VerbatimPart]) -> str:
        return describe_verbatim(parts, has_messages=self._settings.compact_keeps_messages)

    def _quote(self, part: PinnedPart) -> VerbatimPart:
        return pinned_part(part, self._settings.output_limit)

    def _room(self, share: float) -> int:
        """The characters that a share of the context has room for."""
        return round(self._provider().facts.context_size * share * CHARACTERS_PER_TOKEN) or _ROOM

    def _share_of_pins(self) -> str:
        known = self._provider().facts.context_size
        return f"{PINNED:.0%} of the context" if known else "the size of the context is unknown"

    async def _is_summarised(self, number: int) -> bool:
        summary = await self.summary()
        return summary is not None and number <= summary.through

    async def _fates(self, through: int) -> Fates:
        """The fates of parts, of which those up to an event are summarised."""
        pinned = [part.number for part in await self._pins.parts(self._conversation_id)]
        cut = {part.number: part.omitted for part in await self._verbatim(through)}
        tokens, settings = self._calibration.tokens, self._settings
        keeps = settings.compact_keeps_messages
        return Fates(pinned, cut, tokens, self._image_tokens, settings.output_limit, keeps_messages=keeps)

    async def _unread(self, old: Sequence[tuple[int, Event]]) -> int:
        """The number of the last event that a request to summarise these leaves out; 0 if it has all."""
        shown, window = [event for _number, event in old], self._settings.history_window
        count = await in_thread(left_out, shown, self._dialect, window)
        return old[count - 1][0] if count else 0

    async def _environment(self, through: int | None = None) -> str:
        """The latest environment block up to the event numbered `through`, if there is one."""
        blocks = await self._store.environments(self._conversation_id, through)
        return blocks[-1] if blocks else ""

    async def _events(self, summary: Summary | None) -> list[tuple[int, Event]]:
        """The events that no summary replaces, with their numbers."""
        return await self._store.numbered_events(self._conversation_id, summary.through if summary else 0)

    def _cut(self, events: Sequence[tuple[int, Event]]) -> int:
        """The number of events to summarise, chosen so that the rest begins at the start of a message."""
        room = self._provider().facts.context_size * RETAINED
        left = 0
        cut = len(events)
        for index in range(len(events) - 1, -1, -1):
            event = events[index][1]
            length = length_of(event, self._settings.output_limit)
            left += self._calibration.tokens(length, self._image_tokens(event))
            if left > room and cut < len(events):
                return cut
            if index == 0 or event["type"] == "user" or _begins_cycle(events, index):
                cut = index
        return cut

    async def _ask(self, before: Summary | None, old: Sequence[Event], through: int) -> tuple[str, int]:
        """A summary of these events by the model, and the most characters of a result that it was sent."""
        frame = await self.frame(before)
        requests = _NOT_REQUESTS if self._settings.compact_keeps_messages else _REQUESTS
        if pinned := await self._pins.parts(self._conversation_id, through):
            requests = f"{_PINNED.format('; '.join(map(name_of, pinned)))} {requests}"
        try:
            text = await self._generate(frame, old, requests)
        except ContextTooLongError:
            frame = replace(frame, output_limit=min(frame.output_limit, SHORT_OUTPUT))
            text = await self._generate(frame, old, requests)
        return text, frame.output_limit

    async def _generate(self, frame: Frame, old: Sequence[Event], requests: str) -> str:
        found = await self._items.of(self._conversation_id, frame.provider, frame.model)
        messages = messages_of(frame, old, items=AnswerItems(item for _number, item in found))
        messages = await self._images.sendable(messages, takes_images=self._takes_images)
        messages.append({"role": "user", "content": INSTRUCTION.format(requests=requests)})
        parser = create_parser(self._dialect)
        events: list[Event] = []
        usage: Usage | None = None
        provider = self._provider()
        async with aclosing(provider.stream(messages, self._options_in(frame))) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    events += parser.feed(chunk.text)
                elif isinstance(chunk, Usage):
                    usage = chunk
                if parser.finished:
                    break
        events += parser.close()
        if usage is not None:
            await record_request(self._store, self._conversation_id, provider, usage, "summary")
        text = "".join(event["content"] for event in events if event["type"] == "respond").strip()
        if not text:
            raise ProviderProtocolError(
                f"{provider.model} returned no summary.", "Try /compact again, or choose another model."
            )
        return text


def _begins_cycle(events: Sequence[tuple[int, Event]], index: int) -> bool:
    """Return whether the model starts to write here, after results."""
    return events[index][1]["type"] != "result" and events[index - 1][1]["type"] == "result"
