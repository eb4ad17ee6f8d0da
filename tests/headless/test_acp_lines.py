"""Every line that an editor sends is answered, and none ends the program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
