"""The selection that a decision is about: a file's history, its hunks, and the chosen ones among these. No
decision is made here.
"""

from dataclasses import dataclass
from typing import TypeVar

from cogency_tui.agent.edits.file_history import FileHistory, is_of_content, path_today
from cogency_tui.agent.review.hunk_composition import Outlines
from cogency_tui.agent.review.hunk_transitions import HunkPatcher
from cogency_tui.agent.review.model import Outline, Target
from cogency_tui.agent.review.snapshot import ReviewSnapshot, ReviewSource
from cogency_tui.errors import UsageError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.protected_names import shown

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Selection:
    """A file with its hunks, and those that are `chosen`, by name or all; `path` is its current path."""

    history: FileHistory
    outlines: Outlines
    chosen: tuple[Outline, ...]
    path: str
    snapshot: ReviewSnapshot
    turn: int | None
    is_named: bool

    @property
    def whole(self) -> bool:
        """True if all hunks are chosen."""
        return len(self.chosen) == len(self.outlines.hunks)

    @property
    def edits(self) -> list[int]:
        """The numbers of the agent's edits."""
        return [edit.id for edit in self.history.edits]

    @property
    def parts(self) -> list[Part]:
        """The parts to mark: those of the chosen hunks, or the edits if there are no hunks."""
        if not self.outlines.hunks:
            return [*map(Part, self.edits)]
        return [part for outline in self.chosen for part in outline.parts]

    @property
    def is_lines(self) -> bool:
        """True if the change is one of lines alone, in a file that exists before and after."""
        return bool(self.outlines.hunks) and is_of_content(self.history.change)

    def patcher(self, blobs: Blobs) -> HunkPatcher:
        """Its lines. Blocks."""
        return HunkPatcher(self.history, self.outlines, self.snapshot.decisions, self.path, blobs)


async def selections_of(reader: ReviewSource, snapshot: ReviewSnapshot, *targets: Target) -> list[Selection]:
    """The selections of these targets.

    Raises:
        UsageError: there is no such change, or no such hunk in it.
    """
    return [each for target in targets for each in await _of_target(reader, snapshot, target)]


async def _of_target(reader: ReviewSource, snapshot: ReviewSnapshot, target: Target) -> list[Selection]:
    found = snapshot.targeted(target)
    selections: list[Selection] = []
    for history, outlines in zip(found, await reader.outlined(found), strict=True):
        hunks = {outline.id: outline for outline in outlines.hunks}
        if unknown := [id for id in target.hunks if id not in hunks]:
            raise UsageError(
                f"The change of {shown(history.change.path)} has no hunk {unknown[0]!r}.",
                f"It has {', '.join(hunks) or 'none'}.",
            )
        chosen = tuple(hunks[id] for id in dict.fromkeys(target.hunks)) or outlines.hunks
        path = path_today(history.change.path, snapshot.renames, history.edits[-1].id)
        selections.append(
            Selection(history, outlines, chosen, path, snapshot, target.turn, bool(target.hunks))
        )
    return selections
