"""A directory as a text tree.

Invariant: at most `MOST` entries are listed; a larger tree is shown to a smaller depth, with a note.
"""

from contextlib import closing
from dataclasses import dataclass

from cogency_tui.workspace import globs
from cogency_tui.workspace.gitignore_walk import Level, TreeEntry, WorkspaceTree
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_names import shown

MOST = 1000
DEPTH = 3
"""Levels that are opened where no other depth is requested."""


@dataclass(frozen=True, slots=True)
class TreeText:
    """A tree as text, and the extent of it that is shown."""

    text: str
    files: int
    directories: int


@dataclass(slots=True)
class _Branch:
    directories: list[TreeEntry]
    others: list[tuple[TreeEntry, str]]


def render(workspace: Workspace, start: Location, pattern: str | None, depth: int) -> TreeText:
    """List the tree below `start`, to the requested depth or as deep as fits.

    Raises:
        WorkspaceError: it is no directory, or cannot be read.
        ToolError: the pattern cannot be used.
    """
    for deep in range(depth, 0, -1):
        branches, complete = _collected(workspace, start, pattern, deep)
        if complete or deep == 1:
            return _rendered(branches, pattern is not None, deep, depth, complete)
    raise AssertionError("a depth is at least 1")


def _collected(
    workspace: Workspace, start: Location, pattern: str | None, depth: int
) -> tuple[dict[str, _Branch], bool]:
    """Collect the entries of each directory by its path; False when there are more than `MOST`."""
    regex = globs.compiled(pattern) if pattern else None
    branches: dict[str, _Branch] = {}
    count = 0
    prefix: int | None = None
    with closing(WorkspaceTree(workspace).walk(start, depth)) as levels:
        for level in levels:
            if prefix is None:
                prefix = len(level.path)
            others = level.others
            if regex is not None:
                others = [
                    entry
                    for entry in others
                    if regex.fullmatch(entry.path) or regex.fullmatch(entry.path[prefix:])
                ]
            directories = level.directories[: MOST - count]
            others = others[: MOST - count - len(directories)]
            count += len(directories) + len(others)
            branches[level.path] = _Branch(directories, [(one, _remark(level, one)) for one in others])
            if count >= MOST:
                return branches, False
    return branches, True


def _remark(level: Level, entry: TreeEntry) -> str:
    """Describe an entry: a file's size, or its kind."""
    if entry.kind == "link":
        return "(link)"
    if entry.kind == "other":
        return "(no regular file)"
    try:
        return readable_size(level.directory.status(entry.name).st_size)
    except OSError:
        return "(cannot be read)"


def _rendered(
    branches: dict[str, _Branch], filtered: bool, depth: int, requested: int, complete: bool
) -> TreeText:
    lines: list[str] = []
    directories = closed = 0

    def draw(path: str, level: int) -> int:
        """Render a directory's entries; return the number of files."""
        nonlocal directories, closed
        indent = "  " * (level - 1)
        files = 0
        for entry in branches[path].directories:
            begin = len(lines)
            lines.append(f"{indent}{shown(entry.name)}/")
            below = 0
            if f"{entry.path}/" in branches:
                below = draw(f"{entry.path}/", level + 1)
            elif level >= depth:
                lines[-1] += " …"
                closed += 1
            else:
                lines[-1] += " (cannot be read)"
            if filtered and not below:
                # A directory without a match is noise.
                del lines[begin:]
                continue
            directories += 1
            files += below
        lines.extend(f"{indent}{shown(entry.name)}  {remark}" for entry, remark in branches[path].others)
        return files + len(branches[path].others)

    files = draw(next(iter(branches)), 1)
    if not lines:
        lines.append("[nothing matches]" if filtered else "[the directory is empty]")
    if not complete:
        lines.append(f"[only the first {MOST:,} entries are shown: narrow it with path or pattern]")
    elif depth < requested:
        lines.append(
            f"[shown to depth {depth}, not {requested}: more than {MOST:,} entries; list a directory]"
        )
    if closed:
        which = f"{closed:,} deeper directories" if filtered else "directories marked with …"
        advice = ": give depth, or path" if requested == DEPTH else ""
        lines.append(f"[{which} were not opened{advice}]")
    return TreeText("\n".join(lines), files, directories)


def readable_size(size: int) -> str:
    """Format bytes for reading: `512 B`, `3.1 kB`."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"
    return f"{value:.0f} PB"
