"""The garbage collector looks at everything only when nobody waits for it."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from cogency_tui.tui.app import PAUSE, Collecting


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def later() -> list[tuple[float, Callable[[], None]]]:
    return []


@pytest.fixture
def collecting(later: list[tuple[float, Callable[[], None]]]) -> Collecting:
    return Collecting(lambda seconds, function: later.append((seconds, function)))


def test_old_garbage_goes_in_a_pause(
    collecting: Collecting, later: list[tuple[float, Callable[[], None]]]
) -> None:
    collecting.begin()
    ring = Ring()
    gc.collect(0)
    gc.collect(1)
    gone = weakref.ref(ring)
    del ring
    gc.collect(1)
    assert gone() is not None
    collecting.rest()
    [(seconds, collect)] = later
    assert seconds == PAUSE
    collect()
    assert gone() is None


def test_it_waits_for_the_person_to_pause(
    collecting: Collecting, later: list[tuple[float, Callable[[], None]]]
) -> None:
    gone = weakref.ref(Ring())
    collecting.rest()
    collecting.rest()
    assert len(later) == 1
    collecting.touch()
    later[0][1]()
    assert gone() is not None
    assert 0 < later[1][0] <= PAUSE
    collecting.rest()
    assert len(later) == 2


def test_old_garbage_goes_also_where_nobody_pauses(collecting: Collecting) -> None:
    # How often everything is looked at depends on how much there is.
    gc.freeze()
    gc.collect()
    collecting.begin()
    ring = Ring()
    gc.collect(1)
    gone = weakref.ref(ring)
    del ring
    kept: list[list[int]] = []
    while gone() is not None and len(kept) < 2_000_000:
        kept.append([])
    assert gone() is None


def test_all_that_is_young_is_collected_as_it_comes(collecting: Collecting) -> None:
    collecting.begin()
    rings = [weakref.ref(Ring()) for _ in range(20_000)]
    assert sum(ring() is not None for ring in rings) < 10_000
