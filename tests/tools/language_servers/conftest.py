"""A project, and servers for its files `*.fake`."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.tools.language_servers.server import DEFAULT_LIMITS, Limits
from cogency_tui.tools.language_servers.servers import LanguageServers
from cogency_tui.workspace.paths import Workspace
from tests.peers.language_servers import fake


class Bench:
    """Language servers on one project, and the user's decision about them."""

    def __init__(self, root: Path) -> None:
        # No program is searched in the project from now on.
        self.root = Workspace(root).root
        self.environ: dict[str, str] = {}
        self.decided: bool | None = None
        self.limits: Limits = DEFAULT_LIMITS
        self.tables: dict[str, LanguageServerSettings] = fake()
        self._servers: LanguageServers | None = None

    @property
    def servers(self) -> LanguageServers:
        if self._servers is None:
            self._servers = LanguageServers(
                self.root, self.environ, {}, lambda: self.tables, lambda _name: self.decided, self.limits
            )
        return self._servers

    def put(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


MakeBench = Callable[[], Bench]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    root = tmp_path / "proj"
    root.mkdir()
    made = Bench(root)
    yield made
    await made.servers.close()
