"""What the header says about the project's repository: read from files, or asked of git in the background."""

import asyncio
from pathlib import Path

from cogency_tui.agent.branch import branch_of, head_of


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    return branch_of(project) or head_of(project)[:8]


async def is_dirty(project: Path) -> bool:
    """Whether git knows of changes that are not committed; False where it cannot say, or not soon."""
    return await asyncio.to_thread(_is_dirty, project)


def _is_dirty(project: Path) -> bool:
    # Not needed for the first frame.
    from cogency_tui.tools.git_facts import Repository

    return Repository(project).dirty
