"""An MCP server made with the SDK's own classes, or without them.

Run as a program on stdio. With `plain` it does without the SDK, whose import takes a second of processor time, and
has only the tools that need nothing of it.
"""

import asyncio
import inspect
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def echo(text: str) -> str:
    """Say it again."""
    return text


def fail(why: str) -> str:
    """Raise."""
    raise ValueError(why)


def environment(name: str) -> str:
    """A variable, and where we are."""
    return f"{os.environ.get(name, '(none)')} {Path.cwd()}"


def write(name: str, text: str) -> str:
    """Write a file."""
    Path(name).write_text(text)
    return "written"


def write_later(name: str, text: str, when: str) -> str:
    """Write a file, and `when` with `.done` at its end, only once `when` is there."""

    def wait() -> None:
        while not Path(when).exists():
            time.sleep(0.01)
        Path(name).write_text(text)
        Path(f"{when}.done").touch()

    threading.Thread(target=wait, daemon=True).start()
    return "not written"


def stuck() -> str:
    """Hang so that nothing else is answered, either."""
    time.sleep(3600)
    return "never"


def die() -> str:
    """Be gone."""
    os._exit(3)


def child() -> str:
    """Start a process that wants to stay; its pid."""
    process = subprocess.Popen(["sleep", "3600"], start_new_session=True, stdin=subprocess.DEVNULL)
    return str(process.pid)


def huge(size: int) -> str:
    """A text of that many characters."""
    return "x" * size


def shout(text: str) -> str:
    """Write to stderr."""
    print(text, file=sys.stderr, flush=True)
    return "said"


def flood() -> str:
    """Say things that nobody asked for, without end."""
    while True:
        print(_NOISE, flush=True)


_NOISE = '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}'

_IMAGE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000002000000010100000000dc594227"
    "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
)
"""A PNG of two pixels."""

TOOLS = (add, echo, fail, environment, write, write_later, stuck, die, child, huge, shout, flood)


def with_sdk() -> Any:
    """The server as an `MCPServer` of the SDK."""
    from mcp.server.mcpserver import Context, Image, MCPServer

    server = MCPServer("Demo", version="1.2")
    for tool in TOOLS:
        server.tool()(tool)

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

    @server.tool(structured_output=False)
    def pictures() -> list[Any]:
        """An image of two pixels, and bytes that are none."""
        images = (_IMAGE, b"\x89PNG0123456789")
        return ["Two:", *(Image(data=data, format="png") for data in images)]

    return server


def serve_plainly() -> None:
    """Answer one request after the other, in the latest version of the protocol."""
    tools = {tool.__name__: tool for tool in TOOLS}
    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params", {})
        match request["method"]:
            case "server/discover":
                result: dict[str, Any] = {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "cacheScope": "private",
                    "ttlMs": 0,
                    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Demo", "version": "1.2"}},
                }
            case "tools/list":
                offers = [_offer(tool) for tool in TOOLS]
                result = {"tools": offers, "cacheScope": "private", "ttlMs": 0}
            case "tools/call":
                text = str(tools[params["name"]](**params.get("arguments", {})))
                result = {"content": [{"type": "text", "text": text}], "isError": False}
            case _:
                continue
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"resultType": "complete", **result}}
        print(json.dumps(answer), flush=True)


def _offer(tool: Callable[..., Any]) -> dict[str, Any]:
    """A tool as a list of tools has it."""
    parameters = inspect.signature(tool).parameters.values()
    kinds = {int: "integer", str: "string"}
    schema = {
        "type": "object",
        "properties": {
            each.name: {"type": kinds[each.annotation]}
            | ({} if each.default is each.empty else {"default": each.default})
            for each in parameters
        },
        "required": [each.name for each in parameters if each.default is each.empty],
    }
    return {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}


if __name__ == "__main__":
    if sys.argv[1:] == ["plain"]:
        serve_plainly()
    else:
        with_sdk().run()
