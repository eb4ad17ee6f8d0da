"""A process that updates the index of the store in a directory, given as its argument, and reports its
progress: two numbers a line. It ends after the program that started it, at the next step at the latest."""

import os
import select
import sys
from pathlib import Path

from cogency_tui.store.search.building import update


def main() -> None:
    """Index until all is done, or no process holds our standard input open."""
    os.nice(10)
    for progress in update(Path(sys.argv[1]), stopped=_abandoned):
        print(progress.done, progress.total, flush=True)


def _abandoned() -> bool:
    # Nothing is ever written to us: a readable standard input means that the other end is closed.
    return bool(select.select([sys.stdin], [], [], 0)[0])
