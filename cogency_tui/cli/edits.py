"""`cogency-tui edits`: lists, shows, reverts and restores the agent's edits.

Invariant: a change of files is applied as a whole or not at all, even if the reader of the output is gone.
The plan is printed before the change if the user is asked, else after it.
"""

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cogency_tui.agent.edits.file_history import RESTORE, UNDO, path_today, renames
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.edits.undo_preview import Plan, difference, left_out
from cogency_tui.agent.edits.undo_selection import undone_edits
from cogency_tui.agent.review.survival import EditFate, fate_of
from cogency_tui.cli.edits_output import (
    Counts,
    diff_text,
    edit_line,
    edit_value,
    fate_line,
    fate_value,
    name_of,
    plan_text,
    plan_values,
    state_of,
)
from cogency_tui.cli.standard_streams import agreed, complain, print_json, print_text, talk, unread
from cogency_tui.errors import ConsentError, UsageError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, Mark
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_names import shown


class Paths:
    """Files and directories that the user named to select edits; none select all."""

    def __init__(self, project: Path, given: Sequence[str]) -> None:
        self._given = given
        # A link's own path and its target: a tool changes the file, a command may change the link.
        joined = [project / path for path in given]
        spellings = [*map(Path, map(os.path.normpath, joined)), *map(Path, map(os.path.realpath, joined))]
        self.names = {
            path.relative_to(project).as_posix() if path.is_relative_to(project) else path.as_posix()
            for path in spellings
        }

    def cover(self, *paths: str) -> bool:
        """Return whether one of these journal paths is selected, or below a selected one."""
        return not self._given or any(
            path == name or path.startswith(f"{name}/") or (name == "." and not path.startswith("/"))
            for path in filter(None, paths)
            for name in self.names
        )

    def narrow(self, plan: Plan) -> Plan:
        """The part of a plan that is about the selected paths.

        Raises:
            UsageError: nothing is.
        """
        changes = [each.change for each in plan.changes] + [*plan.unchanged]
        left = {each.path for each in changes if not self._cover_in(plan, each.path, each.old_path)}
        left |= {each.path for each in (*plan.obstacles, *plan.left) if not self._cover_in(plan, each.path)}
        narrowed = plan.without(left)
        is_empty = not (narrowed.changes or narrowed.unchanged or narrowed.obstacles)
        if is_empty and narrowed.left:
            raise UsageError(f"Nothing was changed. {left_out(narrowed.left)}")
        if left and is_empty:
            raise UsageError(
                f"There is nothing to revert in {', '.join(map(shown, self._given))}.",
                "Use --dry-run without --path to list the files with edits.",
            )
        return narrowed

    def _cover_in(self, plan: Plan, *paths: str) -> bool:
        """Return whether a plan's paths, or their names when they were changed, are selected."""
        return self.cover(*paths, *(name for path in paths for name in plan.former.get(path, ())))


_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """The edits to revert: these, those of a turn (None for the last one), everything after the turn `to`,
    or with `redo` the last undo; limited to `paths` and below, if there are any.
    """

    ids: Sequence[int] = ()
    turn: int | None = None
    to: int | None = None
    redo: bool = False
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Consent:
    """The consent given: none with `dry_run`; to permanent losses only with `for_good`; without a question
    to what needs one only with `yes`.
    """

    dry_run: bool = False
    for_good: bool = False
    yes: bool = False


