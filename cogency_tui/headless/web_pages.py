"""The pages of textual-serve, behind what refuses everybody but the person's own browser."""

import hmac
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web
from textual_serve.server import Server

MOST = 8
"""Pages that may be open at once."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages(Server):
    """One program for each page that is open."""

    def __init__(self, command: str, host: str, port: int) -> None:
        # One of its parameters has no type.
        super().__init__(command, host=host, port=port, title="cogency")  # pyright: ignore[reportUnknownMemberType]
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
            return await super().handle_websocket(request)
        finally:
            self._open -= 1


async def make_application(command: str, token: str, host: str, port: int) -> web.Application:
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
    pages = Pages(command, host, port)
    outer.add_subapp(f"/{token}/", await pages.application())
    return outer


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
