"""The arena, one a test."""

from pathlib import Path

import pytest

from tests.safety.arena import Arena


@pytest.fixture
def arena(tmp_path: Path, sealed_home: Path) -> Arena:
    return Arena(tmp_path, sealed_home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project for the application alone."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "README.md").write_text("x\n")
    return directory
