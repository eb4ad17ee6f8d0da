"""The settings of thinking and effort for each generation of Anthropic's models."""

from typing import Any

from cogency_tui.config.schema import Effort
from cogency_tui.providers.anthropic_thinking import Thinking, effort_word
from cogency_tui.providers.models import ModelFacts
from tests.cases import cases

EFFORTS: dict[Effort, str] = {"low": "low", "medium": "medium", "high": "high", "max": "max"}
REASONS = ModelFacts(reasoning=True, efforts=EFFORTS)
BUDGET_ONLY = ModelFacts(reasoning=True)
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
OFF = {"thinking": {"type": "disabled"}}


def budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens}


def effort(word: str) -> dict[str, Any]:
    return {"output_config": {"effort": word}}


@cases(
    ("model", "facts", "level", "fields"),
    [
        ("claude-sonnet-5", REASONS, None, {"thinking": ADAPTIVE}),
        ("claude-opus-4-6", REASONS, "high", {"thinking": ADAPTIVE} | effort("high")),
        ("claude-opus-4-8-20260101", REASONS, "max", {"thinking": ADAPTIVE} | effort("max")),
        ("claude-sonnet-5", REASONS, "none", OFF),
        ("claude-sonnet-5-5", REASONS, "none", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", REASONS, "none", effort("low")),
        ("claude-fable-5", REASONS, "none", effort("low")),
        # Models with a budget, with the effort beside it or without.
        ("claude-opus-4-5-20251101", REASONS, "low", {"thinking": budget(4096)} | effort("low")),
        ("claude-haiku-4-5", BUDGET_ONLY, "max", {"thinking": budget(32_000)}),
        ("claude-sonnet-4-20250514", BUDGET_ONLY, None, {"thinking": budget(12_288)}),
        ("claude-haiku-4-5", BUDGET_ONLY, "none", OFF),
        # Of other vendors, and models about which nothing is known.
        ("kimi-k3", BUDGET_ONLY, None, {"thinking": budget(12_288)}),
        ("kimi-k3", ModelFacts(), None, {}),
        ("kimi-k3", ModelFacts(), "max", effort("max")),
        ("kimi-k3", ModelFacts(), "none", OFF),
    ],
)
def test_each_model_is_asked_in_its_own_way(
    model: str, facts: ModelFacts, level: Effort | None, fields: dict[str, Any]
) -> None:
    assert Thinking(model, facts, 64_000).fields(level) == fields


def test_a_budget_leaves_room_for_the_answer() -> None:
    assert Thinking("claude-haiku-4-5", BUDGET_ONLY, 8192).fields("max")["thinking"] == budget(4096)
    assert Thinking("claude-haiku-4-5", BUDGET_ONLY, 1500).fields("max")["thinking"] == budget(1024)


@cases(
    ("model", "betas"),
    [
        ("claude-sonnet-5-5", ["thinking-binding-controls-2026-08-01"]),
        ("claude-fable-5-1", ["thinking-binding-controls-2026-08-01"]),
        ("claude-fable-5-20260901", []),
        ("claude-sonnet-5", []),
        ("claude-haiku-4-5", ["interleaved-thinking-2025-05-14"]),
    ],
)
def test_thinking_that_no_longer_fits_is_dropped_by_the_vendor_where_it_checks_that(
    model: str, betas: list[str]
) -> None:
    own = Thinking(model, REASONS, 64_000, own=True)
    assert own.betas == betas
    assert ("block_binding" in own.fields(None)["thinking"]) is (
        betas == ["thinking-binding-controls-2026-08-01"]
    )
    other = Thinking(model, REASONS, 64_000)
    assert other.betas == []
    assert "block_binding" not in other.fields(None)["thinking"]


@cases(
    ("efforts", "level", "word"),
    [
        ({}, "max", "max"),
        (EFFORTS, "medium", "medium"),
        ({"low": "low", "high": "high"}, "max", "high"),
        ({"low": "low", "high": "high"}, "medium", "low"),
        ({"high": "high"}, "low", "high"),
    ],
)
def test_an_effort_that_a_model_lacks_is_the_next_lower_one(
    efforts: dict[Effort, str], level: Effort, word: str
) -> None:
    assert effort_word(efforts, level) == word
