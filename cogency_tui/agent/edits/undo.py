"""Undo and redo: planned and shown first, then applied as a whole or not at all, and recorded like any
edit.

Invariant: an undo reverts the agent's changes and leaves all later ones; if both touched the same lines, the
file is not written before the user has decided. An undo needs no git, and can be undone.
"""

import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cogency_tui.agent.edits.change_attribution import named_others
from cogency_tui.agent.edits.file_history import GUARD, REDO, RESTORE, UNDO
from cogency_tui.agent.edits.overwriting import Goal, goals, goals_before, obstructed, with_deviations
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.reverse import Obstacle, Reversal
from cogency_tui.agent.edits.undo_preview import Plan, Planned, difference, left_out, plan_of, planned
from cogency_tui.agent.edits.undo_selection import (
    ReversalStep,
    UndoRecord,
    latest_turn,
    latest_undo,
    left_in,
    made_in,
    steps,
    to_undo,
    turn_reverted_by,
    undo_record,
)
from cogency_tui.agent.edits.unrecorded_changes import record_running
from cogency_tui.errors import ConsentError, LossError, UsageError, WorkspaceError, in_words
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, USER, Edit, FileChange, Version
from cogency_tui.store.edits import Also
from cogency_tui.store.intents import ending
from cogency_tui.store.reviews import Reviews
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace.atomic_changes import Batch
from cogency_tui.workspace.file_or_link import located
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal

_MOST_NAMED = 5


