"""Files and directories that a person names to say which edits are meant."""

import os
from collections.abc import Sequence
from pathlib import Path

from cogency_tui.agent.preview import Plan, left_out
from cogency_tui.errors import UsageError
from cogency_tui.workspace.names import shown


class Paths:
    """Files and directories that a person named; none stand for all."""

    def __init__(self, project: Path, given: Sequence[str]) -> None:
        self._given = given
        # As a link is named, and where it leads: a tool changes the file, a command may change the link.
        joined = [project / path for path in given]
        spellings = [*map(Path, map(os.path.normpath, joined)), *map(Path, map(os.path.realpath, joined))]
        self._names = {
            path.relative_to(project).as_posix() if path.is_relative_to(project) else path.as_posix()
            for path in spellings
        }

    def cover(self, *paths: str) -> bool:
        """Whether one of these journal's paths is among them, or below one."""
        return not self._given or any(
            path == name or path.startswith(f"{name}/") or (name == "." and not path.startswith("/"))
            for path in filter(None, paths)
            for name in self._names
        )

    def narrow(self, plan: Plan) -> Plan:
        """What of a plan is about them.

        Raises:
            UsageError: nothing is.
        """
        changes = [each.change for each in plan.changes] + [*plan.unchanged]
        left = {each.path for each in changes if not self._cover_in(plan, each.path, each.old_path)}
        left |= {each.path for each in (*plan.obstacles, *plan.left) if not self._cover_in(plan, each.path)}
        narrowed = plan.without(left)
        is_empty = not (narrowed.changes or narrowed.unchanged or narrowed.obstacles)
        if is_empty and narrowed.left:
            raise UsageError(f"Nothing was changed. {left_out(narrowed.left)}")
        if left and is_empty:
            raise UsageError(
                f"There is nothing to take back in {', '.join(map(shown, self._given))}.",
                "With --dry-run and no --path it says where there is.",
            )
        return narrowed

    def _cover_in(self, plan: Plan, *paths: str) -> bool:
        """Whether a plan's paths are among them, or what these were called when they were changed."""
        return self.cover(*paths, *(name for path in paths for name in plan.former.get(path, ())))
