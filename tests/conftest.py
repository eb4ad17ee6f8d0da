"""Seals the tests off from the home, the configuration and the keys of whoever runs them."""

import os
from pathlib import Path

import pytest

_OURS = ("COGENCY_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_", "XDG_")


@pytest.fixture(autouse=True)
def sealed_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the offline model without its pauses."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(_OURS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COGENCY_OFFLINE_DELAY", "0")
    return home
