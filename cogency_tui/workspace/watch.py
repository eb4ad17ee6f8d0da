"""Watches directories for touched paths, as the system reports them, including those that do not last.

Invariant: every path that the system reported before `end` is in its result, or the watch is not `complete`.
Each directory is watched individually, so that none is watched that was not named; paths in directories that
are created meanwhile are not seen, nor those for which the system's queue had no room. The calls block, and
are not for several threads at once.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from cogency_tui.errors import WorkspaceError
from cogency_tui.temporary_files import make_directory

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

MOST_DIRECTORIES = 2000
"""Most directories that are watched, those nearest to the top first; each costs the system some memory."""

MOST_PATHS = 10_000
"""Most paths that are remembered."""

_LATEST = 0.5
"""Seconds that the system has for pending reports."""

_STEP = 1
"""Milliseconds between two polls."""

_QUIET = 250
"""Milliseconds without another change after which `follow_changes` reports. The end of the program waits as
long, for it to see `stop`."""

_LATEST_REPORT = 1000
"""Milliseconds after which it reports at the latest."""

_POLL = 300
_UNKNOWN = "\ufffd"
"""Replacement for undecodable bytes in a name: which file is meant is then unknown."""


class Watch:
    """Watches `directories` from now on.

    Raises:
        WorkspaceError: they cannot be watched, most often because the user's programs watch too many.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        found = sorted((path for path in directories if _is_text(path)), key=lambda path: len(path.parts))
        self.whole = len(found) <= MOST_DIRECTORIES
        """True if all of them are watched."""
        self._seen: set[str] = set()
        self._in_time = True
        self._marks = count(1)
        paths = [str(path) for path in found[:MOST_DIRECTORIES] if path.is_dir()]
        self.directories = frozenset(paths)
        """Those that are watched."""
        with _refusals():
            self._own = make_directory("watch").resolve()
        try:
            with _refusals():
                self._notify = _notify([*paths, str(self._own)])
        except WorkspaceError:
            self._remove()
            raise

    @property
    def complete(self) -> bool:
        """True if no report is missing of what was touched directly in the `directories`, as far as known."""
        return self._in_time and len(self._seen) < MOST_PATHS

    def collect(self) -> None:
        """Collect the system's reports, so that it need not queue them."""
        mark = self._own / f"cogency-{next(self._marks)}"
        self._in_time = self._take_up_to(mark) and self._in_time
        with suppress(OSError):
            mark.unlink(missing_ok=True)

    def end(self) -> set[str]:
        """Return the full paths that were touched, and stop watching."""
        self.collect()
        self._notify.close()
        self._remove()
        return {path for path in self._seen if _UNKNOWN not in path}

    def _remove(self) -> None:
        with suppress(OSError):
            self._own.rmdir()

    def _take_up_to(self, mark: Path) -> bool:
        """Take the reports up to that of a new file, before which all others arrive; return whether it comes
        in time.
        """
        with suppress(OSError):
            mark.touch()
        deadline = time.monotonic() + _LATEST
        # A watch that broke off has no more reports.
        with suppress(RuntimeError):
            while (left := deadline - time.monotonic()) > 0:
                if str(mark) in self._take(left):
                    return True
        return False

    def _take(self, seconds: float) -> set[str]:
        """Wait for reports. Those that arrive when the time is up are lost, as `watchfiles` discards them."""
        changes = self._notify.watch(_STEP, _STEP, max(1, int(seconds * 1000)), None)
        paths = set[str]() if isinstance(changes, str) else {path for _, path in changes}
        project = (path for path in paths if os.path.dirname(path) != str(self._own))  # noqa: PTH120 (speed)
        self._seen.update(islice(project, max(0, MOST_PATHS - len(self._seen))))
        return paths


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise WorkspaceError(f"Changes cannot be watched here: {error}.") from error


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


async def follow_changes(directories: Iterable[str], stop: Event) -> AsyncGenerator[set[str]]:
    """Yield the full paths that change directly in `directories`, until `stop` is set.

    Waiting would occupy one of the event loop's few threads, so it has one of its own; `watchfiles.awatch`
    brings those of another library, which take 1.5 MB.

    Raises:
        WorkspaceError: they cannot be watched, or no longer.
    """
    loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "watch")
    opened = thread.submit(_notify, list(directories))
    try:
        with _refusals():
            notify = await asyncio.wrap_future(opened)
            while changes := await loop.run_in_executor(thread, _wait, notify, stop):
                yield changes
    finally:
        stop.set()
        # Behind the wait, which it would disturb.
        thread.submit(_close, opened)
        thread.shutdown(wait=False)


def _close(opened: "Future[RustNotify]") -> None:
    """Give the system back what the watch has taken, though it is still referred to."""
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()


def _wait(notify: "RustNotify", stop: Event) -> set[str]:
    """The next changes; empty when `stop` is set. Blocks."""
    changes = notify.watch(_LATEST_REPORT, _QUIET, 0, stop)
    return set() if isinstance(changes, str) else {path for _, path in changes}


def _notify(paths: list[str]) -> "RustNotify":
    # Documented for direct use, and the only way to begin at once and to poll in between. Heavy to import.
    from watchfiles._rust_notify import RustNotify

    return RustNotify(paths, False, False, _POLL, False, True)
