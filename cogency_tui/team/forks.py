"""Forks that sharing a project does not send: they begin with the text of another's conversation, or of a
withdrawn one. Only the user's word for a single one, `cogency-tui history push ID`, sends it."""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Literal, NamedTuple

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.origins import PREFIX

CopiedFrom = Literal["others", "withdrawn"]
"""What a fork begins with: another's conversation, or one of ours that is withdrawn."""

_LINKS = "SELECT id, parent, source, call IS NOT NULL, forked_at IS NOT NULL FROM conversations"


class Link(NamedTuple):
    """The place of a conversation: its parent, the source of it, whether a call of the parent started it, and
    whether it began as a fork, whose parent may be lost since."""

    parent: str
    source: str
    is_call: bool
    is_fork: bool


class Staying(NamedTuple):
    """Numbers of forks that stay here: of others' conversations, and of withdrawn ones."""

    others: int = 0
    withdrawn: int = 0

    @property
    def words(self) -> str:
        """What stays, and how to send it; empty if nothing does."""
        if not (count := self.others + self.withdrawn):
            return ""
        whose = [
            *(["others'"] if self.others else []),
            *(["withdrawn"] if self.withdrawn else []),
        ]
        forks = f"{count:,} fork{'' if count == 1 else 's'} of {' or '.join(whose)} conversations"
        return f"{forks} stay{'s' if count == 1 else ''} here; `history push ID` sends one."


NONE_STAYS = Staying()


def links(connection: sqlite3.Connection) -> dict[str, Link]:
    """Return the places of all conversations."""
    return {from_column(row[0]): _link(row) for row in connection.execute(_LINKS)}


def link_of(connection: sqlite3.Connection, id: str) -> Link | None:
    """Return the place of a conversation; None if there is none."""
    row = connection.execute(f"{_LINKS} WHERE id = ?", (to_column(id),)).fetchone()
    return _link(row) if row else None


def _link(row: tuple[str, str | None, str, int, int]) -> Link:
    _id, parent, source, is_call, is_fork = row
    return Link("" if parent is None else from_column(parent), source, bool(is_call), bool(is_fork))


def staying(
    places: Mapping[str, Link], hidden: Collection[str], allowed: Collection[str]
) -> dict[str, CopiedFrom]:
    """Return our own conversations that stay here, those of sub-agents included: `hidden` are the withdrawn
    conversations, `allowed` the forks that the user sends all the same."""
    found: dict[str, CopiedFrom] = {}
    for id, link in places.items():
        if not link.source and (reason := copied_from(id, places.get, hidden, allowed)):
            found[id] = reason
    return found


def copied_from(
    id: str, link_of: Callable[[str], Link | None], hidden: Collection[str], allowed: Collection[str]
) -> CopiedFrom | None:
    """Return what a conversation of ours has text of that stays here; None if of nothing such.

    A fork whose parent is lost may be one of another's conversation, and stays.
    """
    seen = set[str]()
    is_copy = False
    while id not in seen:
        seen.add(id)
        link = link_of(id)
        if link is None or link.source.startswith(PREFIX):
            return "others"
        if is_copy and id in hidden:
            return "withdrawn"
        if not is_copy and id in allowed:
            return None
        if not link.parent:
            return "others" if link.is_fork else None
        is_copy = is_copy or not link.is_call
        id = link.parent
    return None
