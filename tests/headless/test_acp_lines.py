"""Every line that an editor sends is answered, and none ends the program."""

import asyncio
import json
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from cogency_tui.headless.acp import lines
from cogency_tui.headless.acp.lines import Lines

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": 1}}
ODD = {"null": -32600, "[1]": -32600, "[]": -32600, '"x"': -32600, "5": -32600, "{}": -32600} | {
    '{"method": 5, "id": 1}': -32600,
    "{": -32700,
    "\xff": -32700,
    "[" * 100_000: -32700,
}


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:12])
def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cogency_tui", "acp"],
        input=line.encode("latin-1") + b"\n" + json.dumps(REQUEST).encode() + b"\n",
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    answers = [json.loads(each) for each in done.stdout.splitlines()]
    [refusal] = [each for each in answers if each.get("id") is None]
    assert refusal["error"]["code"] == ODD[line]
    [served] = [each for each in answers if each.get("id") == 7]
    assert "agentCapabilities" in served["result"]


async def test_a_line_without_an_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1 << 16)
    message = json.dumps(REQUEST).encode() + b"\n"
    ours, theirs = socket.socketpair()
    source, answers = await asyncio.open_connection(sock=ours, limit=1 << 12)
    heard, editor = await asyncio.open_connection(sock=theirs)
    reading = asyncio.create_task(Lines(source, answers).readuntil())
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
