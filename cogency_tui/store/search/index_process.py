"""A job that updates the index of the store in a directory, and reports its progress: two numbers a line. It
ends after the program that started it, at the next step at the latest."""

from collections.abc import Iterator
from pathlib import Path

from cogency_tui.child_processes import is_abandoned
from cogency_tui.store.search.building import update


def lines(directory: str) -> Iterator[str]:
    """Index until all is done, or the program that started this has ended."""
    for progress in update(Path(directory), stopped=is_abandoned):
        yield f"{progress.done} {progress.total}"
