"""Puts back, at the next opening, protected files that interrupted commands changed without consent.

Invariant: an edit is noted as unagreed in the transaction that records it, and removed only when it was put
back and the notice for the user is stored, however often the process ends in between.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cogency_tui.agent.edits.file_history import GUARD
from cogency_tui.agent.edits.protected_file_restore import put_back
from cogency_tui.agent.edits.undo_selection import undone_edits
from cogency_tui.errors import StoreError
from cogency_tui.store import unseen_notices
from cogency_tui.store.edit_records import Edit
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal

_MOST_NAMED = 20


async def put_back_unagreed(journal: "Journal") -> list[str]:
    """Put back the changes of protected files by interrupted commands; return the notices for the user.

    Raises:
        StoreError: the store cannot be used.
    """
    intents = await journal.intents()
    directory = (await journal.store()).database.path.parent
    notices: list[str] = []
    for conversation, ids in (await intents.unagreed(journal.root)).items():
        changed = [edit for edit in await _edits(journal, conversation) if edit.id in ids]
        try:
            left, aside = await put_back(journal, conversation, changed)
        except StoreError as error:
            notices.append(
                f"{_subject(conversation)} cannot be reverted yet: {_named(changed)}: {error} "
                "cogency-tui retries at the next start."
            )
            continue
        found = _notices(conversation, changed, await _edits(journal, conversation), left)
        found += [f"{each}." for each in aside]
        for notice in found:
            await in_thread(unseen_notices.add, directory, notice)
        await intents.drop_unagreed(ids)
        notices += found
    return notices


async def _edits(journal: "Journal", conversation: str) -> list[Edit]:
    return await (await journal.edits()).of_conversation(conversation)


def _notices(
    conversation: str, changed: Sequence[Edit], recorded: Sequence[Edit], left: dict[str, str]
) -> list[str]:
    """The notices on changes, of which those at the paths `left` could not be put back, by this or another
    process.
    """
    undone, ids = undone_edits(recorded), {edit.id for edit in changed}
    notices: list[str] = []
    if back := [edit for edit in changed if edit.id in undone]:
        guards = [
            str(edit.id)
            for edit in recorded
            if edit.tool == GUARD and ids.intersection(each.edit for each in edit.undoes)
        ]
        cure = f"`cogency-tui edits revert {' '.join(guards)} --conversation {conversation}`"
        notices.append(
            f"Reverted an unapproved change by an interrupted command (conversation {conversation}): "
            f"{_named(back)}. Reapply it with {cure}."
        )
    notices += [
        f"{_subject(conversation)} cannot be reverted: {_named([edit])}: {left[edit.path]}"
        for edit in changed
        if edit.id not in undone and edit.path in left
    ]
    return notices


def _subject(conversation: str) -> str:
    return f"A change by an interrupted command of conversation {conversation}"


def _named(edits: Sequence[Edit]) -> str:
    named = ", ".join(f"{edit.kind} {shown(edit.path)}" for edit in edits[:_MOST_NAMED])
    return named + (f" and {len(edits) - _MOST_NAMED:,} more" if len(edits) > _MOST_NAMED else "")
