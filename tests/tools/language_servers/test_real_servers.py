"""Language servers from the package registries: they are installed once for all tests."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.tools.language_servers.client import Client, Problem
from tests.tools.language_servers.conftest import Bench

BIN = Path(sys.executable).parent

on_real_servers = pytest.mark.exhaustive


@pytest.fixture(scope="session")
def node_servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of programs with typescript-language-server."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    base = Path(os.environ.get("COGENCY_TEST_CACHE", "/tmp")) / f"cogency-node-servers-{os.getuid()}"
    programs = base / "node_modules" / ".bin"
    if not (programs / "typescript-language-server").exists():
        import subprocess

        from cogency_tui.file_lock import file_lock

        base.mkdir(mode=0o700, exist_ok=True)
        with file_lock(base / "lock"):
            if not (programs / "typescript-language-server").exists():
                packages = ("typescript-language-server@5", "typescript@5")
                command = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(base), *packages]
                subprocess.run(command, check=True, cwd=base, timeout=200)
    return programs


async def problems(bench: Bench, name: str, *texts: str, server: str) -> list[list[Problem]]:
    """The problems of each text of a file."""
    path = bench.put(name, texts[0])
    found = {each.about.name: (each, language) for each, language in await bench.servers.of(path)}
    one, language = found[server]
    return [
        [*await one.ask(lambda client, seconds, text=text: client.problems(path, language, text, seconds))]
        for text in texts
    ]
