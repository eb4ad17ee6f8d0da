"""The results of a search as rows: headings of days, conversations, and forks below their parents.

A family (a conversation and its forks) has the place of its member that was found first. A later page is
therefore appended, or joins its families.

Invariant: shown rows never change their order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from cogency_tui.agent.recall.results import Hit, ListedConversation
from cogency_tui.safe_text import one_line
from cogency_tui.store.forks import ForkTree
from cogency_tui.store.store import StoredConversation
from cogency_tui.tui.kit.select_list import Heading

_WEEK = 7


@dataclass(frozen=True, slots=True)
class RecallEntry:
    """A conversation with its first hits, and whether there are `more`; the number of files that it
    changed, None if unknown; the process that has it open elsewhere, 0 for none; the agent, machine or person
    that is its `source`, and the name of its project there if it is in a team's database."""

    conversation: StoredConversation
    hits: tuple[Hit, ...] = ()
    more: bool = False
    files: int | None = None
    forks: int = 0
    live: int = 0
    source: str = ""
    shared_as: str = ""

    @property
    def origin(self) -> str:
        """The source of an imported conversation, as far as it is known; empty for one of ours, also for a
        fork of an imported one."""
        is_imported = self.conversation.imported and self.conversation.parent is None
        return one_line(self.source) or ("imported" if is_imported else "")


class Item(NamedTuple):
    """A conversation, `depth` levels below its root, with `below` others, which may be `folded`."""

    id: str
    depth: int
    below: int
    folded: bool


class HitRow(NamedTuple):
    """The `nth` hit of a conversation."""

    id: str
    depth: int
    nth: int


Row: TypeAlias = Heading | Item | HitRow


