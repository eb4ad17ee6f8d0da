"""The preview of an undo, which the user sees before it is done."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.agent.edits.change_attribution import named_others
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.reverse import Obstacle, Reversal
from cogency_tui.agent.edits.undo_selection import ReversalStep
from cogency_tui.errors import StoreError, WorkspaceError, in_words
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.workspace import diff
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode

LARGEST = 4 << 20
"""The most bytes of a file whose difference is shown line by line."""

_MOST_NAMED = 5
_MOST_NUMBERS = 20


@dataclass(frozen=True, slots=True)
class Planned:
    """A change that would be made; `diff` is its text, complete and unescaped."""

    change: FileChange
    diff: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """A file that a plan leaves in another state than the one to restore, and the `reason`.

    `lost` counts the lines that others changed in it since the first of the edits to revert, or the user in
    the review. `is_restorable`: the state can be restored at the cost of these. `is_missing`: the file is not
    there now.
    """

    path: str
    reason: str
    lost: LineCounts
    is_restorable: bool
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that an undo would make, recorded under the name of `tool`; it can be applied once no
    `obstacles` are left.

    `unchanged` revert edits without changing a file: what these had changed is no longer there. `left` are
    edits that stay because another conversation may have made them, or because they came with commits of a
    remote, and the user did not choose them. `former` are the names under which files were changed that
    were renamed since, by their current paths. `turn` is the turn whose edits are reverted or restored; 0
    if it is not one turn, or only hunks of it.

    `deviations` are the files that are not restored to the letter, because that would overwrite changes by
    others; `overwriting` is the plan that does so, in place of this one.
    """

    tool: str
    changes: tuple[Planned, ...]
    unchanged: tuple[FileChange, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    left: tuple[Edit, ...] = ()
    former: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    turn: int = 0
    deviations: tuple[Deviation, ...] = ()
    overwriting: "Plan | None" = None

    @property
    def unobstructed(self) -> "Plan":
        """The part of the plan that can be applied: without the paths of its obstacles."""
        return self.without({each.path for each in self.obstacles})

    @property
    def for_good(self) -> tuple[str, ...]:
        """Paths whose current content would be lost for good: it is too large to be stored."""
        changes = (each.change for each in self.changes)
        return tuple(
            change.old_path or change.path
            for change in changes
            if change.before.kind != "absent"
            and not change.before.kept
            and not change.before.holds(change.after)
        )

    def without(self, paths: Collection[str]) -> "Plan":
        """The plan without these paths."""
        return replace(
            self,
            changes=tuple(each for each in self.changes if each.change.path not in paths),
            unchanged=tuple(each for each in self.unchanged if each.path not in paths),
            obstacles=tuple(each for each in self.obstacles if each.path not in paths),
            left=tuple(each for each in self.left if each.path not in paths),
        )


def left_out(edits: Collection[Edit]) -> str:
    """Why shared or merged edits stay as they are, and how to revert them; empty for none."""
    merged = [edit for edit in edits if edit.is_merged]
    users = [edit for edit in edits if edit.is_possibly_users and not edit.is_merged]
    shared = [edit for edit in edits if not (edit.is_possibly_users or edit.is_merged)]
    notes: list[str] = []
    if merged:
        notes.append(f"Not reverted, because it came from the remote: {_names(merged)}. {_reverting(merged)}")
    if shared:
        notes.append(
            f"{_names(shared)} stay{'s' * _is_one(shared)} unchanged: {named_others(shared)} ran at the same "
            f"time and may have made the change. {_reverting(shared)}"
        )
    if users:
        notes.append(
            f"{_names(users)} stay{'s' * _is_one(users)} unchanged: {named_others(users)} may have made the "
            f"change while a background command ran. {_reverting(users)}"
        )
    return " ".join(notes)


def _is_one(edits: Collection[Edit]) -> bool:
    return len({edit.path for edit in edits}) == 1


def _names(edits: Collection[Edit]) -> str:
    return in_words(list(dict.fromkeys(shown(edit.path) for edit in edits)), _MOST_NAMED)


def _reverting(edits: Sequence[Edit]) -> str:
    conversation = f"--conversation {edits[0].origin.conversation}"
    if len(edits) > _MOST_NUMBERS:
        return (
            f"`cogency-tui edits revert {conversation}` with the numbers of these edits reverts them anyway."
        )
    numbers = " ".join(str(edit.id) for edit in edits)
    return f"`cogency-tui edits revert {numbers} {conversation}` reverts it anyway."


def plan_of(
    tool: str, steps: Iterable[ReversalStep], contents: Contents, blobs: Blobs, *, together: bool = False
) -> Plan:
    """The plan of reverting these steps, last one first. With `together`, an obstacle holds back what was
    moved with it. Errors as `planned`. Blocks.
    """
    reversal = Reversal(contents, blobs)
    for step in steps:
        reversal.take_back(step)
    if together:
        reversal.hold_back()
    return planned(tool, reversal, blobs)


def planned(tool: str, reversal: Reversal, blobs: Blobs) -> Plan:
    """The plan of a reversal that was tried out. Blocks.

    Raises:
        StoreError: a stored content cannot be read.
    """
    changes, obstacles = reversal.planned()
    paths = {path for each in changes for path in (each.path, each.old_path)}
    former = {path: reversal.former(path) for path in paths.union(each.path for each in obstacles)}
    return Plan(
        tool,
        tuple(Planned(each, _shown(each, former, blobs)) for each in changes if each.kind != "snapshot"),
        tuple(each for each in changes if each.kind == "snapshot"),
        tuple(replace(each, reason=_explained(each, former)) for each in obstacles),
        former={path: names for path, names in former.items() if names},
    )


def _shown(change: FileChange, former: Mapping[str, Collection[str]], blobs: Blobs) -> str:
    path = change.old_path or change.path
    notes = [f"{shown(name)} is now {shown(path)}.\n" for name in former[path]]
    return "".join((*notes, difference(change, blobs)))


def _explained(obstacle: Obstacle, former: Mapping[str, Collection[str]]) -> str:
    names = ", ".join(map(shown, former[obstacle.path]))
    return f"{obstacle.reason}; its name was {names} then" if names else obstacle.reason


def difference(change: FileChange, blobs: Blobs, reading: Callable[[str], str] | None = None) -> str:
    """A change as text: a unified diff, and a line for each change that no diff can show. `reading`
    transforms the contents line for line, for a reader who may not see all of them. Blocks.

    Raises:
        StoreError: a content cannot be read.
    """
    name = shown(change.path)
    notes: list[str] = []
    if change.old_path:
        notes.append(f"{shown(change.old_path)} is renamed to {name}.\n")
    before, after = change.before, change.after
    if before.kind == after.kind == "file" and before.mode != after.mode:
        notes.append(f"The mode of {name} changes from {before.mode:o} to {after.mode:o}.\n")
    if before.holds(after):
        return "".join(notes)
    try:
        old, new = _text(before, name, blobs), _text(after, name, blobs)
    except (StoreError, WorkspaceError):
        return "".join((*notes, f"{name}: {_described(before)} becomes {_described(after)}.\n"))
    return "".join((*notes, diff.unified(old, new, name, reading)))


def _text(version: Version, name: str, blobs: Blobs) -> str | None:
    """The content with plain newlines; None if there is none.

    Raises:
        WorkspaceError: it is no text, or not to be shown as text.
        StoreError: it cannot be read.
    """
    if version.kind == "absent":
        return None
    if version.kind == "link" or not version.kept or version.size > LARGEST:
        raise WorkspaceError(f"{name} cannot be shown line by line.")
    return decode(blobs.read(version.digest, version.size), name).plain


def _described(version: Version) -> str:
    if version.kind == "absent":
        return "nothing"
    if version.kind == "link":
        return "a symbolic link"
    return f"a file of {version.size:,} bytes ({version.digest[:12] or 'unknown'})"
