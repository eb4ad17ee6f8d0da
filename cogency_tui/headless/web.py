"""`cogency-tui serve`: the interface in a browser on this machine.

Invariant: only who knows the token in the address gets an answer, and only under the names of this machine
itself, so that no other page can reach it by a name of its own (DNS rebinding). Each page that is opened is a
program of its own, which ends with the page. What serves has no key in its environment: it hands the keys to
each program where no other process sees them.
"""

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Mapping, MutableMapping, Sequence
from importlib.util import find_spec

from cogency_tui.child_processes import without_secrets
from cogency_tui.config_sources import load_settings
from cogency_tui.errors import UsageError
from cogency_tui.headless.output import print_text, talk
from cogency_tui.providers import catalog
from cogency_tui.signals import on_signal
from cogency_tui.tools.own_environment import conceal

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
        keys = _take_out_keys(os.environ)
        return asyncio.run(_serve(listening, arguments, keys, secrets.token_urlsafe(24)))


def _take_out_keys(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Move the keys of providers, and what looks like a secret, out of our environment."""
    own = catalog.secrets(load_settings(environ=environ), environ)
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

    from cogency_tui.headless.web_pages import Program, make_application

    port: int = listening.getsockname()[1]
    application = await make_application(Program(arguments, keys), token, HOST, port)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            on_signal(asyncio.get_running_loop(), number, over.set)
        talk("Whoever has this address can do here what you can. Ctrl+C ends it.")
        print_text(f"http://{HOST}:{port}/{token}/")
        await over.wait()
    finally:
        await runner.cleanup()
    return 0
