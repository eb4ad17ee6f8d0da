"""One language server at work in one directory: its process, its memory, and questions to it.

Invariant: whatever the server does (hang, die, flood, send nonsense), every await here ends, it costs one
notice, and when `close` has returned nothing of it runs. A server that fails is restarted by a later question
at most `MOST_FAILURES` times, one that has not been asked for `IDLE` seconds ends until then.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tools.bounded_output import HeadAndTail
from cogency_tui.tools.language_servers.table import LanguageServer
from cogency_tui.tools.shell.hosted_process import hosted
from cogency_tui.tools.supervision.process_tree import descendants
from cogency_tui.tools.worker_threads import in_thread

if TYPE_CHECKING:
    from cogency_tui.tools.language_servers.client import Client
    from cogency_tui.tools.language_servers.project_files import ProjectFiles

MOST_FAILURES = 3
"""Failures after which a server is started only by the user."""

LONGEST_LINE = 1 << 16
"""Most bytes of the lines before a message."""

_STDERR_BOUNDS = (1 << 12, 1 << 13)
_LONGEST_WORDS = 200
_TO_SHUT_DOWN = 1.0

Result = TypeVar("Result")


class Unavailable(Exception):
    """A server cannot be used, or did not answer; the text gives the reason in one line."""


class State(Enum):
    """The state of a server."""

    IDLE = "not started"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for the start, an answer and idleness, and the bytes of memory of all processes of a server."""

    start: float = 60.0
    answer: float = 60.0
    idle: float = 900.0
    memory: int = 2 << 30


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Launch:
    """What a server is started with."""

    command: Sequence[str]
    cwd: Path
    environ: Mapping[str, str]
    settings: Mapping[str, Any]


