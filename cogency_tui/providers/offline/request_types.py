"""Requests that the embedded model understands: one immutable value each.

File names are as the user wrote them; an empty name is one that the request leaves open.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List the entries below `path`, only names that match `pattern` if given."""

    path: str = "."
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Show files, or `lines` lines from line `start` on if given."""

    files: tuple[str, ...]
    start: int = 0
    lines: int = 0


@dataclass(frozen=True, slots=True)
class ExplainFiles:
    """Describe the shape of files."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainProject:
    """Describe the parts of the project."""


@dataclass(frozen=True, slots=True)
class CountLines:
    """Count the lines of files."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindText:
    """Find the places of `text`, below `where`."""

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
    """Create `file`; `overwrite` permits replacing an existing one."""

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
    """Run the project's tests."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Undo the last edit."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """Search other conversations. `remember` marks a request to remember something."""

    query: str
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """Describe the model and its abilities."""


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
    | RecallRequest
    | Help
    | Unclear
)
