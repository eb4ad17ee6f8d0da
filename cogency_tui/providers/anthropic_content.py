"""The content of Anthropic's messages: a history as alternating turns of blocks.

The vendor's cache works on prefixes of blocks. So each message becomes blocks that never change after they
were sent: the blocks of a longer history begin with those of a shorter one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from cogency_tui.protocol.messages import (
    CallPart,
    ImagePart,
    Message,
    Part,
    ResultPart,
    image_text,
    nested_parts_of,
)
from cogency_tui.providers.base import Options
from cogency_tui.providers.message_parts import (
    arguments_of,
    call_as_text,
    image_data,
    result_as_text,
)
from cogency_tui.providers.surrogates import whole_text

Block: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["user", "assistant"]

THINKING_BLOCKS = ("thinking", "redacted_thinking")

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Media types that the vendor takes."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive messages of one side."""

    role: Role
    blocks: list[Block]

    @property
    def calls(self) -> set[str]:
        """The ids of its calls."""
        return {block["id"] for block in self.blocks if block["type"] == "tool_use"}


def text_block(text: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": text}


@dataclass(slots=True)
class Arrangement:
    """Arranges messages as the vendor requires: alternating turns, the user's first and last, each result
    after its call, no text of white space only, no thinking at the end.

    Without `tools`, the vendor accepts neither calls nor results: they become text. `thinks` is False where
    it refused thinking that was returned to it. A `continued` thread has the calls of its results already.
    """

    options: Options
    thinks: bool = True
    continued: bool = False
    system: list[Block] = field(default_factory=list[Block])
    turns: list[Turn] = field(default_factory=list[Turn])

    def arrange(self, messages: Iterable[Message]) -> None:
        """Arrange `messages`, without an assistant's turn at the end. The vendor no longer accepts one, which
        was to be continued: the model answers the user's turn before it again."""
        for message in messages:
            self._add(message)
        if self.turns and self.turns[-1].role == "assistant":
            self.turns.pop()

    def _add(self, message: Message) -> None:
        role, blocks = message["role"], self._blocks(message)
        if not blocks:
            return
        if role == "system":
            _extend(self.system, blocks)
        elif self.turns and self.turns[-1].role == role:
            _extend(self.turns[-1].blocks, blocks)
        elif self.turns or role == "user":
            self.turns.append(Turn(role, blocks))

    def _blocks(self, message: Message) -> list[Block]:
        parts = [each for part in nested_parts_of(message) for each in self._nested(part)]
        # The results of a message come first.
        parts.sort(key=lambda part: part["type"] != "result")
        blocks = (self._block(part, message["role"]) for part in parts)
        return _ended([block for block in blocks if block])

    def _nested(self, part: Part) -> list[Part]:
        """Return a part, and its images as parts of their own where the vendor does not take them in it: a
        failed result is text."""
        if part["type"] != "result" or "images" not in part:
            return [part]
        if self._is_open(part["id"]) and not part["error"]:
            return [part]
        alone: ResultPart = {**part, "images": []}
        return [alone, *part["images"]]

    def _block(self, part: Part, role: str) -> Block | None:
        if part["type"] == "text":
            text = whole_text(part["text"])
            return text_block(text) if text.strip() else None
        if part["type"] == "reasoning":
            return part["item"] if self.thinks else None
        if part["type"] == "call":
            return _call(part) if self.options.tools else text_block(call_as_text(part))
        if part["type"] == "result":
            return self._result(part) if self._is_open(part["id"]) else text_block(result_as_text(part))
        return self._image(part, role)

    def _result(self, result: ResultPart) -> Block:
        block: Block = {"type": "tool_result", "tool_use_id": result["id"]}
        text, images = whole_text(result["text"]), result.get("images", ())
        if images:
            written = [text_block(text)] if text.strip() else []
            block["content"] = [*written, *(self._image(image, "user") for image in images)]
        elif text:
            block["content"] = text
        if result["error"]:
            block["is_error"] = True
        return block

    def _is_open(self, call: str) -> bool:
        """Return whether the vendor expects the result of this call."""
        if not self.options.tools:
            return False
        before = [turn for turn in self.turns[-2:] if turn.role == "assistant"]
        return self.continued or (bool(before) and call in before[-1].calls)

    def _image(self, image: ImagePart, role: str) -> Block:
        read, kind = self.options.read_image, image["media_type"]
        if read is None or role != "user" or kind not in _IMAGES:
            return text_block(image_text(image))
        data = image_data(image, read)
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _extend(blocks: list[Block], more: Iterable[Block]) -> None:
    """Append the blocks of another message. Its text begins with the blank line after the text before, so
    that no text changes when one more follows."""
    first, *others = more
    if blocks and first["type"] == blocks[-1]["type"] == "text":
        first = first | {"text": f"\n\n{first['text']}"}
    blocks += [first, *others]


def _ended(blocks: Sequence[Block]) -> list[Block]:
    """Drop thinking at the end: it belongs to an answer that was interrupted."""
    last = next((at for at in reversed(range(len(blocks))) if blocks[at]["type"] not in THINKING_BLOCKS), -1)
    return list(blocks[: last + 1])


def _call(call: CallPart) -> Block:
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": call["name"],
        "input": arguments_of(call),
    }


def mark(block: Block, lifetime: str = "") -> None:
    """Mark a block for the vendor's cache, which is written and read at marks only: of a request at four at
    most, and all with the same `lifetime`, its word for one that is longer than usual. A mark is no part of
    what it compares."""
    block["cache_control"] = {"type": "ephemeral"} | ({"ttl": lifetime} if lifetime else {})
