"""The owners of conversations in copies of a store: each conversation has one of them.

Copies have the same origin until one of them receives a bundle of another: then the one that was the first to
send something since the copying keeps the origin, and the other one gets a new one. It gives up what it has
not continued. What it goes on to send under its new origin belongs to it, wherever that is all that there is
of the conversation: the longer one counts, of equal ones that of the new origin, and two that differ are two
conversations. All stores compute this alike from the bundles, in whatever order these arrive.

A conversation that was imported from an export of another store belongs to the importer until the original
arrives; then, if nothing was added to it, it is the original.
"""

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cogency_tui.store import increments, origins
from cogency_tui.store.bundles import LONGEST_AFTER, Head
from cogency_tui.store.column_text import to_column
from cogency_tui.store.increments import Digests
from cogency_tui.store.origins import Origin
from cogency_tui.store.store import StoredConversation

_NONE: Digests = {}


class ImportedHead(NamedTuple):
    """The id of a conversation for its sender; the origin and the id of the one that was imported as it."""

    id: str
    import_of: tuple[str, str] = ("", "")


def is_proven(connection: sqlite3.Connection, head: Head) -> bool:
    """Return whether this store, or a copy of it, has written a bundle in its name."""
    return bool(head.proof) and head.proof == origins.proof(connection, head.origin, head.bundle)


def note_former(connection: sqlite3.Connection, head: Head) -> None:
    """Note the former origins that a bundle's owner proves, and those that nobody here can examine."""
    for former, proof in head.former.items():
        if proof == (origins.proof(connection, former, head.origin) or proof):
            origins.note_former(connection, head.origin, former)


def unshared(sent: Sequence[str], copies: Iterable[Head]) -> list[str]:
    """Return the last of our bundles: those that the writers of other ones with our origin do not have."""
    theirs = {id for head in copies for id in head.after}
    last = max((place for place, id in enumerate(sent, 1) if id in theirs), default=0)
    return [*sent[last:]]


def keeps_origin(sent: Sequence[str], copies: Sequence[Head]) -> bool:
    """Return whether our store and not its copy keeps the origin: it was the first to send since."""
    ours = unshared(sent, copies)
    theirs = {id for head in copies for id in (head.bundle, *head.after)} - {*sent}
    begins = len(ours) < len(sent) or any(len(head.after) < LONGEST_AFTER for head in copies)
    # Where the copying is further back than what is there tells, both give it up.
    return bool(ours) and begins and min(ours) < min(theirs)


def is_contested(connection: sqlite3.Connection, origin: Origin, head: ImportedHead) -> bool:
    """Return whether another origin may have a conversation here that this one has sent, and has not."""
    if increments.of_origin(connection, origin, head.id) is not None:
        return False
    owner, original = head.import_of
    return bool(
        increments.relative(connection, origin.id, head.id)
        or origins.imports_of(connection, origin.id, head.id)
        or (owner and increments.of_origin(connection, Origin(owner, ""), original))
    )


def settle(
    connection: sqlite3.Connection, origin: Origin, original: str, sent: Mapping[str, Digests]
) -> StoredConversation | None:
    """Settle whose a conversation is that an origin has sent, where a relative of that has it here; `sent`
    are the digests of all that the origin has sent. Return the relative's if it stays the only one.

    The relative's becomes the origin's if that has gone on with it.
    """
    here = increments.relative(connection, origin.id, original)
    if here is None or increments.of_origin(connection, origin, original) is not None:
        return None
    family = increments.family_of(connection, _root(connection, here))
    ours = {each.original or each.id: increments.digests_of(connection, each.id) for each in family}
    theirs = {id: sent.get(id, _NONE) for id in ours}
    is_later = origins.of_source(connection, here.source) in origins.former(connection, origin.id)
    if all(increments.is_beginning(ours[id], theirs[id]) for id in ours) and (
        is_later or any(len(theirs[id]) > len(ours[id]) for id in ours)
    ):
        for each in family:
            increments.give(connection, origin, each)
        return None
    return here if all(increments.is_beginning(theirs[id], ours[id]) for id in ours) else None


def settle_import(
    connection: sqlite3.Connection, origin: Origin, head: ImportedHead, sent: Mapping[str, Digests]
) -> StoredConversation | None:
    """Settle whose a conversation is that an origin has sent, where the export of one was imported as the
    other. Return the original, if the sent one is only the import of that.

    What is imported here becomes the origin's if that has the original, and nothing was added: of several
    such imports one does, our own first, and the others go to the trash.
    """
    imports = (
        increments.find_here(connection, id) for id in origins.imports_of(connection, origin.id, head.id)
    )
    for found in sorted(filter(None, imports), key=lambda each: (each.source, each.id)):
        _return(connection, origin, found, sent)
    given = Origin(head.import_of[0], "")
    original = increments.of_origin(connection, given, head.import_of[1]) if given.id else None
    if original is None:
        return None
    theirs = _texts(sent.get(head.id, _NONE))
    ours = _texts(increments.digests_of(connection, original.id))
    return original if theirs == ours[: len(theirs)] else None


def _return(
    connection: sqlite3.Connection, origin: Origin, imported: StoredConversation, sent: Mapping[str, Digests]
) -> None:
    """Return an imported conversation to its owner, with those of its sub-agents, if it has no more; trash it
    where the owner's is here."""
    root = _root(connection, imported)
    originals: dict[str, str] = {}
    for each in increments.family_of(connection, root):
        owner, originals[each.id] = origins.original_of(connection, each.id)
        theirs = _texts(sent.get(originals[each.id], _NONE))
        ours = _texts(increments.digests_of(connection, each.id))
        if owner != origin.id or ours != theirs[: len(ours)]:
            return
    if any(increments.of_origin(connection, origin, original) for original in originals.values()):
        sql = "UPDATE conversations SET trashed = coalesce(trashed, ?) WHERE id = ?"
        connection.execute(sql, (time.time(), to_column(root.id)))
        return
    for id, original in originals.items():
        increments.restart(connection, origin, original, id)


def _texts(digests: Digests) -> list[bytes | None]:
    """Return the digests in their order: an import has numbers of its own."""
    return [digest for _, digest in sorted(digests.items())]


def _root(connection: sqlite3.Connection, conversation: StoredConversation) -> StoredConversation:
    """Return the user's conversation to which a sub-agent's belongs."""
    seen: set[str] = set()
    while conversation.call is not None and conversation.parent and conversation.id not in seen:
        seen.add(conversation.id)
        above = increments.find_here(connection, conversation.parent)
        if above is None or above.source != conversation.source:
            break
        conversation = above
    return conversation
