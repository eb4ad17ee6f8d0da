"""What a turn loads: no part of a library that nothing uses."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cogency_tui.lean_imports import without

_TURN = """
import sys
import cogency_tui.tools.web.client, cogency_tui.tui.kit.markdown
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import HttpTransport
HttpTransport(Endpoint("local", "http://127.0.0.1:1", "m"), {})._open()
import httpx, markdown_it
print(*sys.modules)
"""


def test_a_turn_loads_no_command_line_and_no_finder_of_bare_links() -> None:
    ran = subprocess.run([sys.executable, "-c", _TURN], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert {"httpx", "markdown_it"} <= loaded
    assert not {"click", "rich.progress", "linkify_it"} & loaded


def test_a_module_is_absent_only_within_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unloaded_part.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with without("unloaded_part"), pytest.raises(ImportError):
        import_module("unloaded_part")
    assert import_module("unloaded_part").__name__ == "unloaded_part"


def test_a_module_that_is_loaded_stays() -> None:
    with without("sys"):
        import sys as loaded
    assert loaded is sys
