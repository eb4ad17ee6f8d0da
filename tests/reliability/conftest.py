"""The command line, as in tests/headless."""

from tests.cli.conftest import project, run

__all__ = ["project", "run"]
