"""Which edits make up what happened to a file: the agent's, and what came between them. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cogency_tui.agent.selection import REDO, RESTORE, UNDO
from cogency_tui.store.versions import Edit, FileChange, Version

REVIEW = "review"
"""The tool of edits that the person makes in the review."""

PERSONS = frozenset({UNDO, REDO, RESTORE, REVIEW})
"""The tools of edits that the person makes."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the file's content on its way: that of the agent's `edit`, or somebody else's (None)."""

    before: Version
    after: Version
    edit: Edit | None


@dataclass(frozen=True, slots=True)
class Chain:
    """What happened to a file from the agent's first edit of it to the last: `change` as a whole."""

    change: FileChange
    edits: tuple[Edit, ...]

    @property
    def steps(self) -> list[Step]:
        """The agent's changes, and between them what somebody else's came to."""
        found: list[Step] = []
        for edit in self.edits:
            if found and not found[-1].after.holds(edit.before):
                found.append(Step(found[-1].after, edit.before, None))
            found.append(Step(edit.before, edit.after, edit))
        return found


def is_agents(edit: Edit) -> bool:
    """Whether the agent made this edit, and it changed something."""
    return edit.tool not in PERSONS and not edit.undoes and edit.kind != "snapshot"


def chains(edits: Iterable[Edit]) -> list[Chain]:
    """What the agent did to each file, given edits with the oldest first, by the paths at the end.

    What came to nothing is left out.
    """
    found: dict[str, Chain] = {}
    for edit in filter(is_agents, edits):
        earlier = found.pop(edit.old_path or edit.path, None)
        if earlier is None:
            change = FileChange(edit.path, edit.before, edit.after, edit.old_path, edit.made)
            found[edit.path] = Chain(change, (edit,))
            continue
        first = earlier.change
        origin = first.old_path or (first.path if edit.old_path else "")
        origin = "" if origin == edit.path or first.before.kind == "absent" else origin
        change = replace(first, path=edit.path, after=edit.after, old_path=origin)
        found[edit.path] = Chain(change, (*earlier.edits, edit))
    return [chain for chain in found.values() if chain.change.kind != "snapshot"]


def path_today(path: str, edits: Sequence[Edit], after: int) -> str:
    """Where a file is that was at `path` after the edit of this number, as far as edits say."""
    for edit in edits:
        if edit.id > after and edit.old_path == path:
            path = edit.path
    return path
