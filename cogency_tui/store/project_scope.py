"""The conversations of a project: those in its directory, and in its worktrees, removed ones included. A
worktree stands for its main project everywhere.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from cogency_tui.config.worktree_paths import is_worktree, worktrees_of
from cogency_tui.store.column_text import from_column, to_column

_BELOW = "project > ? AND project < ?"
_ANY_BELOW = f"SELECT 1 FROM conversations WHERE {_BELOW} LIMIT 1"
_PROJECTS = "SELECT DISTINCT project FROM conversations"


def of_project(connection: sqlite3.Connection, data: Path, project: str) -> tuple[str, list[object]]:
    """The condition on the conversations of a project, or of the main project of a worktree, and its values,
    given the data directory."""
    main, *below = [to_column(each) for each in scope_of(connection, data, project)]
    if connection.execute(_ANY_BELOW, below).fetchone() is None:
        # One project alone is read in the order of an index.
        return "project = ?", [main]
    return f"(project = ? OR ({_BELOW}))", [main, *below]


def scope_of(connection: sqlite3.Connection, data: Path, project: str) -> tuple[str, str, str]:
    """The main project of a project, and the bounds between which the directories of its worktrees are."""
    worktrees = str(Path(project).parent if is_worktree(data, project) else worktrees_of(data, project))
    # The character after "/" ends what is below the directory.
    return main_project(connection, data, project), f"{worktrees}/", f"{worktrees}0"


def projects_of(connection: sqlite3.Connection, data: Path, project: str | None) -> list[str]:
    """The directories with conversations: of a project and its worktrees, or all."""
    known = [from_column(each) for (each,) in connection.execute(_PROJECTS)]
    if project is None:
        return known
    mains = main_projects(data, [project, *known])
    return [each for each in known if mains[each] == mains[project]]


def main_project(connection: sqlite3.Connection, data: Path, project: str) -> str:
    """The main project of a worktree, as `main_projects`; of any other directory, itself."""
    if not is_worktree(data, project):
        return project
    known = (from_column(each) for (each,) in connection.execute(_PROJECTS))
    return main_projects(data, [project, *known])[project]


def main_projects(data: Path, projects: Iterable[str]) -> dict[str, str]:
    """The main projects of these projects, each found among them; if it is not, the directory of its
    worktrees stands for it."""
    projects = set(projects)
    worktrees = {each for each in projects if is_worktree(data, each)}
    if not worktrees:
        return {each: each for each in projects}
    mains = {worktrees_of(data, each): each for each in projects - worktrees}
    directories = {each: Path(each).parent for each in worktrees}
    own = {each: mains.get(directory, str(directory)) for each, directory in directories.items()}
    return {each: own.get(each, each) for each in projects}
