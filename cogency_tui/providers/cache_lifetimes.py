"""Lifetimes of entries in the vendors' prompt caches: the usual one, and a longer one that costs more.

A conversation that rests longer than an entry lives has its whole context written again, at 1.25 times the
price of input. An entry with the longer lifetime is read instead, at a tenth of that price or less; to write
it costs 2 (Anthropic) or 2.5 times (OpenAI) the price of input, for what is new alone. So it pays where such
pauses recur, unless they are longer than even that entry lives.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Lifetimes(NamedTuple):
    """The usual lifetime of an entry since its last use, and the longer one, in seconds; `longer_name` is the
    vendor's word for that."""

    usual: float
    longer: float
    longer_name: str


ANTHROPIC = Lifetimes(300.0, 3600.0, "1h")
OPENAI = Lifetimes(1800.0, 43_200.0, "12h")


def lifetime_for(pauses: Sequence[float], lifetimes: Lifetimes) -> str:
    """Return the vendor's word for the longer lifetime if an entry that has it would have outlived one of the
    pauses, and one of the usual lifetime would not; else empty."""
    outlived = any(lifetimes.usual < pause <= lifetimes.longer for pause in pauses)
    return lifetimes.longer_name if outlived else ""
