"""What a review shows: changed files, their hunks and lines. Pure values, made by `Review`.

A review looks at what the agent did to a file in one turn, or over the conversation (`turn` None); what
the person or another program did meanwhile is no part of it. Line numbers count from 0 and ranges are
half-open, as in slices; only `Row` counts from 1, for the screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cogency_tui.agent.reversal import Obstacle
from cogency_tui.store.reviews import Part
from cogency_tui.store.versions import Edit, Kind, State
from cogency_tui.workspace.diff import Difference
from cogency_tui.workspace.merge import Range

LARGEST = 16 << 20
"""The most bytes of a file whose lines are shown; of a larger one there is a summary only."""

MOST_LINES = 250_000
"""The most lines, before and after together, that are compared; beyond there is a summary only."""

NoLines = Literal["", "binary", "too large", "not kept", "link"]
"""Why a change has no lines to show: empty where it has some, or where only its mode or name changed."""


class FileKey(NamedTuple):
    """A changed file: what the agent did in `turn` (None: in the conversation) to what came to be `path`."""

    turn: int | None
    path: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A hunk without its text.

    `id` stays when the diff is computed again, and as long as the agent does not change these lines again
    in the same turn. `parts` are the hunks of the edits that it consists of. `base` are its lines in the
    file before the first edit, `old` in the file without the agent's changes as it is shown, `new` in the
    file after the last edit. With `mixed` somebody else changed the same lines in between.
    """

    id: str
    parts: tuple[Part, ...]
    base: Range
    old: Range
    new: Range
    added: int
    removed: int
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """What the person wrote to the agent about a hunk, or a file (no `hunk`); `told` says that it knows."""

    id: int
    hunk: str
    text: str
    timestamp: float
    told: bool


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file in the list. `hunks` and `states` go together, from top to bottom.

    A file without hunks (`no_lines`, a mode, a name) has one state for the whole. `size` in bytes before
    and after. `comments` are all about it. `edits` are the agent's, the oldest first.
    """

    key: FileKey
    old_path: str
    kind: Kind
    no_lines: NoLines
    hunks: tuple[Outline, ...]
    states: tuple[State, ...]
    comments: tuple[Comment, ...]
    edits: tuple[Edit, ...]
    size: tuple[int, int]
    mode: tuple[int, int]

    @property
    def path(self) -> str:
        """From the project's root with slashes, or in full outside of it; not cleaned for the screen."""
        return self.key.path

    @property
    def added(self) -> int:
        """Lines that the agent added."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines that the agent removed."""
        return sum(hunk.removed for hunk in self.hunks)

    @property
    def state(self) -> State:
        """What was decided about all of it: `conflict` or `new` if anything is, else what all have in
        common, `edited` where they differ."""
        return joint(self.states)

    @property
    def last(self) -> Edit:
        """The last edit of it: `last.origin.turn` and `last.call` say where to jump to."""
        return self.edits[-1]


@dataclass(frozen=True, slots=True)
class Group:
    """The changed files of a turn, or all turns' changes of one file; `title` is the prompt or the path.

    `turn` is 0 where it is a group of one file.
    """

    title: str
    turn: int
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """What there is to review. `counts` are hunks by their states (a file without hunks counts as one)."""

    groups: tuple[Group, ...]
    counts: dict[State, int]
    can_undo: bool
    can_redo: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff: its number before and after, from 1, None where it is not there.

    `twin` is the index in the other side's lines of the one that it was changed from or to, where that can
    be told: between them words can be marked (`FileDiff.marks`).
    """

    kind: Literal["same", "removed", "added"]
    old: int | None
    new: int | None
    text: str
    twin: int | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk to show and to decide about. `changes` are the exact runs of lines within it."""

    outline: Outline
    state: State
    comments: tuple[Comment, ...]
    changes: tuple[Difference, ...]
    edits: tuple[Edit, ...]

    @property
    def id(self) -> str:
        """Its name in `Target.hunks`."""
        return self.outline.id

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that made it."""
        return tuple(dict.fromkeys(edit.origin.turn for edit in self.edits))


@dataclass(frozen=True, slots=True)
class Target:
    """What to decide about: hunks of a file, a file (no `hunks`), or a whole turn (no `path`).

    With neither turn nor path it is everything that the agent did in the conversation.
    """

    turn: int | None
    path: str = ""
    hunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action: the edits that it made, and what is left for the person to decide.

    `conflicts` were left as they are, and are marked so; everything else was done.
    """

    edits: tuple[Edit, ...] = ()
    conflicts: tuple[Obstacle, ...] = ()


Fate = Literal["still there", "changed since", "moved", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class HunkFate:
    """What became of a hunk: `path` and `line` (from 1) say where it is today, or was; 0: nowhere."""

    hunk: str
    fate: Fate
    path: str
    line: int


def joint(states: Sequence[State]) -> State:
    """What was decided about several hunks together; see `ChangedFile.state`."""
    for state in ("conflict", "new"):
        if state in states:
            return state
    return states[0] if len(set(states)) == 1 else "edited"
