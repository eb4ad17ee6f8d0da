"""The log of slow frames that `--debug` writes: the duration of each, and where its time went.

A frame is one turn of the event loop: all work between two polls of the terminal. Both wall-clock and
processor time are measured around the loop's waiting; other programs do not lengthen the latter. A separate
thread samples the stack of a frame that is already late. Without `--debug` none of this is active.
"""

import asyncio
import gc
import os
import selectors
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from time import perf_counter, thread_time
from types import FrameType
from typing import Any, TextIO

from cogency_tui import private_files

LATE = 0.016
"""Seconds from which a frame is logged."""

_INTERVAL = 0.004
"""Seconds between two samples of a late frame."""

_CALLS = 6
_PLACES = 3
_PACKAGES = ("cogency_tui", "textual", "rich", "markdown_it", "pygments")


class FrameLog:
    """Writes late frames to a file, one a line, while it is open."""

    def __init__(self, path: Path, *, late: float = LATE) -> None:
        self._late = late
        self._began = self._worked = 0.0
        self._seen: Counter[str] = Counter()
        self._collected = 0.0
        self._ended = threading.Event()
        self._thread = threading.get_ident()
        private_files.make_directory(path.parent)
        self._file = _open(path)
        self._file.write(f"{_now()}  begins; frames over {late * 1000:.0f} ms\n")
        self._watcher = threading.Thread(target=self._watch, name="frames", daemon=True)

    def begin(self) -> None:
        """Start timing a frame."""
        self._worked, self._began = thread_time(), perf_counter()

    def end(self) -> None:
        """Finish the frame, and log it if it was late."""
        began, self._began = self._began, 0.0
        if began and (took := perf_counter() - began) >= self._late:
            seen, self._seen = self._seen, Counter()
            collected, self._collected = self._collected, 0.0
            causes = [f"{path} ×{count}" for path, count in seen.most_common(_PLACES)]
            causes += [f"collecting garbage {collected * 1000:.1f} ms"] if collected > self._late / 4 else []
            worked = thread_time() - self._worked
            self._file.write(
                f"{_now()}  {took * 1000:6.1f} ms, {worked * 1000:6.1f} ms of them at work  "
                f"{' | '.join(causes) or '?'}\n"
            )

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop whose frames are timed; run it in this thread."""
        self._thread = threading.get_ident()
        self._watcher.start()
        gc.callbacks.append(self._collect)
        return asyncio.SelectorEventLoop(_WatchedSelector(self))

    def close(self) -> None:
        """Stop timing."""
        self._ended.set()
        if self._collect in gc.callbacks:
            gc.callbacks.remove(self._collect)
        if self._watcher.is_alive():
            self._watcher.join()
        self._file.close()

    def _watch(self) -> None:
        while not self._ended.wait(_INTERVAL):
            began = self._began
            if began and perf_counter() - began >= self._late:
                # The only way to another thread's stack; public despite its name.
                frame = sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
                if frame is not None and began == self._began:
                    self._seen[describe(frame)] += 1

    def _collect(self, phase: str, info: Mapping[str, Any]) -> None:
        del info
        self._collected += -perf_counter() if phase == "start" else perf_counter()


class _WatchedSelector(selectors.DefaultSelector):
    """Notifies the log when the loop waits and when it works."""

    def __init__(self, log: FrameLog) -> None:
        super().__init__()
        self._log = log

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._log.end()
        try:
            return super().select(timeout)
        finally:
            self._log.begin()


def describe(frame: FrameType) -> str:
    """The innermost informative calls of `frame`, each followed by its caller: `stream.show < …`."""
    calls: list[str] = []
    at: FrameType | None = frame
    while at is not None and len(calls) < _CALLS:
        module = str(at.f_globals.get("__name__", ""))
        package, _, rest = module.partition(".")
        if package in _PACKAGES:
            calls.append(f"{(rest or package).rpartition('.')[2]}.{at.f_code.co_name}")
        elif not calls:
            calls.append(f"{module}.{at.f_code.co_name}")
        at = at.f_back
    return " < ".join(calls)


def _open(path: Path) -> TextIO:
    """Open the file at `path` for appending, line-buffered, readable only by the user."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", 1, "utf-8")


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")
