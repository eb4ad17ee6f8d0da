"""`cogency-tui serve` over real HTTP and WebSockets, and in a real browser where there is one."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pyte
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from cogency_tui.child_processes import interpreter
from cogency_tui.store.store import Store
from tests.cli.conftest import Run
from tests.peers import browser
from tests.peers.chat import ChatPeer
from tests.tools.survivors import none_survives, survivors, until

PATIENCE = 90.0
_KEY = "canary-of-no-known-form-78"
_PROGRAM = interpreter("from cogency_tui.cli.main import main; sys.exit(main())")


class Served:
    """A program that serves; `mark` is in the environment of all that it starts."""

    def __init__(self, process: "subprocess.Popen[str]", data: Path, mark: str) -> None:
        assert process.stdout is not None
        self.process = process
        self.data = data
        self.mark = mark
        self.url: str = process.stdout.readline().strip()
        self.authority = urlsplit(self.url).netloc
        self.origin = f"http://{self.authority}"
        self.socket_url = f"{self.url.replace('http', 'ws', 1)}ws?width=100&height=30"


@asynccontextmanager
async def served(project: Path, *options: str, **environ: str) -> AsyncGenerator[Served]:
    data = project.parent / "data"
    mark = f"serve-{uuid4()}"
    process = subprocess.Popen(  # noqa: ASYNC220 (it only starts)
        [*_PROGRAM, "serve", "--port", "0", *(options or ("--provider", "offline"))],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "COGENCY_DATA": str(data),
            "COGENCY_CONFIG": str(project.parent / "config.toml"),
            "COGENCY_OFFLINE_DELAY": "0",
            "TEST_MARK": mark,
            **environ,
        },
    )
    try:
        yield await asyncio.to_thread(Served, process, data, mark)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait)
        assert process.stdout is not None
        process.stdout.close()


async def test_only_the_address_with_the_token_is_answered_and_only_to_its_own_page(project: Path) -> None:
    async with served(project) as there, httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        token = there.url.rstrip("/").rpartition("/")[2]
        assert len(token) >= 32
        assert urlsplit(there.url).hostname == "127.0.0.1"
        page = await client.get(there.url)
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert (await client.get(f"{there.url}static/js/textual.js")).status_code == 200
        for path in (
            "/",
            "/ws",
            "/static/js/textual.js",
            f"/{token[:-1]}/",
            f"/{token}x/",
            f"/x/../{token}x/",
        ):
            refused = await client.get(f"{there.origin}{path}")
            assert refused.status_code == 403
            assert token not in refused.text
        # Neither under another name for this machine, nor from another page.
        for host in ("evil.example", "evil.example:80", "localhost", "[::1]"):
            assert (await client.get(there.url, headers={"Host": host})).status_code == 403, host
        for origin in (Origin("http://evil.example"), Origin("null"), None):
            with pytest.raises(InvalidStatus) as raised:
                async with connect(there.socket_url, origin=origin):
                    pass
            assert raised.value.response.status_code == 403, origin


class Screen:
    """What a browser's terminal would show."""

    def __init__(self, link: ClientConnection) -> None:
        self._link = link
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)

    async def until(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in "\n".join(self._screen.display):
                data = await self._link.recv()
                if isinstance(data, bytes):
                    self._stream.feed(data)


@pytest.mark.exhaustive
async def test_the_interface_is_what_comes_and_ends_with_its_page_or_with_the_program(project: Path) -> None:
    async with served(project) as there:
        async with connect(there.socket_url, origin=Origin(there.origin), max_size=None) as link:
            screen = Screen(link)
            await screen.until("Ask, @file")
            await link.send('["stdin", "read greet.py"]')
            await screen.until("read greet.py")
            await link.send('["stdin", "\\r"]')
            await screen.until("hello")
        # The program of the page is gone; the one that serves is there.
        await until(lambda: len(survivors(there.mark)) == 1, 30)
        assert there.process.poll() is None
        async with connect(there.socket_url, origin=Origin(there.origin), max_size=None) as link:
            await Screen(link).until("Ask, @file")
            there.process.terminate()
            await none_survives(there.mark, 30)
    async with await Store.open(there.data) as store:
        assert await store.count() == 1


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/PID/environ")
async def test_a_page_has_the_keys_which_no_process_shows_and_does_not_outlive_a_killed_program(
    project: Path,
) -> None:
    canary = project.parent / "canary"
    trap = f"open({str(canary)!r}, 'a').write(__name__)\n"
    for name in ("argparse", "json", "asyncio", "sitecustomize", "textual", "cogency_tui"):
        (project / f"{name}.py").write_text(trap)
    async with ChatPeer(["It was let in."], key=_KEY) as peer:
        (project.parent / "config.toml").write_text(
            f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\nkey_env = "ODD_ONE"\n'
        )
        async with (
            served(project, "--provider", "mine", ODD_ONE=_KEY, SOME_API_KEY=_KEY) as there,
            connect(there.socket_url, origin=Origin(there.origin), max_size=None) as link,
        ):
            screen = Screen(link)
            await screen.until("Ask, @file")
            await link.send('["stdin", "hello"]')
            await screen.until("hello")
            await link.send('["stdin", "\\r"]')
            await screen.until("It was let in.")
            pids = [line.partition(":")[0] for line in survivors(there.mark)]
            assert len(pids) >= 2
            for path in (Path(f"/proc/{pid}/{file}") for pid in pids for file in ("environ", "cmdline")):
                # Those that git needs for a moment may be over.
                with suppress(FileNotFoundError, ProcessLookupError):
                    assert _KEY.encode() not in path.read_bytes()
            there.process.kill()
            await none_survives(there.mark, 30)
    assert not canary.exists()


@pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no chromium here (apt install chromium)")
async def test_in_a_browser(project: Path, tmp_path: Path) -> None:
    async with served(project) as there, browser.opened(there.url, tmp_path / "profile") as page:
        await page.until("document.body.classList.contains('-first-byte')")
        await page.click(600, 580)
        await page.until("document.activeElement.tagName === 'TEXTAREA'")
        await page.type("read greet.py\n")
        async with await Store.open(there.data) as store, asyncio.timeout(PATIENCE):
            while not await store.count():  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.1)
            conversation = (await store.conversations(str(project), limit=1))[0]
            found: set[str] = set()
            while "respond" not in found:
                await asyncio.sleep(0.1)
                found = {event["type"] for event in await store.events(conversation.id)}
        picture = tmp_path / "page.png"
        await page.picture(picture)
        assert picture.stat().st_size > 20_000


def test_a_port_that_is_taken_is_told(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "Choose another with --port." in done.stderr
