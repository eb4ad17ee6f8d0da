"""The history of a file: the agent's edits, and the changes between them. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cogency_tui.agent.edits.undo_selection import REDO, RESTORE, UNDO
from cogency_tui.store.file_versions import Edit, FileChange, Version

REVIEW = "review"
"""The tool of edits that the user makes in the review."""

PERSONS = frozenset({UNDO, REDO, RESTORE, REVIEW})
"""The tools of edits that the user makes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a file's content: that of the agent's `edit`, or another's (None)."""

    before: Version
    after: Version
    edit: Edit | None


@dataclass(frozen=True, slots=True)
class Chain:
    """The history of a file from the agent's first edit of it to the last; `change` is the whole of it."""

    change: FileChange
    edits: tuple[Edit, ...]

    @property
    def steps(self) -> list[Step]:
        """The agent's changes, and between them the sum of the changes by others."""
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
    """The agent's changes of each file, given edits oldest first, by the paths at the end.

    Changes that cancel out are left out.
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
    """The current path of a file that was at `path` after the edit of this number, as far as edits show."""
    for edit in edits:
        if edit.id > after and edit.old_path == path:
            path = edit.path
    return path
