"""The thinking of Anthropic's models, and its effort: what a request asks of each generation of them.

Models before 4.6 think within a budget of tokens. Later ones decide themselves how much (adaptive thinking),
by the effort of the request, and their thinking is summarized only on request. Other servers of this wire
know the budget alone, and most of them ignore its size.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cogency_tui.config.schema import Effort
from cogency_tui.providers.efforts import effort_word
from cogency_tui.providers.models import ModelFacts

_BUDGETED = re.compile(r"claude-(?:3|[a-z]+-4(?!-[6-9](?!\d)))")
_STEADY = re.compile(r"claude-(?:fable|mythos|opus-5-5)")
"""Models that always think: they refuse to be asked for none."""

_BETWEEN_TOOLS = re.compile(r"claude-sonnet-5-5")
"""Models whose least thinking is notes between tool calls."""

_BOUND = re.compile(r"claude-(?:(?:fable|mythos)-5-\d(?!\d)|(?:opus|sonnet|haiku)-5-5)")
"""Models whose thinking is signed together with all that came before it."""

_BUDGETS: Mapping[Effort, int] = {"low": 4096, "medium": 12_288, "high": 24_576, "max": 49_152}
_LEAST_BUDGET = 1024

_INTERLEAVED = "interleaved-thinking-2025-05-14"
_BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True)
class Thinking:
    """The thinking of one model, whose answers have at most `max_output` tokens. `own` marks the vendor's own
    endpoint, whose features in beta other servers may refuse."""

    model: str
    facts: ModelFacts
    max_output: int
    own: bool = False

    @property
    def betas(self) -> list[str]:
        """The vendor's names of the features in beta that are used."""
        if not (self.own and self.facts.reasoning):
            return []
        if _BOUND.search(self.model):
            return [_BINDING_CONTROLS]
        # Without it, these models think before the first call of a turn alone.
        return [_INTERLEAVED] if self._is_budgeted else []

    def fields(self, effort: Effort | None) -> dict[str, Any]:
        """Return the fields of a request with this effort; None leaves the effort to the model."""
        if effort == "none":
            return self._least()
        config = self._effort(effort) if effort else {}
        return {"thinking": self._thinking(effort)} | config if self.facts.reasoning else config

    def _thinking(self, effort: Effort | None) -> dict[str, Any]:
        if "claude" not in self.model or self._is_budgeted:
            budget = min(_BUDGETS[effort or "medium"], self.max_output // 2)
            return {"type": "enabled", "budget_tokens": max(_LEAST_BUDGET, budget)}
        thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
        if _BINDING_CONTROLS in self.betas:
            # Otherwise thinking is an error once what comes before it has changed: the system prompt, a tool.
            thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        return thinking

    def _effort(self, effort: Effort) -> dict[str, Any]:
        if self._is_budgeted and not self.facts.efforts:
            return {}
        return {"output_config": {"effort": effort_word(self.facts.efforts, effort)}}

    def _least(self) -> dict[str, Any]:
        if _STEADY.search(self.model):
            return self._effort("low")
        return {"thinking": {"type": "between_tools" if _BETWEEN_TOOLS.search(self.model) else "disabled"}}

    @property
    def _is_budgeted(self) -> bool:
        return _BUDGETED.search(self.model) is not None
