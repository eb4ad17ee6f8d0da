"""Numbers with their units."""

import pytest

from cogency_tui.tui.kit.number_format import duration, whole_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0124, "12 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (99.2, "1 min 39 s"),
        (185, "3 min 05 s"),
    ],
)
def test_a_duration_has_minutes_from_the_first(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (59.99, "59 s"), (60, "1 min 00 s")])
def test_a_running_time_has_whole_seconds_and_minutes_from_the_first(seconds: float, text: str) -> None:
    assert whole_seconds(seconds) == text
