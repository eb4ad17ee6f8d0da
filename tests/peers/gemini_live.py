"""The Live API of `GeminiPeer`: one conversation over a WebSocket, its JSON in binary messages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tests.peers.gemini_interactions import thought_tokens
from tests.peers.server import Context, Exchange, Fault, PeerSocket, count

if TYPE_CHECKING:
    from tests.peers.gemini import GeminiPeer

_SETUP = frozenset(
    {
        "model",
        "generationConfig",
        "systemInstruction",
        "sessionResumption",
        "contextWindowCompression",
        "historyConfig",
        "tools",
        "labels",
    }
)


@dataclass(frozen=True, slots=True)
class LiveManners:
    """How Live behaves. Models that answer in audio only close with `refuses_text` (1007, 1011), at setup
    or `late`, when they are to answer. With the answer number `leaves_after` of a connection it says `goAway`,
    and if `closes` it goes after it. `handles`: `"given"` after each answer, `"none"`, `"dead"` (given, and not
    known later) or `"stale"` (given before each answer instead).
    `counts_early` sends the usage before the end of the turn, and an empty one with it."""

    refuses_text: int = 0
    late: bool = False
    leaves_after: int = 0
    closes: bool = False
    handles: str = "given"
    counts_early: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept under a handle: the conversation, and the connection that the handle was given over."""

    socket: PeerSocket
    context: Context


