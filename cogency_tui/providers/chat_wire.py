"""The Chat Completions wire format: frames in, text, reasoning, usage and the reason of the end out.

Pure: it knows no sockets. What compatible servers leave out or add is tolerated; what cannot be read
is an error that says what came instead.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.events import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint

_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADING_SURROGATES = ("\ud800", "\udbff")
_DELIMITER = re.compile(r"^[ \t]*§(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Frame:
    """What one frame brought. `finish` is the reason of the end, where it is named."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    usage: Usage | None = None


def encode_request(
    model: str, messages: Iterable[Message], stop: Sequence[str], refused: Iterable[str] = ()
) -> bytes:
    """The request's body in JSON, without the optional parameters that were `refused` before."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": each["role"], "content": whole_text(each["content"])} for each in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if stop:
        body["stop"] = list(stop)
    for param in refused:
        body.pop(param, None)
    return json.dumps(body).encode()


def decode_frame(endpoint: Endpoint, data: str) -> Frame:
    """Read one event's data.

    Raises:
        ProviderProtocolError: it is no frame of this format.
        ProviderError: it is an error that the endpoint reports in mid-stream.
    """
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise _malformed(endpoint, data) from exc
    if not isinstance(value, dict):
        raise _malformed(endpoint, data)
    frame = cast("dict[str, Any]", value)
    if frame.get("error"):
        raise failures.from_frame(endpoint, frame["error"])
    choices: object = frame.get("choices") or []
    if not isinstance(choices, list):
        raise _malformed(endpoint, data)
    choice = _table(cast("list[object]", choices)[0]) if choices else {}
    delta = _table(choice.get("delta"))
    finish = choice.get("finish_reason")
    return Frame(
        _text(delta.get("content")) or _text(delta.get("refusal")),
        _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")),
        finish if isinstance(finish, str) else "",
        _usage(_table(frame.get("usage"))),
    )


def stripped_marker(text: str, stop: Sequence[str]) -> str:
    """The stop marker that the endpoint took off the end of `text`, or nothing.

    The wire says `stop` for a marker as for a natural end. A block that is open at the end tells them
    apart: `<name>` followed by a payload without its `</name>`, or a `§call:` without a delimiter after it.
    """
    for marker in stop:
        if marker.startswith("</"):
            _, opened, inside = text.rpartition("<" + marker[2:])
            # An opening marker that is merely talked about is followed by prose or a backtick.
            if opened and marker not in inside and re.match(r"\s*(\[|$)", inside):
                return marker
        elif marker.startswith("§"):
            delimiters = _DELIMITER.findall(text)
            # A delimiter counts at a line's start only, and so does the one that is missing.
            if delimiters and delimiters[-1] == "call" and not text.rpartition("\n")[2].strip():
                return marker
    return ""


def is_cut_inside_json(text: str, marker: str) -> bool:
    """Whether the payload before a stripped `marker` breaks off in a string: the marker was content.

    A model that writes a file about this very protocol runs into its own stop marker.
    """
    payload = (
        text.rpartition("<" + marker[2:])[2] if marker.startswith("</") else text.rpartition("§call:")[2]
    )
    return _ends_in_string(payload)


def whole_text(text: str) -> str:
    """`text` with pairs of surrogates joined and lone ones replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class SurrogateJoiner:
    """Makes deltas whole text when a pair of surrogates was cut in two between them."""

    _held: str = field(default="", init=False)

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if text and _LEADING_SURROGATES[0] <= text[-1] <= _LEADING_SURROGATES[1]:
            text, self._held = text[:-1], text[-1]
        return whole_text(text)

    def close(self) -> str:
        held, self._held = self._held, ""
        return whole_text(held)


def _ends_in_string(payload: str) -> bool:
    """Whether JSON text breaks off inside a string, the only place where a marker can be content."""
    inside = False
    skip = False
    for char in payload:
        if skip:
            skip = False
        elif char == "\\":
            skip = inside
        elif char == '"':
            inside = not inside
    return inside


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """A text, or the texts of a list of content parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(_table(part).get("text")) for part in cast("list[object]", value))
    return ""


def _usage(table: dict[str, Any]) -> Usage | None:
    sent, written = table.get("prompt_tokens"), table.get("completion_tokens")
    if not (_is_count(sent) and _is_count(written)):
        return None
    cached = _table(table.get("prompt_tokens_details")).get("cached_tokens")
    return Usage(cast("int", sent), cast("int", written), cast("int", cached) if _is_count(cached) else None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _malformed(endpoint: Endpoint, data: str) -> ProviderProtocolError:
    return ProviderProtocolError(
        f"{endpoint.name} sent something that is no Chat Completions frame: {endpoint.quote(data)}",
        "Check that base_url names a Chat Completions server; try again.",
    )
