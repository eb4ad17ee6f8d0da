"""Seals the tests off from the home, the configuration and the keys of whoever runs them."""

import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from itertools import count
from pathlib import Path

import hypothesis
import pytest

from cogency_tui import search_paths
from cogency_tui.providers.presets import PRESETS
from tests.exhaustive import is_quick, select
from tests.settling import settle_surely
from tests.shared_styles import share_styles

# A test process that pytest-xdist starts has the two sizes of a terminal that is none of ours.
_TERMINAL = ("COLUMNS", "LINES", "COLORFGBG")
_VENDORS = {each.key_env.split("_")[0] for each in PRESETS.values() if each.key_env}
_OURS = ("COGENCY_", "XDG_", "GOOGLE_", *(f"{vendor}_" for vendor in _VENDORS))

# Each interpreter that a test starts would compile all of its modules.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A busy machine takes any time for an example.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

settle_surely()
share_styles()

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell without job control has what it starts in the background ignore Ctrl+C, and so would all programs
    # that are interrupted here.
    signal.signal(signal.SIGINT, signal.default_int_handler)


_EXHAUSTIVE = "\npytestmark = pytest.mark.exhaustive\n"
"""The line by which a module is marked as a whole."""

_numbers = count()
"""Numbers of directories. pytest finds a free one by listing all directories there are: thousands, each time."""


def _made(factory: pytest.TempPathFactory, name: str) -> Path:
    directory = factory.getbasetemp() / f"{name}{next(_numbers)}"
    directory.mkdir(0o700)
    return directory


def pytest_configure(config: pytest.Config) -> None:
    select(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage: all of it stays to the end, and looking through it takes a fifth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not import for the quick run what it runs nothing of: vendors' libraries take seconds in each worker."""
    if collection_path.suffix == ".py" and is_quick() and _EXHAUSTIVE in collection_path.read_text("utf-8"):
        return True
    return None


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A directory of the test's own."""
    return _made(tmp_path_factory, re.sub(r"\W", "_", request.node.name)[:24])


@pytest.fixture(autouse=True)
def sealed_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the offline model without its pauses; no project is open."""
    home = _made(tmp_path_factory, "home")
    for name in list(os.environ):
        if name.startswith(_OURS) or name in _TERMINAL:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(home / "tiktoken"))
    monkeypatch.setenv("COGENCY_OFFLINE_DELAY", "0")
    monkeypatch.setattr(search_paths, "_written", set[Path]())
    return home
