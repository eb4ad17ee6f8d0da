"""Without an extra the program says which one to install."""

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.headless import web
from cogency_tui.headless.acp import serve


def missing(_name: str) -> None:
    return None


def test_editors_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", missing)
    with pytest.raises(UsageError) as raised:
        serve.serve_editor({})
    assert "pip install 'cogency-tui[acp]'" in raised.value.advice


def test_browsers_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "find_spec", missing)
    with pytest.raises(UsageError) as raised:
        web.serve_browser([], 0)
    assert "pip install 'cogency-tui[serve]'" in raised.value.advice
