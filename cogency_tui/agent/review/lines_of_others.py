"""The lines of a file that other conversations wrote: they are no part of a review, and no revert of it
touches them.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from cogency_tui.agent.edits.file_history import is_agents
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.blame import blame_of
from cogency_tui.agent.review.model import HunkFate, Rewrite
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.store import Store
from cogency_tui.workspace.three_way_merge import Range

_MOST_EDITS = 1_000


class OthersLines(NamedTuple):
    """The lines of the conversation with this title in the file as it is now, from top to bottom."""

    title: str
    ranges: tuple[Range, ...]


Owners = Mapping[int, tuple[str, str]]
"""The id and the title of the other conversation that wrote a line, by its number from 1."""


async def owners_at(journal: Journal, store: Store, path: str, own: Collection[str]) -> Owners:
    """Find the lines at `path` that conversations wrote which are none of `own`.

    Raises:
        StoreError: a stored content cannot be read.
    """
    edits = await (await journal.edits()).of_project(journal.root, path=path, limit=_MOST_EDITS)
    if all(edit.origin.conversation in own or not is_agents(edit) for edit in edits):
        return {}
    try:
        annotated = (await blame_of(journal, store, path)).lines
    except WorkspaceError:
        return {}
    ids = {each.line: each.edit.origin.conversation for each in annotated if each.edit is not None}
    others = {line: id for line, id in ids.items() if id not in own}
    stored = {id: await store.conversation(id) for id in set(others.values())}
    return {line: (id, each.title if (each := stored[id]) else "") for line, id in others.items()}


def grouped(owners: Owners) -> list[OthersLines]:
    """The lines of each conversation."""
    return [
        OthersLines(title, tuple(_ranges([line for line, owner in owners.items() if owner == (id, title)])))
        for id, title in dict.fromkeys(owners.values())
    ]


def _ranges(lines: list[int]) -> Iterator[Range]:
    for _, run in groupby(enumerate(sorted(lines)), lambda each: each[1] - each[0]):
        numbers = [*map(itemgetter(1), run)]
        yield numbers[0] - 1, numbers[-1]


def named(fate: HunkFate, owners: Owners) -> HunkFate:
    """The fate of a hunk whose rewrites say which other conversation wrote them."""
    if not (owners and fate.rewrites):
        return fate
    return replace(fate, rewrites=tuple(_named(rewrite, owners) for rewrite in fate.rewrites))


def _named(rewrite: Rewrite, owners: Owners) -> Rewrite:
    found = {owners.get(line) for line in range(rewrite.line, rewrite.line + len(rewrite.texts))}
    owner = found.pop() if len(found) == 1 else None
    return rewrite if owner is None else rewrite._replace(by=owner[1] or "another conversation")
