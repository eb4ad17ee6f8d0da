"""The key of an answer counts after a pause and after a gap, both as long as the question requires."""

import pytest
from textual import events

from cogency_tui.tui.questions.answer_timing import (
    CONFIRMATION,
    FOLLOWING_PAUSE,
    GAP,
    HOLD,
    LOSS_CONFIRMATION,
    NEXT_EDIT_GAP,
    NEXT_EDIT_HOLD,
    NEXT_EDIT_PAUSE,
    PAUSE,
    RHYTHM,
    WIDE_HOLD,
    AnswerTiming,
)
from tests.tui.questions.test_question_lines import Clock

A_LITTLE = 0.02
"""Seconds; a key is made a little before it is checked."""


def key(letter: str) -> events.Key:
    return events.Key(letter, letter)


def counts_from(timing: AnswerTiming, clock: Clock, seconds: float, letter: str = "y") -> bool:
    """Return whether a key counts after `seconds`, and not before."""
    clock.now += seconds - A_LITTLE
    early = timing.is_in_time(key(letter))
    clock.now += 2 * A_LITTLE
    return not early and timing.is_in_time(key(letter))


def answered(clock: Clock) -> AnswerTiming:
    """The timing of a question that was answered just now."""
    timing = AnswerTiming(clock, is_loss=False)
    clock.now += 10
    timing.note(key("y"))
    return timing


def test_the_first_question_takes_a_whole_pause() -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=False)
    assert timing.is_paused
    assert timing.wait(drafting=False) == pytest.approx(PAUSE)
    assert counts_from(timing, clock, PAUSE)
    assert not timing.is_paused
    assert timing.wait(drafting=False) == 0
    assert timing.wait(drafting=True) == PAUSE


@pytest.mark.parametrize(
    ("is_loss", "is_next_edit", "pause"),
    [
        (False, False, FOLLOWING_PAUSE),
        (False, True, max(NEXT_EDIT_PAUSE, NEXT_EDIT_GAP)),
        (True, False, PAUSE),
        (True, True, PAUSE),
    ],
)
def test_a_question_after_an_answer_takes_a_shorter_pause_unless_it_is_about_a_loss(
    is_loss: bool, is_next_edit: bool, pause: float
) -> None:
    clock = Clock()
    before = answered(clock)
    timing = AnswerTiming(clock, is_loss=is_loss, after=before, is_next_edit=is_next_edit)
    assert counts_from(timing, clock, pause)


def test_the_pause_of_a_next_edit_counts_from_its_first_frame_and_its_rhythm_can_break() -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=False, after=answered(clock), is_next_edit=True)
    clock.now += RHYTHM / 2
    timing.show()
    assert counts_from(timing, clock, NEXT_EDIT_PAUSE)
    timing.break_rhythm()
    timing.begin_pause()
    assert counts_from(timing, clock, FOLLOWING_PAUSE)
    # A text that has begun leaves nothing of a rhythm.
    timing.passed_on = True
    timing.begin_pause()
    assert counts_from(timing, clock, PAUSE)


def test_an_early_key_counts_after_a_gap_and_another_letter_after_a_pause() -> None:
    clock = Clock()
    for letter, gap in (("y", GAP), ("n", PAUSE)):
        timing = AnswerTiming(clock, is_loss=False)
        clock.now += 10
        timing.note(key("y"), is_early=True)
        assert counts_from(timing, clock, gap, letter)


def test_a_remark_says_whether_to_wait() -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=False)
    assert timing.remark_on(key("y")) == "y was too early"
    timing.note(key("y"), is_early=True)
    assert timing.remark_on(key("y")) == "y was too early"
    assert timing.remark_on(key("n")) == "wait, then press n"
    assert AnswerTiming(clock, is_loss=True).remark_on(key("y")) == "wait, then press y"


def test_early_keys_begin_a_text_with_a_key_that_follows_soon() -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=False)
    first = key("n")
    for seconds, kept in ((PAUSE - 0.1, [first]), (PAUSE + 0.1, [])):
        timing.keep(first)
        timing.note(first, is_early=True)
        clock.now += seconds
        timing.forget_old(key("o"))
        assert timing.release() == kept
    assert timing.release() == []


def test_the_letter_of_an_answer_beyond_this_call_is_held_back_longer() -> None:
    clock = Clock()
    first = AnswerTiming(clock, is_loss=False)
    first.note(key("y"))
    following = AnswerTiming(clock, is_loss=False, after=first)
    in_rhythm = AnswerTiming(clock, is_loss=False, after=first, is_next_edit=True)
    for timing, hold in ((first, HOLD), (following, HOLD), (in_rhythm, NEXT_EDIT_HOLD)):
        assert timing.hold_of("answer(True, 'once')") == hold
        assert timing.hold_of("answer(True, 'always')") == WIDE_HOLD
    loss = AnswerTiming(clock, is_loss=True)
    assert loss.hold_of("answer(True, 'once')") == WIDE_HOLD
    assert loss.hold_of("answer(False, 'once')") == HOLD


@pytest.mark.parametrize(("is_loss", "seconds"), [(False, CONFIRMATION), (True, LOSS_CONFIRMATION)])
def test_an_answer_is_confirmed_only_once_it_has_been_selected_for_a_while(
    is_loss: bool, seconds: float
) -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=is_loss)
    for _selection in range(2):
        timing.note_selection()
        clock.now += seconds - A_LITTLE
        assert not timing.is_confirmed
    clock.now += 2 * A_LITTLE
    assert timing.is_confirmed


def test_a_letter_after_a_rest_may_begin_a_text_and_is_held_back_as_long_as_the_first_one() -> None:
    clock = Clock()
    timing = AnswerTiming(clock, is_loss=False, after=answered(clock), is_next_edit=True)
    timing.show()
    assert timing.hold_of("answer(True, 'once')") == NEXT_EDIT_HOLD
    clock.now += RHYTHM
    assert timing.hold_of("answer(True, 'once')") == HOLD
