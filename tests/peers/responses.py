"""A loopback server that speaks Responses as the vendor does, over HTTP and WebSocket on one port.

It keeps to the vendor's wire format in all that a client can see: event names and their order, ids,
sequence numbers, usage, the shapes of errors. Nothing is stored: over HTTP no earlier answer is known, and
a socket knows its latest one alone, until a request fails or the connection's time is up. Its prompt cache
diagnostics compare a request with any earlier one, over either transport.
"""

import asyncio
import json
from collections.abc import Collection, Sequence
from itertools import takewhile
from operator import eq
from typing import Any, Literal

from tests.peers.responses_events import KNOWN, answer_events, output_in
from tests.peers.responses_items import Item, context_of, items_in, problem_in
from tests.peers.responses_steering import accepted, cut_short, kept_of, pending, unsteered
from tests.peers.server import Context, Exchange, Fault, Peer, PeerSocket, Reply, Request, count

PATH = "/v1/responses"

Refusal = tuple[int, dict[str, Any]]
"""A status with the error object that goes with it."""


class ResponsesPeer(Peer):
    """`POST /v1/responses`, the WebSocket of the same path, and `GET /v1/models`.

    A socket is closed after `expires_after` seconds, and takes no request after `most_responses`. `evicts`
    are numbers of requests, counted from 0 over all sockets, at which the earlier answer is found to be gone.
    `context_size` in tokens, 0 for no limit. `Fault.finish` may be `stop`, `length`, `content_filter` or
    `failed`; `Fault.comments` sends the vendor's keep-alive events. `keeps_reasoning` is for a model that
    sees its earlier reasoning again. With `stores`, answers are stored over HTTP, as a local server does, unless
    a request asks not to. With `steers` a socket takes `response.steer`: the answer ends, after its next item or at its
    own end, and the peer answers the message by itself; without, it says that the model does not support it.
    """

    prefix = "/v1"

    def __init__(
        self,
        replies: Reply | Sequence[str] = ("Hello.",),
        *,
        expires_after: float | None = None,
        most_responses: int | None = None,
        evicts: Collection[int] = (),
        context_size: int = 0,
        keeps_reasoning: bool = False,
        stores: bool = False,
        steers: Literal["", "after item", "at end"] = "",
        **options: Any,
    ) -> None:
        super().__init__(replies, **options)
        self.keeps_reasoning = keeps_reasoning
        self._expires_after = expires_after
        self._most_responses = most_responses
        self._evicts = evicts
        self._context_size = context_size
        self._stores = stores
        self._steers = steers
        self._active: dict[str, _LaneOf] = {}
        """The lanes of the answers that are being sent, by their ids."""
        self._endings: dict[str, asyncio.Event] = {}
        """Their ends."""
        self._steering: dict[str, list[Item]] = {}
        """The messages that steer them, or wait for the results of their calls."""
        self._stored: dict[str, list[Item]] = {}
        """The items up to each stored answer, by its id."""
        self._created = 0
        self._issued: set[str] = set()
        """The contents of reasoning that were encrypted here."""
        self._thoughts: dict[str, str] = {}
        """The model's reasoning by the ids of its items."""
        self._compared: dict[str, Context] = {}
        """The requests that can be compared with, by the ids of their answers."""

    # HTTP

    def refuse(self, request: Request) -> tuple[int, str] | None:
        if (request.method, request.path) not in {("POST", PATH), ("GET", PATH), ("GET", "/v1/models")}:
            return _whole(404, error(f"Invalid URL ({request.method} {request.path})"))
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            text = (
                f"Incorrect API key provided: {given}. You can find your API key at "
                "https://platform.openai.com/account/api-keys."
            )
            return _whole(401, error(text, "invalid_api_key"))
        if request.method != "POST":
            return None
        if self._created in self._evicts:
            self._stored.clear()
        before = self._before(request.body)
        refusal = self._refusal(request.body, before) or self._unknown_answer(request.body, *self._stored)
        if not refusal and _repeats_system(before, request.body):
            refusal = 500, error("Only user, assistant and tool roles are supported, got system.")
        if not refusal and self._too_long(self.context(request)):
            refusal = 400, _TOO_LONG
        return _whole(*refusal) if refusal else None

    def whole(self, request: Request) -> tuple[int, str] | None:
        if request.path == PATH and request.method == "GET":
            return _whole(405, error("Method not allowed"))
        if request.method != "GET":
            return None
        model = {"id": self.model, "object": "model", "created": 1_700_000_000, "owned_by": "openai"}
        return 200, json.dumps({"object": "list", "data": [model]})

    def context(self, request: Request) -> Context:
        items = [*self._before(request.body), *items_in(request.body["input"])]
        return [*_instructions(request.body), *self._context(request.body, items)]

    def sent_tokens(self, request: Request) -> int:
        new = self._context(request.body, items_in(request.body["input"]))
        return count([*_instructions(request.body), *new])

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        self._created += 1
        events = self._events(request.body, exchange, fault)
        if self._stores and request.body.get("store", True):
            items = [*self._before(request.body), *items_in(request.body["input"])]
            self._stored[self._response_id] = [*items, *output_in(events)]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events]

    # WebSocket

    async def converse(self, socket: PeerSocket) -> None:
        known: dict[str, dict[str, list[Item]]] = {}
        lanes: dict[str, asyncio.Task[None]] = {}
        answered = 0
        try:
            async with asyncio.timeout(self._expires_after):
                while (frame := await socket.receive()) is not None:
                    if frame.get("type") == "response.steer":
                        await self._steer(socket, frame)
                        continue
                    if answered == self._most_responses:
                        break
                    answered += 1
                    lane = frame.get("stream_id", "")
                    turn = self._in_turn(lanes.get(lane), socket, frame, known)
                    lanes[lane] = asyncio.create_task(turn)
                else:
                    return
        except TimeoutError:
            pass
        finally:
            for task in lanes.values():
                task.cancel()
            await asyncio.gather(*lanes.values(), return_exceptions=True)
        await socket.send(_error_event(400, _TIME_IS_UP))
        await socket.close()

    async def _in_turn(
        self,
        before: "asyncio.Task[None] | None",
        socket: PeerSocket,
        frame: dict[str, Any],
        known: dict[str, dict[str, list[Item]]],
    ) -> None:
        """Answer one frame, after the one before in its lane."""
        if before:
            await before
        if ending := self._endings.get(frame.get("previous_response_id", "")):
            # Its last event may be sent, and not yet drained.
            await ending.wait()
        lane = frame.get("stream_id", "")
        known[lane] = await self._respond(_LaneOf(socket, lane), frame, known)

    async def _respond(
        self, socket: "_LaneOf", frame: dict[str, Any], lanes: dict[str, dict[str, list[Item]]]
    ) -> dict[str, list[Item]]:
        """Answer one frame; what its lane knows afterwards. `lanes` is what all of them know."""
        self._created += 1
        response_id = self._response_id
        previous = frame.get("previous_response_id") or ""
        if self._created - 1 in self._evicts:
            lanes.clear()
        known = {name: items for lane in lanes.values() for name, items in lane.items()}
        # A request that fails evicts the answer that it names.
        own = lanes.get(socket.name, {})
        left = {name: items for name, items in own.items() if name != previous}
        before = known.get(previous, [])
        refusal = self._refusal(frame, before) or self._unknown_answer(frame, *known)
        items: list[Item] = []
        context: Context = []
        if not refusal:
            queued = self._steering.pop(previous, [])
            items = [*before, *queued, *items_in(frame["input"])]
            context = self._context(frame, items)
            if self._too_long([*_instructions(frame), *context]):
                refusal = 400, _TOO_LONG
        if refusal:
            await socket.send(_error_event(*refusal))
            return left
        fault = self.next_fault()
        if fault.drop == "before":
            socket.abort()
        if fault.drop == "before" or fault.hang in {"headers", "body"}:
            await socket.closed.wait()
            return left
        if fault.status:
            body = json.loads(fault.body or "{}").get("error") or error("The server had an error.")
            headers = {"headers": dict(fault.headers)} if fault.headers else {}
            await socket.send(_error_event(fault.status, body | headers))
            return left
        instructions = _instructions(frame)
        new = self._context(frame, items[len(before) :])
        exchange = self.exchange([*instructions, *context], sent=count([*instructions, *new]), fault=fault)
        events = self._events(frame, exchange, fault)
        self._active[response_id], self._endings[response_id] = socket, asyncio.Event()
        sent = await self._send_answer(socket, events, fault, response_id)
        del self._active[response_id]
        self._endings.pop(response_id).set()
        if sent is None or fault.finish == "failed":
            return left
        known = {response_id: [*items, *kept_of(output_in(sent))]}
        if response_id not in self._steering:
            return known
        if calls := [each for each in output_in(sent) if each["type"] == "function_call"]:
            await socket.send(pending(response_id, calls))
            return known
        successor = {**frame, "previous_response_id": response_id, "input": self._steering.pop(response_id)}
        return await self._respond(socket, successor, {**lanes, socket.name: known})

    async def _send_answer(
        self, socket: "_LaneOf", events: list[dict[str, Any]], fault: Fault, response_id: str
    ) -> list[dict[str, Any]] | None:
        """Send an answer, or its beginning if it is steered; None if it was cut off."""
        if self._steers != "after item":
            return events if await socket.stream(events, fault) else None
        for number, event in enumerate(events):
            sent = events[:number]
            items = output_in(sent)
            is_boundary = bool(items) and sent[-1]["type"] == "response.output_item.done"
            calls = any(each["type"] == "function_call" for each in items)
            if response_id in self._steering and is_boundary and not calls and number < len(events) - 1:
                await socket.send(cut_short(events[-1], items, number))
                return sent
            if not await socket.stream([event], fault):
                return None
        return events

    async def _steer(self, socket: PeerSocket, frame: dict[str, Any]) -> None:
        """Take a message for an answer that is being sent, or return it."""
        target = frame["previous_response_id"]
        lane = self._active.get(target)
        if lane is None:
            await socket.send(unsteered(frame, "response_not_found"))
        elif not self._steers:
            await lane.send(unsteered(frame, "steering_not_supported"))
        else:
            self._steering.setdefault(target, []).extend(items_in(frame["input"]))
            await lane.send(accepted(target))

    # What both have

    def _before(self, body: dict[str, Any]) -> list[Item]:
        """The stored items that a request continues from."""
        return self._stored.get(body.get("previous_response_id") or "", [])

    def _context(self, body: dict[str, Any], items: Sequence[Item]) -> Context:
        return context_of(items, self._thoughts, all_turns=self._keeps(body))

    def _keeps(self, body: dict[str, Any]) -> bool:
        """Whether the model sees its earlier reasoning."""
        return self.keeps_reasoning or body.get("reasoning", {}).get("context") == "all_turns"

    def _refusal(self, body: dict[str, Any], before: Sequence[Item] = ()) -> Refusal | None:
        if body.get("type", "response.create") != "response.create":
            return 400, error(f"Unknown event type: {body['type']!r}.", "unknown_event_type", "type")
        for param in body.keys() - KNOWN - {"type", "generate", "stream_id"}:
            return 400, error(f"Unknown parameter: '{param}'.", "unknown_parameter", param)
        for param in self.refuses:
            if param == "reasoning" and "summary" in body.get(param, {}):
                text = "Your organization must be verified to generate reasoning summaries."
                return 400, error(text, "unsupported_value", "reasoning.summary")
            parent, _, field = param.partition(".")
            if field and field in body.get(parent, {}):
                text = f"Unsupported parameter: '{param}' is not supported with this model."
                return 400, error(text, "unsupported_parameter", param)
            if param in body:
                text = f"Unsupported parameter: '{param}' is not supported with this model."
                return 400, error(text, "unsupported_parameter", param)
        if body.get("model") != self.model:
            text = f"The model `{body.get('model')}` does not exist or you do not have access to it."
            return 404, error(text, "model_not_found")
        if not body.get("input"):
            return 400, error("Missing required parameter: 'input'.", "missing_required_parameter", "input")
        problem = problem_in(body, before, self._issued)
        return (400, error(*problem)) if problem else None

    def _unknown_answer(self, body: dict[str, Any], *known: str) -> Refusal | None:
        previous = body.get("previous_response_id")
        if not previous or previous in known:
            return None
        text = f"Previous response with id '{previous}' not found."
        return 400, error(text, "previous_response_not_found", "previous_response_id")

    def _too_long(self, context: Context) -> bool:
        return 0 < self._context_size < count(context)

    @property
    def _response_id(self) -> str:
        return f"resp_{self._created:048x}"

    def _events(self, body: dict[str, Any], exchange: Exchange, fault: Fault) -> list[dict[str, Any]]:
        events = answer_events(
            self._response_id,
            body,
            exchange,
            fault,
            model=self.model,
            keeps_reasoning=self._keeps(body),
            diagnostics=self._diagnose(body, exchange.context),
        )
        items = [event["item"] for event in events if event.get("item", {}).get("type") == "reasoning"]
        self._issued |= {item["encrypted_content"] for item in items if "encrypted_content" in item}
        self._thoughts |= {item["id"]: fault.reasoning for item in items}
        return events

    def _diagnose(self, body: dict[str, Any], context: Context) -> dict[str, Any] | None:
        """Compare a request with the one that it names; None where it names none."""
        self._compared[self._response_id] = context
        named = body.get("prompt_cache_options", {}).get("comparison_response_id")
        if not named:
            return None
        if (before := self._compared.get(named)) is None:
            return {"type": "comparison_response_not_found"}
        same = sum(1 for _message in takewhile(bool, map(eq, before, context)))
        if same == len(before):
            return {"type": "cache_hit"}
        return {
            "type": "cache_miss",
            "reason": "input_changed",
            "cache_missed_tokens": count(before[same:]),
            "comparison_reusable_tokens": count(before[:same]) if same else 0,
        }


