"""Starts and ends the tour.

Nothing of it remains in the user's data, configuration or directories, except the scratch project on
request.
"""

import os
import shutil
import tempfile
from pathlib import Path

from cogency_tui.config.schema import config_path
from cogency_tui.temporary_files import make_directory, prefix
from cogency_tui.tui.app import run
from cogency_tui.tui.tour.screen import FILES, TourScreen


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

    with tempfile.TemporaryDirectory(prefix=prefix("tourdata")) as data:
        _move_into(Path(data))
        project = make_directory("tour").resolve()
        try:
            for name, text in FILES.items():
                (project / name).write_text(text, "utf-8")
            agent = Agent("offline", permissions="ask", project=project)
            status = run(agent, mouse=mouse, animation=animation, screen=screen)
        finally:
            scratch = any(each.keeps_project for each in screens)
            if not scratch:
                shutil.rmtree(project, ignore_errors=True)
    return status, project if scratch else None


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
