"""One configured MCP server: its host process, its state, and calls to it.

Invariant: whatever the server or its host does (hang, die, flood, talk nonsense), every await here ends,
and when `close` has returned nothing of either runs. When the block of `hosted` is left, neither the host
nor anything that it started runs.

When a server ends that had answered, its tools stay known, and the next call restarts it. A server that
never answered is restarted only by the user.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from cogency_tui.child_processes import interpreter
from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import ToolError
from cogency_tui.redaction import Veil
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tools.bounded_output import HeadAndTail
from cogency_tui.tools.mcp import host_protocol
from cogency_tui.tools.shell.environment_scrubbing import scrubbed
from cogency_tui.tools.shell.hosted_process import hosted
from cogency_tui.tools.worker_threads import completed

_HOST = "from cogency_tui.tools.mcp.host_process import main; main()"


class Gone(Exception):
    """A server cannot be used; the message gives the reason in one line. `words` are untrusted text."""

    def __init__(self, why: str, words: str = "") -> None:
        super().__init__(why)
        self.words = words


async def next_report(reader: asyncio.StreamReader) -> host_protocol.Report:
    """Return the host's next report.

    Raises:
        Gone: the host has ended, or its report is invalid.
    """
    try:
        line = await reader.readline()
    except ValueError:
        raise Gone("its answers are too long") from None
    except ConnectionError:
        line = b""
    if not line:
        raise Gone("it exited")
    try:
        return host_protocol.read_report(line)
    except msgspec.DecodeError:
        raise Gone("its output cannot be read") from None


EXTRA = "MCP servers need an extra: pip install 'cogency-tui[mcp]'"

_STDERR_BOUNDS = (2_000, 6_000)
"""Bytes of a server's stderr that are stored, from the beginning and from the end."""

_LONGEST_LINE = 200
"""Characters of its last line that are shown with the reason why it does not answer."""


class ServerState(Enum):
    """State of a server."""

    IDLE = "not started"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    ENDED = "ended"


async def _as_configured() -> None:
    """Leave the servers as they are."""