class Undo:
    """Undoes edits of a conversation. All methods raise `StoreError`."""

    def __init__(self, journal: "Journal", conversation: str) -> None:
        self._journal = journal
        self._conversation = conversation

    async def of_edits(self, ids: Collection[int]) -> Plan:
        """Plan to revert these edits, which the user has chosen one by one.

        Raises:
            UsageError: there is nothing to revert.
        """
        edits = await self._edits()
        chosen = to_undo(edits, ids)
        if not chosen:
            raise UsageError("Nothing to undo: these edits are already reverted, or changed nothing.")
        return await self._plan(UNDO, steps(chosen, edits))

    async def of_own(self, ids: Collection[int]) -> Plan:
        """Plan to revert these edits except those that another conversation may have made, or that came
        with commits of a remote; errors as `of_edits`.
        """
        edits = await self._edits()
        left = left_in(to_undo(edits, ids))
        own = set(ids).difference(edit.id for edit in left)
        if left and not to_undo(edits, own):
            raise UsageError(f"Nothing was changed. {left_out(left)}")
        return replace(await self.of_edits(own), left=tuple(left))

    async def put_back(self, ids: Collection[int]) -> tuple[Obstacle, ...]:
        """Revert these edits at once, for the engine; return the obstacles for some of them.

        Raises:
            WorkspaceError: nothing could be put back.
        """
        plan = await self._plan(GUARD, steps(to_undo(await self._edits(), ids)))
        await self.apply(replace(plan, obstacles=()), for_good=True, agreed=True)
        return plan.obstacles

    async def of_turn(self, turn: int | None = None, path: str | None = None) -> Plan:
        """Plan to revert the agent's changes in a turn, by default the last that is not undone; with
        `path`, only those of that path. Errors as `of_edits`.
        """
        edits = await self._edits()
        passed_over: Sequence[Edit] = ()
        if turn is None and (turn := latest_turn(edits)) is not None:
            later = to_undo(edits, {edit.id for edit in edits if edit.origin.turn > turn})
            passed_over = [edit for edit in later if edit.is_possibly_users]
        if turn is None:
            raise UsageError("Nothing to undo: no edit of this conversation is applied.")
        here = [edit for edit in edits if path is None or path in (edit.path, edit.old_path)]
        plan = await self.of_own(made_in(here, turn))
        left = {edit.id for edit in plan.left}
        plan = replace(plan, turn=turn, left=(*plan.left, *passed_over))
        chosen = [edit for edit in to_undo(edits, made_in(here, turn)) if edit.id not in left]
        return await self._with_deviations(plan, obstructed(goals_before(chosen, edits), plan))

    async def back_to(self, turn: int) -> Plan:
        """Plan to restore the files as they were after a turn, 0 for the beginning; errors as `of_edits`."""
        return await self.of_own({edit.id for edit in await self._edits() if edit.origin.turn > turn})

    async def before(self, ids: Collection[int]) -> Plan:
        """Plan to restore the files as they were before these edits; changes by others since stay, or are
        lost by the plan that overwrites files in conflict.

        Raises:
            UsageError: there is nothing to revert.
        """
        edits = await self._edits()
        chosen = to_undo(edits, ids)
        plan = replace(await self._reverting_own(ids), left=tuple(left_in(chosen)))
        return await self._reaching(plan, obstructed(goals_before(chosen, edits), plan))

    async def to_state(self, ids: Collection[int], files: Iterable[tuple[str, str, Version]]) -> Plan:
        """Plan to restore these versions of files, each given by its path and its path today, by reverting
        edits; changes by others since stay, or are lost by the plan that overwrites them.

        Raises:
            UsageError: the files are in that state.
        """
        plan = await self._reverting_own(ids)
        return await self._reaching(
            plan, goals(files, to_undo(await self._edits(), ids), await self._edits())
        )

    async def _reverting_own(self, ids: Collection[int]) -> Plan:
        edits = await self._edits()
        left = {edit.id for edit in left_in(to_undo(edits, ids))}
        return await self._plan(UNDO, steps(to_undo(edits, set(ids) - left), edits))

    async def _reaching(self, plan: Plan, goals: Sequence[Goal]) -> Plan:
        plan = await self._with_deviations(plan, goals)
        if not (plan.changes or plan.deviations):
            raise UsageError("Files already match this point.")
        return plan

    async def redo(self) -> Plan:
        """Plan to revert the last undo.

        Raises:
            UsageError: there is none.
        """
        edits = await self._edits()
        chosen = to_undo(edits, latest_undo(edits))
        if not chosen:
            raise UsageError("Nothing to redo: no undo of this conversation is applied.")
        plan = replace(await self._plan(REDO, steps(chosen, edits)), turn=turn_reverted_by(chosen, edits))
        # Overwriting is not offered: no undo would bring back what it overwrites.
        return await self._with_deviations(plan, ())

    async def restore(self, edits: Iterable[Edit], *, before: bool = False) -> Plan:
        """Plan to restore files as these edits left them, or as they were `before`, whatever their state
        now.
        """
        versions = [
            (edit.old_path or edit.path, edit.before, edit.made) if before else (edit.path, edit.after, "")
            for edit in edits
        ]

        def work(contents: Contents, blobs: Blobs) -> Plan:
            reversal = Reversal(contents, blobs)
            for path, version, made in versions:
                reversal.restore(path, version, made)
            return planned(RESTORE, reversal, blobs)

        return await self._journal.reading(work)

    async def prompt(self, turn: int) -> str:
        """Return the user's message that began a turn; empty if there is none."""
        prompts = await Reviews((await self._journal.store()).database).prompts(self._conversation)
        return prompts[turn - 1] if 0 < turn <= len(prompts) else ""

    async def resolve(self, plan: Plan, path: str, content: bytes) -> Plan:
        """The plan without the obstacle at this path, which is to have this content.

        Raises:
            UsageError: there is no obstacle at this path.
        """
        blobs = await self._journal.blobs()
        obstacle = next((each for each in plan.obstacles if each.path == path), None)
        if obstacle is None:
            raise UsageError(f"Nothing to decide for {shown(path)}.")
        then = await in_thread(blobs.version, content, obstacle.mode)
        change = FileChange(path, obstacle.now, then, undoes=obstacle.undoes)
        decided = Planned(change, await in_thread(difference, change, blobs))
        left = tuple(each for each in plan.obstacles if each is not obstacle)
        return replace(plan, changes=(*plan.changes, decided), obstacles=left)

    async def asks_about(self, plan: Plan) -> str:
        """The question to the user before a plan is applied, with the files named: about an imported
        conversation all of it; about any other, what is outside the project, and what another conversation
        or the user may have changed. Empty if there is none.
        """
        questions = [await self._asks_about_paths(plan), await self._asks_about_shared(plan)]
        return " ".join(filter(None, questions))

    async def _asks_about_shared(self, plan: Plan) -> str:
        undone = {each.edit for planned in plan.changes for each in planned.change.undoes}
        shared = [edit for edit in await self._edits() if edit.shared_with and edit.id in undone]
        if not shared:
            return ""
        store, titles = await self._journal.store(), dict[str, str]()
        for id in {other for edit in shared for other in edit.shared_with if other != USER}:
            stored = await store.conversation(id)
            titles[id] = stored.title if stored else ""
        others, named = named_others(shared, titles), _named([*dict.fromkeys(edit.path for edit in shared)])
        return f"{others[0].upper()}{others[1:]} may have made the changes to {named}."

    async def _asks_about_paths(self, plan: Plan) -> str:
        changes = [each.change for each in plan.changes]
        paths = [path for change in changes for path in (change.old_path, change.path) if path]
        is_imported = await self._is_imported()
        if not is_imported:
            paths = [path for path in paths if not located(self._journal.workspace, path).inside]
        if not paths:
            return ""
        if is_imported:
            return f"Edits of an imported conversation would change {_named(paths)}."
        return f"This would change {_named(paths)}, outside the project."

    async def apply(
        self, plan: Plan, *, for_good: bool = False, agreed: bool = False, also: Also | None = None
    ) -> list[Edit]:
        """Apply the plan, all or nothing; return the edits that it made.

        `for_good`: the user knows of the plan's `for_good`. `agreed`: the user agreed to what `asks_about`
        names. `also` is written into the store together with these edits, or not at all.

        Raises:
            LossError: there is something `for_good`.
            ConsentError: there is something to be agreed to.
            WorkspaceError: there are obstacles, something changed since it was planned, or a file cannot
                be written. Everything is as it was.
        """
        if plan.obstacles:
            first = plan.obstacles[0]
            more = f" (and {len(plan.obstacles) - 1} more)" if len(plan.obstacles) > 1 else ""
            raise WorkspaceError(
                f"Nothing was changed. {shown(first.path)}: {first.reason}{more}.",
                "Choose the content of these files, or leave them out.",
            )
        if plan.for_good and not for_good:
            raise LossError(
                f"Nothing was changed. The current content of {shown(plan.for_good[0])} is too large to "
                "save, and would be lost permanently.",
                "Confirm, or exclude this file.",
            )
        if not agreed and (question := await self.asks_about(plan)):
            raise ConsentError(f"Nothing was changed. {question}", "Review the changes, and confirm them.")
        return await completed(self._apply(plan, also))

    async def _apply(self, plan: Plan, also: Also | None) -> list[Edit]:
        journal = self._journal
        intents, contents, blobs = await journal.intents(), await journal.contents(), await journal.blobs()
        origin = await journal.origin(self._conversation)
        changes = [each.change for each in plan.changes]

        batch = Batch(journal.workspace)

        def prepare() -> None:
            for change in changes:
                _require_as_planned(change, contents)
            blobs.sync()

        def change_files() -> list[FileChange]:
            for change in changes:
                _stage(change, batch, journal.workspace, blobs)
            made = batch.commit()
            paths = [located(journal.workspace, change.path).path for change in changes]
            return [
                replace(change, made=made.get(path, "")) for change, path in zip(changes, paths, strict=True)
            ]

        paths = [path for each in changes for path in (each.old_path, each.path) if path]
        await journal.commands.scan_before(paths)
        call, intent = f"{plan.tool}-{secrets.token_hex(4)}", 0
        async with journal.lock, await journal.alone():
            try:
                await record_running(journal, paths)
                await in_thread(prepare)
                intent = await intents.begin(journal.root, origin, call, plan.tool, changes)
                done = [*await in_thread(change_files), *plan.unchanged]
                recorded = await journal.record(origin, call, plan.tool, done, ending(intent, also))
            except BaseException:
                await in_thread(batch.roll_back)
                await journal.forget(intent)
                raise
            await in_thread(batch.finish)
            await journal.forget(intent)
        return recorded

    async def record(self, made: Sequence[Edit]) -> UndoRecord:
        """The record of the edits that `apply` has made."""
        return undo_record(made, await self._edits())

    async def _is_imported(self) -> bool:
        conversation = await (await self._journal.store()).conversation(self._conversation)
        return conversation is not None and conversation.imported

    async def _edits(self) -> list[Edit]:
        return await self._journal.in_history(self._conversation)

    async def _with_deviations(self, plan: Plan, goals: Sequence[Goal]) -> Plan:
        return await self._journal.reading(
            lambda contents, blobs: with_deviations(plan, goals, contents, blobs)
        )

    async def _plan(self, tool: str, chosen: Iterable[ReversalStep]) -> Plan:
        # A guard reverts each protected file that it can.
        together = tool != GUARD
        return await self._journal.reading(
            lambda contents, blobs: plan_of(tool, chosen, contents, blobs, together=together)
        )


def _named(paths: Sequence[str]) -> str:
    return in_words([*map(shown, paths)], _MOST_NAMED)


def _require_as_planned(change: FileChange, contents: Contents) -> None:
    paths = [(change.old_path or change.path, change.before)]
    if change.old_path:
        paths.append((change.path, ABSENT))
    for path, version in paths:
        if not contents.now(path).equals(version):
            raise WorkspaceError(
                f"No files changed: {shown(path)} was modified after the preview.", "Review it again."
            )


def _stage(change: FileChange, batch: Batch, workspace: Workspace, blobs: Blobs) -> None:
    location = located(workspace, change.path)
    before, after = change.before, change.after
    if change.old_path:
        old = located(workspace, change.old_path)
        if before.holds(after):
            batch.move(old, location, change.made)
        else:
            batch.remove(old, change.made)
    if after.kind == "absent":
        batch.remove(location, change.made)
    elif before.holds(after):
        if before.mode != after.mode:
            batch.set_mode(location, after.mode)
    elif after.kind == "link":
        batch.put_link(location, blobs.read(after.digest, after.size))
    else:
        batch.put_file(location, blobs.stream(after.digest, after.size), after.mode)