class EditCommands:
    """The commands. `conversation` names one by its id or the beginning of it; by default it is that of the
    named edits, or the latest in `project`. All methods return the exit status.

    They raise `UsageError` for a missing target, `WorkspaceError` for an impossible action, `StoreError`.
    """

    def __init__(self, store: Store, project: Path, conversation: str | None, *, as_json: bool) -> None:
        self._store = store
        self._edits = Edits(store.database)
        self._project = project
        self._named = conversation
        self._as_json = as_json

    async def list_all(self, turn: int | None = None, paths: Sequence[str] = ()) -> int:
        """Print edits, the latest first."""
        conversation = await self._conversation()
        if conversation is None:
            talk(f"No conversations in {name_of(str(self._project))} yet.")
            return 0
        blobs = await self._contents(conversation.project)
        edits = await self._edits.in_history(conversation.id)
        chosen_paths = Paths(Path(conversation.project), paths)
        chosen = [edit for edit in reversed(edits) if edit.origin.turn == (turn or edit.origin.turn)]
        chosen = [edit for edit in chosen if chosen_paths.cover(edit.path, edit.old_path)]
        shared = [] if turn else await self._edits.shared_with(conversation.id)
        chosen += [edit for edit in reversed(shared) if chosen_paths.cover(edit.path, edit.old_path)]
        owners = {conversation.id, *(edit.origin.conversation for edit in shared)}
        known = {owner: await self._decided(owner) for owner in owners}
        for edit in chosen:
            counts = diff.count(await in_thread(difference, edit, blobs))
            marks, undone = known.get(edit.origin.conversation) or known[conversation.id]
            state = state_of(edit, marks, undone)
            if self._as_json:
                print_json(edit_value(edit, state, counts, marks))
            else:
                print_text(edit_line(edit, state, counts))
        if not chosen and not self._as_json:
            talk(f"No such edits in conversation {conversation.id} ({len(edits):,} in all).")
        return 0

    async def show(self, id: int) -> int:
        """Print what one edit changed, and its survival."""
        edit = await self._edit(id)
        marks, undone = await self._decided(edit.origin.conversation)
        state = state_of(edit, marks, undone)
        journal = await self._journal(edit.origin.project)
        edits = await self._edits.in_history(edit.origin.conversation)
        today = path_today(edit.path, renames(edits), edit.id)

        def work(contents: Contents, blobs: Blobs) -> tuple[str, Counts, EditFate]:
            text = difference(edit, blobs)
            return text, diff.count(text), fate_of(replace(edit, path=today), contents, blobs)

        text, counts, fate = await journal.reading(work)
        if self._as_json:
            value = edit_value(edit, state, counts, marks)
            print_json({**value, "diff": text, "now": fate_value(fate, today)})
        else:
            now = fate_line(fate, "" if today == edit.path else today)
            print_text(f"{edit_line(edit, state, counts)}\n\n{diff_text(text)}\n\n{now}")
        return 0

    async def revert(self, choice: Choice, consent: Consent) -> int:
        """Revert the chosen edits, and print the changes."""
        conversation = await self._conversation_of(choice.ids)
        journal = await self._journal(conversation.project)
        undo = Undo(journal, conversation.id)
        if choice.redo:
            plan = await undo.redo()
        elif choice.to is not None:
            plan = await undo.back_to(choice.to)
        elif choice.ids:
            plan = await undo.of_edits(choice.ids)
        else:
            plan = await undo.of_turn(choice.turn)
        chosen_paths = Paths(Path(conversation.project), choice.paths)
        return await self._carry_out(conversation, journal, chosen_paths.narrow(plan), consent)

    async def restore(self, id: int, consent: Consent, *, before: bool = False) -> int:
        """Restore a file as an edit left it, or as it was `before` that, and print the changes."""
        edit = await self._edit(id)
        conversation = await self._conversation_of([id])
        journal = await self._journal(conversation.project)
        plan = await Undo(journal, conversation.id).restore([edit], before=before)
        if not plan.changes and not plan.obstacles:
            path = (edit.old_path or edit.path) if before else edit.path
            talk(f"{name_of(path)} is already in that state.")
            return 0
        return await self._carry_out(conversation, journal, plan, consent)

    async def _carry_out(
        self, conversation: StoredConversation, journal: Journal, plan: Plan, consent: Consent
    ) -> int:
        blobs = await journal.blobs()
        undo = Undo(journal, conversation.id)
        lost = ", ".join(map(name_of, plan.for_good[:_MOST_NAMED]))
        refused = bool(lost) and not consent.for_good
        if plan.obstacles or consent.dry_run or refused:
            await self._print(plan, blobs)
        if plan.obstacles:
            complain(_in_the_way(plan, "would be" if consent.dry_run else "was"))
            return 1
        if consent.dry_run:
            talk("Dry run: no files changed." + (" Applying this requires --for-good." if lost else ""))
            return 0
        if refused:
            what = f"The current content is too large to save, and would be lost permanently: {lost}."
            complain(WorkspaceError(f"Nothing was changed. {what}", "Use --for-good to do it anyway."))
            return 1
        question = "" if consent.yes else await undo.asks_about(plan)
        if question:
            with unread():
                await self._print(plan, blobs)
            if not agreed(f"{question} Continue?"):
                complain(ConsentError(f"Nothing was changed. {question}", "Use --yes to do it anyway."))
                return 1
        made = await undo.apply(plan, for_good=consent.for_good, agreed=True)
        latest = await self._store.latest(str(self._project))
        is_default = latest is not None and latest.id == conversation.id
        try:
            with unread():
                if not question:
                    await self._print(plan, blobs)
                if self._as_json:
                    print_json({"type": "done", "tool": plan.tool, "edits": [edit.id for edit in made]})
        finally:
            talk(_done(plan, made, "" if is_default else f" --conversation {conversation.id}"))
        return 0

    async def _print(self, plan: Plan, blobs: Blobs) -> None:
        if self._as_json:
            for value in await in_thread(lambda: [*plan_values(plan, blobs)]):
                print_json(value)
        else:
            for text in await in_thread(lambda: [*plan_text(plan, blobs)]):
                print_text(text)

    async def _conversation(self) -> StoredConversation | None:
        if self._named is not None:
            return await self._store.resolve(self._named)
        return await self._store.latest(str(self._project))

    async def _conversation_of(self, ids: Collection[int]) -> StoredConversation:
        """The conversation whose files are to be changed; one of another project only if it was named."""
        edits = [await self._edit(id) for id in ids]
        if self._named is not None or not edits:
            conversation = await self._conversation()
            if conversation is None:
                where = name_of(str(self._project))
                raise UsageError(f"There is no conversation in {where}.", "Specify one with --conversation.")
            return conversation
        first = edits[0]
        for edit in edits:
            if edit.origin.project != str(self._project):
                raise UsageError(
                    f"Edit {edit.id} was made in {name_of(edit.origin.project)}.",
                    f"Run this there, or add --conversation {edit.origin.conversation}.",
                )
            if edit.origin.conversation != first.origin.conversation:
                both = f"{first.id} and {edit.id}"
                raise UsageError(
                    f"Edits {both} belong to different conversations.",
                    "Specify edits of a single conversation.",
                )
        return await self._store.resolve(first.origin.conversation)

    async def _decided(self, conversation: str) -> tuple[list[Mark], set[int]]:
        """The marks on the edits of a conversation, and the edits that are undone."""
        edits = await self._edits.in_history(conversation)
        return await self._edits.marks(conversation), undone_edits(edits)

    async def _edit(self, id: int) -> Edit:
        edit = await self._edits.get(id)
        if self._named is not None:
            conversation = await self._store.resolve(self._named)
            if all(each.id != id for each in await self._edits.in_history(conversation.id)):
                raise UsageError(
                    f"Edit {id} does not belong to conversation {conversation.id}.",
                    f"It belongs to {edit.origin.conversation}.",
                )
        return edit

    async def _contents(self, project: str) -> Blobs:
        """The stored contents of edits in a project, which may be on another machine."""
        if Path(project).is_dir():
            return await (await self._journal(project)).blobs()
        return Blobs(self._store.database.path.parent / BLOBS)

    async def _journal(self, project: str) -> Journal:
        if not Path(project).is_dir():
            raise WorkspaceError(
                f"The directory of this conversation, {name_of(project)}, is not here.",
                "Its edits can be listed with `cogency-tui edits list`.",
            )

        async def store() -> Store:
            return self._store

        journal = Journal(Workspace(Path(project)), store)
        await journal.settle()
        await self._store.report(talk)
        return journal


