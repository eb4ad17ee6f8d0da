"""How hard Gemini's models think: their levels, and the budgets of those before Gemini 3."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from cogency_tui.config.schema import Effort
from cogency_tui.providers.efforts import effort_word
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.refused_parameters import EFFORT, THINKING

_BUDGETED = re.compile(r"gemini-2\.5")
_UNCHECKED = re.compile(r"gemini-[12][.-]")

_BUDGETS: Mapping[Effort, int] = {"none": 0, "low": 1024, "medium": 8192, "high": 24_576, "max": 24_576}
"""Tokens of thinking that the vendor takes for the levels of its later models."""

_LEAST_OF_PRO = 128
"""Least budget of gemini-2.5-pro, which always thinks."""


def thinking_config(
    model: str, facts: ModelFacts, effort: Effort | None, refused: Collection[str]
) -> dict[str, Any]:
    """Return `thinkingConfig` for a request, with summaries where the model reasons."""
    if THINKING in refused:
        return {}
    config: dict[str, Any] = {}
    if effort is not None and EFFORT not in refused:
        config |= _effort(model, facts, effort)
    if facts.reasoning and config.get("thinkingBudget") != 0:
        config["includeThoughts"] = True
    return config


def generation_config(facts: ModelFacts, effort: Effort | None, refused: Collection[str]) -> dict[str, Any]:
    """Return what `generation_config` of an interaction has of thinking, as `thinking_config`."""
    if THINKING in refused:
        return {}
    config: dict[str, Any] = {}
    if effort is not None and EFFORT not in refused:
        config["thinking_level"] = _level(facts, effort)
    if facts.reasoning:
        config["thinking_summaries"] = "auto"
    return config


def checks_signatures(model: str) -> bool:
    """Return whether a model refuses calls whose step has no signature: those of Gemini 3 and later do."""
    name = model.rpartition("/")[2]
    return name.startswith("gemini-") and _UNCHECKED.match(name) is None


def _effort(model: str, facts: ModelFacts, effort: Effort) -> dict[str, Any]:
    if not _BUDGETED.search(model):
        return {"thinkingLevel": _level(facts, effort)}
    least = _LEAST_OF_PRO if "-pro" in model else 0
    return {"thinkingBudget": max(least, _BUDGETS[effort])}


def _level(facts: ModelFacts, effort: Effort) -> str:
    """Return the vendor's word for an effort. Of an unknown model, the least and the greatest are those that
    most models have."""
    words = {"none": "minimal", "max": "high"}
    return effort_word(facts.efforts, effort) if facts.efforts else words.get(effort, effort)
