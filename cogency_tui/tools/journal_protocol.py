"""The journal of changes as tools use it; the engine implements it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cogency_tui.protocol.events import ChangedBy
from cogency_tui.store.edit_records import Version
from cogency_tui.tools.seen_files import Seen
from cogency_tui.tools.shell.moved_sole_copies import MovedFiles

if TYPE_CHECKING:
    from cogency_tui.tools.file_writes import Change


AskToKeep = Callable[[Sequence[str], str], Awaitable[bool | None]]
"""Asks the user whether a command's changes of protected files stay: names with reasons, and a diff. None
where there is no user to ask; the changes are then reverted."""


@dataclass(frozen=True, slots=True)
class Bringing:
    """The commits that a command may bring. `words` are those of its git commands. Unless it runs them
    `alone`, with read-only programs, it may do anything else. A command that `fetches` may bring commits of
    other repositories, only those of remotes if it `asks_remotes`; one that `takes_paths` may bring files
    out of a commit by their names."""

    words: tuple[str, ...] = ()
    alone: bool = True
    fetches: bool = False
    asks_remotes: bool = False
    takes_paths: bool = False


@dataclass(frozen=True, slots=True)
class Consent:
    """The changes of protected files that a command may make.

    `ask` is called about files that are not covered; None where all are. `covers` are resolved files and
    directories that the user was asked about before. `brings` is untrusted content that the command may
    bring with commits, which stay; None for nothing. `destinations` are the remotes and addresses that the
    command itself configures for git.
    """

    ask: AskToKeep | None
    covers: Collection[Path] = ()
    brings: Bringing | None = None
    destinations: Collection[str] = ()

    def allows(self, path: Path) -> bool:
        """Return whether the user has allowed any change at a resolved path."""
        return self.ask is None or not set(self.covers).isdisjoint((path, *path.parents))


ALL = Consent(None)


class StoredCopies(Protocol):
    """Copies of the files that a command is about to destroy: all but `left_out` of them."""

    @property
    def left_out(self) -> int: ...


class Found(Protocol):
    """The changes of a command, complete when its block is left."""

    @property
    def at_stake(self) -> StoredCopies: ...

    @property
    def edits(self) -> Sequence[object]: ...

    @property
    def notes(self) -> Sequence[str]:
        """Lines about changes that were seen and are in no edit."""
        ...

    @property
    def put_back(self) -> Sequence[str]:
        """Protected files that the command changed and that were reverted, and directories that lead to
        them."""
        ...

    @property
    def left(self) -> Sequence[str]:
        """Protected files that could not be reverted, in whole or in part."""
        ...

    @property
    def signs(self) -> Path | None:
        """File whose time is the command's last sign of life; the command's guard sets it, too."""
        ...

    def goes_on(self, over: Callable[[], Awaitable[object]], process: int = 0) -> None:
        """Record changes beyond the block, until the awaitable of `over` is done: the command, whose topmost
        `process` this is, continues."""
        ...

    def stays(self) -> None:
        """Record changes of protected files beyond the block, until the turn ends: the program continues."""
        ...


class Recorded(Protocol):
    """The result of recording changes, complete when their block is left."""

    @property
    def notes(self) -> Sequence[str]:
        """Lines about changes that were made and could not be recorded."""
        ...


@dataclass(frozen=True, slots=True)
class ByOthers:
    """What others than a conversation have changed in a file since it knew the content: who, the earliest
    first. `verb` is what became of the file, `before` the content before their changes, if it is stored: that
    which was known, or, if `after_own`, what the conversation's own commands made of it."""

    changes: Sequence[ChangedBy] = ()
    verb: str = "changed"
    before: bytes | None = None
    after_own: bool = False


class Journal(Protocol):
    """The record of what one conversation's calls change, with the previous contents."""

    def writing(
        self, call: str, tool: str, changes: "Sequence[Change]"
    ) -> AbstractAsyncContextManager[Recorded]:
        """Record the changes of this block, also if it fails.

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
        """Record the project's changes while a command runs in this block. `at_stake` are files and
        directories that the command is about to destroy. Changes of protected files are reverted unless
        `consent` covers or accepts them.

        Raises:
            JournalError: its changes cannot be recorded; the block does not begin.
        """
        ...

    async def changed_by_others(self, path: Path, seen: Seen | None, now: bytes | None) -> ByOthers:
        """Find who has changed the file at a resolved path, whose content is `now` (None if it is gone),
        since the conversation has `seen` it; without that, since its own last change of it.

        Raises:
            StoreError: the store cannot be read.
        """
        ...

    @property
    def moved(self) -> MovedFiles:
        """Files that commands moved out of sight and that have no copy."""
        ...

    async def made(self) -> Mapping[Path, Version]:
        """Versions that the calls of this turn, and nothing else, left in files that did not exist before
        or equalled the last commit.

        Raises:
            StoreError: the store cannot be read.
        """
        ...
