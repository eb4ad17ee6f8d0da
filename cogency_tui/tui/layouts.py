"""How the person has arranged the panes in a project: a small file for each project in the data directory.

Nothing is lost with it: where it cannot be read or written, the panes are as they are at first.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from cogency_tui import own_files
from cogency_tui.config import data_path

Width = Annotated[int, Meta(ge=0, le=1000)]


class Layout(msgspec.Struct, frozen=True):
    """Which side panes are wanted (None: where there is room), and their width in cells (0: as usual)."""

    files: bool | None = None
    calls: bool | None = None
    files_width: Width = 0
    calls_width: Width = 0


class LayoutFile:
    """The layout of one project. The calls block, for less than a frame."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def load(self) -> Layout:
        """What was kept, or what is usual."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Layout)
        except (OSError, msgspec.DecodeError):
            return Layout()

    def save(self, layout: Layout) -> None:
        """Keep a layout."""
        path = self._path
        temporary = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            own_files.make_directory(path.parent)
            own_files.write_file(temporary, msgspec.json.encode(layout))
            temporary.replace(path)

    @property
    def _path(self) -> Path:
        name = hashlib.sha256(os.fsencode(self._project)).hexdigest()[:24]
        return data_path() / "layouts" / f"{name}.json"
