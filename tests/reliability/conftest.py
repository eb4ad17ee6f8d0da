"""The command line, as in tests/headless."""

from tests.headless.conftest import project, run

__all__ = ["project", "run"]
