"""The Chat Completions wire protocol, for OpenAI and every server that is compatible with it.

Deviations of compatible servers are tolerated: comments, a missing `[DONE]`, usage on the finish chunk,
`reasoning` or `reasoning_content`, content parts as a list.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, Options, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    bearer,
    count_of,
    items,
    malformed,
    names_in,
    read_object,
    table,
    text_of,
)

_FINISHES: Mapping[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "filter"}


class ChatWire:
    """`POST /chat/completions` with one endpoint."""

    label = "Chat Completions"
    path = "/chat/completions"
    models_path = "/models"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def headers(self) -> Mapping[str, str]:
        """Return the key as a bearer token."""
        return bearer(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request; it requests the usage, which is not sent otherwise."""
        del options
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": each["role"], "content": whole_text(each["content"])} for each in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        for param in refused:
            body.pop(param, None)
        return json.dumps(body).encode()

    def reader(self) -> "ChatWire":
        """Return this wire itself: each event can be read alone."""
        return self

    def read(self, name: str, data: str) -> Frame:
        """Read one chunk.

        Raises:
            ProviderProtocolError: it is no chunk.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True)
        chunk = read_object(self._endpoint, self.label, data)
        if chunk.get("error"):
            raise failures.from_frame(self._endpoint, chunk["error"])
        choices = items(chunk.get("choices"))
        if chunk.get("choices") and not choices:
            raise malformed(self._endpoint, self.label, data)
        choice = table(choices[0]) if choices else {}
        delta = table(choice.get("delta"))
        finish = text_of(choice.get("finish_reason"))
        return Frame(
            _text(delta.get("content")) or _text(delta.get("refusal")),
            _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")),
            _FINISHES.get(finish, "other") if finish else "",
            usage=_usage(table(chunk.get("usage"))),
        )

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """Return the ids in `data`."""
        return names_in(body.get("data"))


def _text(value: object) -> str:
    """Return a text, or the texts of a list of content parts."""
    return text_of(value) or "".join(_text(table(part).get("text")) for part in items(value))


def _usage(reported: dict[str, Any]) -> Usage | None:
    sent, written = count_of(reported.get("prompt_tokens")), count_of(reported.get("completion_tokens"))
    if sent is None or written is None:
        return None
    return Usage(sent, written, count_of(table(reported.get("prompt_tokens_details")).get("cached_tokens")))
