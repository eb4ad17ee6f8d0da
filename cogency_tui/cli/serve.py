"""`cogency-tui serve`: the interface in a browser on this machine.

Invariant: only a client that knows the token in the address gets an answer, and only under this machine's
own names, so that no other page can reach it by a name of its own (DNS rebinding). Each open page is a
program of its own, which ends with the page. The server has no key in its environment: it passes the keys
to each program where no other process sees them.
"""

import asyncio
import hmac
import logging
import os
import secrets
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from cogency_tui.child_environment import without_secrets
from cogency_tui.child_processes import start_with_keys
from cogency_tui.cli.standard_streams import print_text, talk
from cogency_tui.config.layers import load_settings
from cogency_tui.errors import UsageError
from cogency_tui.providers import configured_providers
from cogency_tui.signal_delivery import on_signal
from cogency_tui.tools.shell.concealed_proc_environ import conceal

EXTRA = "pip install 'cogency-tui[serve]'"

HOST = "127.0.0.1"


def serve_browser(arguments: Sequence[str], port: int) -> int:
    """Serve until interrupted, on `port` (0: any that is free); `arguments` are those of the interface.

    Raises:
        UsageError: the extra is not installed, or the port is taken.
    """
    if find_spec("textual_serve") is None:
        raise UsageError("Serving a browser needs an extra that is not installed.", EXTRA)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as exc:
            raise UsageError(f"Port {port} cannot be used: {exc}.", "Choose another with --port.") from exc
        keys = _take_out_keys(os.environ)
        return asyncio.run(_serve(listening, arguments, keys, secrets.token_urlsafe(24)))


def _take_out_keys(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Remove the keys of providers, and variables that look like secrets, from the environment; return
    them.
    """
    own = configured_providers.secrets(load_settings(environ=environ), environ)
    plain = without_secrets(environ, own)
    keys = {name: value for name, value in environ.items() if name not in plain}
    conceal(keys)
    for name in keys:
        del environ[name]
    return keys


async def _serve(
    listening: socket.socket, arguments: Sequence[str], keys: Mapping[str, str], token: str
) -> int:
    from aiohttp import web

    pass

    port: int = listening.getsockname()[1]
    application = await make_application(Program(arguments, keys), token, HOST, port)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            on_signal(asyncio.get_running_loop(), number, over.set)
        talk("Anyone with this address has your access here. Ctrl+C stops it.")
        print_text(f"http://{HOST}:{port}/{token}/")
        await over.wait()
    finally:
        await runner.cleanup()
    return 0


# The pages of textual-serve, behind a guard that refuses everything but the user's own browser.

MOST = 8
"""Pages that may be open at once."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


_INTERFACE = (
    "from cogency_tui.child_processes import take_keys; take_keys(); "
    "from cogency_tui.cli.main import main; sys.exit(main())"
)
_HEARTBEAT = 15.0
_NO_MESSAGE = (ValueError, TypeError, LookupError)
"""The errors that a malformed message of a page causes."""


@dataclass(frozen=True, slots=True)
class Program:
    """The program of each page: the interface with these arguments, and the keys that it receives."""

    arguments: Sequence[str]
    keys: Mapping[str, str] = field(repr=False)


class TerminalPage(AppService):
    """The program of one page: our own interpreter in place of a shell command."""

    def __init__(
        self, program: Program, websocket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        super().__init__(
            "",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=partial(_close, websocket),
            download_manager=downloads,
        )
        self._program = program

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        process = await start_with_keys(
            *(_INTERFACE, *self._program.arguments),
            environ=self._build_environment(width, height),
            keys=self._program.keys,
        )
        self._process, self._stdin = process, process.stdin
        return process


async def _close(websocket: web.WebSocketResponse) -> None:
    await websocket.close()


class Pages(Server):
    """Runs one program for each open page."""

    def __init__(self, program: Program, host: str, port: int) -> None:
        super().__init__("", host=host, port=port, title="cogency")  # pyright: ignore[reportUnknownMemberType] (a parameter without type)
        self._program = program
        self._open = 0

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: the caller prints the address, with its token."""

    async def application(self) -> web.Application:
        """The application to serve."""
        return await self._make_app()

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        if self._open >= MOST:
            raise web.HTTPServiceUnavailable(text=f"{MOST} pages are already open; close one.")
        self._open += 1
        try:
            return await self._show(request)
        finally:
            self._open -= 1

    async def _show(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program of a page until either ends."""
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT)
        await websocket.prepare(request)
        page = TerminalPage(self._program, websocket, self.download_manager)
        try:
            with suppress(*_NO_MESSAGE):
                await page.start(_cells(request, "width", 80), _cells(request, "height", 24))
                await self._process_messages(websocket, page)
        finally:
            await page.stop()
        return websocket


async def make_application(program: Program, token: str, host: str, port: int) -> web.Application:
    """The pages at http://HOST:PORT/TOKEN/, and nothing anywhere else."""
    # Its messages on programs that end are not for the user's terminal.
    logging.getLogger("textual-serve").setLevel(logging.CRITICAL)
    name = f"{host}:{port}"
    policy = (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        f"font-src 'self' data:; img-src 'self' data:; connect-src 'self' ws://{name}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        problem = _problem(request, token, name)
        if problem:
            return web.Response(status=403, text=problem, headers=headers)
        return await handler(request)

    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(headers)

    outer = web.Application(middlewares=[guard])
    outer.on_response_prepare.append(add_headers)
    pages = Pages(program, host, port)
    outer.add_subapp(f"/{token}/", await pages.application())
    return outer


def _cells(request: web.Request, name: str, default: int) -> int:
    """A dimension of the page's terminal."""
    given = request.query.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < len("10000") else default


def _problem(request: web.Request, token: str, name: str) -> str:
    """Why a request is refused; empty if it is not."""
    given = request.path.lstrip("/").partition("/")[0]
    if request.headers.get("Host", "") != name:
        return "Refused: use the exact address that the program printed at its start."
    if not hmac.compare_digest(given.encode(), token.encode()):
        return "Refused: the token is missing from the address. The program printed it at its start."
    origin = request.headers.get("Origin")
    socket = request.headers.get("Upgrade", "").lower() == "websocket"
    if (origin is not None or socket) and origin != f"http://{name}":
        return "Refused: the request comes from another page."
    return ""