class _LaneOf:
    """A lane of a socket: what is sent over it has its name."""

    def __init__(self, socket: PeerSocket, name: str) -> None:
        self.name = name
        self.closed = socket.closed
        self.abort = socket.abort
        self._socket = socket
        self._mark = {"stream_id": name} if name else {}

    async def send(self, frame: dict[str, Any]) -> None:
        await self._socket.send(frame | self._mark)

    async def stream(self, frames: Sequence[dict[str, Any]], fault: Fault) -> bool:
        return await self._socket.stream([frame | self._mark for frame in frames], fault)


def _repeats_system(before: Sequence[Item], body: dict[str, Any]) -> bool:
    """Whether a request brings a second system prompt, which chat templates refuse."""
    return any(item.get("role") == "system" for item in items_in(body["input"])) and bool(before)


def error(message: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """An error object as the vendor writes it."""
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}


_TOO_LONG = error(
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context_length_exceeded",
    "input",
)
_TIME_IS_UP = error(
    "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.",
    "websocket_connection_limit_reached",
)


def _whole(status: int, problem: dict[str, Any]) -> tuple[int, str]:
    return status, json.dumps({"error": problem})


def _error_event(status: int, problem: dict[str, Any]) -> dict[str, Any]:
    return {"type": "error", "error": problem, "status": status}


def _instructions(body: dict[str, Any]) -> Context:
    text = body.get("instructions")
    return [{"role": "system", "content": text}] if text else []
