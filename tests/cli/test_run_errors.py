"""What a person reads when the model cannot be had: one line that says what to do, and never a key."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.peers.server import Fault, Peer
from tests.peers.ways import KEY, WAYS, Way

VENDORS = ("Responses", "Responses WebSocket", "Anthropic Messages", "Gemini", "Gemini Interactions")
vendors = pytest.mark.parametrize("way", [WAYS[name] for name in VENDORS], ids=VENDORS)
TOO_LONG = "Your input exceeds the context window of this model: maximum context length is 1000 tokens."


async def run_at(run: Run, way: Way, peer: Peer, *options: str) -> Any:
    arguments = ["run", "hello", "--provider", way.provider, "--mode", way.mode, *options]
    model = [] if "--model" in options else ["--model", way.model]
    return await asyncio.to_thread(run, *arguments, *model, **way.environ(peer))


@vendors
async def test_a_wrong_key(run: Run, way: Way, tmp_path: Path) -> None:
    async with way.peer(model=way.model, key="sk-right") as peer:
        done = await run_at(run, way, peer)
        as_json = await run_at(run, way, peer, "--json")
    assert done.returncode == as_json.returncode == 1
    assert done.stdout == ""
    [line] = [line for line in done.stderr.splitlines() if "API key" in line]
    assert "rejected the API key" in line
    assert "_API_KEY to a valid key" in done.stderr
    for text in (done.stderr, as_json.stdout, as_json.stderr):
        assert KEY not in text
    [stored] = [json.loads(line) for line in run("conversations", "list", "--json").stdout.splitlines()][:1]
    shown = run("conversations", "show", stored["id"]).stdout
    assert f"✗ {line.removeprefix('Error: ')}" in shown
    # The stream of events is as it was, without what only the store needs.
    assert '"failure"' not in as_json.stdout
    assert all(
        KEY.encode() not in path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()
    )


@vendors
async def test_an_unknown_model(run: Run, way: Way) -> None:
    async with way.peer(model=way.model, key=KEY) as peer:
        done = await run_at(run, way, peer, "--model", "no-such-model")
    assert done.returncode == 1
    assert f"{way.provider} does not have the model no-such-model" in done.stderr
    assert "--model" in done.stderr


@pytest.mark.parametrize("way", [WAYS["Responses"], WAYS["Anthropic Messages"], WAYS["Gemini"]])
async def test_a_context_that_is_too_long(run: Run, way: Way) -> None:
    body = json.dumps({"error": {"code": 400, "message": TOO_LONG, "type": "invalid_request_error"}})
    async with way.peer(model=way.model, key=KEY, always=Fault(status=400, body=body)) as peer:
        done = await run_at(run, way, peer)
    assert done.returncode == 1
    assert "too long for" in done.stderr
    assert "Start a new conversation" in done.stderr


@vendors
def test_no_network(run: Run, way: Way) -> None:
    name = way.provider.upper()
    environ = {f"{name}_API_KEY": KEY, f"{name}_BASE_URL": "http://127.0.0.1:9/v1"}
    done = run(
        "run", "hello", "--provider", way.provider, "--mode", way.mode, "--model", way.model, **environ
    )
    assert done.returncode == 1
    assert "Nothing is listening on 127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_key_at_all(run: Run) -> None:
    done = run("run", "hello", "--provider", "anthropic")
    assert done.returncode == 1
    assert "$ANTHROPIC_API_KEY is not set" in done.stderr
