"""Gemini's `streamGenerateContent` wire protocol, and what it shares with Interactions and Live.

The key is sent in a header and never in an address, because addresses are shown and logged.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, CallDelta, Options, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_content import (
    arguments_text,
    contents,
    system_field,
    tool_name,
    tools_field,
    without_ids,
)
from cogency_tui.providers.gemini_thinking import checks_signatures, thinking_config
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.refused_parameters import CALL_IDS, RETURNED_REASONING
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

LABEL = "Gemini"

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
_UNREADABLE = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
"""Finish reasons of an answer that broke off with a call that the endpoint could not read, or whose tool it
does not know."""

_BROKEN = _UNREADABLE | {"MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"}
"""Finish reasons of an answer that broke off."""

_TRIED = re.compile(r"\bdefault_api[.:]([\w-]+)|\bcall:(?!default_api\b)([\w-]+)")
"""Name of the tool in the vendor's report of a call that it could not read."""

_STATED_VERSION = re.compile(r"/(v\d\w*)/?$")


class GeminiWire:
    """`POST /{version}/models/{model}:streamGenerateContent` with one endpoint. A version at the end of the
    base URL overrides `version`.

    Summaries of the model's reasoning are requested from models that reason. Others refuse that with HTTP
    400, which costs one request each time the program runs; the answer is the same without it.
    """

    label = LABEL

    def __init__(
        self, endpoint: Endpoint, facts: ModelFacts | None = None, *, version: str = VERSION
    ) -> None:
        self._endpoint = endpoint
        self._facts = facts or ModelFacts()
        prefix = version_path(endpoint.base_url, version)
        self.path = f"{prefix}/{quote(resource_name(endpoint.model))}:streamGenerateContent?alt=sse"
        self.models_path = f"{prefix}/models?pageSize={_PAGE}"

    def headers(self) -> Mapping[str, str]:
        """Return the key in Google's own header."""
        return key_header(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request; the part that grows between requests is at its end."""
        refused = set(refused)
        body = {
            **self._settings(refused, options),
            **system_field(messages),
            **tools_field(options.tools),
            "contents": self._contents(messages, refused, options),
        }
        return json.dumps(body).encode()

    def reader(self, options: Options = PLAIN) -> "GeminiReader":
        """Create a reader for the answer to a request with these `options`."""
        return GeminiReader(self._endpoint, has_tools=bool(options.tools))

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models that generate content, without `models/` before their names."""
        return models_in(body)

    def _contents(
        self, messages: Sequence[Message], refused: Collection[str], options: Options
    ) -> list[dict[str, Any]]:
        checked = checks_signatures(self._endpoint.model)
        turns = contents(messages, options, signs=RETURNED_REASONING not in refused, checked=checked)
        # Later models refuse to continue an answer: they answer the user's turn before it again.
        while len(turns) > 1 and turns[-1]["role"] == "model":
            turns.pop()
        return without_ids(turns) if CALL_IDS in refused else turns

    def _settings(self, refused: Collection[str], options: Options) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        if thinking := thinking_config(self._endpoint.model, self._facts, options.effort, refused):
            settings["generationConfig"] = {"thinkingConfig": thinking}
        if options.tier:
            settings["serviceTier"] = options.tier
        return settings


class GeminiReader:
    """Reads the chunks of one answer. If its request has tools, a call that the endpoint could not read
    goes to the model, to be corrected."""

    def __init__(self, endpoint: Endpoint, *, has_tools: bool) -> None:
        self._endpoint = endpoint
        self._has_tools = has_tools
        self._calls = 0

    def read(self, name: str, data: str) -> Frame:
        """Read one chunk. Usage is cumulative: that of the last chunk counts.

        Raises:
            ProviderProtocolError: it is no chunk, or the model broke its answer off.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        chunk = read_object(self._endpoint, LABEL, _unwrapped(data))
        if chunk.get("error"):
            raise failures.from_frame(self._endpoint, chunk)
        candidates = items(chunk.get("candidates"))
        if chunk.get("candidates") and not candidates:
            raise malformed(self._endpoint, LABEL, data)
        candidate = table(candidates[0]) if candidates else {}
        content = table(candidate.get("content"))
        text, reasoning = texts_of(content)
        native = self._native(content)
        reason = text_of(candidate.get("finishReason"))
        if reason in _BROKEN:
            native.append(self._broken_call(reason, candidate))
        finish = _FINISHES.get(reason, "other") if reason else ""
        if table(chunk.get("promptFeedback")).get("blockReason") and not candidates:
            finish = "filter"
        return Frame(text, reasoning, finish, usage=_usage(chunk), native=native)

    def _native(self, content: Mapping[str, Any]) -> list[CallDelta | ReasoningItem]:
        parts = [table(part) for part in items(content.get("parts"))]
        return [piece for part in parts for piece in (*_signature(part), *self._call(part))]

    def _call(self, part: Mapping[str, Any]) -> list[CallDelta]:
        call = table(part.get("functionCall"))
        name = tool_name(call.get("name"))
        if not name:
            return []
        arguments = arguments_text(table(call.get("args")))
        return [self._next_call(text_of(call.get("id")), name, arguments)]

    def _next_call(self, identifier: str, name: str, arguments: str) -> CallDelta:
        index, self._calls = self._calls, self._calls + 1
        return CallDelta(index, identifier, name, arguments, complete=True)

    def _broken_call(self, reason: str, candidate: Mapping[str, Any]) -> CallDelta:
        """Return the call that the endpoint could not read, as far as it reports it: its name and, instead of
        arguments, the text."""
        written = text_of(candidate.get("finishMessage"))
        if self._has_tools and reason in _UNREADABLE:
            named = _TRIED.search(written)
            return self._next_call("", named[1] or named[2] if named else "", written)
        message = self._endpoint.quote(written)
        raise ProviderProtocolError(
            f"{self._endpoint.name} cut off the response: {reason}{': ' + message if message else ''}.",
            "Try again, or choose another model.",
        )


def _signature(part: Mapping[str, Any]) -> list[ReasoningItem]:
    signature = text_of(part.get("thoughtSignature"))
    if not signature:
        return []
    item: dict[str, Any] = {"thoughtSignature": signature}
    text = whole_text(text_of(part.get("text")))
    if part.get("functionCall"):
        return [ReasoningItem(item | {"of": "call"})]
    if part.get("thought"):
        return [ReasoningItem(item | {"of": "thought", "text": text})]
    return [ReasoningItem(item | {"of": "text", "length": len(text)})]


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


def texts_of(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text and the reasoning in the parts of some content."""
    parts = [table(part) for part in items(content.get("parts"))]
    text = "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))
    return text, "".join(text_of(part.get("text")) for part in parts if part.get("thought"))


def models_in(body: Mapping[str, Any]) -> list[ListedModel]:
    """Return the models of a list that generate content, sorted, without `models/` before their names."""
    found = [table(each) for each in items(body.get("models"))]
    names = {
        text_of(each.get("name")).removeprefix("models/")
        for each in found
        if "generateContent" in items(each.get("supportedGenerationMethods", ["generateContent"]))
    }
    return [ListedModel(name) for name in sorted(names - {""})]


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


def _usage(chunk: Mapping[str, Any]) -> Usage | None:
    reported = table(chunk.get("usageMetadata"))
    sent = count_of(reported.get("promptTokenCount"))
    if sent is None:
        return None
    # Zero counts are left out.
    counts = ("candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount")
    written, thought, cached = (count_of(reported.get(name)) or 0 for name in counts)
    model, tier = text_of(chunk.get("modelVersion")), text_of(reported.get("serviceTier"))
    return Usage(sent, written + thought, cached, model=model, tier=tier)
