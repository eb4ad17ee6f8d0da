"""`cogency-tui trust`: shows what a project brings, and gives or revokes trust in it."""

from pathlib import Path

from cogency_tui.agent.project.cogency_folder import FOLDER, FolderEntry
from cogency_tui.agent.project.planned_commands import PlannedCommand, planned_commands
from cogency_tui.agent.project.settings import ProjectSettings, project_settings_of
from cogency_tui.agent.project.started_programs import ABOVE
from cogency_tui.agent.project.trust import (
    FILE_NAME,
    NOT_COMPARED,
    Part,
    PartKind,
    Survey,
    Trust,
    TrustState,
    name_parts,
)
from cogency_tui.cli.standard_streams import agreed, print_json, print_text, talk, unread
from cogency_tui.config.schema import config_directory
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line

_MEANINGS: dict[PartKind, str] = {
    "folder": "Trust adds its sub-agents, workflows, commands, MCP servers and hooks to your own, and a few "
    "options (safety options only where they are stricter), until a file changes. MCP servers and hooks are "
    "programs that run here; hooks run on their events without asking. It cannot choose a provider, model "
    "or key, and grants no permissions.",
    "skill": "Trust lets the model read its skills. Their scripts need your permission like any command.",
    "settings": "Trust lets its hooks run as programs on this machine, without asking.",
}


def trust_project(project: Path, *, yes: bool, as_json: bool) -> int:
    """Show the project's files and, if the user agrees, trust it; return the exit status: 1 if it is not
    trusted in the end.

    Raises:
        ConfigError, UsageError, WorkspaceError: it cannot be trusted as it is.
    """
    settings = project_settings_of(project)
    survey = settings.survey()
    if survey.state is TrustState.NOTHING:
        raise UsageError(f"{project} has nothing to trust: no {FOLDER}/ files, skills or hooks.")
    if not as_json:
        with unread():
            _print_survey(project, survey)
    if survey.state is not TrustState.TRUSTED and survey.digest and (yes or agreed("Trust this project?")):
        settings.accept(survey)
        survey = settings.survey()
    settings.refresh()
    trusted = survey.state is TrustState.TRUSTED
    if as_json:
        print_json(_as_json(project, survey, settings.problem))
    elif settings.problem:
        print_text(f"✗ {settings.problem}")
    else:
        print_text("Trusted." if trusted else _describe_unused(survey))
    return 0 if trusted and not settings.problem else 1


def revoke_trust(project: Path) -> int:
    """Remove the decision on a project."""
    if Trust(config_directory() / FILE_NAME).revoke(project):
        print_text(f"{one_line(str(project))} is no longer trusted; the next start asks again.")
        return 0
    raise UsageError(f"There is no decision on {project}.", "List decisions with `cogency-tui trust --list`.")


def list_trust(*, as_json: bool) -> int:
    """Print every project with a decision."""
    decisions = Trust(config_directory() / FILE_NAME).decisions()
    for trusted in decisions.projects:
        if as_json:
            known = {"path": trusted.path, "state": "trusted", "added": trusted.added}
            print_json({**known, "files": trusted.all_files})
        else:
            count = _count(len(trusted.all_files))
            print_text(f"trusted    {trusted.added:<10}  {one_line(trusted.path)}  {count}")
    for refused in decisions.refused:
        if as_json:
            print_json({"path": refused.path, "state": "never asked about", "added": refused.added})
        else:
            print_text(f"never ask  {refused.added:<10}  {one_line(refused.path)}")
    return 0


def print_unused(settings: ProjectSettings, *, before_turn: bool = True) -> None:
    """Print, apart from the data, which of the project's files are not used."""
    settings.refresh()
    # A turn reports those of hooks itself.
    left = settings.hook_problems if before_turn else ()
    if warning := " ".join(each for each in settings.problems if each not in left):
        talk(warning)
    elif warning := settings.ignored():
        talk(f"{warning} Review and trust it with `cogency-tui trust`.")


def _describe_unused(survey: Survey) -> str:
    """Describe what is not used: parts that have not changed since they were trusted are."""
    if any(part.state is TrustState.TRUSTED for part in survey.parts):
        names = name_parts(survey.inactive) or f"{FOLDER}/"
        return f"Not used: {names}. What you trusted before and has not changed stays in use."
    return "Not trusted: none of it is used."


def _print_survey(project: Path, survey: Survey) -> None:
    print_text(f"{one_line(str(project))}: {survey.state.label}")
    for part in survey.parts:
        _print_part(part, survey.state)
    for planned in (each for part in survey.parts for each in planned_commands(part)):
        _print_planned(planned)
    for command in survey.unknown:
        print_text(f"✗ Cannot determine which project files this runs: {one_line(command)}")
    if survey.problem:
        print_text(f"✗ {survey.problem}")
    if survey.digest and survey.state is not TrustState.TRUSTED:
        for kind in survey.kinds:
            print_text(_MEANINGS[kind])
        if survey.has_scripts:
            print_text(NOT_COMPARED)


def _print_part(part: Part, state: TrustState) -> None:
    """Print a skill on one line with what changed in it, other parts a file a line."""
    if part.kind == "skill":
        mark = f"  {part.state.label}" if part.state is not state else ""
        print_text(f"  {_count(len(part.entries)):>16}  {one_line(part.path)}/{mark}")
        if part.problem:
            print_text(f"✗ {one_line(part.path)}: {one_line(part.problem)}. Skill not used.")
    elif part.kind == "settings" and part.problem:
        print_text(f"✗ {one_line(part.path)}: {one_line(part.problem.rstrip('.'))}. Hooks not used.")
    marked = part.kind != "skill" or part.state is TrustState.CHANGED
    for entry in part.entries:
        if part.kind != "skill" or (marked and entry.name in part.changed):
            mark = "  changed" if marked and entry.name in part.changed else ""
            print_text(f"  {_size(entry):>16}  {_path_of(entry.name)}{mark}")
    for name in part.changed:
        if marked and name not in {entry.name for entry in part.entries}:
            print_text(f"  {'deleted':>16}  {_path_of(name)}")


def _print_planned(planned: PlannedCommand) -> None:
    """Print a command on one line, in full: nobody should trust what was cut."""
    if planned.when:
        off = f"  (does not run: {planned.problem})" if planned.problem else ""
        print_text(f"  {planned.place}, {planned.when}: {planned.command or '(none)'}{off}")
    else:
        print_text(f"✗ {planned.place}: its commands cannot be shown: {planned.problem}.")


def _path_of(name: str) -> str:
    """The path of a file from the project."""
    return one_line(name.removeprefix(ABOVE) if name.startswith(ABOVE) else f"{FOLDER}/{name}")


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"


def _size(entry: FolderEntry) -> str:
    return entry.kind or f"{entry.size:,} bytes"


def _as_json(project: Path, survey: Survey, problem: str) -> dict[str, object]:
    return {
        "path": str(project),
        "state": survey.state.value,
        "files": [
            {"name": entry.name, "size": entry.size, **({"kind": entry.kind} if entry.kind else {})}
            for entry in survey.entries
        ],
        "parts": [
            {
                "path": part.path,
                "kind": part.kind,
                "state": part.state.value,
                "problem": part.problem,
                "commands": [
                    {"when": each.when, "command": each.command, "problem": each.problem}
                    for each in planned_commands(part)
                ],
            }
            for part in survey.parts
        ],
        "changed": list(survey.changed),
        "unknown": list(survey.unknown),
        "problem": survey.problem or problem,
    }
