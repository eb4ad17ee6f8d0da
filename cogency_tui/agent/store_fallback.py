"""The store that an agent works with: the user's, or a temporary one if that cannot be used."""

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.errors import StoreError

if TYPE_CHECKING:
    from cogency_tui.store.store import Store


_FOR_THE_MOMENT = "Until then, conversations are not saved."


class StoreOpener:
    """Opens the store in `directory` on first use, and again after it was closed.

    A store that can only be read is copied into a temporary one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._opening: asyncio.Task[Store] | None = None
        self._scratch: Path | None = None

    @property
    def lasting(self) -> bool:
        """True if the store outlives the program."""
        return not self._scratch

    async def store(self) -> "Store":
        """The user's store, or one that lasts until it is closed; in that case its notices say why.

        Raises:
            StoreError: not even a temporary store can be opened.
        """
        opening = self._opening = self._opening or asyncio.create_task(self._open())
        try:
            # The caller may be cancelled before the store is open; `close` ends what was started.
            return await asyncio.shield(opening)
        except StoreError:
            if self._opening is opening:
                self._opening = None
            raise

    async def close(self) -> None:
        """Close the store, and remove a temporary one."""
        opening, self._opening = self._opening, None
        if opening is not None:
            await asyncio.wait([opening])
            if opening.exception() is None:
                await opening.result().close()
        if self._scratch:
            scratch, self._scratch = self._scratch, None
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _open(self) -> "Store":
        from cogency_tui.store.store import Store

        try:
            store = await Store.open(self._directory)
        except StoreError as exc:
            return await self._open_scratch(exc.advice, exc)
        if not store.database.read_only:
            return store
        async with store:
            why = " ".join(store.notices)
            return await self._open_scratch(why, StoreError(why), store)

    async def _open_scratch(self, why: str, error: StoreError, source: "Store | None" = None) -> "Store":
        """A temporary store with the contents of `source`.

        Raises:
            StoreError: the `error` with the user's store, if nothing can be written at all.
        """
        from cogency_tui.store.database import FILE, backup
        from cogency_tui.store.store import Store
        from cogency_tui.temporary_files import make_directory

        try:
            scratch = self._scratch = await asyncio.to_thread(make_directory, "store")
        except OSError:
            raise error from None
        if source is not None:
            await source.database.read(lambda connection: backup(connection, scratch / FILE))
        store = await Store.open(scratch)
        store.notices.append(f"{why} {_FOR_THE_MOMENT}")
        return store
