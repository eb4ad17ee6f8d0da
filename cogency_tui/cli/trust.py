"""`cogency-tui trust`: shows a project's `.cogency/`, and gives or revokes trust in it."""

from pathlib import Path

from cogency_tui.agent.project.cogency_folder import FOLDER, FolderEntry
from cogency_tui.agent.project.settings import ProjectSettings, project_settings_of
from cogency_tui.agent.project.trust import FILE_NAME, Survey, Trust, TrustState
from cogency_tui.cli.standard_streams import agreed, print_json, print_text, talk, unread
from cogency_tui.config.schema import config_directory
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line

_MEANINGS = (
    "Trust adds its sub-agents, workflows, commands and MCP servers (programs that run here) to your own, "
    "and a few options (safety options only where they are stricter), until a file changes. It cannot "
    "choose a provider, model or key, and grants no permissions."
)


def trust_project(project: Path, *, yes: bool, as_json: bool) -> int:
    """Show the project's files and, if the user agrees, trust it; return the exit status: 1 if it is not
    trusted in the end.

    Raises:
        ConfigError, UsageError, WorkspaceError: it cannot be trusted as it is.
    """
    settings = project_settings_of(project)
    survey = settings.survey()
    if survey.state is TrustState.NOTHING:
        raise UsageError(f"{project} has nothing to trust: it has no {FOLDER}/ folder with files.")
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
        print_text("Trusted." if trusted else "Not trusted: none of it is used.")
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
            print_json({**known, "files": sorted(trusted.files)})
        else:
            count = f"{len(trusted.files)} file{'' if len(trusted.files) == 1 else 's'}"
            print_text(f"trusted    {trusted.added:<10}  {one_line(trusted.path)}  {count}")
    for refused in decisions.refused:
        if as_json:
            print_json({"path": refused.path, "state": "never asked about", "added": refused.added})
        else:
            print_text(f"never ask  {refused.added:<10}  {one_line(refused.path)}")
    return 0


def print_unused(settings: ProjectSettings) -> None:
    """Print, apart from the data, which of the project's files are not used."""
    settings.refresh()
    if warning := settings.problem:
        talk(warning)
    elif warning := settings.ignored():
        talk(f"{warning} Review and trust it with `cogency-tui trust`.")


def _print_survey(project: Path, survey: Survey) -> None:
    print_text(f"{one_line(str(project / FOLDER))}: {survey.state.label}")
    for entry in survey.entries:
        mark = "  changed" if entry.name in survey.changed else ""
        print_text(f"  {_size(entry):>16}  {one_line(entry.name)}{mark}")
    for name in survey.changed:
        if name not in survey.files:
            print_text(f"  {'deleted':>16}  {one_line(name)}")
    for command in survey.unknown:
        print_text(f"✗ Cannot determine which project files this runs: {one_line(command)}")
    if survey.problem:
        print_text(f"✗ {survey.problem}")
    elif survey.state is not TrustState.TRUSTED:
        print_text(_MEANINGS)


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
        "changed": list(survey.changed),
        "unknown": list(survey.unknown),
        "problem": survey.problem or problem,
    }
