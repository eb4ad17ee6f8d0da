"""The values of the journal of edits: versions of a file, changes from one to another, and edits.

An edit that reverts others names them (`undoes`), and is an edit like any other: to redo is to undo an
undo. Pure values; `edits` stores them.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["created", "changed", "deleted", "renamed", "mode", "snapshot"]
State = Literal["new", "kept", "reverted", "edited", "conflict"]


USER = "user"
"""The user among the conversations that an edit is `shared_with`."""


@dataclass(frozen=True, slots=True)
class Version:
    """The state of a path: a file, a symbolic link (its target is its content), or nothing.

    `digest` is the SHA-256 of the content in hexadecimal digits, empty where it is not known; `size` is in
    bytes; `mode` holds the permission bits (0 for a link); `kept` marks stored bytes.
    """

    kind: Literal["absent", "file", "link"] = "absent"
    digest: str = ""
    size: int = 0
    mode: int = 0
    kept: bool = False

    @property
    def known(self) -> bool:
        """True if it can be compared: its digest is known, or nothing is there."""
        return self.kind == "absent" or bool(self.digest)

    def holds(self, other: "Version") -> bool:
        """Return whether both are known and have the same content."""
        return self.known and other.known and (self.kind, self.digest) == (other.kind, other.digest)

    def equals(self, other: "Version") -> bool:
        """Return whether both are known and have the same content and mode."""
        return self.holds(other) and self.mode == other.mode


ABSENT = Version()


@dataclass(frozen=True, slots=True)
class Undone:
    """A reverted edit, by its number, or one hunk of it."""

    edit: int
    hunk: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one path.

    `path` is relative to the project's root with slashes, or absolute outside the project; `old_path` is
    the path before a renaming, else empty. `made` is the topmost directory that was created for the file,
    or empty. `shared_with` are other conversations whose commands ran at that time, and may have made the
    change, and `USER` for a change found while a command ran in the background, which may be the user's.
    """

    path: str
    before: Version
    after: Version
    old_path: str = ""
    made: str = ""
    undoes: tuple[Undone, ...] = ()
    shared_with: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Kind of the change; a `snapshot` changes nothing."""
        if self.old_path:
            return "renamed"
        if self.before.equals(self.after):
            return "snapshot"
        if self.before.kind == "absent":
            return "created"
        if self.after.kind == "absent":
            return "deleted"
        return "mode" if self.before.holds(self.after) else "changed"

    @property
    def is_possibly_users(self) -> bool:
        """True if the user may have made it."""
        return USER in self.shared_with


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an edit.

    `conversation` is the user's, and `turn` counts its messages from 1; `caller` is the conversation of the
    call: the same, or a sub-agent's. `project` is the directory.
    """

    conversation: str
    caller: str
    turn: int
    project: str


@dataclass(frozen=True, slots=True)
class Edit(FileChange):
    """A recorded change: numbered, with its origin and the call that made it.

    All edits of one undo share a `call`. `timestamp` is in Unix seconds. `interrupted`: the process ended
    before it could record the edit, which was found afterwards. `is_merged`: it came with commits of a
    remote.
    """

    id: int = 0
    origin: Origin = Origin("", "", 0, "")
    call: str = ""
    tool: str = ""
    timestamp: float = 0.0
    interrupted: bool = False
    is_merged: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A decision about an edit, or about one of its hunks; `note` is a comment for the agent."""

    edit: int
    hunk: str
    state: State
    note: str
    timestamp: float
