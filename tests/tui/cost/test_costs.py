"""What a conversation took: summed by model, the unknown never counted as nothing."""

import pytest

from cogency_tui.protocol.events import Measure
from cogency_tui.tui.cost.context_usage import ConversationUsage
from cogency_tui.tui.cost.screen import draw_costs
from cogency_tui.tui.cost.usage_totals import by_model, in_all, saving
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.theme_styles import theme_styles_of

RESUMED: Measure = {
    "input": 1_000, "output": 100, "billed_input": 5_000, "cached": 4_000, "replay_input": 5_000,
    "cost": 0.25, "duration": 2.5, "provider": "openai", "model": "gpt-5.6-sol", "mode": "resume",
}  # fmt: skip
UNPRICED: Measure = {
    "input": 300, "output": 10, "replay_input": 300, "estimated": True,
    "duration": 70.0, "provider": "mine", "model": "m", "mode": "replay",
}  # fmt: skip
SUMMARY: Measure = {"input": 500, "output": 50, "provider": "mine", "model": "m", "cost": 0.5}


def test_requests_are_summed_by_model() -> None:
    openai, mine = by_model([RESUMED, UNPRICED, RESUMED, SUMMARY])

    assert (openai.name, openai.requests, openai.sent, openai.billed) == (
        "openai/gpt-5.6-sol",
        2,
        2_000,
        10_000,
    )
    assert (openai.cached, openai.generated, openai.dollars, openai.seconds) == (8_000, 200, 0.5, 5.0)
    assert (openai.unpriced, openai.estimated) == (0, False)
    assert (mine.billed, mine.cached, mine.dollars, mine.unpriced, mine.estimated) == (
        800,
        None,
        0.5,
        1,
        True,
    )
    assert in_all([openai, mine]).billed == 10_800
    assert in_all([openai, mine]).cached == 8_000


def test_the_time_of_sub_agents_is_within_that_of_the_conversation() -> None:
    spent = ConversationUsage([RESUMED, RESUMED], [UNPRICED])

    assert (spent.cost.sent, spent.cost.seconds) == (2_300, 5.0)
    assert ConversationUsage([], [UNPRICED]).cost.seconds == 70.0


def test_a_saving_is_an_estimate_only_where_something_was_saved() -> None:
    saved = saving([RESUMED, SUMMARY])
    assert (saved.sent, saved.replayed, saved.estimated) == (1_500, 5_500, True)
    nothing = saving([UNPRICED])
    assert (nothing.sent, nothing.replayed, nothing.estimated) == (300, 300, False)


def drawn(*measures: Measure, width: int = 100) -> list[str]:
    costs = by_model(measures)
    lines = draw_costs(costs, in_all(costs), saving(measures), width, theme_styles_of("night"))
    assert all(cells(line.text) <= width for line in lines)
    return [line.text.rstrip() for line in lines]


def test_the_table_has_a_line_a_model_and_one_for_all() -> None:
    head, openai, mine, _rule, total, *_rest = drawn(RESUMED, UNPRICED)

    assert head.split() == ["sent", "billed", "cached", "generated", "cost", "time"]
    assert openai.split() == ["openai/gpt-5.6-sol", "1.0k", "5.0k", "4.0k", "100", "$0.25", "2.5", "s"]
    assert mine.split() == ["mine/m", "~300", "~300", "–", "~10", "–", "1", "min", "10", "s"]
    assert total.split() == ["total", "~1.3k", "~5.3k", "4.0k", "~110", "~$0.25+", "1", "min", "12", "s"]


def test_one_model_needs_no_sum() -> None:
    assert not any(line.startswith("total") for line in drawn(RESUMED))


def test_a_name_has_a_line_of_its_own_where_it_is_narrow() -> None:
    _head, name, figures, *_rest = drawn(RESUMED, width=66)

    assert name == "openai/gpt-5.6-sol"
    assert figures.split()[0] == "1.0k"


@pytest.mark.parametrize("width", [100, 50, 40, 30])
def test_only_the_columns_that_are_shown_are_explained(width: int) -> None:
    lines = drawn(RESUMED, width=width)
    columns, text = lines[0].split(), " ".join(lines[2:]).replace("  ", " ")

    for name in ("sent", "billed", "cached", "generated"):
        assert (f"{name}:" in text) == (name in columns)
    assert ("Time includes" in text) == ("time" in columns)


def test_what_the_figures_mean_is_said() -> None:
    text = " ".join(" ".join(drawn(RESUMED, UNPRICED)).split())

    assert "+: no price known for 1 request of 2." in text
    assert "~ estimated" in text
    assert "Sent 1.3k; replay mode would have sent about 5.3k (estimated)" in text
    assert ", 4.1× as many." in text
    assert "Cost unknown" in " ".join(drawn(UNPRICED))
    assert "No savings: every request sent the whole conversation" in " ".join(drawn(UNPRICED))
