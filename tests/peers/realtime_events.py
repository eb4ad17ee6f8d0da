"""What a server of the Realtime API says: its session and response objects, refusals, and the ladder of
events that makes one response, in the order that was captured from the vendor in 2026."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Frame: TypeAlias = dict[str, Any]

_PCM = {"type": "audio/pcm", "rate": 24000}

STATUSES = {
    "max_output_tokens": "incomplete",
    "content_filter": "incomplete",
    "turn_detected": "cancelled",
    "client_cancelled": "cancelled",
}
"""The status of a response that ends for a reason; without one it is completed."""


class Refusal(Exception):
    """What the vendor says instead of doing what an event asks for."""

    def __init__(self, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param

    def error(self, frame: Frame) -> Frame:
        """The error object for the client's event `frame`, whose id it names if there is one."""
        return {
            "type": "invalid_request_error",
            "code": self.code,
            "message": str(self),
            "param": self.param,
            "event_id": frame.get("event_id"),
        }


class Ladder:
    """The events of one response, made by `event`. `item` is what it adds to the conversation."""

    def __init__(
        self, event: Callable[..., Frame], response: Frame, item: Frame, previous: str | None
    ) -> None:
        self._event = event
        self._response = response
        self._item = item
        self._before = previous
        # A client that leaves the session at audio gets a transcript of speech, and no text.
        speaks = response["output_modalities"] != ["text"]
        self._stem = "output_audio_transcript" if speaks else "output_text"
        self._of_item = {"response_id": response["id"], "output_index": 0}
        self._of_part = self._of_item | {"item_id": item["id"], "content_index": 0}

    def started(self, pieces: Sequence[str]) -> list[Frame]:
        """Up to the last delta. Nothing but the first is there of an answer without text."""
        frames = [self._event("response.created", response=self._response | {"status": "in_progress"})]
        if not pieces:
            return frames
        part = {"type": "text", "text": ""}
        item = dict(self._item)
        frames += [
            self._event("response.output_item.added", **self._of_item, item=item),
            self._event("conversation.item.added", previous_item_id=self._before, item=item),
            self._event("response.content_part.added", **self._of_part, part=part),
        ]
        for piece in pieces:
            delta = {"delta": piece, "obfuscation": "A5Nj2cC0"}
            frames.append(self._event(f"response.{self._stem}.delta", **self._of_part, **delta))
        return frames

    def finished(self, text: str) -> list[Frame]:
        """From the last delta to the end of the item, which is complete by now."""
        part = {"type": "text", "text": text}
        return [
            self._event(f"response.{self._stem}.done", **self._of_part, text=text),
            self._event("response.content_part.done", **self._of_part, part=part),
            self._event("conversation.item.done", previous_item_id=self._before, item=self._item),
            self._event("response.output_item.done", **self._of_item, item=self._item),
        ]

    def done(
        self, status: str, details: Frame | None, output: list[Frame], usage: Frame | None
    ) -> list[Frame]:
        """Its end, and what is left of the rate."""
        end = {"status": status, "status_details": details, "output": output, "usage": usage}
        limits = {"name": "tokens", "limit": 15_000_000, "remaining": 14_999_716, "reset_seconds": 0.001}
        return [
            self._event("response.done", response=self._response | end),
            self._event("rate_limits.updated", rate_limits=[limits]),
        ]


def session_object(session_id: str, model: str, instructions: str, expires_at: int) -> Frame:
    """A session as it is before the client changes it."""
    listening = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 200}
    listening |= {"idle_timeout_ms": None, "create_response": True, "interrupt_response": True}
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": model,
        "output_modalities": ["audio"],
        "instructions": instructions,
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": expires_at,
        "audio": {
            "input": {
                "format": _PCM,
                "transcription": None,
                "noise_reduction": None,
                "turn_detection": listening,
            },
            "output": {"format": _PCM, "voice": "alloy", "speed": 1.0},
        },
        "include": None,
    }


def response_object(response_id: str, conversation_id: str, modalities: list[str]) -> Frame:
    """A response before anything has come of it."""
    return {
        "object": "realtime.response",
        "id": response_id,
        "status": "in_progress",
        "status_details": None,
        "output": [],
        "conversation_id": conversation_id,
        "output_modalities": modalities,
        "max_output_tokens": "inf",
        "audio": {"output": {"format": _PCM, "voice": "alloy"}},
        "usage": None,
        "metadata": None,
    }


def usage_object(sent: int, written: int, cached: int) -> Frame:
    """Tokens as they are billed; `cached` is a part of what was `sent`."""
    no_others = {"audio_tokens": 0, "image_tokens": 0}
    cached_details = {"text_tokens": cached, **no_others}
    details = {"text_tokens": sent, **no_others, "cached_tokens": cached}
    return {
        "total_tokens": sent + written,
        "input_tokens": sent,
        "output_tokens": written,
        "input_token_details": details | {"cached_tokens_details": cached_details},
        "output_token_details": {"text_tokens": written, "audio_tokens": 0},
    }
