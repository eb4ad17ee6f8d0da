"""Parts of messages in the forms that several wires share: calls as objects, images as base64, and the text
of parts that a request cannot have as they are.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, cast

import msgspec

from cogency_tui.protocol.json_object import JsonError, JsonObjectReader
from cogency_tui.protocol.messages import MALFORMED, CallPart, ImagePart, ResultPart
from cogency_tui.providers.surrogates import whole_text


def arguments_of(call: CallPart) -> dict[str, Any]:
    """Parse the arguments of a call, with the allowance for white space under which it ran. Vendors accept an
    object only, so other text is put into one."""
    text = whole_text(call["arguments"])
    found = _strict_object(text)
    if found is None:
        found = _lenient_object(text)
    return {MALFORMED: text} if found is None else found


def arguments_text(call: CallPart) -> str:
    """Return the arguments of a call as the model wrote them, or as JSON text of an object: the templates of
    local servers fail on anything else."""
    text = whole_text(call["arguments"])
    own = bool(text.strip()) and _strict_object(text) is not None
    return text if own else json.dumps(arguments_of(call), ensure_ascii=False)


def _strict_object(text: str) -> dict[str, Any] | None:
    try:
        value: object = msgspec.json.decode(text.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _lenient_object(text: str) -> dict[str, Any] | None:
    reader = JsonObjectReader("")
    try:
        stop = reader.feed(text, 0)
    except JsonError:
        return None
    # Encoded once more it must be strict: a lone surrogate is not.
    return _strict_object(json.dumps(reader.value)) if reader.done and not text[stop:].strip() else None


def image_data(image: ImagePart, read: Callable[[str], bytes]) -> str:
    """Return the content of an image in base64."""
    return base64.b64encode(read(image["digest"])).decode("ascii")


def image_url(image: ImagePart, read: Callable[[str], bytes]) -> str:
    """Return the content of an image as a `data:` URL."""
    return f"data:{image['media_type']};base64,{image_data(image, read)}"


def call_as_text(call: CallPart) -> str:
    """Return a call as text."""
    return f"[call of {call['name']}: {whole_text(call['arguments']) or '{}'}]"


def result_as_text(result: ResultPart) -> str:
    """Return a result as text."""
    failed = ", failed" if result["error"] else ""
    return f"[result of {result['name']}{failed}]\n{whole_text(result['text'])}"
