"""Projects made of real files."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cogency_tui.workspace.paths import Workspace

Fill = Callable[[Mapping[str, str]], None]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project directory with room for files beside it."""
    directory = tmp_path / "proj"
    directory.mkdir()
    return directory


@pytest.fixture
def workspace(project: Path) -> Workspace:
    return Workspace(project)


@pytest.fixture
def fill(project: Path) -> Fill:
    """Make files from their paths and contents."""

    def make(files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, newline="")

    return make
