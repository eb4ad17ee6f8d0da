"""The conversations of a project: those in its directory, and in its worktrees, removed ones included."""

import sqlite3
from pathlib import Path

from cogency_tui.config.worktree_paths import worktrees_of
from cogency_tui.store.column_text import to_column

_BELOW = "project > ? AND project < ?"
_ANY_BELOW = f"SELECT 1 FROM conversations WHERE {_BELOW} LIMIT 1"


def of_project(connection: sqlite3.Connection, data: Path, project: str) -> tuple[str, list[object]]:
    """The condition on the conversations of a project, and its values, given the data directory."""
    worktrees = str(worktrees_of(data, project))
    # The character after "/" ends what is below the directory.
    below = [to_column(f"{worktrees}/"), to_column(f"{worktrees}0")]
    if connection.execute(_ANY_BELOW, below).fetchone() is None:
        # One project alone is read in the order of an index.
        return "project = ?", [to_column(project)]
    return f"(project = ? OR ({_BELOW}))", [to_column(project), *below]
