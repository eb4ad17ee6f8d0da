"""The owners of conversations in copies of a store: each conversation has one of them.

Copies have the same origin until one of them receives a bundle of another: then the one that was the first to
send something since the copying keeps the origin, and the other one gets a new one. It gives up what it has
not continued. What it goes on to send under its new origin belongs to it, wherever that is all that there is
of the conversation: the longer one counts, of equal ones that of the new origin, and two that differ are two
conversations. All stores compute this alike from the bundles, in whatever order these arrive.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from cogency_tui.store import increments, origins
from cogency_tui.store.bundles import LONGEST_AFTER, Head
from cogency_tui.store.increments import Digests
from cogency_tui.store.origins import Origin
from cogency_tui.store.store import StoredConversation

_NONE: Digests = {}


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
