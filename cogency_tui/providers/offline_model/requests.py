"""What the embedded model can be asked for: one immutable value a request.

File names stand as the person wrote them; an empty name is one that the request leaves open.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List what lies under `path`, only names that match `pattern` if one is given."""

    path: str = "."
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Show files, or `lines` lines from line `start` on where these are given."""

    files: tuple[str, ...]
    start: int = 0
    lines: int = 0


@dataclass(frozen=True, slots=True)
class ExplainFiles:
    """Say what shape files have."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainProject:
    """Say what the project is made of."""


@dataclass(frozen=True, slots=True)
class CountLines:
    """Count the lines of files."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindText:
    """Find where `text` stands, below `where`."""

    text: str
    where: str = "."


@dataclass(frozen=True, slots=True)
class FindFiles:
    """Find files whose name matches `pattern`, below `where`."""

    pattern: str
    where: str = "."


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace `old` by `new` in each of `files`."""

    old: str
    new: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplaceAcross:
    """Replace `old` by `new` in every file that matches the glob `pattern`."""

    old: str
    new: str
    pattern: str


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Create `file`; `overwrite` says that one that is there may go."""

    file: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class AppendText:
    """Add `text` as a line at the end of `file`."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class RunTests:
    """Run the project's tests, whatever they are."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back the last edit."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Look in other conversations. `keep` says that the person wanted something remembered."""

    query: str
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """Say what this is and what it can do."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """A request that is not understood, or `lacks` something."""

    text: str
    lacks: str = ""


Request: TypeAlias = (
    ListFiles
    | ReadFiles
    | ExplainFiles
    | ExplainProject
    | CountLines
    | FindText
    | FindFiles
    | ReplaceText
    | ReplaceAcross
    | CreateFile
    | AppendText
    | RunCommand
    | RunTests
    | Undo
    | Recall
    | Help
    | Unclear
)
