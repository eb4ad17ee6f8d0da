"""The language servers of an agent's project, started when they are needed."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.tools.worker_threads import in_thread

if TYPE_CHECKING:
    from cogency_tui.agent.project.language_server_consent import LanguageServerConsent
    from cogency_tui.tools.language_servers.servers import LanguageServers, Listed


class LanguageServersOnDemand:
    """The language servers of a project; nothing of them is loaded before the first question. `settings` and
    `enabled` are read when they are needed, as are the user's decisions in `consent`."""

    def __init__(
        self,
        project: Path,
        environ: Mapping[str, str],
        secrets: Mapping[str, str],
        settings: Callable[[], Mapping[str, LanguageServerSettings]],
        enabled: Callable[[], bool],
        consent: "LanguageServerConsent",
    ) -> None:
        self._make = (project, environ, secrets, settings, consent.decision)
        self._consent = consent
        self._enabled = enabled
        self._servers: LanguageServers | None = None

    @property
    def enabled(self) -> bool:
        """True if the user wants them."""
        return self._enabled()

    def load(self) -> "LanguageServers":
        """The servers, none of which is started by this."""
        if self._servers is None:
            from cogency_tui.tools.language_servers.servers import LanguageServers

            self._servers = LanguageServers(*self._make)
        return self._servers

    @cached_property
    def find_symbols(self) -> bool:
        """True if the tool `symbol` is of use: as found first, since a tool does not come and go. Blocks."""
        return self.enabled and self.load().serve_project()

    async def listed(self) -> "list[Listed]":
        """List the servers of the table."""
        return await self.load().listed()

    async def restart(self, name: str) -> None:
        """End the servers of this name, and start them again.

        Raises:
            UsageError: none was started.
        """
        await self.load().restart(name)

    async def decide(self, name: str, allowed: bool | None) -> None:
        """Store whether a server may run code of the project; None withdraws the decision.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        await in_thread(self._consent.decide, name, allowed)

    def note_changes(self) -> None:
        """Note that others than us may have changed files just now."""
        if self._servers is not None:
            self._servers.note_changes()

    def new_notices(self) -> list[str]:
        """Return the notices for the user that have not been returned before."""
        return [] if self._servers is None else self._servers.new_notices()

    def end_if_off(self) -> None:
        """Begin to end all servers if the user no longer wants them. From any thread."""
        if self._servers is not None and not self.enabled:
            self._servers.end()

    async def close(self) -> None:
        """End all servers; those that are needed later are started again."""
        if self._servers is not None:
            await self._servers.close()
