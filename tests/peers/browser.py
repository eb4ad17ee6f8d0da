"""A real browser without a window, driven over its debugging protocol."""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium")

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-port=0", "--window-size=1200,800"),
)
PATIENCE = 90.0


class Page:
    """One page."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)

    async def do(self, method: str, **params: Any) -> Any:
        """Have the browser do something, and return what it answers."""
        id = next(self._ids)
        await self._socket.send(json.dumps({"id": id, "method": method, "params": params}))
        async with asyncio.timeout(PATIENCE):
            while True:
                said = json.loads(await self._socket.recv())
                if said.get("id") == id:
                    # Between two documents there is nothing to ask.
                    return said.get("result") or {"result": {}}

    async def value(self, expression: str) -> Any:
        """What JavaScript comes to."""
        said = await self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        return said["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until JavaScript is true."""
        async with asyncio.timeout(PATIENCE):
            while not await self.value(expression):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.1)

    async def click(self, x: int, y: int) -> None:
        """Click there, in pixels."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def type(self, text: str) -> None:
        """Press keys; a newline is Enter."""
        for character in text:
            key, code, said = ("Enter", 13, "\r") if character == "\n" else (character, 0, character)
            for kind, written in (("keyDown", said), ("keyUp", "")):
                await self.do(
                    "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=written
                )

    async def picture(self, path: Path) -> None:
        """Save what is seen, as PNG."""
        data = (await self.do("Page.captureScreenshot"))["data"]
        path.write_bytes(base64.b64decode(data))


@asynccontextmanager
async def opened(url: str, profile: Path) -> AsyncGenerator[Page]:
    """A page that shows `url`."""
    assert CHROMIUM is not None
    process = subprocess.Popen(  # noqa: ASYNC220 (it only starts)
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = profile / "DevToolsActivePort"
        await _until(lambda: port.exists() and port.read_text().count("\n"))
        number = port.read_text().split("\n")[0]
        target = await _target(number)
        async with connect(target, max_size=None, open_timeout=PATIENCE) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(process.wait, 10)
        process.kill()
        await asyncio.to_thread(process.wait)


async def _target(port: str) -> str:
    """The address of the page's debugging socket."""
    import httpx

    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(PATIENCE):
        while True:
            pages = (await client.get(f"http://127.0.0.1:{port}/json/list")).json()
            found = [page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"]
            if found:
                return found[0]
            await asyncio.sleep(0.1)


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.1)
