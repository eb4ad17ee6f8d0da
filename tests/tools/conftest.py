"""A project, the default tools, and a way to call them as the scheduler does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.tools.base import Intent, Outcome, ToolContext
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.workspace import search_worker
from cogency_tui.workspace.paths import Workspace
from tests.pictures import add_image


class Bench:
    """The tools on one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry: Registry = Registry(default_tools())
        self.context = ToolContext(Workspace(root), add_image=add_image)
        self.reported: list[str] = []

    async def plan(self, tool: str, **args: Any) -> Intent:
        return await self.registry.bind(tool, args, self.context).plan()

    async def run(self, tool: str, **args: Any) -> Outcome:
        """Plan, then do: a call that cannot be planned is not run."""
        call = self.registry.bind(tool, args, self.context)
        await call.plan()
        return await call.run(self.reported.append)

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


class _Here:
    """The work of the process that searches, in a thread of this one."""

    async def answer(self, request: bytes, **_: object) -> bytes:
        return await asyncio.to_thread(search_worker.answer, request)


@pytest.fixture
def searches_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each search: tests/workspace/test_text_search.py has those."""
    monkeypatch.setattr(search_worker, "_SEARCH", _Here())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "proj"
    root.mkdir()
    return Bench(root)
