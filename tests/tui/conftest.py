"""A small project, and an app over a scripted agent in it."""

from pathlib import Path

import pytest

from cogency_tui.tui.questions import answer_timing
from cogency_tui.tui.terminal import pane_letters


@pytest.fixture
def project() -> Path:
    """Two directories and four files, in the home of the test: its name on the screen is always the same."""
    root = Path.home() / "src" / "shop"
    for name in ("src/app.py", "src/api/views.py", "tests/test_app.py", "README.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    return root


@pytest.fixture
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock of the test alone say how long a question takes no answer."""
    monkeypatch.setattr(answer_timing, "PAUSE", 0.01)
    monkeypatch.setattr(answer_timing, "FOLLOWING_PAUSE", 0.01)
    monkeypatch.setattr(answer_timing, "HOLD", 0.05)


@pytest.fixture(autouse=True)
def short_hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each key of a pane be a command of its own, however soon the next one follows, except where `long_hold` is used."""
    if "long_hold" not in request.fixturenames:
        monkeypatch.setattr(pane_letters, "HOLD", 0.0)


@pytest.fixture
def long_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the letters of a pane until other keys follow, however slow the machine is."""
    monkeypatch.setattr(pane_letters, "HOLD", 60.0)
