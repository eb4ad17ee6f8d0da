"""The levels of effort in the words of vendors."""

from collections.abc import Mapping

from cogency_tui.config.schema import EFFORTS, Effort


def substitute(efforts: Mapping[Effort, str], effort: Effort) -> str:
    """Return what a model gets instead of an effort that it is known to lack; else empty."""
    return effort_word(efforts, effort) if efforts and effort not in efforts else ""


def effort_word(efforts: Mapping[Effort, str], effort: Effort) -> str:
    """Return the vendor's word for an effort, or for the nearest lower one that the model has, else for its
    lowest. Where nothing is known about the model, the words are the same."""
    if not efforts:
        return effort
    highest = EFFORTS.index(effort)
    own = [(number, efforts[level]) for number, level in enumerate(EFFORTS) if level in efforts]
    return [word for number, word in own if number <= highest or number == own[0][0]][-1]
