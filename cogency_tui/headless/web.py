"""`cogency-tui serve`: the interface in a browser on this machine.

Invariant: only who knows the token in the address gets an answer, and only under the names of this machine
itself, so that no other page can reach it by a name of its own (DNS rebinding). Each page that is opened is a
program of its own, which ends with the page.
"""

import asyncio
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from cogency_tui.errors import UsageError
from cogency_tui.headless.output import print_text, talk

EXTRA = "pip install 'cogency-tui[serve]'"

HOST = "127.0.0.1"


def serve_browser(arguments: Sequence[str], port: int) -> int:
    """Serve until interrupted, on `port` (0: any that is free); `arguments` are those of the interface.

    Raises:
        UsageError: what it needs is not installed, or the port is taken.
    """
    if find_spec("textual_serve") is None:
        raise UsageError("The browser is served with an extra that is not installed.", EXTRA)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as exc:
            raise UsageError(f"Port {port} cannot be used: {exc}.", "Give another with --port.") from exc
        command = [sys.executable, "-m", "cogency_tui", *arguments]
        return asyncio.run(_serve(listening, shlex.join(command), secrets.token_urlsafe(24)))


async def _serve(listening: socket.socket, command: str, token: str) -> int:
    from aiohttp import web

    from cogency_tui.headless.web_pages import make_application

    port: int = listening.getsockname()[1]
    application = await make_application(command, token, HOST, port)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        talk("Whoever has this address can do here what you can. Ctrl+C ends it.")
        print_text(f"http://{HOST}:{port}/{token}/")
        await over.wait()
    finally:
        await runner.cleanup()
    return 0
