"""Without an extra the program says which one to install."""

import pytest

from cogency_tui.acp import server
from cogency_tui.cli import serve
from cogency_tui.errors import UsageError


def missing(_name: str) -> None:
    return None


def test_editors_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "find_spec", missing)
    with pytest.raises(UsageError) as raised:
        server.serve_editor({})
    assert "pip install 'cogency-tui[acp]'" in raised.value.advice


def test_browsers_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", missing)
    with pytest.raises(UsageError) as raised:
        serve.serve_browser([], 0)
    assert "pip install 'cogency-tui[serve]'" in raised.value.advice
