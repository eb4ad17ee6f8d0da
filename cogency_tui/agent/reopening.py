"""Settling what killed processes left behind, before the configuration that they may have changed is read.

Nothing is imported before it is needed: most starts find nothing.
"""

from contextlib import suppress
from pathlib import Path

from cogency_tui.errors import CogencyError

SHADOWS = "shadows"
"""The directory below the data directory with what commands found, a file for each process."""


async def settle_left(data: Path) -> None:
    """Settle, in whatever project, what the commands of killed processes changed, and put back what they
    changed of guarded files; the store in `data` has the notices for whoever opens it next."""
    if not any_left(data):
        return
    from cogency_tui.agent.journal import Journal
    from cogency_tui.store.conversations import Store
    from cogency_tui.store.intents import Intents
    from cogency_tui.workspace.paths import Workspace

    with suppress(CogencyError):
        # Whoever opens a store that fails reports it.
        async with await Store.open(data) as store:

            async def opened() -> Store:
                return store

            for root in await Intents(store.database).roots():
                with suppress(CogencyError):
                    # The directory of another project may be gone.
                    await Journal(Workspace(Path(root)), opened).settle()


def any_left(data: Path) -> bool:
    """Whether a process that ran commands ended without having them settled."""
    try:
        names = [path.name for path in (data / SHADOWS).iterdir()]
    except OSError:
        return False
    if not names:
        return False
    from cogency_tui.temporary import is_gone

    return any(is_gone(name.rpartition("-")[0]) for name in names if name[:1].isdigit())
