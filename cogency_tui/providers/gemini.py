"""Gemini's `streamGenerateContent` wire protocol, and what it shares with Interactions and Live.

The key is sent in a header and never in an address, because addresses are shown and logged.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, Options, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    count_of,
    items,
    malformed,
    read_object,
    table,
    text_of,
)

VERSION = "v1beta"
"""Version of the API where the base URL does not name one."""

_PAGE = 1000
"""Page size of the list of models, which is larger than their number."""

_FINISHES: Mapping[str, Finish] = {
    "FINISH_REASON_UNSPECIFIED": "",
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "MODEL_ARMOR": "filter",
}
_BROKEN = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
    }
)
"""Finish reasons of an answer that broke off: the model tried to call a tool of the API, and has none."""

_STATED_VERSION = re.compile(r"/(v\d\w*)/?$")


class GeminiWire:
    """`POST /{version}/models/{model}:streamGenerateContent` with one endpoint. A version at the end of the
    base URL overrides `version`.

    `thoughts` requests summaries of the model's reasoning, for models that reason. Others refuse it with
    HTTP 400, which costs one request each time the program runs; the answer is the same without it.
    """

    label = "Gemini"

    def __init__(self, endpoint: Endpoint, *, version: str = VERSION, thoughts: bool = False) -> None:
        self._endpoint = endpoint
        self._thoughts = thoughts
        prefix = version_path(endpoint.base_url, version)
        self.path = f"{prefix}/{quote(resource_name(endpoint.model))}:streamGenerateContent?alt=sse"
        self.models_path = f"{prefix}/models?pageSize={_PAGE}"

    def headers(self) -> Mapping[str, str]:
        """Return the key in Google's own header."""
        return key_header(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request; the part that grows between requests is at its end."""
        del options
        config: dict[str, Any] = {}
        if self._thoughts and failures.THINKING not in refused:
            config["thinkingConfig"] = {"includeThoughts": True}
        body: dict[str, Any] = {"generationConfig": config} if config else {}
        return json.dumps({**body, **system_field(messages), "contents": contents(messages)}).encode()

    def reader(self) -> "GeminiWire":
        """Return this wire itself: each chunk can be read alone."""
        return self

    def read(self, name: str, data: str) -> Frame:
        """Read one chunk. Usage is cumulative: that of the last chunk counts.

        Raises:
            ProviderProtocolError: it is no chunk, or the model broke its answer off.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        chunk = read_object(self._endpoint, self.label, _unwrapped(data))
        if chunk.get("error"):
            raise failures.from_frame(self._endpoint, chunk)
        candidates = items(chunk.get("candidates"))
        if chunk.get("candidates") and not candidates:
            raise malformed(self._endpoint, self.label, data)
        candidate = table(candidates[0]) if candidates else {}
        text, reasoning = texts_of(table(candidate.get("content")))
        finish = self._finish(candidate)
        if table(chunk.get("promptFeedback")).get("blockReason") and not candidates:
            finish = "filter"
        return Frame(text, reasoning, finish, usage=_usage(table(chunk.get("usageMetadata"))))

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """Return the models that generate content, without `models/` before their names."""
        return models_in(body)

    def _finish(self, candidate: Mapping[str, Any]) -> Finish:
        reason = text_of(candidate.get("finishReason"))
        if reason in _BROKEN:
            message = self._endpoint.quote(text_of(candidate.get("finishMessage")))
            raise ProviderProtocolError(
                f"{self._endpoint.name} cut off the response: {reason}{': ' + message if message else ''}.",
                "Try again, or choose another model.",
            )
        return _FINISHES.get(reason, "other") if reason else ""


def key_header(endpoint: Endpoint) -> dict[str, str]:
    """Return the header with the key, for HTTP and for the upgrade to a WebSocket."""
    return {"x-goog-api-key": endpoint.key} if endpoint.key else {}


def stated_version(base_url: str) -> str:
    """Return the version at the end of a base URL; empty where there is none."""
    found = _STATED_VERSION.search(base_url)
    return found[1] if found else ""


def version_path(base_url: str, version: str) -> str:
    """Return the version as a path below a base URL: empty where the URL names one."""
    return "" if stated_version(base_url) else f"/{version}"


def resource_name(model: str) -> str:
    """Return the model as a resource: `models/NAME`, `tunedModels/NAME`."""
    return model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"


def system_field(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the system prompt as a field of a request; none where there is no prompt."""
    parts = [{"text": whole_text(each["content"])} for each in messages if each["role"] == "system"]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert the messages except the system prompt, user and model alternating. Empty text is left out,
    because the endpoint refuses it."""
    turns: list[dict[str, Any]] = []
    for each in messages:
        if each["role"] == "system" or not each["content"]:
            continue
        role = "model" if each["role"] == "assistant" else "user"
        part = {"text": whole_text(each["content"])}
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"].append(part)
        else:
            turns.append({"role": role, "parts": [part]})
    return turns


def texts_of(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text and the reasoning in the parts of some content."""
    parts = [table(part) for part in items(content.get("parts"))]
    text = "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))
    return text, "".join(text_of(part.get("text")) for part in parts if part.get("thought"))


def models_in(body: Mapping[str, Any]) -> list[str]:
    """Return the models of a list that generate content, sorted, without `models/` before their names."""
    found = [table(each) for each in items(body.get("models"))]
    names = {
        text_of(each.get("name")).removeprefix("models/")
        for each in found
        if "generateContent" in items(each.get("supportedGenerationMethods", ["generateContent"]))
    }
    return sorted(names - {""})


def _unwrapped(data: str) -> str:
    """Unwrap a chunk that arrives as an array of one, as some errors do."""
    if not data.lstrip().startswith("["):
        return data
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return data
    first = next(iter(items(value)), None)
    return json.dumps(first) if isinstance(first, dict) else data


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    sent = count_of(reported.get("promptTokenCount"))
    if sent is None:
        return None
    # Zero counts are left out.
    counts = ("candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount")
    written, thought, cached = (count_of(reported.get(name)) or 0 for name in counts)
    return Usage(sent, written + thought, cached)
