"""The review of the agent's edits in a conversation: what a screen or a command asks for.

    review = agent.review(conversation_id)
    overview = await review.overview()                 # groups of changed files, with states and counts
    diff = await review.diff(overview.groups[0].files[0].key)
    await review.revert(Target(3, "src/app.py", (diff.hunks[0].id,)))
    await review.undo()

Invariant: nothing here holds what is not in the store; each call reads what is there now, so several
processes, `/undo` and `cogency-tui edits` may work beside it. Actions are done one after the other, whole or
not at all, also while the agent works. Every method raises `StoreError`; the loop is never blocked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from cogency_tui.agent.contents import Contents
from cogency_tui.agent.journal import Journal
from cogency_tui.agent.reversal import Obstacle
from cogency_tui.agent.review import conflicts, stack
from cogency_tui.agent.review.book import Book, stoppable
from cogency_tui.agent.review.chains import path_today
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.decisions import Decisions
from cogency_tui.agent.review.fate import fates_of
from cogency_tui.agent.review.file_diff import FileDiff, load
from cogency_tui.agent.review.model import (
    ChangedFile,
    FileKey,
    Group,
    HunkFate,
    Outcome,
    Overview,
    Target,
)
from cogency_tui.agent.review.patch import Patch, chosen, patch_of
from cogency_tui.agent.review.standing import counted
from cogency_tui.agent.review.wishes import looking
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.conversations import Store
from cogency_tui.store.reviews import ActionKind

Grouping = Literal["turn", "file"]


class Review:
    """The review of one conversation; `store` gives the person's store, opened when asked for."""

    def __init__(self, journal: Journal, store: Callable[[], Awaitable[Store]], conversation: str) -> None:
        self._book = Book(journal, store, conversation)
        self._decisions = Decisions(self._book)
        self._lock = asyncio.Lock()

    def ask_with(self, confirm: Callable[[str], Awaitable[bool]]) -> None:
        """Ask the user with this before edits of an imported conversation are applied, or such as change what
        is outside the project; without it these are refused."""
        self._book.confirm = confirm

    async def prepare(self) -> None:
        """Work out beforehand what the list shows of the last turn; costs what is new in it."""
        await self._book.prepare()

    async def overview(self, by: Grouping = "turn") -> Overview:
        """All changed files: by turn, the latest first, or by file, by path and then the latest turn first.

        Either way each `ChangedFile` is what one turn did to one file. Files that came to nothing are left
        out.
        """
        page = await self._book.page()
        prompts = await (await self._book.reviews()).prompts(self._book.conversation)
        files = await self._book.files(page, page.chains_by_turn())
        groups = _by_turn(files, prompts) if by == "turn" else _by_file(files)
        can_undo, can_redo = stack.next_undo(page) is not None, stack.next_redo(page) is not None
        return Overview(tuple(groups), counted(files), can_undo, can_redo)

    async def file(self, key: FileKey) -> ChangedFile:
        """One changed file as it stands now; with `key.turn` None over the whole conversation.

        Raises:
            UsageError: there is no such change.
        """
        page = await self._book.page()
        (chain,) = page.targeted(Target(*key))
        return (await self._book.files(page, [(key.turn, chain)]))[0]

    async def diff(self, key: FileKey) -> FileDiff:
        """The lines and hunks of a changed file; cancelling this ends the work soon.

        Where there are no lines to show (`file.no_lines`; `LARGEST` and `MOST_LINES` say what is too large)
        it has none, and its file says all there is: kind, sizes, modes, names.

        Raises:
            UsageError: there is no such change.
        """
        page = await self._book.page()
        (chain,) = page.targeted(Target(*key))
        (file,) = await self._book.files(page, [(key.turn, chain)])
        blobs = await self._book.journal.blobs()
        return await stoppable(lambda check: load(file, chain, page.standing, blobs, check))

    async def fates(self, key: FileKey) -> list[HunkFate]:
        """What became of each hunk, and where it is in today's file. Errors as `diff`."""
        page = await self._book.page()
        (chain,) = page.targeted(Target(*key))
        (file,) = await self._book.files(page, [(key.turn, chain)])
        path = path_today(key.path, page.edits, chain.edits[-1].id)

        def work(contents: Contents, blobs: Blobs) -> list[HunkFate]:
            return fates_of(chain.change, file.hunks, path, contents, blobs)

        return await looking(self._book, work)

    async def keep(self, target: Target) -> Outcome:
        """Mark what is new (or in conflict) as kept. Named hunks that were reverted or edited come back as
        the agent wrote them.

        Raises:
            UsageError: there is no such change or hunk, or all of it stands like that already.
            WorkspaceError: somebody changed these lines since, or the file cannot be written. Nothing was
                changed.
        """
        async with self._lock:
            return Outcome(tuple(await self._decisions.keep(target)))

    async def revert(self, target: Target, *, for_good: bool = False) -> Outcome:
        """Take back the agent's lines; those that anybody else wrote stay.

        Hunks whose lines were changed since are left as they are, marked as in conflict, and told as
        `Outcome.conflicts`; all others are taken back together. `for_good` consents to the loss of what is
        too large to be kept. Errors as `keep`.
        """
        async with self._lock:
            made = await self._decisions.revert(target, for_good=for_good)
            left = await conflicts.conflicts(self._book, target)
        return Outcome(tuple(made), tuple(left))

    async def edit(self, target: Target, text: str) -> Outcome:
        """Put the person's lines in the place of one hunk, whatever stands there for it; they are kept.

        `text` has newlines; the file's encoding, line endings and final newline stay. Errors as `keep`.
        """
        async with self._lock:
            return Outcome(tuple(await self._decisions.edit(target, text)))

    async def comment(self, target: Target, text: str) -> None:
        """Say something to the agent about hunks, a file, or a turn (no path); it reaches the model with the
        next message. Undo takes it back.

        Raises:
            UsageError: it is empty, or there is no such change.
        """
        async with self._lock:
            await self._decisions.comment(target, text)

    async def conflicts(self, target: Target) -> list[Obstacle]:
        """What is in conflict, a file each, with both sides as they are now: `merged.conflicts` has the
        places, where it is a matter of lines; else `reason` says what is in the way."""
        return await conflicts.conflicts(self._book, target)

    async def resolve(self, target: Target, conflict: Obstacle, choices: Sequence[Choice]) -> Outcome:
        """Settle a conflict: for each place "ours" (what is there now), "theirs" (what was there before the
        agent) or a `Text`; one choice where it is no matter of lines.

        Raises:
            UsageError: there are not as many places as choices, or there is nothing to settle.
            WorkspaceError: the file has changed since the conflict was looked at. Nothing was changed.
        """
        async with self._lock:
            return Outcome(tuple(await conflicts.resolve(self._book, target, conflict, choices)))

    async def undo(self) -> tuple[ActionKind, Outcome]:
        """Take back the last action of the review, whichever it was; what it was, and the edits made.

        Raises:
            UsageError: there is none.
            WorkspaceError: somebody changed these lines since. Nothing was changed.
        """
        async with self._lock:
            action, made = await stack.undo(self._book)
        return action.kind, Outcome(tuple(made))

    async def redo(self) -> tuple[ActionKind, Outcome]:
        """Do again what the last undo took back, unless something else was done since; as `undo`."""
        async with self._lock:
            action, made = await stack.redo(self._book)
        return action.kind, Outcome(tuple(made))

    async def patch(self, turn: int | None = None, path: str = "") -> Patch:
        """What is kept of a turn, or of the conversation, as a patch that `git apply` takes.

        Raises:
            UsageError: there is no such change.
        """
        page = await self._book.page()
        found = page.targeted(Target(turn, path))
        pairs = chosen(found, await self._book.outlined(found))
        blobs = await self._book.journal.blobs()
        return await stoppable(lambda _check: patch_of(pairs, page.standing, blobs))


def _by_turn(files: Sequence[ChangedFile], prompts: Sequence[str]) -> list[Group]:
    found: dict[int, list[ChangedFile]] = {}
    for file in files:
        found.setdefault(file.key.turn or 0, []).append(file)
    return [
        Group(prompts[turn - 1] if 0 < turn <= len(prompts) else "", turn, tuple(own))
        for turn, own in found.items()
    ]


def _by_file(files: Sequence[ChangedFile]) -> list[Group]:
    found: dict[str, list[ChangedFile]] = {}
    for file in files:
        found.setdefault(file.path, []).append(file)
    return [Group(path, 0, tuple(found[path])) for path in sorted(found)]
