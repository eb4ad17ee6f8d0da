"""A process that brings the index of the store in the directory it is given up to date, and says how far it
is: two numbers a line. It ends with whoever started it, at the next step at the latest."""

import os
import select
import sys
from pathlib import Path

from cogency_tui.store.search.building import update


def main() -> None:
    """Index until all is done, or nobody holds our standard input any more."""
    os.nice(10)
    for progress in update(Path(sys.argv[1]), stopped=_abandoned):
        print(progress.done, progress.total, flush=True)


def _abandoned() -> bool:
    # Nothing is ever written to us: that there is something to read means that the other end is closed.
    return bool(select.select([sys.stdin], [], [], 0)[0])
