"""Settles what killed processes left behind, before the configuration that they may have changed is read.

Modules are imported on first use: most starts find nothing to settle.
"""

from contextlib import suppress
from pathlib import Path

from cogency_tui.errors import CogencyError

SHADOWS = "shadows"
"""The directory below the data directory with the state before commands, a file for each process."""

RERUNS = "reruns"
"""The directory there with the marks of the reruns that are open."""


async def settle_left(data: Path) -> None:
    """Settle, in every project, the changes of killed processes' commands, and put back their changes of
    protected files; the store in `data` holds the notices until it is opened next. Their reruns go to the
    trash.
    """
    if _any_reruns_left(data):
        from cogency_tui.agent.rerun_marks import trash_left

        await trash_left(data)
    if not _any_commands_left(data):
        return
    from cogency_tui.agent.edits.journal import Journal
    from cogency_tui.store.intents import Intents
    from cogency_tui.store.store import Store
    from cogency_tui.workspace.paths import Workspace

    with suppress(CogencyError):
        # The next opening of a failing store reports the error.
        async with await Store.open(data) as store:

            async def opened() -> Store:
                return store

            for root in await Intents(store.database).roots():
                with suppress(CogencyError):
                    # The directory of another project may be gone.
                    await Journal(Workspace(Path(root)), opened).settle()


def any_left(data: Path) -> bool:
    """Return whether a process ended before its commands were settled, or its reruns closed."""
    return _any_reruns_left(data) or _any_commands_left(data)


def _any_reruns_left(data: Path) -> bool:
    if not _names_in(data / RERUNS):
        return False
    from cogency_tui.agent.rerun_marks import any_left_open

    return any_left_open(data)


def _names_in(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except OSError:
        return []


def _any_commands_left(data: Path) -> bool:
    names = _names_in(data / SHADOWS)
    if not names:
        return False
    from cogency_tui.temporary_files import is_gone

    return any(is_gone(name.rpartition("-")[0]) for name in names if name[:1].isdigit())
