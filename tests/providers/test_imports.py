"""Importing providers is light: httpx comes with the first request, the interface never."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.exhaustive

SCRIPT = """
import importlib, pkgutil, sys
import cogency_tui.providers as room
for module in pkgutil.walk_packages(room.__path__, "cogency_tui.providers."):
    importlib.import_module(module.name)
print(sorted({"httpx", "httpx_sse", "websockets", "textual", "rich", "email.utils"} & set(sys.modules)))
"""


def test_no_heavy_library_is_imported_before_it_is_used() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
