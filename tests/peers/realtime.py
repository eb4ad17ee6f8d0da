"""A loopback server that speaks the Realtime API, text only, as the vendor does, and misbehaves on request.

It keeps to what was captured from the vendor in 2026: the upgrade is always granted, and a wrong key or
model is an `error` followed by a close (3000, 4000); a response is a ladder of events in a fixed order
that ends in `response.done` and `rate_limits.updated`; an error leaves the session open; an answer that
is cancelled stays in the conversation as an incomplete item until it is deleted.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.peers.realtime_events import (
    STATUSES,
    Frame,
    Ladder,
    Refusal,
    response_object,
    session_object,
    usage_object,
)
from tests.peers.realtime_items import Items, message_of
from tests.peers.server import Context, Exchange, Fault, Peer, PeerSocket, Reply, Request, count

INSTRUCTIONS = "You are a helpful, witty, and friendly AI."
"""What the vendor uses where the client gives none."""

EXPIRED = "Your session hit the maximum duration of 60 minutes."

_TYPES = (
    "'session.update', 'session.close', 'input_audio_buffer.append', 'session.input_audio_buffer.append', "
    "'input_audio_buffer.commit', 'input_audio_buffer.clear', 'conversation.item.create', "
    "'conversation.item.truncate', 'conversation.item.delete', 'conversation.item.retrieve', "
    "'response.create', and 'response.cancel'"
)


class RealtimePeer(Peer):
    """WebSocket `/v1/realtime?model=…`. The session expires after `expires_after` seconds or with the
    response after `most_responses`; a context of more than `limit` tokens fails, or loses its oldest items
    where the client did not disable truncation.

    In a fault, `finish` is the reason of an incomplete or cancelled response, and `body` the JSON of the
    error with which a response fails.
    """

    prefix = "/v1"
    least_cached = 64
    cache_step = 64

    def __init__(
        self,
        replies: Reply | Sequence[str] = ("Hello.",),
        *,
        expires_after: float = 0.0,
        most_responses: int = 0,
        limit: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(replies, **options)
        self.expires_after = expires_after
        self.most_responses = most_responses
        self.limit = limit
        self.conversations: list[Conversation] = []

    def refuse(self, request: Request) -> tuple[int, str] | None:
        if urlsplit(request.path).path != "/v1/realtime":
            return 404, json.dumps({"error": {"message": f"Invalid URL (GET {request.path})", "code": None}})
        return None

    async def converse(self, socket: PeerSocket) -> None:
        conversation = Conversation(self, socket)
        self.conversations.append(conversation)
        await conversation.serve()

    def turned_away(self, request: Request) -> tuple[int, Refusal] | None:
        """Close code and error for a client that is let in only to be told so."""
        given = request.headers.get("authorization", "")
        model = parse_qs(urlsplit(request.path).query).get("model", [""])[0]
        if not given:
            return 3000, Refusal("Missing bearer or basic authentication in header")
        if self.key and given != f"Bearer {self.key}":
            key = given.removeprefix("Bearer ")
            return 3000, Refusal(f"Incorrect API key provided: {key}.", "invalid_api_key")
        if "openai-beta" in request.headers:
            return 4000, Refusal("The Realtime Beta API is no longer supported.", "beta_api_shape_disabled")
        if not model:
            return 4000, Refusal("You must provide a model parameter.", "missing_model")
        if model != self.model:
            return 4000, Refusal(f'Model "{model}" is not supported in realtime mode.', "invalid_model")
        return None


class Conversation:
    """One session: its settings, its `items` in order, and at most one response at a time."""

    def __init__(self, peer: RealtimePeer, socket: PeerSocket) -> None:
        self.items = Items()
        self._peer = peer
        self._socket = socket
        self._number = 0
        expires_at = int(time.time()) + 60 * 60
        self._session: Frame = session_object(self._id("sess"), peer.model, INSTRUCTIONS, expires_at)
        self._conversation_id = self._id("conv")
        self._responses = 0
        self._active = False
        self._cancelled = False
        self._tasks: list[asyncio.Task[None]] = []
        self._arrived: Context = []
        self._acts: dict[str, Callable[[Frame], Awaitable[None]]] = {
            "session.update": self._update,
            "conversation.item.create": self._create,
            "conversation.item.delete": self._delete,
            "conversation.item.retrieve": self._retrieve,
            "conversation.item.truncate": self._truncate,
            "response.create": self._respond,
            "response.cancel": self._cancel,
        }

    async def serve(self) -> None:
        """Serve the session until it ends."""
        if away := self._peer.turned_away(self._socket.request):
            code, refusal = away
            await self._event("error", error=refusal.error({}))
            reason = ".".join(filter(None, ("invalid_request_error", refusal.code)))
            await self._socket.close(code, reason)
            return
        await self._event("session.created", session=self._session)
        self._tasks.append(asyncio.create_task(self._expire_later()))
        try:
            while (frame := await self._socket.receive()) is not None:
                await self._act(frame)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _act(self, frame: Frame) -> None:
        kind = frame.get("type")
        try:
            if kind not in self._acts:
                raise Refusal(
                    f"Invalid value: '{kind}'. Supported values are: {_TYPES}.", "invalid_value", "type"
                )
            await self._acts[kind](frame)
        except Refusal as refusal:
            await self._event("error", error=refusal.error(frame))

    async def _update(self, frame: Frame) -> None:
        given: Frame = frame["session"]
        if "type" not in given:
            raise Refusal(
                "Missing required parameter: 'session.type'.", "missing_required_parameter", "session.type"
            )
        for name in given:
            if name not in self._session:
                path = f"session.{name}"
                raise Refusal(f"Unknown parameter: '{path}'.", "unknown_parameter", path)
        if given.get("output_modalities", ["text"]) not in (["text"], ["audio"]):
            raise Refusal("Invalid modalities.", "invalid_value", "session.output_modalities")
        audio: Frame = self._session["audio"]
        merged = {side: audio[side] | given.get("audio", {}).get(side, {}) for side in audio}
        self._session = self._session | given | {"audio": merged}
        if "instructions" in given:
            self._arrived.append({"role": "system", "content": given["instructions"]})
        await self._event("session.updated", session=self._session)

    async def _create(self, frame: Frame) -> None:
        item, previous = self.items.create(frame, self._id("item"))
        self._arrived.append(message_of(item))
        await self._event("conversation.item.added", previous_item_id=previous, item=item)
        await self._event("conversation.item.done", previous_item_id=previous, item=item)

    async def _delete(self, frame: Frame) -> None:
        self.items.delete(frame)
        await self._event("conversation.item.deleted", item_id=frame["item_id"])

    async def _retrieve(self, frame: Frame) -> None:
        item = self.items.find(frame, "retrieving", "item_retrieve_invalid_item_id")
        await self._event("conversation.item.retrieved", item=item)

    async def _truncate(self, frame: Frame) -> None:
        self.items.find(frame, "truncating", "item_truncate_invalid_item_id")
        # All there is here is text.
        raise Refusal("Only model output audio messages can be truncated")

    async def _respond(self, frame: Frame) -> None:
        if self._active:
            raise Refusal(
                f"Conversation already has an active response in progress: resp_{self._responses:06d}. "
                "Wait until the response is finished before creating a new one.",
                "conversation_already_has_active_response",
            )
        if self._peer.most_responses and self._responses == self._peer.most_responses:
            await self._expire()
            return
        self._responses += 1
        self._active, self._cancelled = True, False
        self._tasks.append(asyncio.create_task(self._answer(self._peer.next_fault())))

    async def _cancel(self, frame: Frame) -> None:
        if not self._active:
            raise Refusal("Cancellation failed: no active response found", "response_cancel_not_active")
        self._cancelled = True

    async def _answer(self, fault: Fault) -> None:
        if fault.drop == "before":
            self._socket.abort()
        elif fault.hang in {"headers", "body"}:
            await self._socket.closed.wait()
        elif error := self._failure(fault):
            ladder, details = self._ladder({"id": None}), {"type": "failed", "error": error}
            await self._socket.stream(ladder.started(()), fault)
            self._active = False
            await self._socket.stream(ladder.done("failed", details, [], usage_object(0, 0, 0)), Fault())
        else:
            sent, self._arrived = count(self._arrived), []
            await self._stream(self._peer.exchange(self._context(), sent=sent, fault=fault), fault)

    def _failure(self, fault: Fault) -> Frame | None:
        if self._peer.limit and count(self._context()) > self._peer.limit:
            # The vendor says in words alone what it does then.
            return {
                "type": "invalid_request_error",
                "code": None,
                "message": "The conversation exceeds the model's input token limit.",
            }
        return json.loads(fault.body) if fault.body else None

    async def _stream(self, exchange: Exchange, fault: Fault) -> None:
        item: Frame = {"id": self._id("item"), "object": "realtime.item", "type": "message"}
        item |= {"status": "in_progress", "role": "assistant", "content": []}
        ladder = self._ladder(item)
        frames = ladder.started(exchange.pieces)
        sent = 0

        def stop() -> bool:
            nonlocal sent
            sent += 1
            if sent == 2:
                self.items.append(item)
            return self._cancelled

        if not await self._socket.stream(frames, fault, stop) and not self._cancelled:
            # The client has gone, or the fault goes on for ever.
            await self._socket.closed.wait()
            return
        exchange.pieces = exchange.pieces[: max(0, sent - (len(frames) - len(exchange.pieces)))]
        exchange.text = "".join(exchange.pieces)
        reason = "client_cancelled" if self._cancelled else fault.finish
        status = STATUSES.get(reason, "completed")
        item["status"] = "completed" if status == "completed" else "incomplete"
        item["content"] = [{"type": "output_text", "text": exchange.text}] if exchange.pieces else []
        output = [item] if sent > 1 else []
        usage = usage_object(exchange.input, exchange.output if exchange.pieces else 0, exchange.cached)
        details = None if status == "completed" else {"type": status, "reason": reason}
        if output:
            await self._socket.stream(ladder.finished(exchange.text), replace(fault, after=-1))
        self._active = False
        done = ladder.done(status, details, output, None if fault.no_usage else usage)
        await self._socket.stream(done, replace(fault, after=-1))

    def _ladder(self, item: Frame) -> Ladder:
        modalities = self._session["output_modalities"]
        response = response_object(f"resp_{self._responses:06d}", self._conversation_id, modalities)
        return Ladder(self._frame, response, item, self.items.last)

    async def _expire_later(self) -> None:
        if self._peer.expires_after:
            await asyncio.sleep(self._peer.expires_after)
            await self._expire()

    async def _expire(self) -> None:
        await self._event("error", error=Refusal(EXPIRED, "session_expired").error({}))
        await self._socket.close(1001, EXPIRED)

    def _context(self) -> Context:
        """What the model sees: as much of it as fits, unless truncation is disabled."""
        instructions = self._session["instructions"]
        prompt: Context = [{"role": "system", "content": instructions}] if instructions else []
        items = self.items.context
        limit = 0 if self._session["truncation"] == "disabled" else self._peer.limit
        while limit and count(prompt + items) > limit:
            del items[0]
        return prompt + items

    def _frame(self, kind: str, **fields: Any) -> Frame:
        return {"type": kind, "event_id": self._id("event"), **fields}

    async def _event(self, kind: str, **fields: Any) -> None:
        await self._socket.send(self._frame(kind, **fields))

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}_{self._number:06d}"
