"""What a model of `GeminiPeer` does in an answer beside plain text: signed text, native calls, a pause.

Each surface gives it its own form. A signature is on one part only, and has to come back there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

UNCHECKED = "skip_thought_signature_validator"
"""The vendor's own signature for calls of other models."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text; its signature comes on its last piece, or `late`, on an empty part."""

    text: str
    signature: str = ""
    late: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A native call. With Interactions, its signature is that of a thought before it, or its `own`."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""
    signature: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """The end of an answer whose call could not be read."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pause:
    """The limit of one request: Interactions go on with a token."""


Act: TypeAlias = Said | Call | Broken | Pause
Acts: TypeAlias = Sequence[Act]


def text_of(acts: Iterable[Act]) -> str:
    """The text in some acts."""
    return "".join(act.text for act in acts if isinstance(act, Said))


def calls_of(acts: Iterable[Act]) -> list[Call]:
    """The calls in some acts."""
    return [act for act in acts if isinstance(act, Call)]


def cut(text: str, length: int) -> list[str]:
    """The text in pieces of this length."""
    return [text[at : at + length] for at in range(0, len(text), length)]
