"""The decisions about the parts of edits, from the marks in the store. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from cogency_tui.agent.edits.file_history import FileHistory, is_of_content
from cogency_tui.agent.review.hunk_composition import Outlines
from cogency_tui.agent.review.model import ChangedFile, Comment, HunkState, Outline, joint
from cogency_tui.store.edit_records import Mark, State
from cogency_tui.store.reviews import Action, MarkChange, Part


class CurrentDecisions:
    """The decisions by hunk, and about whole edits. An edit that is reverted takes its hunks along.

    `in_effect` are the actions that are not undone, oldest first; `comments` up to the number `delivered`
    have reached the model.
    """

    def __init__(
        self,
        marks: Iterable[Mark],
        in_effect: Sequence[Action],
        comments: Sequence[Action] = (),
        delivered: int = 0,
    ) -> None:
        self._marks: dict[Part, State] = {Part(mark.edit, mark.hunk): mark.state for mark in marks}
        self._comments = comments
        self._texts: dict[Part, str] = {}
        self._delivered = delivered
        for action in in_effect:
            if action.kind == "edit":
                self._texts |= dict.fromkeys(action.parts, action.text)

    def part(self, part: Part) -> State:
        """The decision about one part."""
        whole, own = self.marked(Part(part.edit)), self.marked(part)
        return whole if whole == "reverted" or own == "new" else own

    def marked(self, part: Part) -> State:
        """The mark of this very part."""
        return self._marks.get(part, "new")

    def hunk(self, outline: Outline) -> State:
        """The decision about a hunk."""
        return joint([self.part(part) for part in outline.parts])

    def settled(self, outline: Outline) -> bool:
        """Return whether all parts of a hunk have the same state, so that its current lines are known."""
        return len({self.part(part) for part in outline.parts}) == 1

    def last_of_several(self, outline: Outline) -> int:
        """The latest of the edits that made a hunk and are not reverted; 0 unless there are several."""
        made = {part.edit for part in outline.parts if self.part(part) != "reverted"}
        return max(made) if len(made) > 1 else 0

    def is_uniform(self, history: FileHistory, outlines: Outlines) -> bool:
        """Return whether each hunk of a change is reverted as a whole or not at all, and so is all that is no
        change of lines.
        """
        by_hunk = is_of_content(history.change) and outlines.hunks
        whole = [edit for edit in history.edits if not (by_hunk and is_of_content(edit))]
        groups = [[self.part(part) for part in hunk.parts] for hunk in outlines.hunks if by_hunk]
        groups.append([self.marked(Part(edit.id)) for edit in whole])
        return all(len({state == "reverted" for state in states}) <= 1 for states in groups)

    def states(self, hunks: Sequence[Outline], edits: Iterable[int]) -> tuple[State, ...]:
        """The decisions about the hunks of a file; if it has none, about these edits as one."""
        if hunks:
            return tuple(self.hunk(hunk) for hunk in hunks)
        return (joint([self.part(Part(edit)) for edit in edits]),)

    def text(self, outline: Outline) -> str | None:
        """The user's replacement of a hunk, if that is its current state."""
        texts = {self._texts.get(part) for part in outline.parts}
        return texts.pop() if len(texts) == 1 and self.hunk(outline) == "edited" else None

    @property
    def unsent_comments(self) -> int:
        """The number of comments that the model has not received."""
        return sum(action.id > self._delivered for action in self._comments)

    def comments(self, hunks: Sequence[Outline], edits: Iterable[int]) -> tuple[Comment, ...]:
        """The comments on a file: on its hunks, or with no hunk on all of it."""
        of = {part: hunk.id for hunk in hunks for part in hunk.parts}
        own = {Part(edit) for edit in edits}
        found: list[Comment] = []
        for action in self._comments:
            hunk = next((of[part] for part in action.parts if part in of), "")
            if hunk or own.intersection(action.parts):
                delivered = action.id <= self._delivered
                found.append(Comment(action.id, hunk, action.text, action.timestamp, delivered))
        return tuple(found)

    def changes(self, changed: Mapping[Part, State], siblings: Sequence[Part]) -> tuple[MarkChange, ...]:
        """The mark changes that give these parts the given states, and leave all others unchanged.

        `siblings` are all hunks of the edits concerned: if one of them leaves an edit that is reverted as a
        whole, the others are marked one by one.
        """
        marks: dict[Part, State] = dict(changed)
        for part, state in changed.items():
            whole = Part(part.edit)
            if state != "reverted" and part.hunk and self.marked(whole) == "reverted":
                marks.setdefault(whole, "new")
                for other in siblings:
                    if other.edit == part.edit and other not in changed:
                        marks[other] = "reverted"
        return tuple(MarkChange(part, self.marked(part), state) for part, state in marks.items())


def counted(files: Iterable[ChangedFile]) -> dict[HunkState, int]:
    """The number of hunks in each state, a file without hunks counting as one."""
    counts: dict[HunkState, int] = dict.fromkeys(("new", "kept", "reverted", "edited", "conflict", "gone"), 0)
    for file in files:
        for state in file.states:
            counts[state] += 1
    return counts
