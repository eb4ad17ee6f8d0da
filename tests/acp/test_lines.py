"""Every line that an editor sends is answered, and none ends the program."""

import asyncio
import json
import os
import socket
import tracemalloc

import pytest

from cogency_tui.acp import server
from cogency_tui.acp.server import MessageLines
from tests.cli.conftest import Run

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": 1}}
ODD = {"null": -32600, "[1]": -32600, "[]": -32600, '"x"': -32600, "5": -32600, "{}": -32600} | {
    '{"method": 5, "id": 1}': -32600,
    "{": -32700,
    "\xff": -32700,
    "[" * 100_000: -32700,
}


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:12])
def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(line: str, run: Run) -> None:
    message = json.dumps(REQUEST).encode()
    source, target = os.pipe()
    with os.fdopen(source) as pipe:
        done = run("acp", stdin=line.encode("latin-1") + b"\n" + message + b"\n", stdout=target)
        os.close(target)
        assert done.returncode == 0
        answers = [json.loads(each) for each in pipe]
    [refusal] = [each for each in answers if each.get("id") is None]
    assert refusal["error"]["code"] == ODD[line]
    [served] = [each for each in answers if each.get("id") == 7]
    assert "agentCapabilities" in served["result"]


async def test_a_line_without_an_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONGEST", 1 << 16)
    message = json.dumps(REQUEST).encode() + b"\n"
    ours, theirs = socket.socketpair()
    source, answers = await asyncio.open_connection(sock=ours, limit=1 << 12)
    heard, editor = await asyncio.open_connection(sock=theirs)
    reading = asyncio.create_task(MessageLines(source, answers).readuntil())
    tracemalloc.start()
    try:
        for _ in range(64):
            editor.write(b"x" * (1 << 16))
            await editor.drain()
        editor.write(b"\n" + message)
        assert await reading == message
        assert tracemalloc.get_traced_memory()[1] < 1 << 21
    finally:
        tracemalloc.stop()
    assert "65,536 bytes" in json.loads(await heard.readline())["error"]["message"]
    for stream in (editor, answers):
        stream.close()
        await stream.wait_closed()
