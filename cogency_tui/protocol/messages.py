"""The messages of a request, as every provider understands them.

A message is text; one of the native dialect, or one with reasoning or images, has parts as well. Then its
`content` is the text of all parts, by which it is shown, counted and compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict


class TextPart(TypedDict):
    """Text of the user's, the engine's or the model's."""

    type: Literal["text"]
    text: str


class ReasoningPart(TypedDict):
    """An opaque item of the model's reasoning, as its provider sent it: returned to the same model verbatim,
    and never shown.
    """

    type: Literal["reasoning"]
    item: dict[str, Any]


MALFORMED = "malformed"
"""The only key of the object in which a request has arguments that are none."""


class CallPart(TypedDict):
    """A native tool call. `arguments` are JSON text as the model wrote it, which may be malformed."""

    type: Literal["call"]
    id: str
    name: str
    arguments: str


class ImagePart(TypedDict):
    """An image, by the digest of its content in the store; `width` and `height` are in pixels, `size` is in
    bytes. `name` is the user's.
    """

    type: Literal["image"]
    digest: str
    media_type: str
    width: int
    height: int
    size: int
    name: NotRequired[str]


class ResultPart(TypedDict):
    """The result of the native call with this id, with the images that belong to it."""

    type: Literal["result"]
    id: str
    name: str
    text: str
    error: bool
    images: NotRequired[list[ImagePart]]


Part: TypeAlias = TextPart | ReasoningPart | CallPart | ResultPart | ImagePart


class Message(TypedDict):
    """A message to a model."""

    role: Literal["system", "user", "assistant"]
    content: str
    parts: NotRequired[list[Part]]


def images_in(messages: Iterable[Message]) -> Iterator[ImagePart]:
    """Yield the images of messages."""
    for message in messages:
        if "parts" in message:
            yield from (part for part in parts_of(message) if part["type"] == "image")


def image_text(image: ImagePart, reason: str = "") -> str:
    """Describe an image that is not sent, with the reason."""
    name = image.get("name") or image["media_type"]
    return f"[image {name} {image['width']}×{image['height']}{f': {reason}' if reason else ''}]"


def parts_of(message: Message) -> Sequence[Part]:
    """Return the parts of a message, which is one of text where it has none. The images of results follow as
    parts of their own, for wires whose results are text."""
    parts = nested_parts_of(message)
    images = [image for part in parts if part["type"] == "result" for image in part.get("images", ())]
    return [*parts, *images] if images else parts


def nested_parts_of(message: Message) -> Sequence[Part]:
    """Return the parts of a message as `parts_of`, but the images of results within these."""
    return message.get("parts") or [{"type": "text", "text": message["content"]}]


class ToolSpec(TypedDict):
    """A tool that a model may call natively; `parameters` are the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: dict[str, Any]


Place: TypeAlias = Literal["before", "after", "id"]


class AnswerItem(NamedTuple):
    """What a provider delivered beside the text and calls of an answer, for the same model alone.

    It is an opaque item of reasoning `before` or `after` the event with the id `unit`, or the provider's own
    `id` of that call: `{"id": …}`.
    """

    unit: str
    place: Place
    item: dict[str, Any]


class AnswerItems:
    """The items of a conversation's answers, by the ids of their events."""

    def __init__(self, items: Iterable[AnswerItem] = ()) -> None:
        self._items: dict[tuple[str, Place], list[dict[str, Any]]] = {}
        self.add(items)

    def add(self, items: Iterable[AnswerItem]) -> None:
        """Add items, in order."""
        for unit, place, item in items:
            self._items.setdefault((unit, place), []).append(item)

    def reasoning(self, unit: str, place: Literal["before", "after"]) -> list[ReasoningPart]:
        """Return the reasoning at an event."""
        return [{"type": "reasoning", "item": item} for item in self._items.get((unit, place), ())]

    def has_reasoning(self, unit: str) -> bool:
        """Return whether there is reasoning at an event."""
        return (unit, "before") in self._items or (unit, "after") in self._items

    def call_id(self, unit: str) -> str:
        """Return the id of a call in a request: the provider's own, else ours."""
        return next((str(item["id"]) for item in self._items.get((unit, "id"), ())), unit)


NO_ITEMS = AnswerItems()
