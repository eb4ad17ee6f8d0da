"""The events of an answer in Responses, the same over HTTP and a WebSocket.

Omissions of compatible servers are tolerated: indices, ids, usage, and the pieces of a call that they
deliver whole; so is `[DONE]`, which the vendor does not send.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import NetworkError, ProviderError
from cogency_tui.protocol.events import CacheMiss
from cogency_tui.providers import failures
from cogency_tui.providers.base import CallDelta, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.openai_responses_input import is_returnable, label_of
from cogency_tui.providers.surrogates import SurrogateJoiner
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    cache_miss_of,
    count_of,
    malformed,
    read_object,
    table,
    text_of,
)

LABEL = "Responses"

_REMEMBERED = 64
"""Events that are remembered by their numbers: a duplicate comes soon after."""

_PROVEN = 2
"""Consecutive steps by one after which a server is known to count by one."""


class EventNumbers:
    """Tracks the `sequence_number` of one answer's events: duplicates, and missing pieces of text.

    The vendor numbers all events of an answer by one, from 0. Compatible servers may start elsewhere, leave
    numbers out, or number each item or part separately; proxies drop events of unknown kinds. Whether a
    server counts by one is inferred from the numbers themselves, and only a gap within a text means that
    some of it is missing.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._recent: dict[int, Mapping[str, Any]] | None = {}
        self._steps = 0
        """Consecutive events whose number was one more than the one before."""
        self._text: Hashable = None

    def is_new(self, event: Mapping[str, Any], text: Hashable = None) -> bool:
        """Return whether an event is no duplicate; `text` names the text that it continues or ends.

        Events without a number are new, and all are once a number has been used for another event.

        Raises:
            NetworkError: events of this text are missing before it.
        """
        number = count_of(event.get("sequence_number"))
        if number is None or self._recent is None:
            self._steps = 0
            return True
        last = max(self._recent, default=None)
        if last is None or number > last:
            self._check_step(0 if last is None else number - last, text)
            self._recent[number] = event
            if len(self._recent) > _REMEMBERED:
                del self._recent[next(iter(self._recent))]
            return True
        if self._recent.get(number) == event:
            return False
        self._recent = None
        return True

    def _check_step(self, step: int, text: Hashable) -> None:
        goes_on, self._text = text is not None and text == self._text, text
        if step == 1:
            self._steps += 1
            return
        if goes_on and self._steps >= _PROVEN:
            raise NetworkError(
                f"Part of the response from {self._endpoint.name} was lost.",
                "The text so far is saved; try again.",
            )
        self._steps = 0


class CallReader:
    """Reads the native calls of one answer, whose arguments come in pieces, whole at their end, or both.

    A call is known by its id, and else by its place in the output: servers number places differently. Pieces
    of a call that was not announced wait for its end, which has all of it.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.count = 0
        """The calls so far."""
        self._endpoint = endpoint
        self._calls: dict[Hashable, _Call] = {}

    def begin(self, event: Mapping[str, Any], item: Mapping[str, Any]) -> list[CallDelta]:
        """Read the beginning of a call. Its arguments are left for later: a server may fill in `{}` here."""
        call_id, name = text_of(item.get("call_id")), text_of(item.get("name"))
        place = _place(event, item)
        if not name or self._found(call_id, place):
            return []
        self._add(call_id, place)
        return [CallDelta(self.count - 1, call_id, name)]

    def end(self, event: Mapping[str, Any], item: Mapping[str, Any]) -> list[CallDelta]:
        """Read the end of a call, which may be all of it.

        Raises:
            ProviderProtocolError: it has no name.
        """
        call_id, place = text_of(item.get("call_id")), _place(event, item)
        begun = self.begin(event, item)
        call = self._found(call_id, place)
        if call is None:
            raise malformed(self._endpoint, LABEL, json.dumps(event))
        if call.ended:
            return []
        # A limit may cut it off.
        delta = call.end(text_of(item.get("arguments")), complete=item.get("status") != "incomplete")
        return [replace(delta, id=begun[0].id, name=begun[0].name)] if begun else [delta]

    def piece(self, event: Mapping[str, Any], delta: str) -> list[CallDelta]:
        """Read a piece of arguments."""
        call = self._calls.get(_place(event))
        return [call.piece(delta)] if call and not call.ended else []

    def whole(self, event: Mapping[str, Any]) -> list[CallDelta]:
        """Read the whole arguments of a call, of which the last pieces may be new."""
        call = self._calls.get(_place(event))
        rest = call.rest(text_of(event.get("arguments"))) if call else ""
        return [call.piece(rest)] if call and rest and not call.ended else []

    def _add(self, call_id: str, place: Hashable) -> None:
        self._calls[place] = self._calls["id", call_id] = _Call(self.count, call_id)
        self.count += 1

    def _found(self, call_id: str, place: Hashable) -> "_Call | None":
        by_id = self._calls.get(("id", call_id)) if call_id else None
        here = self._calls.get(place)
        return by_id or (here if here and (not call_id or not here.id) else None)


class _Call:
    def __init__(self, index: int, call_id: str) -> None:
        self.id = call_id
        self.ended = False
        self._index = index
        self._pieces: list[str] = []
        self._joiner = SurrogateJoiner()

    def piece(self, text: str) -> CallDelta:
        """Add a piece of the arguments."""
        self._pieces.append(text)
        return CallDelta(self._index, arguments=self._joiner.feed(text))

    def rest(self, arguments: str) -> str:
        """Return how the whole `arguments` go on after those so far; empty where they begin otherwise."""
        before = "".join(self._pieces)
        return arguments[len(before) :] if arguments.startswith(before) else ""

    def end(self, arguments: str, *, complete: bool) -> CallDelta:
        """Add what is new in the whole `arguments`, which are all that there is of them."""
        self.ended = True
        delta = self.piece(self.rest(arguments))
        return replace(delta, arguments=delta.arguments + self._joiner.close(), complete=complete)


def _place(event: Mapping[str, Any], item: Mapping[str, Any] | None = None) -> Hashable:
    """Return the place of an event's item: its index in the output, else its id there."""
    index = count_of(event.get("output_index"))
    item_id = text_of(event.get("item_id")) or text_of((item or {}).get("id"))
    return ("place", item_id) if index is None else ("place", index)