class LiveTalk:
    """One connection."""

    def __init__(self, peer: "GeminiPeer", socket: PeerSocket) -> None:
        self._socket = socket
        self._context: Context = []
        self._peer = peer
        self._system: Context = []
        self._fresh: Context = []
        self._answers = 0
        self._resumes = False

    async def run(self) -> None:
        """Serve the connection until it ends."""
        if not await self._set_up():
            return
        while (frame := await self._socket.receive()) is not None:
            content = camel(frame).get("clientContent")
            if content is None:
                await self._socket.close(1007, "Request contains an invalid argument.")
                return
            self._add(content.get("turns", ()))
            if content.get("turnComplete") and not await self._answer():
                return

    async def _set_up(self) -> bool:
        manners = self._peer.live
        frame = await self._socket.receive()
        setup: dict[str, Any] = camel(frame or {}).get("setup", {})
        config: dict[str, Any] = setup.get("generationConfig", {})
        if not setup or set(setup) - _SETUP:
            return await self._refuse(1007, "Request contains an invalid argument.")
        if self._peer.wrong_key(self._socket.request):
            return await self._refuse(1007, "API key not valid. Please pass a valid API key.")
        if setup["model"] != f"models/{self._peer.model}":
            return await self._refuse(
                1008,
                f"{setup['model']} is not found for API version v1beta, or is not supported for "
                "bidiGenerateContent. Call ListModels to see the list of available models.",
            )
        if config.get("responseModalities", ["AUDIO"]) != ["TEXT"]:
            return await self._refuse(1007, "This peer answers in text.")
        if manners.refuses_text and not manners.late:
            return await self._refuse_text()
        self._system = system_of(setup.get("systemInstruction"))
        self._fresh = list(self._system)
        self._resumes = "sessionResumption" in setup
        if handle := setup.get("sessionResumption", {}).get("handle"):
            talk = self._peer.talks.get(handle)
            if talk is None or manners.handles == "dead":
                return await self._refuse(1008, "BidiGenerateContent session not found")
            if not talk.socket.closed.is_set():
                return await self._refuse(1011, "Internal error encountered.")
            self._context = list(talk.context)
        await self._send({"setupComplete": {}})
        return True

    def _add(self, turns: Any) -> None:
        new = turns_of(turns)
        self._context += new
        self._fresh += new

    async def _answer(self) -> bool:
        """Answer what was said so far; whether the connection is still there."""
        peer, manners = self._peer, self._peer.live
        if manners.refuses_text:
            return await self._refuse_text()
        fault = peer.next_fault()
        if fault.drop == "before":
            self._socket.abort()
            return False
        if fault.status:
            return await self._refuse(fault.status, fault.body or "")
        if fault.hang in {"headers", "body"}:
            await self._socket.closed.wait()
            return False
        exchange = peer.exchange(self._system + self._context, sent=count(self._fresh), fault=fault)
        self._fresh = []
        sent = 0

        def interrupted() -> bool:
            nonlocal sent
            sent += 1
            return self._socket.pending

        self._answers += 1
        leaves = bool(manners.leaves_after) and self._answers >= manners.leaves_after
        if leaves:
            await self._send({"goAway": {"timeLeft": "50s"}})
        if self._resumes and manners.handles == "stale":
            await self._give_handle()
        elif self._resumes and manners.handles != "none":
            await self._send({"sessionResumptionUpdate": {}})
        frames = self._frames(exchange, fault)
        whole = await self._socket.stream(frames, fault, interrupted, binary=True)
        if not whole and (self._socket.closed.is_set() or not self._socket.pending):
            return False
        # What comes after the last frame interrupts nothing.
        whole = whole or sent == len(frames)
        said = exchange.text if whole else "".join(exchange.pieces[:sent])
        self._context.append({"role": "assistant", "content": said})
        if not whole:
            await self._send({"serverContent": {"interrupted": True}})
            await self._send({"serverContent": {"turnComplete": True}})
        if self._resumes and manners.handles in {"given", "dead"}:
            await self._give_handle()
        if leaves and manners.closes:
            return await self._refuse(1011, "Deadline expired before operation could complete.")
        return True

    def _frames(self, exchange: Exchange, fault: Fault) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"text": fault.reasoning, "thought": True}] if fault.reasoning else []
        parts += [{"text": piece} for piece in exchange.pieces]
        frames: list[dict[str, Any]] = [{"serverContent": {"modelTurn": {"parts": [part]}}} for part in parts]
        thought = thought_tokens(fault)
        counts = {
            "promptTokenCount": exchange.input,
            "responseTokenCount": exchange.output,
            "totalTokenCount": exchange.input + exchange.output,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": exchange.input}],
            "responseTokensDetails": [{"modality": "TEXT", "tokenCount": exchange.output}],
        } | ({"thoughtsTokenCount": thought} if thought else {})
        counts = {} if fault.no_usage else counts
        early = self._peer.live.counts_early
        if early:
            frames.append({"serverContent": {}, "usageMetadata": counts})
        end: dict[str, Any] = {"turnComplete": True}
        if fault.finish != "stop":
            end["turnCompleteReason"] = fault.finish
        frames.append({"serverContent": {"generationComplete": True}})
        frames.append({"serverContent": end, "usageMetadata": {} if early else counts})
        return frames

    async def _give_handle(self) -> None:
        handle = f"handle-{len(self._peer.talks)}"
        self._peer.talks[handle] = Kept(self._socket, list(self._context))
        await self._send({"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})
        self._peer.handed.set()

    async def _refuse_text(self) -> bool:
        code = self._peer.live.refuses_text
        reason = "Internal error encountered." if code == 1011 else "Request contains an invalid argument."
        return await self._refuse(code, reason)

    async def _refuse(self, code: int, reason: str) -> bool:
        # A reason has 123 bytes at most, and is cut there.
        await self._socket.close(code, reason[:123])
        return False

    async def _send(self, frame: Mapping[str, Any]) -> None:
        await self._socket.send(frame, binary=True)


def system_of(instruction: Mapping[str, Any] | None) -> Context:
    """The system prompt of `systemInstruction`."""
    text = "".join(part["text"] for part in (instruction or {}).get("parts", ()))
    return [{"role": "system", "content": text}] if text else []


def turns_of(contents: Sequence[Mapping[str, Any]]) -> Context:
    """The messages of `contents` or `turns`."""
    roles = {"model": "assistant", "user": "user"}
    return [
        {
            "role": roles[content.get("role", "user")],
            "content": "".join(part["text"] for part in content["parts"]),
        }
        for content in contents
    ]


def camel(value: Any) -> Any:
    """JSON with its names as they are documented: snake case is taken as well, and the SDK uses it."""
    if isinstance(value, list):
        return [camel(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    named = cast("dict[str, Any]", value)
    return {re.sub(r"_(\w)", lambda m: m[1].upper(), name): camel(each) for name, each in named.items()}
