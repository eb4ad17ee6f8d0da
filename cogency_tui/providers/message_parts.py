"""Parts of messages in the forms that several wires share: calls as objects, images as base64, and the text
of parts that a request cannot have as they are.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, cast

import msgspec

from cogency_tui.protocol.messages import CallPart, ImagePart, ResultPart
from cogency_tui.providers.surrogates import whole_text


def arguments_of(call: CallPart) -> dict[str, Any]:
    """Parse the arguments of a call. Vendors accept an object only, so other text is put into one."""
    text = whole_text(call["arguments"])
    try:
        value: object = msgspec.json.decode(text.strip() or "{}")
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"malformed": text}


def arguments_text(call: CallPart) -> str:
    """Return the arguments of a call as the model wrote them, or as JSON text of an object: the templates of
    local servers fail on anything else."""
    text = whole_text(call["arguments"])
    arguments = arguments_of(call)
    own = bool(text.strip()) and arguments != {"malformed": text}
    return text if own else json.dumps(arguments, ensure_ascii=False)


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
