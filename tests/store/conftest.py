"""What the store's tests share: a store in a directory of its own, and second processes."""

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from cogency_tui.store.store import Store, StoredConversation
from tests import ROOT

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def store(directory: Path) -> AsyncIterator[Store]:
    async with await Store.open(directory) as store:
        yield store


@pytest.fixture
async def conversation(store: Store) -> StoredConversation:
    return await store.create_conversation("/project", dialect="xml", provider="offline", model="tiny")


@pytest.fixture
def spawn(directory: Path) -> Iterator[Spawn]:
    """Start tests/store/child.py; it has said that it is ready when this returns."""
    children: list[subprocess.Popen[str]] = []

    def start(command: str, *arguments: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/store/child.py"), command, str(directory), *arguments],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()
