"""The levels of effort in the words of vendors."""

from collections.abc import Mapping

from cogency_tui.config.schema import EFFORTS, Effort, EffortChoice
from cogency_tui.providers.models import ModelFacts
from cogency_tui.safe_text import one_line


def substitute(efforts: Mapping[Effort, str], effort: Effort) -> str:
    """Return what a model gets instead of an effort that it is known to lack; else empty."""
    return effort_word(efforts, effort) if efforts and effort not in efforts else ""


def describe_effort(effort: EffortChoice, instead: str, *, refused: bool) -> str:
    """Return an effort with what the model gets `instead`; if it is `refused`, that is its own default."""
    if refused:
        return f"{effort} (refused)"
    return f"{effort} → {one_line(instead)}" if instead else effort


def can_skip_reasoning(facts: ModelFacts) -> bool:
    """Return whether it is known how a model is asked for the least reasoning."""
    return bool(facts.efforts or facts.reasoning_switch)


def effort_word(efforts: Mapping[Effort, str], effort: Effort) -> str:
    """Return the vendor's word for an effort, or for the nearest lower one that the model has, else for its
    lowest. Where nothing is known about the model, the words are the same."""
    if not efforts:
        return effort
    highest = EFFORTS.index(effort)
    own = [(number, efforts[level]) for number, level in enumerate(EFFORTS) if level in efforts]
    return [word for number, word in own if number <= highest or number == own[0][0]][-1]
