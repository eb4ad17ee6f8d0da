"""What is said over a socket of the Realtime API: the client's events, and the reading of the server's.

Pure: no sockets. Text alone is asked for, and events of audio are passed over.
"""

import json
from collections.abc import Mapping
from typing import Any

from cogency_tui.errors import ProviderError, SessionLostError, SessionRefusedError
from cogency_tui.protocol.events import Message
from cogency_tui.providers import failures
from cogency_tui.providers.deltas import SurrogateJoiner, whole_text
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire import Finish, malformed, table, text_of

LABEL = "Realtime"

_HARMLESS = frozenset({"response_cancel_not_active", "item_delete_invalid_item_id"})
"""Errors of a cancel that came too late and of an item that was never kept: it is as we want it."""

_NO_SESSIONS = frozenset({"invalid_model", "missing_model", "beta_api_shape_disabled"})

_FINISHES: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}


def settings(instructions: str) -> dict[str, Any]:
    """Text alone, no listening, and nothing of the context dropped without a word. The instructions are
    given even where they are empty, because the endpoint has some of its own."""
    session = {
        "type": "realtime",
        "output_modalities": ["text"],
        "instructions": whole_text(instructions),
        "audio": {"input": {"turn_detection": None}},
        "truncation": "disabled",
    }
    return {"type": "session.update", "session": session}


def new_item(message: Message) -> dict[str, Any]:
    """A message that is appended to the conversation."""
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    content = [{"type": kind, "text": whole_text(message["content"])}]
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": message["role"], "content": content},
    }


def event_type(endpoint: Endpoint, frame: dict[str, Any]) -> str:
    """The type of an event of the server, unless it is an error that matters.

    Raises:
        ProviderProtocolError: it has none.
        ProviderError: the error that it reports.
    """
    kind = text_of(frame.get("type"))
    if not kind:
        raise malformed(endpoint, LABEL, json.dumps(frame))
    if kind == "error" and text_of(table(frame.get("error")).get("code")) not in _HARMLESS:
        raise _reported(endpoint, frame)
    return kind


def _reported(endpoint: Endpoint, frame: dict[str, Any]) -> ProviderError:
    error = table(frame.get("error"))
    code, words = text_of(error.get("code")), endpoint.quote(text_of(error.get("message")))
    if code == "session_expired":
        return SessionLostError(
            f"{endpoint.name} ended the session: {words}", "What came before it is kept; try again."
        )
    if code in _NO_SESSIONS:
        return SessionRefusedError(
            f"{endpoint.name} has no {LABEL} session for {endpoint.model}: {words}",
            "Use replay mode, or choose another model.",
        )
    return failures.from_frame(endpoint, frame)


class Answer:
    """What has come of one response. `items` are the ids of what it added to the conversation, `response`
    is what the endpoint says of it at its end; it is `cut` when it was not wanted to its end. `kept` are
    the tokens of it that stay in the context."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.items: list[str] = []
        self.texts: list[str] = []
        self.response: dict[str, Any] = {}
        self.ended = False
        self.cut = False
        self.kept = 0
        self._endpoint = endpoint
        self._joiner = SurrogateJoiner()

    def read(self, kind: str, frame: dict[str, Any]) -> str:
        """Read one event; the text that it brought.

        Raises:
            ProviderProtocolError: it is not what its type says.
        """
        match kind, frame:
            case "response.output_text.delta", {"delta": str(delta)}:
                return self._add(self._joiner.feed(delta))
            case "response.output_item.added", {"item": {"id": str(item)}}:
                self.items.append(item)
            case "response.done", {"response": dict()}:
                self.response = table(frame["response"])
                self.ended = True
            case "response.output_text.delta" | "response.output_item.added" | "response.done", _:
                raise malformed(self._endpoint, LABEL, json.dumps(frame))
            case _:
                pass
        return ""

    def close(self) -> str:
        """The rest of the text."""
        return self._add(self._joiner.close())

    def finish(self) -> Finish:
        """Why it ended.

        Raises:
            ProviderError: it failed, or the endpoint cancelled it.
        """
        status = text_of(self.response.get("status"))
        details = table(self.response.get("status_details"))
        if status == "failed":
            raise failures.from_frame(self._endpoint, details)
        if status == "cancelled":
            raise SessionLostError(
                f"{self._endpoint.name} cancelled the answer.", "What came before it is kept; try again."
            )
        if status == "incomplete":
            return _FINISHES.get(text_of(details.get("reason")), "other")
        return "stop"

    def _add(self, text: str) -> str:
        if text:
            self.texts.append(text)
        return text
