"""`parse`, `conversations` and `doctor`."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run

WIRE = 'Hm <think>so</think><execute>[{"name": "read", "args": {"file": "a"}}]</execute> more'


def test_parse_prints_an_event_a_line(run: Run) -> None:
    done = run("parse", stdin=WIRE)
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == [
        "respond",
        "think",
        "call",
        "execute",
    ]
    assert done.returncode == 0


def test_parse_in_pieces_gives_the_same_units_and_with_chunks_the_deltas(run: Run, project: Path) -> None:
    (project / "wire.txt").write_text(WIRE)
    whole = run("parse", "wire.txt").stdout.splitlines()
    pieces = run("parse", "--chunk", "1", "wire.txt").stdout.splitlines()
    assert [json.loads(line).get("content") for line in pieces] == [
        json.loads(line).get("content") for line in whole
    ]
    chunks = run("parse", "--chunk", "1", "--chunks", "wire.txt").stdout.splitlines()
    assert len(chunks) > len(whole)


def test_parse_knows_every_dialect(run: Run) -> None:
    done = run("parse", "--dialect", "delimiter", stdin="§respond: a\n§end\n")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["respond", "end"]
    done = run("parse", "--dialect", "action", stdin="<thought>a</thought>")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["think"]


def test_conversations_are_listed_for_this_project_or_all(run: Run, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run("run", "list files")
    run("run", "list files", cwd=other)
    here = [json.loads(line) for line in run("conversations", "list", "--json").stdout.splitlines()]
    everywhere = [
        json.loads(line) for line in run("conversations", "list", "--all", "--json").stdout.splitlines()
    ]
    assert [each["project"] for each in here] == [str(project)]
    assert {each["project"] for each in everywhere} == {str(project), str(other)}
    assert "list files" in run("conversations", "list").stdout
    assert "list files" in run("conversations", "show", here[0]["id"]).stdout


def test_no_conversations_is_said(run: Run) -> None:
    done = run("conversations", "list")
    assert done.returncode == 0
    assert done.stdout == ""
    assert "No conversations" in done.stderr


def test_doctor_says_what_works(run: Run) -> None:
    done = run("doctor", "--json")
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}
    assert findings["store"]["state"] == "ok"
    assert done.returncode == 0
    assert "✓" in run("doctor").stdout


def test_doctor_says_what_does_not(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config = tmp_path / "config.toml"
    config.write_text("mode = 1\n")
    done = run("doctor", "--json", COGENCY_DATA=str(tmp_path / "file" / "data"), COGENCY_CONFIG=str(config))
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1
    assert findings["store"]["state"] == "bad"
    assert findings["store"]["advice"]
    assert findings["configuration"]["state"] == "bad"


def test_the_engine_runs_without_textual_and_rich(project: Path, tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from cogency_tui import Agent
loaded = {{name for name in sys.modules if "." in name and name.startswith("cogency_tui.")}}
async def main():
    agent = Agent(llm="offline", permissions="auto", data={str(tmp_path / "data")!r}, project={str(project)!r})
    return [event["type"] async for event in agent("What's in greet.py?")]
types = asyncio.run(main())
assert types[0] == "user" and types[-1] == "end" and "result" in types, types
bad = [name for name in sys.modules if name.split(".")[0] in ("textual", "rich", "httpx", "websockets")]
assert not bad, bad
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_importing_the_package_is_light() -> None:
    program = "import sys, cogency_tui; assert not [n for n in sys.modules if n.startswith('cogency_tui.')]"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
