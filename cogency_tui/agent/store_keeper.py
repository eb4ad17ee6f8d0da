"""The store that an agent works with: the person's, or where that cannot be used one for the moment."""

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.errors import StoreError
from cogency_tui.temporary import make_directory

if TYPE_CHECKING:
    from cogency_tui.store.conversations import Store


class StoreKeeper:
    """Opens the store in `directory` when it is first asked for, and again after it was closed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._opening: asyncio.Task[Store] | None = None
        self._scratch: Path | None = None

    async def store(self) -> "Store":
        """The person's store, or one that lasts until it is closed; then its notices say why.

        Raises:
            StoreError: not even that can be had.
        """
        opening = self._opening = self._opening or asyncio.create_task(self._open())
        try:
            # Who asked may be gone before it stands; what was begun is ended by `close`.
            return await asyncio.shield(opening)
        except StoreError:
            if self._opening is opening:
                self._opening = None
            raise

    async def close(self) -> None:
        """Close the store, and remove one that was for the moment."""
        opening, self._opening = self._opening, None
        if opening is not None:
            await asyncio.wait([opening])
            if opening.exception() is None:
                await opening.result().close()
        if self._scratch:
            scratch, self._scratch = self._scratch, None
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _open(self) -> "Store":
        from cogency_tui.store.conversations import Store

        try:
            return await Store.open(self._directory)
        except StoreError as exc:
            try:
                self._scratch = await asyncio.to_thread(make_directory, "store")
            except OSError:
                # Not even for the moment can anything be written.
                raise exc from None
            store = await Store.open(self._scratch)
            store.notices.append(
                f"{exc.advice} Until then, conversations last only as long as the program runs."
            )
            return store