async def _unknown() -> str:
    """Give no reason."""
    return ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment of servers: the project, our environment variables and the secrets in them.

    `refresh` is awaited before a call and before a restart by the user: it closes servers that are no longer
    configured, or whose programs changed since the user trusted them. `why_gone` returns why one of
    them may not run, if there is more to say.
    """

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    refresh: Callable[[], Awaitable[None]] = _as_configured
    why_gone: Callable[[], Awaitable[str]] = _unknown


class Server:
    """The server `name`. `changed` is called when its state or its tools change."""

    def __init__(
        self, name: str, settings: McpSettings, around: Surroundings, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.settings = settings
        self.state = ServerState.IDLE
        self.problem = ""
        """Reason why it does not answer, in one line, for the user; includes the server's own words."""
        self.title = ""
        self.version = ""
        self.offers: tuple[host_protocol.Offer, ...] = ()
        self.left_out: tuple[str, ...] = ()
        self._around = around
        self._changed = changed
        self._stderr = HeadAndTail(*_STDERR_BOUNDS)
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._why = ""
        """As `problem`, without the server's words: for the model, before the user has allowed any of its
        content."""
        self._settled = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, tuple[asyncio.Future[host_protocol.Done], Callable[[str], None]]] = {}
        self._number = 0
        own = [*settings.env_from, *settings.headers_env.values()]
        given = {name: around.environ[name] for name in own if around.environ.get(name)}
        plain = scrubbed(settings.env, {})
        written = {name: value for name, value in settings.env.items() if name not in plain}
        self._veil = Veil({**around.secrets, **given, **written})

    @property
    def stderr(self) -> str:
        """Beginning and end of the server's stderr."""
        return self._veil.over(self._stderr.text())

    def start(self) -> None:
        """Begin to start the server, unless it is starting, ready or closed."""
        if self._closed or self.state in (ServerState.STARTING, ServerState.READY):
            return
        before, self._task = self._task, None
        self._settled = asyncio.Event()
        self._set(ServerState.STARTING)
        self._task = asyncio.create_task(self._run(before), name=f"mcp {self.name}")

    async def settle(self) -> None:
        """Wait until the start has succeeded or failed."""
        if self.state is ServerState.STARTING:
            await self._settled.wait()

    async def restart(self) -> None:
        """End the server, and begin to start it."""
        await self._end()
        self.start()

    def close(self) -> Coroutine[Any, Any, None]:
        """End the server for good: from now on no pending call restarts it."""
        self._closed = True
        return self._end()

    async def _end(self) -> None:
        # Loop: others may end or restart the server meanwhile.
        while (task := self._task) is not None:
            task.cancel()
            await completed(_over(task))
            if self._task is task:
                self._task = None
        self.problem = self._why = ""
        self._set(ServerState.IDLE)

    async def call(
        self, tool: str, args: Mapping[str, Any], report: Callable[[str], None]
    ) -> host_protocol.Done:
        """Call a tool; `report` receives its progress.

        Raises:
            ToolError: the server cannot be reached, did not answer in time, or ended meanwhile.
        """
        await self._around.refresh()
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await self._call(tool, args, report)
        except TimeoutError:
            message = f"The MCP server {self.name} did not answer within {self.settings.timeout:g} s."
            hint = "It may still be working; the user can restart it with /mcp."
            raise ToolError(message, hint, brief=f"{message} Restart it with /mcp.") from None

    async def _call(
        self, tool: str, args: Mapping[str, Any], report: Callable[[str], None]
    ) -> host_protocol.Done:
        if self.state in (ServerState.ENDED, ServerState.IDLE):
            self.start()
        await self.settle()
        if self._closed:
            raise self._gone()
        writer = self._writer
        if self.state is not ServerState.READY or writer is None:
            raise self._gone()
        self._number += 1
        id = self._number
        try:
            line = host_protocol.encode(host_protocol.Call(id, tool, dict(args)))
        except UnicodeEncodeError:
            raise ToolError("The arguments have a lone surrogate, which is half a character.") from None
        if len(line) > host_protocol.LONGEST:
            raise ToolError(
                f"The arguments have {len(line):,} bytes; {host_protocol.LONGEST:,} can be passed on."
            )
        answer: asyncio.Future[host_protocol.Done] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (answer, report)
        try:
            writer.write(line)
            with suppress(ConnectionError):
                await writer.drain()
            done = await answer
        finally:
            del self._waiting[id]
            if not answer.done() or answer.cancelled():
                writer.write(host_protocol.encode(host_protocol.Cancel(id)))
        return msgspec.structs.replace(done, text=self._veil.over(done.text))

    async def _run(self, before: "asyncio.Task[None] | None") -> None:
        """Start the server, and process its reports until it ends."""
        if before is not None:
            await asyncio.wait([before])
        state = ServerState.FAILED
        self.problem = self._why = words = ""
        self._stderr = HeadAndTail(*_STDERR_BOUNDS)
        try:
            cwd, connect = await self._prepare()
            environ = scrubbed(self._around.environ, self._around.secrets)
            async with hosted(
                interpreter(_HOST), cwd, environ, self._stderr.feed, limit=host_protocol.LONGEST_REPORT
            ) as host:
                reader, writer = host.reader, host.writer
                writer.write(host_protocol.encode(connect))
                async with asyncio.timeout(self.settings.start_timeout):
                    self._take(await next_report(reader))
                state = ServerState.ENDED
                self._writer = writer
                while True:
                    self._take(await next_report(reader))
        except TimeoutError:
            self._why = f"it did not answer within {self.settings.start_timeout:g} s"
        except Gone as exc:
            self._why, words = str(exc), exc.words
        except (OSError, ValueError) as exc:
            self._why = f"it could not be started: {exc}"
        finally:
            self._writer = None
            last = self.stderr.strip().rpartition("\n")[2] if state is ServerState.FAILED else ""
            details = "; ".join(one_line(clean(each))[:_LONGEST_LINE] for each in (words, last) if each)
            self.problem = f"{self._why} ({details})" if details else self._why
            self._set(state)
            for answer, _report_to in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._gone())

    def _take(self, report: host_protocol.Report) -> None:
        if isinstance(report, host_protocol.Ready):
            self.title, self.version = one_line(report.title), one_line(report.version)
            self.offers = tuple(each for each in report.tools if self.settings.offers(each.name))
            self.left_out = tuple(map(one_line, report.left_out))
            self._set(ServerState.READY)
        elif isinstance(report, host_protocol.Lost):
            raise Gone(one_line(report.reason), self._veil.over(report.words))
        elif report.id in self._waiting:
            answer, details = self._waiting[report.id]
            if isinstance(report, host_protocol.Progress):
                details(self._veil.over(clean(report.text)))
            elif not answer.done():
                answer.set_result(report)

    def _set(self, state: ServerState) -> None:
        self.state = state
        if state is not ServerState.STARTING:
            self._settled.set()
        self._changed()

    def _gone(self) -> ToolError:
        why = "it is no longer configured" if self._closed else self._why or self.state.value
        message = f"The MCP server {self.name} is unavailable: {why}."
        return ToolError(message, "The user can check it with /mcp.", brief=f"{message} Check it with /mcp.")

    def _connect(self, cwd: Path) -> host_protocol.Connect:
        settings, environ = self.settings, self._around.environ
        if settings.url:
            missing = [name for name in settings.headers_env.values() if not environ.get(name)]
            if missing:
                raise Gone(f"the variable {missing[0]}, which headers_env refers to, is not set")
            headers = {header: environ[name] for header, name in settings.headers_env.items()}
            return host_protocol.Connect(url=settings.url, headers=headers)
        given = {name: environ[name] for name in settings.env_from if name in environ}
        return host_protocol.Connect([settings.command, *settings.args], {**given, **settings.env}, str(cwd))

    async def _prepare(self) -> tuple[Path, host_protocol.Connect]:
        """Return the working directory of the host, and what it connects to.

        Raises:
            Gone: it cannot be started.
        """
        if await asyncio.to_thread(find_spec, "mcp") is None:
            raise Gone(EXTRA)
        cwd = self._directory()
        return cwd, self._connect(cwd)

    def _directory(self) -> Path:
        given = self.settings.cwd
        try:
            cwd = self._around.root / Path(given).expanduser()
        except RuntimeError:
            # The home directory of an unknown user.
            cwd = self._around.root / given
        if not cwd.is_dir():
            raise Gone(f"there is no directory {cwd}")
        return cwd


async def _over(task: "asyncio.Task[None]") -> None:
    await asyncio.wait([task])