class Catalogue:
    """The rows of the added pages. `grouped` by day; with `whole` families, or only their found members.
    Rows below those in `folded` are hidden."""

    def __init__(
        self, now: float, folded: set[str] | None = None, *, grouped: bool = True, whole: bool = True
    ) -> None:
        self.entries: dict[str, RecallEntry] = {}
        self.rows: list[Row] = []
        self.found = 0
        self._now = now
        self._grouped = grouped
        self._whole = whole
        self._order: list[str] = []
        self._trees: dict[str, ForkTree] = {}
        self._heads: dict[str, str] = {}
        self.folded: set[str] = set() if folded is None else folded
        self._dates: dict[str, float] = {}
        self._places: dict[str, int] = {}
        self._title = ""

    def add(self, page: Sequence[ListedConversation], trees: Mapping[str, ForkTree]) -> None:
        """Add a page; `trees` are the families of its conversations, by their ids."""
        joined = False
        for each in page:
            conversation = each.conversation
            if conversation.id not in self.entries:
                self.found += 1
            elif self.entries[conversation.id].files is None:
                self.found += 1
                joined = True
            live = each.live.pid if each.live else 0
            self.entries[conversation.id] = RecallEntry(
                *(conversation, each.hits, each.more, each.files, each.forks, live),
                source=each.source,
                shared_as=each.shared_as,
            )
            if conversation.id in self._heads:
                joined = True
                continue
            self._order.append(conversation.id)
            self._heads[conversation.id] = conversation.id
            self._dates[conversation.id] = conversation.updated
            if (tree := trees.get(conversation.id)) is not None:
                self._adopt(conversation.id, tree)
            if not joined:
                self._append(conversation.id)
        if joined:
            self._arrange()

    def fold(self, id: str, folded: bool | None = None) -> None:
        """Hide or show the conversations below one; toggle by default."""
        self.folded ^= {id} if folded is None or folded != (id in self.folded) else set()
        self._arrange()

    def rename(self, id: str, title: str) -> None:
        """Set the title of a conversation, if it is here."""
        if (entry := self.entries.get(id)) is not None:
            self.entries[id] = replace(entry, conversation=replace(entry.conversation, title=title))

    def remove(self, id: str) -> None:
        """Remove a conversation, if it is here; those below it stay."""
        entry = self.entries.pop(id, None)
        if entry is None:
            return
        self.found -= entry.files is not None
        self._arrange()

    def place(self, id: str) -> int | None:
        """The row of a conversation; None if it is not shown."""
        return self._places.get(id)

    def parent(self, id: str) -> str | None:
        """The shown conversation that has this one below it."""
        place = self._places.get(id)
        if place is None:
            return None
        depth = self._item(place).depth
        while place > 0 and depth:
            place -= 1
            row = self.rows[place]
            if isinstance(row, Item) and row.depth < depth:
                return row.id
        return None

    def beside(self, y: int, step: int) -> int | None:
        """The row of the conversation `step` conversations away from row `y`; the last one on the way."""
        found: int | None = None
        direction = 1 if step > 0 else -1
        for _ in range(abs(step)):
            y += direction
            while 0 <= y < len(self.rows) and not isinstance(self.rows[y], Item):
                y += direction
            if not 0 <= y < len(self.rows):
                break
            found = y
        return found

    def _adopt(self, head: str, tree: ForkTree) -> None:
        """Assign all of `tree` the place of `head`."""
        self._trees[head] = tree
        for each in _flat(tree):
            conversation = each.conversation
            self._heads[conversation.id] = head
            if self._whole and conversation.trashed is None and conversation.id not in self.entries:
                self.entries[conversation.id] = RecallEntry(conversation, source=each.source)

    def _arrange(self) -> None:
        self.rows.clear()
        self._places.clear()
        self._title = ""
        for head in self._order:
            self._append(head)

    def _append(self, head: str) -> None:
        rows = list(self._family(head))
        if not rows:
            return
        if self._grouped and (title := day_of(self._dates[head], self._now)) != self._title:
            self._title = title
            self.rows.append(Heading(title))
        for row in rows:
            if isinstance(row, Item):
                self._places[row.id] = len(self.rows)
            self.rows.append(row)

    def _family(self, head: str) -> Iterator[Item | HitRow]:
        if (tree := self._trees.get(head)) is not None:
            yield from self._branch(tree, 0, frozenset())
        elif head in self.entries:
            yield from self._rows_of(head, 0, 0, frozenset())

    def _branch(self, tree: ForkTree, depth: int, seen: frozenset[str]) -> Iterator[Item | HitRow]:
        """Yield `tree` as rows; hits with a text in `seen`, which an ancestor shows already, are left out."""
        id = tree.conversation.id
        entry = self.entries.get(id)
        if entry is not None:
            below = sum(each.conversation.id in self.entries for each in _flat(tree)) - 1
            yield from self._rows_of(id, depth, below, seen)
            if id in self.folded:
                return
            seen |= {hit.text for hit in entry.hits}
        for fork in tree.forks:
            yield from self._branch(fork, depth + (entry is not None), seen)

    def _rows_of(self, id: str, depth: int, below: int, seen: frozenset[str]) -> Iterator[Item | HitRow]:
        yield Item(id, depth, below, id in self.folded)
        for nth, hit in enumerate(self.entries[id].hits):
            if hit.text not in seen:
                yield HitRow(id, depth, nth)

    def _item(self, place: int) -> Item:
        row = self.rows[place]
        assert isinstance(row, Item)
        return row


def _flat(tree: ForkTree) -> Iterator[ForkTree]:
    yield tree
    for fork in tree.forks:
        yield from _flat(fork)


def day_of(then: float, now: float) -> str:
    """`today`, `yesterday`, `last week`, `March` this year, else `March 2024`; both in Unix seconds."""
    date, today = datetime.fromtimestamp(then).astimezone(), datetime.fromtimestamp(now).astimezone()
    days = (today.date() - date.date()).days
    if days <= 0:
        return "today"
    if days == 1:
        return "yesterday"
    if days <= _WEEK:
        return "last week"
    return f"{date:%B}" if date.year == today.year else f"{date:%B %Y}"
