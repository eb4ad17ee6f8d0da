"""An MCP server made with the SDK's own classes.

Run as a program on stdio, or with `http PORT` at http://127.0.0.1:PORT/mcp.
"""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("Demo", version="1.2")


@server.tool()
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def fail(why: str) -> str:
    """Raise."""
    raise ValueError(why)


@server.tool()
def environment(name: str) -> str:
    """A variable, and where we are."""
    return f"{os.environ.get(name, '(none)')} {Path.cwd()}"


@server.tool()
def write(name: str, text: str) -> str:
    """Write a file."""
    Path(name).write_text(text)
    return "written"


@server.tool()
def write_later(name: str, text: str, when: str) -> str:
    """Write a file, and `when` with `.done` at its end, only once `when` is there."""

    def wait() -> None:
        while not Path(when).exists():
            time.sleep(0.01)
        Path(name).write_text(text)
        Path(f"{when}.done").touch()

    threading.Thread(target=wait, daemon=True).start()
    return "not written"


@server.tool()
async def steps(ctx: Context[Any, Any], count: int) -> str:
    """Report progress."""
    for number in range(count):
        await ctx.report_progress(number + 1, count, f"step {number + 1}")
    return "all done"


@server.tool()
async def hang(mark: str) -> str:
    """Never answer; `mark` is a file that is there while it waits."""
    Path(mark).touch()
    try:
        await asyncio.sleep(3600)
    finally:
        Path(mark).unlink()
    return "never"


@server.tool()
def stuck() -> str:
    """Hang so that nothing else is answered, either."""
    time.sleep(3600)
    return "never"


@server.tool()
def die() -> str:
    """Be gone."""
    os._exit(3)


@server.tool()
def child() -> str:
    """Start a process that wants to stay; its pid."""
    process = subprocess.Popen(["sleep", "3600"], start_new_session=True, stdin=subprocess.DEVNULL)
    return str(process.pid)


@server.tool()
def huge(size: int) -> str:
    """A text of that many characters."""
    return "x" * size


@server.tool()
def picture() -> Image:
    """An image."""
    return Image(data=b"\x89PNG0123456789", format="png")


@server.tool()
async def flood(ctx: Context[Any, Any]) -> str:
    """Say things that nobody asked for, without end."""
    while True:
        await ctx.report_progress(1, 2, "noise")


@server.tool()
def shout(text: str) -> str:
    """Write to stderr."""
    print(text, file=sys.stderr, flush=True)
    return "said"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()
