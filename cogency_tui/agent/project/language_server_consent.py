"""The user's decisions about language servers that run code of a project.

Invariant: a decision is for a directory by its resolved path and inode, and for one server. The calls block.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cogency_tui.config import toml_reader
from cogency_tui.config.edit import changing, write_table
from cogency_tui.errors import ConfigError

FILE_NAME = "language_servers.toml"

_HEADING = """\
Language servers that may run code of a project, and those that may not.
Written by cogency-tui, which does not preserve comments."""


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The decision about the server `server` in a project."""

    path: str
    inode: int
    server: str
    allowed: bool


class LanguageServerConsent:
    """The decisions in the file at `path`, for `project` (resolved)."""

    def __init__(self, path: Path, project: Path) -> None:
        self.path = path
        self._project = project
        self._read: tuple[tuple[int, int], Sequence[Decision]] | None = None

    def decision(self, server: str) -> bool | None:
        """Whether the server may run code of the project; None while it is not decided, or the file cannot be
        used."""
        try:
            inode = self._project.stat().st_ino
            found = [each for each in self._decisions() if each.server == server]
        except (OSError, ConfigError):
            return None
        here = (each for each in found if (each.path, each.inode) == (str(self._project), inode))
        return next((each.allowed for each in here), None)

    def decide(self, server: str, allowed: bool | None) -> None:
        """Store a decision; None withdraws it.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        with changing(self.path):
            others = [
                each for each in self._decisions() if (each.path, each.server) != (str(self._project), server)
            ]
            if allowed is not None:
                inode = self._project.stat().st_ino
                others.append(Decision(str(self._project), inode, server, allowed))
            table: dict[str, Any] = {"servers": msgspec.to_builtins(others)} if others else {}
            write_table(self.path, _HEADING, table)
            self._read = None

    def _decisions(self) -> Sequence[Decision]:
        try:
            status = self.path.stat()
        except OSError:
            return ()
        stamp = (status.st_mtime_ns, status.st_ino)
        if self._read is None or self._read[0] != stamp:
            table = toml_reader.parse(self.path, toml_reader.read_text(self.path))
            try:
                read = msgspec.convert(table.get("servers", []), list[Decision])
            except msgspec.ValidationError as exc:
                raise ConfigError(f"{self.path}: {exc}.", "Correct it, or move the file away.") from exc
            self._read = (stamp, read)
        return self._read[1]
