"""`cogency-tui skills`: lists the skills of the user and a project."""

from pathlib import Path

from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.cli.standard_streams import print_json, print_text, talk, unread
from cogency_tui.safe_text import one_line


def list_skills(project: Path, *, as_json: bool) -> int:
    """Print every skill, whether it counts, and why not.

    Raises:
        ConfigError: the user's settings cannot be read.
    """
    settings = project_settings_of(project)
    settings.refresh()
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
            name, place = one_line(listed.name), one_line(listed.place)
            print_text(f"{listed.state.value:<12}  {name:<24}  {place}{why}")
            if listed.description:
                print_text(f"{'':<12}  {one_line(listed.description)}")
            for warning in warnings:
                print_text(f"{'':<12}  Against the format: {one_line(warning)}.")
    if not settings.skills and not as_json:
        talk("No skills. The README says where they are looked for.")
    elif warning := settings.ignored():
        talk(f"{warning} Review and trust it with `cogency-tui trust`.")
    return 0
