"""The pages of textual-serve, behind what refuses everybody but the person's own browser."""

import hmac
import logging
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from cogency_tui.child_processes import start_with_keys

MOST = 8
"""Pages that may be open at once."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


_INTERFACE = (
    "from cogency_tui.child_processes import take_keys; take_keys(); "
    "from cogency_tui.cli import main; sys.exit(main())"
)
_HEARTBEAT = 15.0
_NO_MESSAGE = (ValueError, TypeError, LookupError)
"""What comes of it when a page sends what is no message."""


@dataclass(frozen=True, slots=True)
class Program:
    """What each page runs: the interface with these arguments, and the keys that it is handed."""

    arguments: Sequence[str]
    keys: Mapping[str, str] = field(repr=False)


class Page(AppService):
    """The program of one page: our own interpreter in place of a command of the shell."""

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
    """One program for each page that is open."""

    def __init__(self, program: Program, host: str, port: int) -> None:
        # One of its parameters has no type.
        super().__init__("", host=host, port=port, title="cogency")  # pyright: ignore[reportUnknownMemberType]
        self._program = program
        self._open = 0

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the address is said elsewhere, with its token."""

    async def application(self) -> web.Application:
        """What is served."""
        return await self._make_app()

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        if self._open >= MOST:
            raise web.HTTPServiceUnavailable(text=f"{MOST} pages are open already; close one.")
        self._open += 1
        try:
            return await self._show(request)
        finally:
            self._open -= 1

    async def _show(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program of a page until either ends."""
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT)
        await websocket.prepare(request)
        page = Page(self._program, websocket, self.download_manager)
        try:
            with suppress(*_NO_MESSAGE):
                await page.start(_cells(request, "width", 80), _cells(request, "height", 24))
                await self._process_messages(websocket, page)
        finally:
            await page.stop()
        return websocket


async def make_application(program: Program, token: str, host: str, port: int) -> web.Application:
    """The pages at http://HOST:PORT/TOKEN/, and nothing anywhere else."""
    # What it has to say of programs that end is not for the terminal of the person.
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
    """A size of the page's terminal."""
    given = request.query.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < len("10000") else default


def _problem(request: web.Request, token: str, name: str) -> str:
    """Why a request is refused; empty where it is not."""
    given = request.path.lstrip("/").partition("/")[0]
    if request.headers.get("Host", "") != name:
        return "Refused: this is served under the address that it was started with, and under no other name."
    if not hmac.compare_digest(given.encode(), token.encode()):
        return "Refused: the address lacks the token. The program says it where it was started."
    origin = request.headers.get("Origin")
    socket = request.headers.get("Upgrade", "").lower() == "websocket"
    if (origin is not None or socket) and origin != f"http://{name}":
        return "Refused: another page asks for this one."
    return ""
