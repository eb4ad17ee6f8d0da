"""All language servers of an agent: one process for each server and directory, started when it is needed."""

import asyncio
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.child_processes import helper_environment
from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.errors import UsageError
from cogency_tui.tools.language_servers.python_reach import PythonReach
from cogency_tui.tools.language_servers.server import DEFAULT_LIMITS, Launch, Limits, Server, State
from cogency_tui.tools.language_servers.table import LanguageServer, load_table
from cogency_tui.tools.shell.environment_scrubbing import scrubbed
from cogency_tui.tools.worker_threads import in_thread

MOST_SERVERS = 8
"""Servers that run at the same time; the one that was started first ends for another."""

_MOST_DIRECTORIES, _MOST_ENTRIES = 50, 200
"""Directories, and entries of each, that are searched for files of a language."""

_READS_IMPORTS = frozenset({"basedpyright"})
"""Servers that read what the code imports, wherever it is."""

_SAFE_DIRECTORY = Path("/")
"""The working directory of a server that must not run code of the project."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A server of the table as it is here. `command` is empty if it is not installed.

    `asks` says by what it would run code of the project, where the user has not allowed that; it is then not
    started. `allowed` is what they decided, if they did.
    """

    name: str
    command: Sequence[str]
    asks: str
    allowed: bool | None
    running: Sequence[Server]


