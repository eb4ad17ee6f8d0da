"""A project, a data directory, and agents over them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from tests.agent.templates import TEMPLATES
from tests.peers.scripted import Reply, ScriptedProvider

MakeAgent = Callable[..., Agent]


@pytest.fixture(scope="session", autouse=True)
def _templates(tmp_path_factory: pytest.TempPathFactory) -> None:  # pyright: ignore[reportUnusedFunction]
    TEMPLATES.directory = tmp_path_factory.mktemp("templates")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.fixture
def make_agent(tmp_path: Path, project: Path) -> MakeAgent:
    """Agents of one project and store, with a model that says what the test wrote."""

    def make(*replies: Reply, llm: Any = None, **options: Any) -> Agent:
        options.setdefault("permissions", "auto")
        TEMPLATES.copy_store(tmp_path / "data")
        provider = llm or ScriptedProvider(*replies)
        return Agent(provider, project=project, data=tmp_path / "data", settings=Settings(), **options)

    return make