_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_OF_TEXT = _TEXTS | {"response.output_text.done", "response.refusal.done"}
_PIECES = "response.function_call_arguments.delta"
_WHOLE = "response.function_call_arguments.done"
_REASONINGS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"", "error", "response.failed"})
_REASONS: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}
_BREAK = "\n\n"


class ResponsesReader:
    """Reads the events of one answer. Once it has ended, `response_id` names it, and `retained` is the number
    of its tokens that a later answer in the same chain still sees. With `names_answers` the usage has the
    id, too. `completed` marks one that came to its own end, and can be continued from; `steered` one that the
    endpoint ended for a message, which it answers next."""

    def __init__(self, endpoint: Endpoint, *, names_answers: bool = False) -> None:
        self.response_id = ""
        self.retained = 0
        self.completed = False
        self.steered = False
        self._names_answers = names_answers
        self._endpoint = endpoint
        self._text_at: tuple[object, ...] = ()
        self._reasoning_at: tuple[object, ...] = ()
        self._numbers = EventNumbers(endpoint)
        self._calls = CallReader(endpoint)
        self._readers: Mapping[str, Callable[[Mapping[str, Any]], Frame]] = {
            **dict.fromkeys(_TEXTS, self._text),
            **dict.fromkeys(_REASONINGS, self._reasoning),
            **dict.fromkeys(_ENDS, self._end),
            _PIECES: lambda event: Frame(native=self._calls.piece(event, self._delta(event))),
            _WHOLE: lambda event: Frame(native=self._calls.whole(event)),
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
        }

    def read(self, name: str, data: str) -> Frame:
        """Read one server-sent event.

        Raises:
            ProviderProtocolError: it is none of this wire.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True)
        return self.read_event(read_object(self._endpoint, LABEL, data), "" if name == "message" else name)

    def read_event(self, event: Mapping[str, Any], name: str = "") -> Frame:
        """Read one event as received; `name` is its type where it has none itself.

        Raises:
            ProviderProtocolError: it is none of this wire.
            ProviderError: it is an error that the endpoint reports.
        """
        kind = text_of(event.get("type")) or name
        if kind in _FAILURES:
            raise self._failure(kind, event)
        read = self._readers.get(kind)
        is_new = self._numbers.is_new(event, _text_of_event(kind, event))
        return read(event) if read and is_new else Frame()

    def _failure(self, kind: str, event: Mapping[str, Any]) -> ProviderError:
        if kind == "response.failed":
            return failures.from_frame(self._endpoint, table(event.get("response")).get("error") or event)
        if kind or event.get("error"):
            return _failure(self._endpoint, event)
        return self._malformed(event)

    def _text(self, event: Mapping[str, Any]) -> Frame:
        # A separate message (a remark before the answer) is a separate paragraph.
        at = (event.get("output_index"),)
        piece = self._paragraph(self._text_at, at) + self._delta(event)
        self._text_at = at
        return Frame(piece)

    def _reasoning(self, event: Mapping[str, Any]) -> Frame:
        at = (event.get("output_index"), event.get("summary_index"), event.get("content_index"))
        reasoning = self._paragraph(self._reasoning_at, at) + self._delta(event)
        self._reasoning_at = at
        return Frame(reasoning=reasoning)

    def _paragraph(self, before: tuple[object, ...], at: tuple[object, ...]) -> str:
        return _BREAK if before and before != at else ""

    def _delta(self, event: Mapping[str, Any]) -> str:
        delta = event.get("delta")
        if not isinstance(delta, str):
            raise self._malformed(event)
        return delta

    def _item_added(self, event: Mapping[str, Any]) -> Frame:
        item = table(event.get("item"))
        if item.get("type") == "function_call":
            return Frame(native=self._calls.begin(event, item))
        label = label_of(item) if item.get("type") == "message" else None
        return Frame(native=[ReasoningItem(label)]) if label else Frame()

    def _item_done(self, event: Mapping[str, Any]) -> Frame:
        item = table(event.get("item"))
        if item.get("type") == "function_call":
            return Frame(native=self._calls.end(event, item))
        if item.get("type") == "reasoning" and is_returnable(item):
            return Frame(native=[ReasoningItem(item)])
        return Frame()

    def _end(self, event: Mapping[str, Any]) -> Frame:
        response = table(event.get("response"))
        if not response:
            raise self._malformed(event)
        self.response_id = text_of(response.get("id"))
        usage = self._used(response)
        finish: Finish = "stop"
        if event.get("type") == "response.incomplete":
            reason = text_of(table(response.get("incomplete_details")).get("reason"))
            finish = _REASONS.get(reason, "other")
            self.steered = reason == "steered" and bool(self.response_id)
        self.completed = finish == "stop" and bool(self.response_id)
        return Frame(finish=finish, usage=usage, complete=True)

    def _used(self, response: Mapping[str, Any]) -> Usage | None:
        reported = table(response.get("usage"))
        usage = _usage(reported)
        if usage is None:
            return None
        details = table(reported.get("output_tokens_details"))
        reasoning = count_of(details.get("reasoning_tokens")) or 0
        # Reasoning is dropped at the next message of a user, which results are not, unless the model keeps
        # all of it.
        keeps = self._calls.count or table(response.get("reasoning")).get("context") == "all_turns"
        self.retained = usage.output if keeps else max(0, usage.output - reasoning)
        return replace(
            usage,
            cache_miss=self._cache_miss(response),
            answer=self.response_id if self._names_answers else "",
            model=text_of(response.get("model")),
            tier=text_of(response.get("service_tier")),
        )

    def _cache_miss(self, response: Mapping[str, Any]) -> CacheMiss | None:
        diagnostics = table(response.get("prompt_cache_diagnostics"))
        outcome = diagnostics.get("type")
        if outcome == "cache_hit":
            return None
        # Only a miss has a reason; other outcomes are their own.
        reason = diagnostics.get("reason") or outcome
        return cache_miss_of(self._endpoint, reason, diagnostics.get("cache_missed_tokens"))

    def _malformed(self, event: Mapping[str, Any]) -> ProviderError:
        return malformed(self._endpoint, LABEL, json.dumps(event))


def _text_of_event(kind: str, event: Mapping[str, Any]) -> Hashable:
    """Return what names the text or the arguments that an event continues or ends."""
    if kind in _OF_TEXT:
        return (event.get("output_index"), event.get("content_index"))
    return ("call", event.get("output_index")) if kind in {_PIECES, _WHOLE} else None


def _usage(reported: dict[str, Any]) -> Usage | None:
    sent, written = count_of(reported.get("input_tokens")), count_of(reported.get("output_tokens"))
    if sent is None or written is None:
        return None
    details = table(reported.get("input_tokens_details"))
    cached, cache_written = details.get("cached_tokens"), details.get("cache_write_tokens")
    lasting = count_of(table(details.get("cache_write_tokens_details")).get("ttl_12h_tokens"))
    return Usage(
        sent, written, count_of(cached), cache_written=count_of(cache_written), long_written=lasting or 0
    )


def _failure(endpoint: Endpoint, event: Mapping[str, Any]) -> ProviderError:
    """Build the error of an event of type `error`. The documented one for SSE is flat; in fact it has an
    object of its own, and over a socket a status with the headers of an HTTP answer."""
    status = event.get("status")
    if not isinstance(status, int) or not 400 <= status < 600:
        return failures.from_frame(endpoint, event)
    given = table(event.get("headers")) | table(table(event.get("error")).get("headers"))
    headers = {name.lower(): str(value) for name, value in given.items()}
    return failures.from_status(endpoint, status, headers, json.dumps(event))
