"""Begins and ends the tour: nothing of it is left in the person's data, configuration or directories, but for
the scratch project if they want it."""

import os
import shutil
import tempfile
from pathlib import Path

from cogency_tui.config import config_path
from cogency_tui.temporary import make_directory, prefix
from cogency_tui.tui.app import run
from cogency_tui.tui.tour.screen import TourScreen
from cogency_tui.tui.tour.steps import FILES


def run_tour(*, mouse: bool, animation: bool) -> tuple[int, Path | None]:
    """Show the tour until the person leaves; the exit status, and the project if they keep it.

    Raises:
        ConfigError: the person's configuration cannot be used.
        OSError: there is no room for a temporary directory.
    """
    from cogency_tui.agent.agent import Agent

    screens: list[TourScreen] = []

    def screen(*args: object, **options: object) -> TourScreen:
        # Whatever the app gives its main screen is handed on.
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
            kept = any(each.keeps for each in screens)
            if not kept:
                shutil.rmtree(project, ignore_errors=True)
    return status, project if kept else None


def _move_into(data: Path) -> None:
    """Have this process keep what it keeps there, with the person's configuration as it is now."""
    own = config_path()
    there = data / "config" / "config.toml"
    there.parent.mkdir(mode=0o700)
    if own.is_file():
        shutil.copyfile(own, there)
    for theme in own.with_name("themes").glob("*.toml"):
        # What is no theme, such as a link to nowhere, is no reason not to begin.
        if theme.is_file():
            copied = there.with_name("themes") / theme.name
            copied.parent.mkdir(exist_ok=True)
            shutil.copyfile(theme, copied)
    os.environ["COGENCY_CONFIG"] = str(there)
    os.environ["COGENCY_DATA"] = str(data / "data")
