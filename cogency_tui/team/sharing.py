"""Sharing a project: what the user agrees to, and what a yes, a no and an end of it change."""

import asyncio
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import CogencyError, HistoryServerError, UsageError
from cogency_tui.store.project_scope import main_project
from cogency_tui.store.store import Store
from cogency_tui.team import forks
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import connected
from cogency_tui.team.forks import NONE_STAYS, Staying
from cogency_tui.team.local_state import (
    FILE,
    Audience,
    LocalState,
    Refusal,
    Share,
    WorkerState,
    is_private,
    opened_state,
)
from cogency_tui.team.push import (
    LocalStore,
    Pusher,
    identify,
    opened_store,
    pushing_alone,
    refusal_of,
    settle_withdrawals,
)

_PATIENCE = 120.0
"""Seconds for a push that is under way to end."""

SENT = (
    "Sent: messages, answers, thoughts, calls, results, edits with the files' versions, usage, and what the"
    " model was told of your system and files."
)
NEVER_SENT = (
    "Never sent: your API keys and what else looks like a secret, reasoning that only the provider can read,"
    " what /profile knows of you, and commands that you run with a second space before them (`!  command`)."
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the user is asked: to share `count` conversations of a project, and all later ones, under this
    name in this database, where `left` of them are from an earlier time; `staying` are not among them."""

    project: str
    name: str
    database: str
    count: int
    left: int = 0
    staying: Staying = NONE_STAYS

    @property
    def words(self) -> str:
        """What would be shared."""
        return (
            f"Share all conversations of {self.project}, {self.count:,} now and all later ones, as"
            f" {self.name!r} in {self.database}."
        )


class Counts(NamedTuple):
    """Numbers of the user's own conversations of a project: those that sharing it sends, and the forks that
    stay here."""

    sent: int
    staying: Staying


class Ended(NamedTuple):
    """The end of the sharing of a project: conversations that stay there, those that were withdrawn, and why
    the others could not be."""

    project: str
    remaining: int = 0
    withdrawn: int = 0
    problem: str = ""

    @property
    def words(self) -> str:
        """What has ended."""
        if not self.remaining:
            return f"{self.project} is no longer shared."
        stays = "stays there, seen" if self.remaining == 1 else "stay there, seen"
        return f"{self.project} is no longer shared; {counted(self.remaining)} {stays} as before."


Withheld = Literal["", "withdrawn", "fork", "other"]
"""What keeps a conversation of a shared project from being sent: it is withdrawn, a fork of one that is not
sent, or another's."""


class Sharing(NamedTuple):
    """How a project is shared, how the worker does, and whether there is something for it to do: also the
    number of conversations, of any project, that are still to be withdrawn; what the database does not accept
    of the project; and what keeps the conversation in question from being sent."""

    share: Share | None = None
    worker: WorkerState | None = None
    is_private: bool = False
    is_declined: bool = False
    has_work: bool = False
    withdrawing: int = 0
    refusal: Refusal | None = None
    withheld: Withheld = ""


def counted(conversations: int) -> str:
    """Name a number of conversations."""
    return f"{conversations:,} conversation{'' if conversations == 1 else 's'}"


async def main_project_of(store: Store, project: Path) -> str:
    """Return the project that a directory is of, which may be a worktree."""
    data = store.database.path.parent
    return await store.database.read(lambda connection: main_project(connection, data, str(project)))


def read_sharing(
    data: Path, settings: HistorySettings, main: str, project: str, conversation: str | None = None
) -> Sharing:
    """Return how a main project, or a worktree of it, is shared, and whether this conversation is. Blocks.

    Raises:
        StoreError: the state cannot be read.
    """
    private = any(is_private(each, settings.private) for each in (main, project))
    if not (data / FILE).exists():
        return Sharing(is_private=private)
    with opened_state(data) as state:
        found = next((each for each in state.shares() if each.project == main), None)
        return Sharing(
            found,
            state.worker(),
            private,
            state.is_declined(main),
            state.has_work,
            state.count_withdrawing(),
            state.refusals().get(main),
            _withheld(state, conversation) if found and conversation else "",
        )


def _withheld(state: LocalState, conversation: str) -> Withheld:
    """Return what keeps a conversation of a shared project from being sent."""
    hidden = state.hidden()
    with suppress(sqlite3.Error), opened_store(state.data) as local:
        link_of = partial(forks.link_of, local.connection)
        link = link_of(conversation)
        if link is None or link.source:
            return "other" if link else ""
        if conversation in hidden:
            return "withdrawn"
        return "fork" if forks.copied_from(conversation, link_of, hidden, state.allowed_forks()) else ""
    return ""


def count_waiting(data: Path, settings: HistorySettings) -> int:
    """Count the conversations that wait to be pushed, as the store is now. Blocks.

    Raises:
        StoreError: the state cannot be read.
    """
    with opened_state(data) as state, suppress(sqlite3.Error), opened_store(data) as local:
        return local.waiting(state, settings)
    return 0


async def terms_of(store: Store, settings: HistorySettings, main: str, project: Path, name: str) -> Terms:
    """Return what the user is to be asked; without a name it is the one it is shared as, or the directory's.

    Raises:
        ConfigError: there is no usable address.
        UsageError: the project is private, or its name is none.
    """
    address = address_of(settings)
    data = store.database.path.parent
    found = await asyncio.to_thread(read_sharing, data, settings, main, str(project))
    if found.is_private:
        raise UsageError(f"{main} is private: history.private names it.", "Remove it there first.")
    name = name or (found.share.name if found.share else Path(main).name)
    if not name.isprintable() or not 0 < len(name) <= 200:
        raise UsageError(f"{name!r} cannot be the name of a project.", "Pass another one with --as.")
    left = 0 if found.share else await asyncio.to_thread(_count_left, data, main)
    counts = await asyncio.to_thread(count_conversations, data, main, is_shared=found.share is not None)
    return Terms(main, name, address.name, counts.sent, left, counts.staying)


def count_conversations(data: Path, main: str, *, is_shared: bool) -> Counts:
    """Count the conversations of a project, with those that return once it is shared, unless it is. Blocks.

    Raises:
        StoreError: the state cannot be read.
    """
    hidden, allowed = set[str](), set[str]()
    if (data / FILE).exists():
        with opened_state(data) as state:
            hidden, allowed = state.hidden(with_projects=is_shared), state.allowed_forks()
    with opened_store(data) as local:
        ids = {each.id for each in local.of_project(main) if not each.above} - hidden
        staying = forks.staying(forks.links(local.connection), hidden, allowed)
    whose = [staying[id] for id in ids if id in staying]
    return Counts(len(ids) - len(whose), Staying(whose.count("others"), whose.count("withdrawn")))


def share(data: Path, settings: HistorySettings, terms: Terms, audience: Audience) -> None:
    """Note the user's yes; nothing is sent here. Blocks."""
    with opened_store(data) as local, opened_state(data) as state:
        state.share(terms.project, terms.name, audience)
        added = [each for each in state.shares() if each.project == terms.project]
        ids = [each.id for each in local.shared(added, settings)]
        state.bring_back(ids, with_project=True)


async def apply_share(data: Path, settings: HistorySettings, terms: Terms) -> str:
    """Take what is there from those who are to see it no longer; return what the user has to know: that this
    has to wait, or that nothing will be accepted."""
    local = LocalStore(data)
    state = LocalState(data)
    try:
        [share] = [each for each in state.shares() if each.project == terms.project]
        try:
            async with connected(address_of(settings)) as connection:
                await Pusher(connection, local, state, settings).restrict(terms.project)
                words = await refusal_of(connection, share)
        except HistoryServerError as exc:
            return f"{exc.sentence} Who sees what is there changes with the next push."
        found = {share.project: Refusal(words, is_whole=True)} if words else {}
        state.note_refusals(found, projects=[share.project])
        return words
    finally:
        local.close()
        state.close()


def decline(data: Path, project: str) -> None:
    """Note that a project is not to be offered again. Blocks."""
    with opened_state(data) as state:
        state.decline(project)


async def unshare(data: Path, settings: HistorySettings, main: str, *, keep: bool) -> Ended:
    """End the sharing of a project, and withdraw its conversations unless the user keeps them there. Those
    that an earlier end has left there are withdrawn, too.

    Raises:
        UsageError: it is not shared, and nothing of it is there.
    """
    state = LocalState(data)
    try:
        # The next push withdraws them if this process ends before.
        was_shared = state.unshare(main, withdrawing=not keep)
        # A push that is under way may still send some of it.
        try:
            async with pushing_alone(data, _PATIENCE):
                pushed = await asyncio.to_thread(_pushed, data, state, main)
                withdrawing = not keep and state.withdraw_ended(main, state.server(settings.url), pushed)
        except HistoryServerError as exc:
            return Ended(main, problem="" if keep else postponed(exc))
        if not was_shared and (keep or not pushed):
            raise UsageError(f"{main} is not shared.")
        if not withdrawing or not pushed:
            return Ended(main, remaining=len(pushed))
        try:
            return Ended(main, withdrawn=await withdraw_noted(settings, state))
        except CogencyError as exc:
            return Ended(main, problem=postponed(exc))
    finally:
        state.close()


def _count_left(data: Path, main: str) -> int:
    """Count the conversations of a project that are there. Blocks."""
    if not (data / FILE).exists():
        return 0
    with opened_state(data) as state:
        return len(_pushed(data, state, main) - state.hidden())


def _pushed(data: Path, state: LocalState, main: str) -> set[str]:
    """Return the conversations of a project that are there."""
    with opened_store(data) as local:
        return {each.id for each in local.of_project(main)} & state.pushed_anywhere()


async def withdraw_noted(settings: HistorySettings, state: LocalState) -> int:
    """Withdraw what is noted; return the number of conversations.

    Raises:
        ConfigError, UsageError: there is no usable address or driver.
        HistoryServerError: the database cannot be reached, and the notes remain.
    """
    local = LocalStore(state.data)
    try:
        async with connected(address_of(settings)) as connection:
            server = await identify(connection, state, settings)
            return await settle_withdrawals(connection, local, state, server)
    finally:
        local.close()


def postponed(error: CogencyError) -> str:
    """Say that a withdrawal follows later, and why."""
    return f"{error.sentence} What is to be withdrawn is noted, and done with the next push."
