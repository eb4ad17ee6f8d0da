"""A command cannot read our keys from what the system shows of us, and we lose nothing by that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/PID/environ")

KEY = "sk-abcdefghijklmnop"
ODD = "a value that looks like nothing"
PROGRAM = """
import asyncio, json, os, subprocess, sys
from pathlib import Path
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.workspace.paths import Workspace

async def main(command):
    secrets = {"ODD_NAME": os.environ["ODD_NAME"]}
    context = ToolContext(Workspace(Path.cwd()), secrets=secrets)
    call = Registry(default_tools()).bind("shell", {"command": command}, context)
    outcome = await call.run()
    inherited = subprocess.run(["sh", "-c", "echo $OPENAI_API_KEY"], capture_output=True, text=True).stdout
    found = {"content": outcome.content, "python": dict(os.environ), "inherited": inherited}
    print(json.dumps(found))

asyncio.run(main(*sys.argv[1:]))
"""
WALK = """
pid=$$
while [ "$pid" -gt 1 ]; do
    echo "looked at $(cat /proc/$pid/comm)"
    tr '\\0' '\\n' < /proc/$pid/environ 2>/dev/null
    [ "$pid" = TOP ] && break
    pid=$(awk '/^PPid/ { print $2 }' /proc/$pid/status)
done
"""


def _run(tmp_path: Path, **variables: str) -> dict[str, str | dict[str, str]]:
    root = str(ROOT)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "PLAIN": "is shown", **variables}
    # Above the program there is only this test, which has its own environment.
    command = WALK.replace("TOP", str(os.getpid()))
    answered = subprocess.run(
        [sys.executable, "-c", PROGRAM, command],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answered.stdout)


@pytest.mark.exhaustive
def test_no_parent_of_a_command_shows_a_key(tmp_path: Path) -> None:
    found = _run(tmp_path, OPENAI_API_KEY=KEY, ODD_NAME=ODD, GITHUB_TOKEN="short")
    content = str(found["content"])
    # It did see the program: four processes from the shell to this test, and what is no key.
    assert content.count("looked at") >= 4
    assert content.count("PLAIN=is shown") >= 3
    # What our own veil would hide from the output cannot be told apart from what was not there.
    assert "is not shown" not in content
    for part in (KEY, ODD, "OPENAI_API_KEY", "ODD_NAME", "GITHUB_TOKEN=short"):
        assert part not in content


@pytest.mark.exhaustive
def test_the_program_keeps_its_keys(tmp_path: Path) -> None:
    found = _run(tmp_path, OPENAI_API_KEY=KEY, ODD_NAME=ODD)
    python = found["python"]
    assert isinstance(python, dict)
    assert (python["OPENAI_API_KEY"], python["ODD_NAME"]) == (KEY, ODD)
    assert found["inherited"] == f"{KEY}\n"


CONCEAL = """
import ctypes, sys
from cogency_tui.tools.shell.concealed_proc_environ import conceal
print(conceal({"KEY"}), conceal({"KEY"}), conceal({"not there"}))
shown = open("/proc/self/environ", "rb").read()
print(shown.count(b"secret"), b"LONGER_KEY=sec" in shown, b"XKEY=sec" in shown, b"LAST=x" in shown)
library = ctypes.CDLL(None)
library.getenv.restype = ctypes.c_char_p
print(library.getenv(b"KEY").decode())
"""


def test_only_what_was_named_is_overwritten(tmp_path: Path) -> None:
    environ = {"KEY": "secret\n=x", "LONGER_KEY": "sec", "XKEY": "sec", "LAST": "x"}
    said = subprocess.run(
        [sys.executable, "-c", CONCEAL],
        env={"PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == "True True True\n0 True True True\nsecret\n=x\n"


AT_THE_START = """
import sys
from pathlib import Path
from cogency_tui.agent.agent import Agent
from cogency_tui.providers.offline.provider import OfflineProvider

agent = Agent(OfflineProvider(), project=Path(sys.argv[1]), data=Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.read()
"""


def test_another_process_sees_no_key_before_any_command_ran(tmp_path: Path) -> None:
    root = str(ROOT)
    variables = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "short", "PLAIN": "is shown"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": root, **variables}
    with subprocess.Popen(
        [sys.executable, "-c", AT_THE_START, str(tmp_path), str(tmp_path / "data")],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        seen = Path(f"/proc/{program.pid}/environ").read_text()
        program.communicate("")
    assert "PLAIN=is shown" in seen
    assert KEY not in seen
    assert "GITHUB_TOKEN=short" not in seen
