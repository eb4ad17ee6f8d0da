"""The model of a review: changed files, their hunks and lines. Pure values, made by `Review`.

A review covers the agent's changes of a file in one turn, or over the conversation (`turn` None); changes
of the user or of another program meanwhile are no part of it. Line numbers count from 0 and ranges are
half-open, as in slices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from cogency_tui.agent.edits.file_history import hook_of
from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.edits.undo_selection import UndoRecord
from cogency_tui.protocol.events import Diagnostic
from cogency_tui.store.edit_records import Edit, Kind, State
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.diff import Difference, LineCounts
from cogency_tui.workspace.three_way_merge import Range

LARGEST = 16 << 20
"""The most bytes of a file whose lines are shown; a larger one has a summary only."""

MOST_LINES = 250_000
"""The most lines, before and after together, that are compared; beyond that there is a summary only."""

NoLines = Literal["", "binary", "too large", "not kept", "link"]
"""Why a change has no lines to show: empty if it has some, or if only its mode or name changed."""


Remaining = Literal["", "renamed", "mode changed"]

HunkState = State | Literal["gone"]
"""The decision about a hunk; `gone` in place of `new` if nothing of it is left, so that there is nothing to
decide."""


Decision = Literal["", "kept", "reverted", "gone", "reviewed", "in the rerun"]
"""The decision about several hunks: `reviewed` if they differ, empty while one is undecided;
`gone` if nothing is left of them. Those that are only `in the rerun`'s scratch copy are not reviewed here."""


class FileKey(NamedTuple):
    """A changed file: the agent's changes in `turn` (None: in the conversation) of the file that ended up
    at `path`. `replaced` is the number of the last of them if another file has come to that path, else 0.
    """

    turn: int | None
    path: str
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """A hunk without its text.

    `id` is stable when the diff is computed again, and as long as the agent does not change these lines
    again in the same turn. `parts` are the hunks of the edits that it consists of. `base` are its lines in
    the file before the first edit, `old` in the file without the agent's changes as it is shown, `new` in
    the file after the last edit. `mixed`: others changed the same lines in between.
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
    """The user's comment to the agent on a hunk, or on a file (no `hunk`); `delivered`: the model has
    received it.
    """

    id: int
    hunk: str
    text: str
    timestamp: float
    delivered: bool


def line_counts(hunks: Iterable[Outline]) -> LineCounts:
    """The lines that these hunks add and remove."""
    hunks = list(hunks)
    return LineCounts(sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks))


class TurnLines(NamedTuple):
    """The agent's lines of a turn in each file, by its path then, and the decision about them; `call` made
    the first of these changes.
    """

    call: str
    files: dict[str, LineCounts]
    decision: Decision = ""


class ChangedLines(NamedTuple):
    """The lines of a conversation: `net`, the difference now from before the agent's first edit in each file
    with changes that are not reverted, by its current path; and `turns`, the agent's of each turn by its
    number, reverted or not. `undos` are the user's undos outside the review, oldest first; `decisions` those
    about the changes of each call, by its id."""

    net: dict[str, LineCounts]
    turns: dict[int, TurnLines]
    undos: Sequence[UndoRecord] = ()
    decisions: Mapping[str, Decision] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file in the list. `hunks` and `states` are parallel, from top to bottom; `texts` are the
    user's replacements of hunks, by their ids, and `last_edits` the latest of several edits that made a hunk
    and are not reverted.

    A file without hunks (`no_lines`, a mode, a name) has one state for the whole. `size` in bytes before
    and after. `comments` are all on the file. `edits` are the agent's, oldest first. `remaining` is the
    change besides the lines, if it is not reverted: it has no hunk of its own.
    """

    key: FileKey
    old_path: str
    kind: Kind
    no_lines: NoLines
    hunks: tuple[Outline, ...]
    states: tuple[HunkState, ...]
    comments: tuple[Comment, ...]
    edits: tuple[Edit, ...]
    size: tuple[int, int]
    mode: tuple[int, int]
    remaining: Remaining = ""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    last_edits: Mapping[str, Edit] = field(default_factory=dict[str, Edit])

    @property
    def path(self) -> str:
        """The path from the project's root with slashes, or absolute outside of it; not cleaned for the
        screen.
        """
        return self.key.path

    @property
    def unsent(self) -> set[int]:
        """The ids of the comments that the model has not received."""
        return {comment.id for comment in self.comments if not comment.delivered}

    @property
    def added(self) -> int:
        """Lines that the agent added."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines that the agent removed."""
        return sum(hunk.removed for hunk in self.hunks)

    @property
    def applied(self) -> LineCounts | None:
        """The agent's lines without those of reverted hunks; None if all is reverted."""
        if self.state == "reverted" and not self.remaining:
            return None
        pairs = zip(self.hunks, self.states, strict=False)
        return line_counts(hunk for hunk, state in pairs if state != "reverted")

    @property
    def state(self) -> HunkState:
        """The joint state: `conflict` or `new` if any hunk has it, else the common state, `edited` if they
        differ; `gone` only if all hunks are.
        """
        there: list[State] = [state for state in self.states if state != "gone"]
        return joint(there) if there else "gone"

    @property
    def last(self) -> Edit:
        """Its last edit: `last.origin.turn` and `last.call` are the target of a jump."""
        return self.edits[-1]


