"""The directories in which the user and projects have skills. The calls block."""

import os
from pathlib import Path

from cogency_tui.agent.project.cogency_folder import FOLDER, SKILLS

SKILL_FILE = "SKILL.md"
"""The file that makes a directory a skill."""

PLACES = (f"{FOLDER}/{SKILLS}", ".agents/skills", ".claude/skills")
"""The directories of a project that have skills, in the order in which equal names count."""


def own_places(folder: Path) -> tuple[Path, ...]:
    """The directories of the user's own skills, in the order in which equal names count; `folder` is the
    user's configuration.
    """
    others = () if home() is None else (Path.home() / place for place in PLACES[1:])
    return folder / SKILLS, *others


def are_there(folder: Path, project: Path) -> bool:
    """Return whether there may be skills of the user or of a project."""
    places = (*own_places(folder), *(project / place for place in PLACES))
    return any(map(os.path.lexists, places))


def may_be_in(project: Path) -> bool:
    """Return whether a project may have skills, or links instead of the directories for them."""
    return any(os.path.lexists(project / place.partition("/")[0]) for place in PLACES)


def home() -> Path | None:
    """The user's home directory (resolved), if there is one."""
    try:
        return Path(os.path.realpath(Path.home()))
    except RuntimeError:
        return None
