"""Where the paths of one call lead.

Invariant: what was planned is what is opened. A path is resolved while its call is planned, and never again:
the run has the location of the plan, whose components are opened without following a link and whose directory
must be the very one that it was. A path that the plan did not have is refused.
"""

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Location, Workspace


class Places:
    """The locations of one call in `workspace`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, Location] = {}
        self._settled = False

    def begin(self) -> None:
        """Forget what an earlier plan of the call found."""
        self._known.clear()
        self._settled = False

    def settle(self) -> None:
        """The call was planned: from now on it opens nothing else."""
        self._settled = True

    def locate(self, given: str) -> Location:
        """Where a path leads, or led when the call was planned.

        Raises:
            WorkspaceError: it cannot be used (see `Workspace.locate`), or was not in the plan.
        """
        known = self._known.get(given)
        if known is not None:
            return known
        if self._settled:
            raise WorkspaceError(f"{shown(given)} was not there when this was asked.", "Repeat the call.")
        location = self._workspace.pinned(self._workspace.locate(given))
        self._known[given] = location
        return location
