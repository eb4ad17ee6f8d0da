"""Marks of the reruns that are open: a file for each, named after its process and its conversation.

Those of a killed process are found by them at the next start. Modules are imported on first use: most starts
find none.
"""

from contextlib import suppress
from pathlib import Path

from cogency_tui.agent.edits.startup_recovery import RERUNS

_GAP = "."


def mark_open(data: Path, id: str) -> None:
    """Mark a rerun's conversation as open in this process. Blocks.

    Raises:
        OSError: it cannot be written.
    """
    from cogency_tui.temporary_files import owner

    (data / RERUNS).mkdir(parents=True, exist_ok=True)
    (data / RERUNS / f"{owner()}{_GAP}{id}").touch(mode=0o600)


def mark_closed(data: Path, id: str) -> None:
    """Remove the mark of a conversation. Blocks."""
    from cogency_tui.temporary_files import owner

    with suppress(OSError):
        (data / RERUNS / f"{owner()}{_GAP}{id}").unlink(missing_ok=True)


def any_left_open(data: Path) -> bool:
    """Return whether a process that is gone has left reruns open. Blocks."""
    return bool(_left(data))


async def trash_left(data: Path) -> None:
    """Move the conversations of reruns of gone processes to the trash. Their copies are removed with other
    temporary directories."""
    from cogency_tui.errors import CogencyError
    from cogency_tui.store.store import Store
    from cogency_tui.store.trash import Trash

    with suppress(CogencyError):
        # The next opening of a failing store reports the error.
        async with await Store.open(data) as store:
            for mark in _left(data):
                id = mark.name.partition(_GAP)[2]
                if await store.conversation(id) is not None:
                    await Trash(store.database).move(id)
                with suppress(OSError):
                    mark.unlink(missing_ok=True)


def _left(data: Path) -> list[Path]:
    try:
        marks = [*(data / RERUNS).iterdir()]
    except OSError:
        return []
    if not marks:
        return []
    from cogency_tui.temporary_files import is_gone

    owned = [(mark, mark.name.partition(_GAP)[0]) for mark in marks]
    return [mark for mark, owner in owned if owner.partition("-")[0].isdigit() and is_gone(owner)]
