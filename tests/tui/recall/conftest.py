"""Local time is UTC: days and hours on the screen are always the same."""

import time
from collections.abc import Iterator

import pytest

from tests.team.conftest import ada, database, server

__all__ = ("ada", "database", "server")


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
