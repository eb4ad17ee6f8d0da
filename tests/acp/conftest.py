"""The project of the command line's tests."""

from tests.cli.conftest import project, run

__all__ = ["project", "run"]
