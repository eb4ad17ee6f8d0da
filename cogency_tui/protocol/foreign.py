"""Stub until the helper's module is merged."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cogency_tui.config import Dialect
from cogency_tui.protocol.events import RespondEvent, ThinkEvent


@dataclass(frozen=True, slots=True)
class Slip:
    problem: str
    cure: str


def find_slip(
    units: Sequence[ThinkEvent | RespondEvent], dialect: Dialect, tools: Collection[str] = ()
) -> Slip | None:
    return None
