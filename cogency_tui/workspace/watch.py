"""What is touched in directories while they are watched, as the system tells it: also what does not last.

Invariant: what the system told before `end` is in what that returns, within the bounds. Each directory is
watched for itself, so that none is watched that nobody named; what goes on in directories that are made
meanwhile is not seen, nor what a queue of the system had no room for. The calls block, and are not for
several threads at once.
"""

import os
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.temporary import make_directory

MOST_DIRECTORIES = 2000
"""How many are watched, those nearest to the top first; each costs the system some memory."""

MOST_PATHS = 10_000
"""How many paths are remembered."""

_LATEST = 0.5
"""Seconds that the system has, at the end, for what it has not told yet."""

_STEP = 1
"""Milliseconds between two looks at what has come."""

_POLL = 300
_LAST = "cogency-last"
_UNKNOWN = "\ufffd"
"""In the place of what is no text in a name: which file is meant cannot be told."""


class Watch:
    """Watches `directories` from now on.

    Raises:
        WorkspaceError: they cannot be watched, most often because the person's programs watch too many.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        # Documented for direct use, and the only way to begin at once and to ask in between. Not light.
        from watchfiles._rust_notify import RustNotify

        found = sorted((path for path in directories if _is_text(path)), key=lambda path: len(path.parts))
        self.whole = len(found) <= MOST_DIRECTORIES
        """Whether all of them are watched."""
        self._seen: set[str] = set()
        paths = [str(path) for path in found[:MOST_DIRECTORIES] if path.is_dir()]
        with _refusals():
            self._own = make_directory("watch").resolve()
        try:
            with _refusals():
                self._notify = RustNotify([*paths, str(self._own)], False, False, _POLL, False, True)
        except WorkspaceError:
            self._remove()
            raise

    def collect(self) -> None:
        """Take what the system has told, so that it need not keep it."""
        self._take()

    def end(self) -> set[str]:
        """The full paths that were touched; nothing is watched any more."""
        last = str(self._own / _LAST)
        deadline = time.monotonic() + _LATEST
        with suppress(OSError):
            # The system tells one thing after the other: with this, all before it is told.
            Path(last).touch()
            while last not in self._take() and time.monotonic() < deadline:
                continue
        self._notify.close()
        self._remove()
        return {path for path in self._seen if _UNKNOWN not in path}

    def _remove(self) -> None:
        with suppress(OSError):
            (self._own / _LAST).unlink(missing_ok=True)
            self._own.rmdir()

    def _take(self) -> set[str]:
        try:
            told = self._notify.watch(_STEP, _STEP, _STEP, None)
        except RuntimeError:
            # The watch broke off; what was told before is known.
            return set()
        paths = set[str]() if isinstance(told, str) else {path for _, path in told}
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
