"""Blame: attributes each line of a file to the edit that it came from, as far as the journal goes.

A line belongs to the agent's edit that wrote it; a line that was reverted and restored, to its original
edit. Lines of the user or of another program belong to no edit.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cogency_tui.agent.edits.file_history import history_at, is_agents
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.hunk_composition import content, is_readable
from cogency_tui.agent.review.model import LARGEST
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, Version
from cogency_tui.store.reviews import Reviews
from cogency_tui.store.store import Store
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.three_way_merge import line_differences, lines


@dataclass(frozen=True, slots=True)
class Blamed:
    """A line of the current file, from 1, and the edit that it came from; None if it is not the agent's."""

    line: int
    text: str
    edit: Edit | None


@dataclass(frozen=True, slots=True)
class Blame:
    """The lines of a file, and the user's prompts of the turns (by conversation and number)."""

    path: str
    lines: tuple[Blamed, ...]
    prompts: Mapping[tuple[str, int], str]


_Origins = list[Edit | None]
_ALL = 1_000_000
"""More edits than one file has."""


async def blame_of(journal: Journal, store: Store, path: str) -> Blame:
    """Attribute the lines of the file at `path`, a path of the journal, to the agent's edits in all
    conversations.

    Raises:
        WorkspaceError: there is no text file, or it cannot be read, or is too large.
        StoreError: a stored content cannot be read.
    """
    edits, reviews = await journal.edits(), Reviews(store.database)
    found: dict[int, Edit] = {}
    names = [path]
    for name in names:
        own = await edits.of_project(str(journal.workspace.root), path=name, limit=_ALL)
        found |= {edit.id: edit for edit in own}
        names += [
            edit.old_path
            for edit in own
            if edit.path == name and edit.old_path and edit.old_path not in names
        ]
    history = history_at(path, [found[id] for id in sorted(found)])
    annotated = await journal.reading(
        lambda contents, blobs: blame(path, history, contents.now(path, LARGEST), blobs)
    )
    origins = {line.edit.origin for line in annotated if line.edit is not None}
    prompts: dict[tuple[str, int], str] = {}
    for conversation in {origin.conversation for origin in origins}:
        prompts_of = await reviews.prompts(conversation)
        prompts |= {(conversation, turn): text for turn, text in enumerate(prompts_of, 1)}
    return Blame(path, tuple(annotated), prompts)


def blame(path: str, edits: Sequence[Edit], now: Version, blobs: Blobs) -> list[Blamed]:
    """The lines of a file with the content `now`, given all edits of its history, oldest first. Blocks.

    Raises:
        WorkspaceError: it is no text, or too large.
        StoreError: a stored content cannot be read.
    """
    if now.kind != "file" or not now.kept or now.size > LARGEST:
        is_absent = now.kind == "absent"
        name = shown(path)
        raise WorkspaceError(
            f"There is no file at {name}." if is_absent else f"{name} cannot be split into lines."
        )
    present = content(now, blobs)
    annotated = lines(present)
    if annotated is None:
        raise WorkspaceError(f"{shown(path)} is not text.")
    history = _History(blobs)
    for edit in edits:
        history.add(edit)
    owners = history.owners(present) or _nobodys(len(annotated[0]))
    texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in annotated[0]]
    return [Blamed(n, text, edit) for n, (text, edit) in enumerate(zip(texts, owners, strict=True), 1)]


class _History:
    """Walks from version to version, and maintains the owner of each line."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._version: Version | None = None
        self._data = b""
        self._owners: _Origins = []
        self._known: dict[str, _Origins] = {}
        self._lost: defaultdict[bytes, _Origins] = defaultdict(list)

    def add(self, edit: Edit) -> None:
        """Process the next edit."""
        if not all(is_readable(side) for side in (edit.before, edit.after)):
            self._version = None
            return
        if self._version is None or not self._version.holds(edit.before):
            self._go(edit.before, None, known=True)
        self._go(edit.after, edit if is_agents(edit) else None, known=not is_agents(edit))

    def owners(self, present: bytes) -> _Origins | None:
        """The owners of the lines of this content; None if nothing is known."""
        if self._version is None:
            return None
        return self._moved(present, None, known=True)

    def _go(self, version: Version, edit: Edit | None, *, known: bool) -> None:
        data = content(version, self._blobs)
        sides = lines(data)
        if sides is None:
            self._version = None
            return
        # Lines that an undo removes may come back with a redo: they are noted as lost in any case.
        owners = _nobodys(len(sides[0])) if self._version is None else self._moved(data, edit, known=known)
        if known:
            owners = self._known.get(version.digest, owners)
        self._owners, self._data, self._version = owners, data, version
        self._known[version.digest] = owners

    def _moved(self, data: bytes, edit: Edit | None, *, known: bool) -> _Origins:
        """The owners of the lines after a change by `edit`; with `known`, restored lines return to their
        previous owners.
        """
        sides = lines(self._data, data)
        if sides is None:
            return _nobodys(len((lines(data) or [[]])[0]))
        old, new = sides
        found: _Origins = []
        done = 0
        for a, a_end, b, b_end in line_differences(old, new):
            found += self._owners[done:a]
            for line, owner in zip(old[a:a_end], self._owners[a:a_end], strict=True):
                self._lost[line].append(owner)
            for line in new[b:b_end]:
                found.append(self._lost[line][-1] if known and self._lost.get(line) else edit)
            done = a_end
        return [*found, *self._owners[done:]]


def _nobodys(count: int) -> _Origins:
    return [None for _ in range(count)]
