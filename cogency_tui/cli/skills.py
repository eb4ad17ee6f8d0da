"""`cogency-tui skills`: lists the skills of the user and a project."""

import shutil
import sys
from pathlib import Path

from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.agent.project.skills import SkillState
from cogency_tui.cli.standard_streams import print_json, print_text, talk, unread
from cogency_tui.safe_text import one_line

_LONGEST_NAME = 40
_STATES = {SkillState.CHANGED: "changed", SkillState.REFUSED: "never ask"}


def list_skills(project: Path, *, as_json: bool) -> int:
    """Print every skill, whether it counts, and why not.

    Raises:
        ConfigError: the user's settings cannot be read.
    """
    settings = project_settings_of(project)
    settings.refresh()
    names = [len(one_line(listed.name)) for listed in settings.skills]
    column = min(_LONGEST_NAME, max(names, default=0))
    # Only a terminal has a width; a pipe gets everything.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    with unread():
        for listed in settings.skills:
            file = listed.skill.file if listed.skill is not None else None
            warnings = file.warnings if file is not None else ()
            if as_json:
                print_json(
                    {
                        "name": listed.name,
                        "state": listed.state.value,
                        "source": "user" if listed.own else "project",
                        "place": listed.place,
                        "description": listed.description,
                        "problem": listed.problem,
                        "allowed_tools": file.allowed_tools if file is not None else "",
                        "warnings": list(warnings),
                    }
                )
                continue
            why = f": {one_line(listed.problem)}" if listed.problem else ""
            state = _STATES.get(listed.state, listed.state.value)
            name, place = one_line(listed.name), one_line(listed.place)
            name = f"{name[: column - 1]}…" if len(name) > column else name
            print_text(f"{state:<12}  {name:<{column}}  {place}{why}")
            if listed.description:
                print_text(_cut(f"{'':<12}  {one_line(listed.description)}", width))
            for warning in warnings:
                print_text(_cut(f"{'':<12}  Against the format: {one_line(warning)}.", width))
    if not settings.skills and not as_json:
        talk("No skills. The README says where they are looked for.")
    elif warning := settings.ignored():
        talk(f"{warning} Review and trust it with `cogency-tui trust`.")
    return 0


def _cut(line: str, width: int) -> str:
    """Cut a line to the terminal's width, if there is one."""
    from cogency_tui.tui.kit.cell_text import fit

    return fit(line, width) if width else line
