"""Starts and ends the tour.

Nothing of it remains in the user's data, configuration or directories, except the scratch project on
request.
"""

import os
import shutil
import tempfile
from pathlib import Path

from cogency_tui.config.schema import config_path
from cogency_tui.temporary_files import prefix
from cogency_tui.tui.app import run
from cogency_tui.tui.tour.screen import FILES, PROJECT, TourScreen


def run_tour(*, mouse: bool, animation: bool) -> tuple[int, Path | None]:
    """Show the tour until the user leaves; return the exit status, and the project if the user keeps it.

    Raises:
        ConfigError: the user's configuration cannot be used.
        OSError: there is no space for a temporary directory.
    """
    from cogency_tui.agent.agent import Agent

    screens: list[TourScreen] = []

    def screen(*args: object, **options: object) -> TourScreen:
        # All arguments of the app for its main screen are passed on.
        screens.append(TourScreen(*args, **options))  # pyright: ignore[reportArgumentType]
        return screens[-1]

    with tempfile.TemporaryDirectory(prefix=prefix("tour")) as directory:
        _move_into(Path(directory))
        project = Path(directory).resolve() / PROJECT
        project.mkdir()
        for name, text in FILES.items():
            (project / name).write_text(text, "utf-8")
        agent = Agent("offline", permissions="ask", project=project)
        status = run(agent, mouse=mouse, animation=animation, screen=screen)
        kept = _keep(project) if any(each.keeps_project for each in screens) else None
    return status, kept


def _keep(project: Path) -> Path:
    """Move the project to a directory without an owner, which no sweep removes; return its new path."""
    kept = Path(tempfile.mkdtemp(prefix="cogency-tour-")).resolve() / project.name
    return project.rename(kept)


def _move_into(data: Path) -> None:
    """Redirect this process's data there, with a copy of the user's present configuration."""
    own = config_path()
    there = data / "config" / "config.toml"
    there.parent.mkdir(mode=0o700)
    if own.is_file():
        shutil.copyfile(own, there)
    for theme in own.with_name("themes").glob("*.toml"):
        # An entry that is no file, such as a dangling link, must not prevent the start.
        if theme.is_file():
            copied = there.with_name("themes") / theme.name
            copied.parent.mkdir(exist_ok=True)
            shutil.copyfile(theme, copied)
    os.environ["COGENCY_CONFIG"] = str(there)
    os.environ["COGENCY_DATA"] = str(data / "data")