def _in_the_way(plan: Plan, verb: str) -> WorkspaceError:
    first = plan.obstacles[0]
    more = f", and {len(plan.obstacles) - 1} more" if len(plan.obstacles) > 1 else ""
    others = [each.change.path for each in plan.changes]
    if plan.tool == RESTORE:
        hint = "Look for another version with `cogency-tui edits list`."
    elif others:
        named = " ".join(f"--path {shlex.quote(name_of(path))}" for path in others)
        named = named if len(others) <= _MOST_NAMED else "--path"
        hint = f"Revert the others with {named}, or choose its content in the interface."
    else:
        hint = "Choose its content in the interface, or change it by hand."
    return WorkspaceError(f"Nothing {verb} changed. {name_of(first.path)}: {first.reason}{more}.", hint)


def _done(plan: Plan, made: Sequence[Edit], conversation: str) -> str:
    """A report of the changes with the command that reverts them; `conversation` is the option it needs."""
    count = len(plan.changes)
    files = "1 file" if count == 1 else f"{count:,} files"
    command = f"`cogency-tui edits revert{conversation}"
    if plan.tool == UNDO:
        undone = len({undone.edit for edit in made for undone in edit.undoes})
        edits = "1 edit" if undone == 1 else f"{undone:,} edits"
        if not count:
            gone = "was already gone, and counts" if undone == 1 else "were already gone, and count"
            return f"Nothing to change: {edits} {gone} as reverted now. Redo with {command} --redo`."
        return f"Reverted {edits} in {files}. Redo with {command} --redo`."
    # Exactly these: without their numbers the command would revert the last turn.
    ids = " ".join(str(edit.id) for edit in made)
    verb = "Restored" if plan.tool == RESTORE else "Reapplied"
    return f"{verb} {files}. Undo with {command} {ids}`."
