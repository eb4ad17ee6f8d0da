"""A bench for hooks."""

from pathlib import Path

import pytest

from tests.agent.hooks.bench import Bench


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "data")
