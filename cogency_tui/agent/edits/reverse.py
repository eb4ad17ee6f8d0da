"""The files as they would be after changes were reverted: tried out, with nothing written to them.

Invariant: changes that others made since stay; if that is impossible, the path is an obstacle, which gives
the reason and the versions, and nothing is planned for that path. Everything that a plan needs is stored
beforehand, including the current contents, so that the undo can be undone. Blocks.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.agent.edits.file_history import is_moved, topmost
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.undo_selection import ReversalStep
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Undone, Version
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.three_way_merge import Merged, merge

_LARGEST = 16 << 20
"""The most bytes of a file whose lines are merged."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a path cannot be reverted.

    `base` is the version that the change left, `theirs` the one before it, `now` the current one, and `ours`
    the current one without later changes that are reverted as well. `merged` has the lines that both changed,
    if lines conflict.
    """

    path: str
    reason: str
    undoes: tuple[Undone, ...]
    base: Version
    ours: Version
    theirs: Version
    now: Version
    merged: Merged | None = None

    @property
    def mode(self) -> int:
        """The mode of a file that is to be at the path."""
        versions = self.ours, self.base, self.theirs
        return next((each.mode for each in versions if each.mode), 0o644)


@dataclass(slots=True)
class _PathPlan:
    """One path: its current version, its planned version, and the edits that this undoes.

    `source` is the current path of the file that is planned to be there; empty if it has none.
    """

    now: Version
    then: Version
    source: str
    undoes: list[Undone] = field(default_factory=list[Undone])
    made: str = ""


@dataclass(frozen=True, slots=True)
class _Moved:
    """A file on its way to its old name, and its planned version there; the others as in `_PathPlan`."""

    then: Version
    step: ReversalStep
    source: str
    undoes: tuple[Undone, ...]


class _Blocked(Exception):
    def __init__(self, reason: str, merged: Merged | None = None) -> None:
        super().__init__(reason)
        self.merged = merged


class Reversal:
    """Tries out one undo."""

    def __init__(self, contents: Contents, blobs: Blobs) -> None:
        self._contents = contents
        self._blobs = blobs
        self._plans: dict[str, _PathPlan] = {}
        self._moving: list[_Moved] = []
        """Renamed files for whose old names it is too early, by the edit that renamed them."""
        self._waiting: list[_Moved] = []
        """Renamed files whose old names are not free."""
        self._obstacles: dict[str, Obstacle] = {}
        self._former: dict[str, tuple[str, ...]] = {}
        self._blocked: dict[str, str] = {}
        """Paths that stay as they are, each with the path of its obstacle."""
        self._steps: list[ReversalStep] = []

    def take_back(self, step: ReversalStep) -> None:
        """Revert a change. Steps are given last one first.

        Raises:
            StoreError: a stored content cannot be read.
        """
        change = step.change
        self._steps.append(step)
        if step.former:
            known = self._former.get(change.path, ())
            self._former[change.path] = tuple(dict.fromkeys((*step.former, *known)))
        self._place_moving(step.last)
        # Only the file that waits for the path was there at this time.
        self._block_waiting(change.path)
        target = change.old_path or change.path
        for path in (change.path, target):
            if path in self._blocked:
                obstacle = self._obstacles[self._blocked[path]]
                self._obstruct(
                    replace(obstacle, undoes=(*obstacle.undoes, *step.undoes)), change.path, target
                )
                return
        ours = ABSENT
        try:
            plan = self._plan_of(change.path)
            ours = plan.then
            if step.blocked:
                raise _Blocked(step.blocked)
            result = self._reverted(change, ours)
        except (_Blocked, WorkspaceError) as error:
            self._block(step, ours, error)
            return
        plan.undoes += step.undoes
        plan.made = topmost(change.path, change.made, plan.made)
        if not change.old_path:
            plan.then = result
        else:
            moved = _Moved(result, step, plan.source, tuple(plan.undoes))
            insort(self._moving, moved, key=lambda each: each.step.renamed)
            plan.then, plan.source = ABSENT, ""

    def restore(self, path: str, version: Version, made: str = "", undoes: Sequence[Undone] = ()) -> None:
        """Restore this version of a path, whatever its current state; `made` and `undoes` as in
        `FileChange`.
        """
        try:
            plan = self._plan_of(path)
            _require_stored(version, plan.now)
        except (_Blocked, WorkspaceError) as error:
            self._obstruct(self._obstacle(path, undoes, (version, ABSENT, version), error), path)
        else:
            plan.then = version
            plan.made = made
            plan.undoes += undoes

    def hold_back(self) -> None:
        """Leave the files that content of an obstructed path was moved to: reverted alone, they would lose
        it.
        """
        self._settle()
        obstructed = [step for step in self._steps if step.change.path in self._blocked]
        while obstructed:
            change = obstructed.pop().change
            for step in self._steps:
                if step.change.path not in self._blocked and is_moved(change, step.change):
                    reason = f"it has the content of {shown(change.path)}, which cannot be reverted"
                    self._block(step, self._plan_of(step.change.path).now, _Blocked(reason))
                    obstructed.append(step)

    def former(self, path: str) -> tuple[str, ...]:
        """The names under which the file at a path was changed, if it was renamed since."""
        return self._former.get(path, ())

    def planned(self) -> tuple[list[FileChange], list[Obstacle]]:
        """The planned changes, by path, and the obstacles.

        A change that undoes edits without changing a file is among the changes: these edits count as
        reverted.
        """
        self._settle()
        removed = {path for path, plan in self._plans.items() if plan.then.kind == "absent"}
        for path, plan in list(self._plans.items()):
            below = self._contents.below(path) if plan.now.kind == "absent" != plan.then.kind else None
            if below is not None and not (below and removed.issuperset(below)):
                versions = ABSENT, ABSENT, plan.then
                error = _Blocked("a directory is there now")
                self._obstruct(self._obstacle(path, plan.undoes, versions, error), path)
        notes = {self._old_path(path) for path in self._plans} | self._blocked.keys()
        paths = sorted(path for path in self._plans if path not in notes)
        changes = [self._change(path) for path in paths]
        changes = [change for change in changes if change.kind != "snapshot" or change.undoes]
        return changes, sorted(self._obstacles.values(), key=lambda obstacle: obstacle.path)

    def _settle(self) -> None:
        """Place the files that are still on their way, or block them."""
        self._place_moving(0)
        self._block_waiting()

    def _change(self, path: str) -> FileChange:
        plan = self._plans[path]
        old_path = self._old_path(path)
        origin = self._plans[old_path or path]
        undoes = tuple(dict.fromkeys(plan.undoes))
        return FileChange(path, origin.now, plan.then, old_path, origin.made, undoes)

    def _old_path(self, path: str) -> str:
        """The path that a file is moved from to a free path, if nothing else comes to be there."""
        plan = self._plans[path]
        is_moved = plan.source not in ("", path) and plan.now.kind == "absent"
        return plan.source if is_moved and self._plans[plan.source].then.kind == "absent" else ""

    def _plan_of(self, path: str) -> _PathPlan:
        if path not in self._plans:
            now = self._contents.now(path)
            self._plans[path] = _PathPlan(now, now, path if now.kind != "absent" else "")
        return self._plans[path]

    def _place_moving(self, time: int) -> None:
        """Place the files that were renamed after the edit of this number at their old names, if these are
        free by now. Before, other files have been there.
        """
        while self._moving and self._moving[-1].step.renamed > time:
            self._waiting.append(self._moving.pop())
        left: list[_Moved] = []
        for moved in self._waiting:
            step = moved.step
            try:
                plan = self._plan_of(step.change.old_path)
            except WorkspaceError as error:
                self._block(step, ABSENT, error, moved.source)
                continue
            if plan.then.kind == "absent":
                plan.then, plan.source = moved.then, moved.source
                plan.undoes += moved.undoes
            else:
                left.append(moved)
        self._waiting = left

    def _block_waiting(self, path: str = "") -> None:
        """Block the files that wait for this path, or all."""
        blocked = [each for each in self._waiting if path in ("", each.step.change.old_path)]
        self._waiting = [each for each in self._waiting if each not in blocked]
        for moved in blocked:
            ours = self._plan_of(moved.step.change.old_path).then
            self._block(moved.step, ours, _Blocked("another file is there now"), moved.source)

    def _block(
        self, step: ReversalStep, ours: Version, error: "_Blocked | WorkspaceError", source: str = ""
    ) -> None:
        change = step.change
        obstacle = self._obstacle(change.path, step.undoes, (change.after, ours, change.before), error)
        self._obstruct(obstacle, change.path, change.old_path, source)

    def _obstacle(
        self,
        path: str,
        undoes: Sequence[Undone],
        versions: tuple[Version, Version, Version],
        error: Exception,
    ) -> Obstacle:
        merged = error.merged if isinstance(error, _Blocked) else None
        # The file system's message begins with the path, and is a sentence.
        reason = str(error).removeprefix(f"{shown(path)}: ").removesuffix(".")
        _, ours, _ = versions
        now = self._plans[path].now if path in self._plans else ours
        return Obstacle(path, reason, tuple(undoes), *versions, now, merged)

    def _obstruct(self, obstacle: Obstacle, *paths: str) -> None:
        """Leave these paths as they are, and the paths from which files were moved to them; what was planned
        for them counts as obstructed.
        """
        undoes = [*obstacle.undoes]
        for path in filter(None, paths):
            while path and path not in self._blocked:
                self._blocked[path] = obstacle.path
                plan = self._plans.get(path)
                undoes += plan.undoes if plan else ()
                path = plan.source if plan else ""
        self._obstacles[obstacle.path] = replace(obstacle, undoes=tuple(dict.fromkeys(undoes)))

    def _reverted(self, change: FileChange, ours: Version) -> Version:
        """The current version without the change."""
        base, theirs = change.after, change.before
        result = self._content(change.path, base, ours, theirs)
        if result.kind != "file":
            return result
        return replace(result, mode=_mode(base, ours, theirs))

    def _content(self, path: str, base: Version, ours: Version, theirs: Version) -> Version:
        if not theirs.known:
            raise _Blocked("its earlier content is unknown")
        if ours.holds(theirs) or (base.known and base.holds(theirs)):
            return ours
        _require_stored(theirs, ours)
        if not base.known:
            raise _Blocked("its content after the change is unknown, so later changes cannot be identified")
        if ours.holds(base):
            return theirs
        if ours.kind == "absent":
            raise _Blocked(self._why_gone(path))
        if base.kind == "absent":
            raise _Blocked("another file has been created there since")
        if theirs.kind == "absent":
            raise _Blocked("it has changed since it was created")
        return self._merged(base, ours, theirs)

    def _why_gone(self, path: str) -> str:
        link = self._contents.link_above(path)
        if link is None:
            return "it has been deleted or renamed since"
        where = "to another directory" if link.is_inside else "that leads outside the project"
        return f"{shown(link.path)} is a symbolic link {where}"

    def _merged(self, base: Version, ours: Version, theirs: Version) -> Version:
        sides = base, ours, theirs
        if any(side.kind != "file" for side in sides):
            raise _Blocked("it is no longer the same kind of file")
        if any(side.size > _LARGEST or not side.kept for side in sides):
            raise _Blocked("it has changed since, and is too large to merge")
        merged = merge(*(self._blobs.read(side.digest, side.size) for side in sides))
        if merged.content is None:
            raise _Blocked(_conflict(merged), merged)
        return self._blobs.version(merged.content, ours.mode)


def _mode(base: Version, ours: Version, theirs: Version) -> int:
    if ours.kind != "file" or base.kind != "file" or ours.mode == base.mode:
        return theirs.mode if theirs.kind == "file" else ours.mode
    if theirs.kind != "file" or theirs.mode in (base.mode, ours.mode):
        return ours.mode
    raise _Blocked(f"its mode has changed since, too (it is {ours.mode:o})")


def _require_stored(version: Version, ours: Version) -> None:
    if version.kind != "absent" and not version.kept and not ours.holds(version):
        why = "its content is unknown" if not version.digest else "its content was not saved"
        raise _Blocked(f"{why} ({version.size:,} bytes)")


def _conflict(merged: Merged) -> str:
    conflicts = merged.conflicts
    if len(conflicts) != 1:
        return f"the same lines have changed since, in {len(conflicts)} places"
    first, end = conflicts[0].our_lines
    lines = f"line {first + 1:,}" if end - first <= 1 else f"lines {first + 1:,} to {end:,}"
    return f"the same lines have changed since ({lines})"
