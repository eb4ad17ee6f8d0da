"""Holds the cost of work to a proportion of its input."""

import gc
import time
from collections.abc import Callable
from math import inf
from typing import TypeVar

T = TypeVar("T")

FLOOR = 0.002
"""Seconds of CPU time below which nothing is said of growth."""

GROWTH = 10
"""How much more the fourfold may cost: four where it is linear, sixteen where it is quadratic."""

_ATTEMPTS = 5


def assert_linear(
    build: Callable[[int], T],
    run: Callable[[T], object],
    size: int,
    *,
    growth: float = GROWTH,
    floor: float = FLOOR,
) -> None:
    """Assert that four times as much as `size` costs about sixteen times what a quarter of it does.

    Over two fourfolds a quadratic share shows as clearly as one does that is twice as large over a single one.
    Noise only adds: the least of several runs counts, and the smaller input is only run where the larger one
    does not pass by itself.
    """
    less, more = build(size // 4), build(4 * size)
    base = cost = inf
    for _ in range(_ATTEMPTS):
        cost = min(cost, _cost(run, more))
        if cost <= growth * floor:
            return
        base = min(base, *(_cost(run, less) for _ in range(2)))
        if cost <= 4 * growth * base:
            return
    raise AssertionError(f"{base:.3f} s, then {cost:.3f} s")


def _cost(run: Callable[[T], object], value: T) -> float:
    # What the collector costs depends on all else that lives in the process.
    collecting = gc.isenabled()
    gc.disable()
    try:
        began = time.process_time()
        run(value)
        return time.process_time() - began
    finally:
        if collecting:
            gc.enable()
