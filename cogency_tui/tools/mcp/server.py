"""One MCP server that is configured: started, asked, started again.

Invariant: whatever the server or its host does (hang, die, flood, talk nonsense), what is awaited here comes
to an end, and when `close` has returned nothing of either runs. After the end of a server that had answered
its tools are still known: the next call starts it again. One that never answered is left to the person.
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

from cogency_tui.errors import ToolError
from cogency_tui.mcp_settings import McpSettings
from cogency_tui.redaction import Veil
from cogency_tui.text import clean, one_line
from cogency_tui.tools.blocking import completed
from cogency_tui.tools.mcp import wire
from cogency_tui.tools.mcp.hosting import Gone, hosted, next_report
from cogency_tui.tools.output import Kept
from cogency_tui.tools.secrecy import scrubbed

EXTRA = "MCP servers need an extra: pip install 'cogency-tui[mcp]'"

_SAID = (2_000, 6_000)
"""Bytes that are kept of what a server writes to stderr, from the beginning and from the end."""

_LONGEST_LINE = 200
"""Characters of what it wrote last that are told with why it does not answer."""


class State(Enum):
    """How a server stands."""

    IDLE = "not started"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    ENDED = "ended"


async def _as_configured() -> None:
    """Leave the servers as they are."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where servers work: the project, our environment and the keys in it.

    `refresh` is awaited before a call: it closes the servers that are not configured any more.
    """

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    refresh: Callable[[], Awaitable[None]] = _as_configured


class Server:
    """The server `name`. `changed` is called when its state or its tools are others."""

    def __init__(
        self, name: str, settings: McpSettings, around: Surroundings, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.settings = settings
        self.state = State.IDLE
        self.problem = ""
        """Why it does not answer, in one line, for the person: with what it has said itself."""
        self.title = ""
        self.version = ""
        self.offers: tuple[wire.Offer, ...] = ()
        self.left_out: tuple[str, ...] = ()
        self._around = around
        self._changed = changed
        self._said = Kept(*_SAID)
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._why = ""
        """As `problem`, in our own words: what a model is told before anything of the server was allowed."""
        self._settled = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, tuple[asyncio.Future[wire.Done], Callable[[str], None]]] = {}
        self._number = 0
        own = [*settings.env_from, *settings.headers_env.values()]
        given = {name: around.environ[name] for name in own if around.environ.get(name)}
        plain = scrubbed(settings.env, {})
        written = {name: value for name, value in settings.env.items() if name not in plain}
        self._veil = Veil({**around.secrets, **given, **written})

    @property
    def said(self) -> str:
        """The beginning and the end of what it has written to stderr."""
        return self._veil.over(self._said.text())

    def start(self) -> None:
        """Begin to start it, unless it is started or ready, or was closed."""
        if self._closed or self.state in (State.STARTING, State.READY):
            return
        before, self._task = self._task, None
        self._settled = asyncio.Event()
        self._set(State.STARTING)
        self._task = asyncio.create_task(self._run(before), name=f"mcp {self.name}")

    async def settle(self) -> None:
        """Wait until it is known whether it can be used."""
        if self.state is State.STARTING:
            await self._settled.wait()

    async def restart(self) -> None:
        """End it, and begin to start it."""
        await self._end()
        self.start()

    def close(self) -> Coroutine[Any, Any, None]:
        """End it for good: from now on no call that still knows of it starts it again."""
        self._closed = True
        return self._end()

    async def _end(self) -> None:
        # As long as it takes: others may end it, or start it again, meanwhile.
        while (task := self._task) is not None:
            task.cancel()
            await completed(_over(task))
            if self._task is task:
                self._task = None
        self.problem = self._why = ""
        self._set(State.IDLE)

    async def call(self, tool: str, args: Mapping[str, Any], report: Callable[[str], None]) -> wire.Done:
        """Have a tool do its work; `report` is given what is said of it meanwhile.

        Raises:
            ToolError: the server cannot be asked, did not answer in time, or ended meanwhile.
        """
        await self._around.refresh()
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await self._call(tool, args, report)
        except TimeoutError:
            told = f"The MCP server {self.name} did not answer within {self.settings.timeout:g} s."
            raise ToolError(told, "It may still be at work; the person can restart it with /mcp.") from None

    async def _call(self, tool: str, args: Mapping[str, Any], report: Callable[[str], None]) -> wire.Done:
        if self.state in (State.ENDED, State.IDLE):
            self.start()
        await self.settle()
        if self._closed:
            raise self._gone()
        writer = self._writer
        if self.state is not State.READY or writer is None:
            raise self._gone()
        self._number += 1
        id = self._number
        try:
            line = wire.encode(wire.Call(id, tool, dict(args)))
        except UnicodeEncodeError:
            raise ToolError("The arguments have a lone surrogate, which is half a character.") from None
        if len(line) > wire.LONGEST:
            raise ToolError(f"The arguments have {len(line):,} bytes; {wire.LONGEST:,} can be passed on.")
        answer: asyncio.Future[wire.Done] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (answer, report)
        try:
            writer.write(line)
            with suppress(ConnectionError):
                await writer.drain()
            done = await answer
        finally:
            del self._waiting[id]
            if not answer.done() or answer.cancelled():
                writer.write(wire.encode(wire.Cancel(id)))
        return wire.Done(done.id, self._veil.over(done.text), done.failed)

    async def _run(self, before: "asyncio.Task[None] | None") -> None:
        """Start it, and take what it says until it ends."""
        if before is not None:
            await asyncio.wait([before])
        state = State.FAILED
        self.problem = self._why = words = ""
        self._said = Kept(*_SAID)
        try:
            cwd, connect = await self._prepare()
            environ = scrubbed(self._around.environ, self._around.secrets)
            async with hosted(cwd, environ, self._said.feed) as (reader, writer):
                writer.write(wire.encode(connect))
                async with asyncio.timeout(self.settings.start_timeout):
                    self._take(await next_report(reader))
                state = State.ENDED
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
            last = self.said.strip().rpartition("\n")[2] if state is State.FAILED else ""
            told = "; ".join(one_line(clean(each))[:_LONGEST_LINE] for each in (words, last) if each)
            self.problem = f"{self._why} ({told})" if told else self._why
            self._set(state)
            for answer, _report_to in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._gone())

    def _take(self, report: wire.Report) -> None:
        if isinstance(report, wire.Ready):
            self.title, self.version = one_line(report.title), one_line(report.version)
            self.offers = tuple(each for each in report.tools if self.settings.offers(each.name))
            self.left_out = tuple(map(one_line, report.left_out))
            self._set(State.READY)
        elif isinstance(report, wire.Lost):
            raise Gone(one_line(report.reason), self._veil.over(report.words))
        elif report.id in self._waiting:
            answer, told = self._waiting[report.id]
            if isinstance(report, wire.Progress):
                told(self._veil.over(clean(report.text)))
            elif not answer.done():
                answer.set_result(report)

    def _set(self, state: State) -> None:
        self.state = state
        if state is not State.STARTING:
            self._settled.set()
        self._changed()

    def _gone(self) -> ToolError:
        why = "it is not configured any more" if self._closed else self._why or self.state.value
        return ToolError(
            f"The MCP server {self.name} cannot be asked: {why}.", "The person can see to it with /mcp."
        )

    def _connect(self, cwd: Path) -> wire.Connect:
        settings, environ = self.settings, self._around.environ
        if settings.url:
            missing = [name for name in settings.headers_env.values() if not environ.get(name)]
            if missing:
                raise Gone(f"the variable {missing[0]} is not set, which headers_env names")
            headers = {header: environ[name] for header, name in settings.headers_env.items()}
            return wire.Connect(url=settings.url, headers=headers)
        given = {name: environ[name] for name in settings.env_from if name in environ}
        return wire.Connect([settings.command, *settings.args], {**given, **settings.env}, str(cwd))

    async def _prepare(self) -> tuple[Path, wire.Connect]:
        """Where the host is to run, and what it is to connect to.

        Raises:
            Gone: that cannot be.
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
            # Of a person who is not here.
            cwd = self._around.root / given
        if not cwd.is_dir():
            raise Gone(f"there is no directory {cwd}")
        return cwd


async def _over(task: "asyncio.Task[None]") -> None:
    await asyncio.wait([task])