class LanguageServers:
    """The servers for the files of `project` (resolved). `settings` are the user's tables, `allowed` returns
    the user's decision whether a server may run code of the project."""

    def __init__(
        self,
        project: Path,
        environ: Mapping[str, str],
        secrets: Mapping[str, str],
        settings: Callable[[], Mapping[str, LanguageServerSettings]],
        allowed: Callable[[str], bool | None],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._project = project
        self._environ = environ
        self._secrets = secrets
        self._settings = settings
        self._allowed = allowed
        self._limits = limits
        self._table: list[LanguageServer] = []
        self._read: Mapping[str, LanguageServerSettings] | None = None
        self._servers: dict[tuple[str, Path], Server] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that the servers run on."""
        self._ending: set[asyncio.Task[None]] = set()
        self._reach = PythonReach(project)
        self._notices: list[str] = []
        self._announced: set[str] = set()

    async def of(self, path: Path) -> list[tuple[Server, str]]:
        """The usable servers for a file, each with the language of the file; they may not be started yet."""
        if not path.is_relative_to(self._project):
            return []
        found: list[tuple[Server, str]] = []
        for about, language, root, launch in await in_thread(self._find, path):
            if launch is None:
                # What it is asked for may have become a risk, or been forbidden.
                if (about.name, root) in self._servers:
                    self._drop((about.name, root))
            else:
                server = self._server(about, root, launch)
                if server.usable:
                    found.append((server, language))
        return found

    async def listed(self) -> list[Listed]:
        """List the servers of the table."""
        return await in_thread(self._listed)

    def serve_project(self) -> bool:
        """Return whether an installed server that may be used works on files in the project directory or one
        below it. Blocks."""
        names = _some_files(self._project)
        for about in self._current():
            is_here = any(about.language_of(name) for name in names)
            if is_here and self._launch(about, self._project) is not None:
                return True
        return False

    def note_changes(self) -> None:
        """Note that others than us may have changed files just now."""
        for server in self._servers.values():
            server.note_changes()

    def new_notices(self) -> list[str]:
        """Return the notices for the user that have not been returned before."""
        notices, self._notices = self._notices, []
        return notices

    async def restart(self, name: str) -> None:
        """End the servers of this name, and start them again.

        Raises:
            UsageError: none was started.
        """
        servers = [server for (known, _root), server in self._servers.items() if known == name]
        if not servers:
            raise UsageError(
                f"The language server {name} was not started.", "An edit of its files starts it."
            )
        await asyncio.gather(*(server.restart() for server in servers))

    def end(self) -> None:
        """Begin to end all servers, from any thread; those that are needed later are started again."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._drop_all)

    async def close(self) -> None:
        """End all servers; those that are needed later are started again."""
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.close() for server in servers))
        if self._ending:
            await asyncio.wait(self._ending)

    def _server(self, about: LanguageServer, root: Path, launch: Launch) -> Server:
        key = (about.name, root)
        server = self._servers.get(key)
        if server is not None and server.launch == launch:
            return server
        if server is not None:
            self._drop(key)
        elif len(self._servers) >= MOST_SERVERS:
            self._drop(next(iter(self._servers)))
        self._loop = asyncio.get_running_loop()
        server = Server(about, root, launch, self._notices.append, self._secrets, self._limits)
        self._servers[key] = server
        return server

    def _drop_all(self) -> None:
        for key in [*self._servers]:
            self._drop(key)

    def _drop(self, key: tuple[str, Path]) -> None:
        task = asyncio.create_task(self._servers.pop(key).close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _current(self) -> list[LanguageServer]:
        settings = self._settings()
        if settings != self._read:
            self._read, self._table = settings, load_table(settings)
        return self._table

    def _find(self, path: Path) -> list[tuple[LanguageServer, str, Path, Launch | None]]:
        name = path.relative_to(self._project).as_posix()
        found: list[tuple[LanguageServer, str, Path, Launch | None]] = []
        for about in self._current():
            if language := about.language_of(name):
                root = about.root_of(path, self._project)
                found.append((about, language, root, self._launch(about, root, path)))
        return found

    def _launch(self, about: LanguageServer, root: Path, path: Path | None = None) -> Launch | None:
        """What the server is started with for a file; None if it is not installed, or not allowed. Without a
        file the project is not searched for what leads outside."""
        decided = self._allowed(about.name)
        allowed = decided is True
        command = about.find(self._project, self._environ, allowed=allowed)
        if command is None:
            return None
        if not allowed and (risk := self._risk(about, root, path)):
            if decided is None:
                self._announce(about, risk)
            return None
        settings = about.settings_for(root, self._environ, allowed=allowed)
        if allowed:
            return Launch(command, root, scrubbed(self._environ, self._secrets), settings)
        return Launch(command, _SAFE_DIRECTORY, helper_environment(environ=self._environ), settings)

    def _risk(self, about: LanguageServer, root: Path, path: Path | None = None) -> str:
        """What a project can have the server do, or what it has it do as it is shown a file."""
        if about.risk or path is None or about.name not in _READS_IMPORTS:
            return about.risk
        return self._reach.outside(root, path)

    def _announce(self, about: LanguageServer, risk: str) -> None:
        if about.name not in self._announced:
            self._announced.add(about.name)
            what = f"The language server {about.name} {risk}"
            self._notices.append(f"{what}. Allow it with /lsp to have edits checked.")

    def _listed(self) -> list[Listed]:
        found: list[Listed] = []
        for about in self._current():
            decided = self._allowed(about.name)
            command = about.find(self._project, self._environ, allowed=decided is True)
            asks = "" if decided or command is None else self._risk(about, self._project, self._project)
            if command is None and not decided:
                command = about.find(self._project, self._environ, allowed=True)
                asks = asks or about.risk or ("is itself in the project" if command else "")
            running = [server for (name, _), server in self._servers.items() if name == about.name]
            found.append(Listed(about.name, command or (), asks, decided, running))
        return found


def _some_files(directory: Path) -> list[str]:
    """The names of files in a directory and those directly below it."""
    names: list[str] = []
    places = [directory]
    for depth in range(2):
        below: list[Path] = []
        for place in places[:_MOST_DIRECTORIES]:
            with suppress(OSError), os.scandir(place) as entries:
                for entry in itertools.islice(entries, _MOST_ENTRIES):
                    if not entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
                    elif not depth and not entry.name.startswith("."):
                        below.append(Path(entry.path))
        places = below
    return names


def is_running(server: Server) -> bool:
    """Return whether a server has a process."""
    return server.state in (State.STARTING, State.READY)
