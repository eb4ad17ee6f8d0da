"""What tools ask of a journal of changes; the engine has it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cogency_tui.store.versions import Version
from cogency_tui.tools.git_bringing import Bringing
from cogency_tui.tools.moved_files import MovedFiles

if TYPE_CHECKING:
    from cogency_tui.tools.changes import Change


Keeps = Callable[[Sequence[str], str], Awaitable[bool | None]]
"""Asks the user whether a command's changes of guarded files stay: names with reasons, and a diff. None, and
they do not, where there is no user to ask."""


@dataclass(frozen=True, slots=True)
class Consent:
    """What a command may change of guarded files. `keeps` is asked about what is not covered; None where all
    is. `covers` are files and directories, resolved, that the user was asked about before. `brings` is
    what it may bring with commits, which stays; None for nothing.
    `destinations` are the remotes and addresses that it says itself git is to be configured with."""

    keeps: Keeps | None
    covers: Collection[Path] = ()
    brings: Bringing | None = None
    destinations: Collection[str] = ()

    def allows(self, path: Path) -> bool:
        """Whether the user has agreed to whatever it does at a resolved path."""
        return self.keeps is None or not set(self.covers).isdisjoint((path, *path.parents))


ALL = Consent(None)


class Kept(Protocol):
    """What was kept of the files that a command is about to destroy: all but `left_out` of them."""

    @property
    def left_out(self) -> int: ...


class Found(Protocol):
    """What a command changed, complete when its block is left."""

    @property
    def at_stake(self) -> Kept: ...

    @property
    def edits(self) -> Sequence[object]: ...

    @property
    def notes(self) -> Sequence[str]:
        """Lines about what was seen of it and is in no edit."""
        ...

    @property
    def put_back(self) -> Sequence[str]:
        """The guarded files that it changed and that were put back, and directories that lead to such."""
        ...

    @property
    def left(self) -> Sequence[str]:
        """Those that could not be put back, in whole or in part."""
        ...

    @property
    def signs(self) -> Path | None:
        """The file whose time is that of the last sign of life of the command; its guard sets it, too."""
        ...

    def goes_on(self, over: Callable[[], Awaitable[object]]) -> None:
        """The command runs on after its block, until what `over` gives is done: what it changes until then
        is recorded, too."""
        ...

    def stays(self) -> None:
        """The program lives on after the block: what it changes of guarded files until the turn ends is
        recorded, too."""
        ...


class Recorded(Protocol):
    """How changes were recorded, complete when their block is left."""

    @property
    def notes(self) -> Sequence[str]:
        """Lines about changes that were made and could not be recorded."""
        ...


class Journal(Protocol):
    """Records what the calls of one conversation change, with what was there before."""

    def writing(
        self, call: str, tool: str, changes: "Sequence[Change]"
    ) -> AbstractAsyncContextManager[Recorded]:
        """Record the changes that are made in this block, also where it fails half way.

        Raises:
            JournalError: they cannot be recorded beforehand; the block does not begin.
        """
        ...

    def around_command(
        self,
        call: str,
        tool: str,
        at_stake: Sequence[Path] = (),
        consent: Consent = ALL,
    ) -> AbstractAsyncContextManager[Found]:
        """Record what changes in the project while a command runs in this block. `at_stake` are files and
        directories that it is about to destroy. Changes of guarded files are put back unless `consent` covers
        them or lets them stay.

        Raises:
            JournalError: what it changes cannot be recorded; the block does not begin.
        """
        ...

    @property
    def moved(self) -> MovedFiles:
        """The files that commands took out of sight, and of which no copy is kept."""
        ...

    async def made(self) -> Mapping[Path, Version]:
        """What the calls of this turn, and nobody else, left in files that were not there before, or were as
        the last commit has them.

        Raises:
            StoreError: the store cannot be read.
        """
        ...
