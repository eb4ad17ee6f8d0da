"""Bodies of requests as the vendor's own types of parameters have them."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from openai.types.responses import ResponseInputItemParam, ToolParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.responses_client_event_param import ResponseCreate
from pydantic import TypeAdapter

_ITEM = TypeAdapter[ResponseInputItemParam](ResponseInputItemParam)
_TOOL = TypeAdapter[ToolParam](ToolParam)
_REQUEST = TypeAdapter(ResponseCreateParamsStreaming)
_FRAME = TypeAdapter(ResponseCreate)


def check_params(body: Mapping[str, Any]) -> None:
    """See that a body, or a frame of a socket, has the vendor's fields alone, with values of their types.

    Raises:
        pydantic.ValidationError: a value is of another type.
    """
    frame = "type" in body
    kind = ResponseCreate if frame else ResponseCreateParamsStreaming
    assert body.keys() <= kind.__annotations__.keys()
    items = [_whole(item) for item in body["input"]]
    (_FRAME if frame else _REQUEST).validate_python({**body, "input": items})
    for item in items:
        _drain(_ITEM.validate_python(item))
    for tool in body.get("tools", ()):
        _drain(_TOOL.validate_python(tool))


def _whole(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add what the type of an assistant's message has, and the endpoint does not need: its id there."""
    if item.get("role") != "assistant":
        return item
    content = [part | {"annotations": []} for part in item["content"]]
    return {**item, "id": "msg_1", "status": "completed", "content": content}


def _drain(value: object) -> None:
    """Read all of a value, of which pydantic checks iterables only as they are read."""
    if isinstance(value, Mapping):
        for member in cast("Mapping[str, object]", value).values():
            _drain(member)
    elif isinstance(value, Iterator | list):
        for member in cast("Iterator[object]", value):
            _drain(member)