class Server:
    """The server `about` in `root`. `report` receives a notice for the user when it fails."""

    def __init__(
        self,
        about: LanguageServer,
        root: Path,
        launch: Launch,
        report: Callable[[str], None],
        secrets: Mapping[str, str],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.about = about
        self.root = root
        self.launch = launch
        self.state = State.IDLE
        self.problem = ""
        """Why it failed; contains its own words."""
        self.memory = 0
        """Bytes of memory after the last answer; 0 where they are not known."""
        self.lags = False
        """True since an answer came too late for the one who waited, until the next answer."""
        self._report = report
        self._redact = Redactor(secrets)
        self._limits = limits
        self._failures = 0
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._client: Client | None = None
        self._pid = 0
        self._asked = 0
        """Questions without an answer."""
        self._stop: asyncio.Future[str] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._stderr = HeadAndTail(*_STDERR_BOUNDS)

    @property
    def usable(self) -> bool:
        """True if a question may start it, or be asked."""
        return not self._closed and (self.state is not State.FAILED or self._failures < MOST_FAILURES)

    def language_of(self, path: Path) -> str:
        """The language of a file below its directory, as `LanguageServer.language_of`; empty for others."""
        if not path.is_relative_to(self.root):
            return ""
        return self.about.language_of(path.relative_to(self.root).as_posix())

    def _works_with(self, path: Path) -> bool:
        """Return whether a file of its directory is of its languages, or configures it."""
        return path.name in self.about.roots or bool(self.language_of(path))

    def note_changes(self) -> None:
        """Note that others than us may have changed files just now."""
        if self._client is not None:
            self._client.forget_look()

    def start(self) -> None:
        """Begin to start the server, unless it is starting, ready, or not usable."""
        if self.state in (State.STARTING, State.READY) or not self.usable:
            return
        before = self._task
        self._settled = asyncio.Event()
        self.state = State.STARTING
        self._task = asyncio.create_task(self._run(before), name=f"language server {self.about.name}")

    async def ask(self, question: "Callable[[Client, float], Awaitable[Result]]") -> Result:
        """Ask the server, which is started if need be; `question` receives the client and the seconds that it
        may take.

        Raises:
            Unavailable: it did not answer.
        """
        from cogency_tui.tools.language_servers.connection import ConnectionLost, RequestFailed

        self.start()
        await self._settled.wait()
        client = self._client
        if client is None:
            raise Unavailable(self.problem or "it is not running")
        self._asked += 1
        try:
            answer = await question(client, self._limits.answer)
        except RequestFailed as exc:
            raise Unavailable(one_line(clean(str(exc)))[:_LONGEST_WORDS]) from exc
        except ConnectionLost as exc:
            # The task that runs it reports that.
            raise Unavailable(str(exc)) from exc
        except TimeoutError:
            why = f"it did not answer within {self._limits.answer:g} s"
            self._end(why)
            raise Unavailable(why) from None
        finally:
            self._asked -= 1
            self._use()
        self.lags = False
        await self._weigh()
        return answer

    async def restart(self) -> None:
        """End the server, and start it again, also after many failures."""
        await self._ended()
        self._failures = 0
        self.state = State.IDLE
        self.start()

    async def close(self) -> None:
        """End the server for good."""
        self._closed = True
        await self._ended()

    async def _ended(self) -> None:
        while (task := self._task) is not None:
            task.cancel()
            await asyncio.wait([task])
            if self._task is task:
                self._task = None
        self.state = State.IDLE

    async def _run(self, before: "asyncio.Task[None] | None") -> None:
        """Start the server, and process what it sends until it ends."""
        if before is not None:
            await asyncio.wait([before])
        self.problem, self._stderr = "", HeadAndTail(*_STDERR_BOUNDS)
        why = ""
        try:
            why = await self._host()
        except (OSError, ValueError) as exc:
            why = f"it could not be started: {exc}"
        finally:
            self._client = None
            self.memory = 0
            self.state = State.IDLE
            if self._idle is not None:
                self._idle.cancel()
            if why:
                self._fail(why)
            self._settled.set()

    async def _host(self) -> str:
        """Run the server; why it ended, empty if that was our wish."""
        from cogency_tui.tools.language_servers.connection import ConnectionLost, RequestFailed

        client_type, files_type = await in_thread(_client_types)
        launch = self.launch
        self._stop = asyncio.get_running_loop().create_future()
        async with hosted(
            launch.command, launch.cwd, launch.environ, self._stderr.feed, limit=LONGEST_LINE
        ) as host:
            files = files_type(self.root, self._works_with)
            client = client_type(self.root, launch.settings, self.about.settle, files)
            connection = client.connect(host.reader, host.writer)
            reading = asyncio.create_task(connection.run())
            why = ""
            try:
                starting = asyncio.create_task(
                    client.initialize(self.about.initialization, self._limits.start)
                )
                await asyncio.wait([starting, reading], return_when=asyncio.FIRST_COMPLETED)
                if not starting.done():
                    starting.cancel()
                    await asyncio.wait([starting])
                else:
                    starting.result()
                    self._pid = host.pid
                    self._client = client
                    self.state = State.READY
                    self._use()
                    self._settled.set()
                    await asyncio.wait([reading, self._stop], return_when=asyncio.FIRST_COMPLETED)
                if self._stop.done():
                    why = self._stop.result()
                    if not why:
                        with suppress(ConnectionLost, RequestFailed, TimeoutError):
                            await client.shut_down(_TO_SHUT_DOWN)
                else:
                    reading.result()
            except ConnectionLost as exc:
                why = str(exc)
            except RequestFailed as exc:
                why = f"it refused to start ({one_line(clean(str(exc)))[:_LONGEST_WORDS]})"
            except TimeoutError:
                why = f"it did not answer within {self._limits.start:g} s"
            finally:
                self._client = None
                reading.cancel()
                await asyncio.wait([reading])
                if not reading.cancelled():
                    reading.exception()
                client.lose(why or "it was stopped")
        return why

    def _end(self, why: str = "") -> None:
        """Have the server end; with a reason as a failure."""
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(why)

    def _fail(self, why: str) -> None:
        self._failures += 1
        self.state = State.FAILED
        last = self._stderr.text().strip().rpartition("\n")[2]
        words = self._redact.text(one_line(clean(last))[:_LONGEST_WORDS])
        self.problem = f"{why} ({words})" if words else why
        then = "It starts again with a later edit." if self.usable else "It is not started again."
        self._report(f"The language server {self.about.name} stopped: {self.problem}. {then}")

    def _use(self) -> None:
        """Note that the server was used: from now on it is idle."""
        if self._idle is not None:
            self._idle.cancel()
        if self.state is State.READY:
            self._idle = asyncio.get_running_loop().call_later(self._limits.idle, self._rest)

    def _rest(self) -> None:
        if not self._asked:
            self._end()

    async def _weigh(self) -> None:
        """End the server if it takes too much memory."""
        if self._client is None:
            return
        self.memory = await in_thread(resident_bytes, self._pid)
        if self.memory > self._limits.memory:
            self._end(f"it took {self.memory / 1e9:.1f} GB of memory")


def _client_types() -> "tuple[type[Client], type[ProjectFiles]]":
    # The types of the protocol take a while to load.
    from cogency_tui.tools.language_servers.client import Client
    from cogency_tui.tools.language_servers.project_files import ProjectFiles

    return Client, ProjectFiles


def resident_bytes(pid: int) -> int:
    """The memory of a process and of those below it; 0 where the system does not say. Blocks."""
    total = 0
    for each in (pid, *descendants(pid)):
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{each}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total
