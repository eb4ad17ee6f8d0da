"""A host of an MCP server on stdio that does without the SDK, whose import takes a second of processor time.

It speaks with one server that answers one request after the other, as `mcp_server.py plain` does.
"""

import json
import os
import socket
import subprocess
from io import BufferedRWPair
from itertools import count
from typing import Any

from cogency_tui.tools.mcp import host_protocol

CODE = f"from {__name__} import main; main()"
"""What the interpreter of a host runs."""

_numbers = count(1)


def _ask(server: "subprocess.Popen[bytes]", method: str, **params: Any) -> Any:
    assert server.stdin is not None
    assert server.stdout is not None
    request = {"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": params}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]


def _offers(server: "subprocess.Popen[bytes]") -> list[host_protocol.Offer]:
    tools = _ask(server, "tools/list")["tools"]
    return [host_protocol.Offer(each["name"], each["description"], each["inputSchema"]) for each in tools]


def _serve(program: BufferedRWPair) -> None:
    connect = host_protocol.read_order(program.readline())
    assert isinstance(connect, host_protocol.Connect)
    environ = {**os.environ, **connect.environ}
    server = subprocess.Popen(
        connect.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=connect.cwd, env=environ
    )
    _send(program, host_protocol.Ready("Demo", "1.2", _offers(server)))
    for line in program:
        order = host_protocol.read_order(line)
        if isinstance(order, host_protocol.Call):
            result = _ask(server, "tools/call", name=order.tool, arguments=order.args)
            text = "".join(block["text"] for block in result["content"])
            _send(program, host_protocol.Done(order.id, text, result["isError"]))


def _send(program: BufferedRWPair, report: host_protocol.Report) -> None:
    program.write(host_protocol.encode(report))
    program.flush()


def main() -> None:
    """Serve the program on the socket that is standard input."""
    with socket.socket(fileno=os.dup(0)) as channel, channel.makefile("rwb") as program:
        _serve(program)
    os._exit(0)
