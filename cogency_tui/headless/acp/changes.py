"""What a call changed, for an editor to show as a diff."""

from collections.abc import Sequence
from pathlib import Path

from acp import tool_diff_content
from acp.schema import FileEditToolCallContent

from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.conversations import Store
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.index import BLOBS
from cogency_tui.store.versions import Edit, Version
from cogency_tui.tools.blocking import in_thread
from cogency_tui.workspace.text import decode

_LARGEST = 1 << 20
"""Bytes of a file that is shown."""

_MOST = 50
"""Files of one call that are shown."""


class Changes:
    """The edits in `store` of conversations in `project` (resolved), as they are recorded."""

    def __init__(self, store: Store, project: Path) -> None:
        self._edits = Edits(store.database)
        self._blobs = Blobs(store.database.path.parent / BLOBS)
        self._project = project
        self._last = 0
        self._found: dict[str, list[Edit]] = {}
        """Those of calls whose results have not come yet: calls run at the same time."""

    async def begin(self) -> None:
        """Have what is recorded from now on.

        Raises:
            StoreError: the edits cannot be read.
        """
        self._last = await self._edits.last()

    async def of_call(self, conversation: str, call: str) -> list[FileEditToolCallContent]:
        """The files that a call has changed, its sub-agents' included; none where that cannot be told. Asked
        once for each call."""
        try:
            for edit in await self._edits.since(str(self._project), self._last):
                self._last = edit.id
                if edit.origin.conversation == conversation:
                    self._found.setdefault(edit.call, []).append(edit)
            return await in_thread(self._shown, self._found.pop(call, []))
        except StoreError:
            return []

    def _shown(self, edits: Sequence[Edit]) -> list[FileEditToolCallContent]:
        found: list[FileEditToolCallContent] = []
        for edit in edits[:_MOST]:
            before, after = self._text(edit.path, edit.before), self._text(edit.path, edit.after)
            if edit.kind == "snapshot" or after is None or (before is None and edit.before.kind != "absent"):
                continue
            path = str(self._project / edit.path)
            found.append(tool_diff_content(path, after, before))
        return found

    def _text(self, path: str, version: Version) -> str | None:
        """A version of a file as text; None where it is none, too large or not kept."""
        if version.kind == "absent":
            return ""
        if version.kind != "file" or not version.kept or version.size > _LARGEST:
            return None
        try:
            return decode(self._blobs.read(version.digest, version.size), path).plain
        except (StoreError, WorkspaceError):
            return None
