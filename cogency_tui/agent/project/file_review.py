"""The text of a project's file, to be read before it is trusted. The calls block.

Invariant: no link is followed, no read waits, its size is limited, and the text is only shown.
"""

from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory, refusals
from cogency_tui.workspace.text_files import decode

LARGEST = 2 << 20
"""Bytes of a file."""


def read_for_review(project: Path, path: str) -> str:
    """The text of the file at `path`, from the project.

    Raises:
        WorkspaceError: it cannot be read, is too large, or is no text.
    """
    *folders, name = path.split("/")
    if ".." in folders:
        raise WorkspaceError("It is outside the project.")
    with refusals(path), Directory.open(project, folders) as directory:
        data = directory.read(name, LARGEST)
    return decode(data, path).plain