@dataclass(frozen=True, slots=True)
class Group:
    """The changed files of a turn, or all turns' changes of one file; `title` is the prompt or the path.

    `turn` is 0 for the group of one file.
    """

    title: str
    turn: int
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """All that there is to review. `counts` are hunks by state (a file without hunks counts as one)."""

    groups: tuple[Group, ...]
    counts: dict[HunkState, int]
    can_undo: bool
    can_redo: bool


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk to show and to decide about. `changes` are the exact runs of lines within it,
    `problems` those that language servers reported with it. `last_edit` is that of `ChangedFile.last_edits`:
    it can be reverted alone."""

    outline: Outline
    state: HunkState
    comments: tuple[Comment, ...]
    changes: tuple[Difference, ...]
    edits: tuple[Edit, ...]
    problems: tuple[Diagnostic, ...] = ()
    last_edit: Edit | None = None

    @property
    def id(self) -> str:
        """Its name in `Target.hunks`."""
        return self.outline.id

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that made it."""
        return tuple(dict.fromkeys(edit.origin.turn for edit in self.edits))

    @property
    def hooks(self) -> tuple[str, ...]:
        """The names of the hooks that made it, or a part of it."""
        return tuple(dict.fromkeys(name for edit in self.edits if (name := hook_of(edit))))

    @property
    def is_of_hooks(self) -> bool:
        """True if hooks alone made it."""
        return all(map(hook_of, self.edits))

    @property
    def is_possibly_users(self) -> bool:
        """True if the user may have made it, or a part of it."""
        return any(edit.is_possibly_users for edit in self.edits)


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a decision: hunks of a file, a file (no `hunks`), or a whole turn (no `path`).

    With neither turn nor path it is everything that the agent did in the conversation. `replaced` as in
    `FileKey`.
    """

    turn: int | None
    path: str = ""
    hunks: tuple[str, ...] = ()
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an action: the edits that it made, and the conflicts left for the user to decide.

    `conflicts` were left as they are, and are marked so; `held` are the paths that were left with them, since
    content was moved between them; `left` are those with changes that may be the user's, who has not chosen
    them. Everything else was done. `about` are the hunks of an action that was undone or redone.
    """

    edits: tuple[Edit, ...] = ()
    conflicts: tuple[Obstacle, ...] = ()
    held: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    about: tuple[Part, ...] = ()


Fate = Literal["still there", "changed since", "moved", "gone", "unknown"]


class EditedFile(NamedTuple):
    """The lines of a file as the agent left it, but for the hunks that the user edited; `ranges` are those of
    each hunk."""

    lines: Sequence[bytes]
    ranges: Sequence[Range]


class Rewrite(NamedTuple):
    """Lines of the agent that were changed since: from `first` to `end` in the file as the agent left it.
    `texts` are there instead, from line `line` (from 1) of the current file. `by` is the title of the other
    conversation that wrote all of them; empty if they are the user's, or another program's.
    """

    first: int
    end: int
    line: int
    texts: tuple[str, ...]
    by: str = ""


@dataclass(frozen=True, slots=True)
class HunkFate:
    """The survival of a hunk: `path` and `line` (from 1) are its current place, or the last one; 0: none.

    `rewrites` are its lines that were changed since, and those that the user added to them, from top to
    bottom.
    """

    hunk: str
    fate: Fate
    path: str
    line: int
    rewrites: tuple[Rewrite, ...] = ()


def decision(states: Iterable[HunkState]) -> Decision:
    """The decision about hunks in these states."""
    match sorted(set(states)):
        case ["kept" | "reverted" | "gone" as same]:
            return same
        case found:
            is_open = not found or "new" in found or "conflict" in found
            return "" if is_open else "reviewed"


def joint(states: Sequence[State]) -> State:
    """The joint state of several hunks; see `ChangedFile.state`."""
    for state in ("conflict", "new"):
        if state in states:
            return state
    return states[0] if len(set(states)) == 1 else "edited"
