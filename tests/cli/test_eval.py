"""`cogency-tui eval`: exit status, confirmation, and what is printed, also after Ctrl+C."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.cli.main import main
from cogency_tui.evals.tasks import TASKS
from tests.cases import cases
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer
from tests.peers.server import Context, Fault
from tests.tui.pty import Terminal

Captured = pytest.CaptureFixture[str]


def config_for(peer: ChatPeer, directory: Path, key_env: str = "") -> dict[str, str]:
    """The environment that configures the provider `mine`, with a key if `key_env` names a variable."""
    path = directory / "config.toml"
    path.write_text(f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\nkey_env = "{key_env}"\n')
    return {"COGENCY_CONFIG": str(path), "MINE_API_KEY": "sk-mine-1"}


async def test_each_effort_is_sent_to_the_model(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(model="m") as peer:
        environment = config_for(peer, tmp_path)
        words = ("eval", "locate", "--model", "mine", "--effort", "low", "--effort", "high", "--json")
        done = await asyncio.to_thread(run, *words, **environment)
    [line] = done.stdout.splitlines()
    assert [each["effort"] for each in json.loads(line)["combinations"]] == ["low", "high"]
    assert {request.body["reasoning_effort"] for request in peer.requests} == {"low", "high"}


@cases(("task", "status"), [("locate", 0), ("one-of-three", 1)])
def test_the_status_says_whether_every_attempt_succeeded(capsys: Captured, task: str, status: int) -> None:
    assert main(["eval", task, "--model", "offline"]) == status
    printed = capsys.readouterr()
    assert f"{task}  " in printed.out
    assert max(map(len, printed.out.splitlines())) <= 80
    assert f" A {task} (" in printed.err


def test_json_is_one_object_with_every_attempt(capsys: Captured) -> None:
    words = [
        "eval",
        "batch",
        "locate",
        "--dialect",
        "xml",
        "--dialect",
        "action",
        "--times",
        "2",
        "--jobs",
        "3",
    ]
    assert main([*words, "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["tasks"] == ["locate", "batch"]
    assert [each["dialect"] for each in found["combinations"]] == ["xml", "action"]
    assert {(each["combination"], each["task"], each["number"]) for each in found["attempts"]} == {
        (letter, task, number) for letter in "AB" for task in ("locate", "batch") for number in (1, 2)
    }


def test_the_list_names_every_task(capsys: Captured) -> None:
    assert main(["eval", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(TASKS)
    assert main(["eval", "--list", "--json"]) == 0
    assert {json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()} == TASKS.keys()


@cases(
    ("arguments", "says"),
    [
        (["nonsense"], "Choose from: locate, "),
        (["locate", "--model", "nobody/m"], "Unknown provider 'nobody'"),
        (["locate", "--model", "ollama"], "needs a model name"),
    ],
)
def test_what_cannot_be_run_ends_with_status_2(capsys: Captured, arguments: list[str], says: str) -> None:
    assert main(["eval", *arguments]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.out == ""


async def test_without_a_terminal_runs_that_cost_money_need_yes(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["feed/retry.py:10"], key="sk-mine-1") as peer:
        environ = config_for(peer, tmp_path, "MINE_API_KEY")
        command = ("eval", "locate", "--times", "3", "--model", "mine", "--model", "offline")
        refused = await asyncio.to_thread(run, *command, "--max-cost", "0.5", **environ)
        assert peer.requests == []
        done = await asyncio.to_thread(run, *command, "--yes", **environ)
        assert len(peer.requests) == 3
    assert refused.returncode == 2
    assert refused.stderr == (
        "cogency-tui: 3 attempts use an API key and may cost money (mine/m); --max-cost has no effect on mine/m, "
        "whose price is unknown. Confirm with --yes.\n"
    )
    assert (done.returncode, done.stderr.count("✓")) == (0, 6)


def test_the_limit_of_the_cost_is_named(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    command = [
        "eval",
        "locate",
        "--model",
        "anthropic/claude-sonnet-5",
        "--dialect",
        "xml",
        "--dialect",
        "action",
    ]
    assert main([*command, "--max-cost", "0.5"]) == 2
    said = "2 attempts use an API key and may cost money (anthropic/claude-sonnet-5), up to $0.50 each and $1.00 in all."
    assert said in capsys.readouterr().err


async def test_a_local_server_needs_no_confirmation(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["feed/retry.py:10"]) as peer:
        done = await asyncio.to_thread(run, "eval", "locate", "--model", "mine", **config_for(peer, tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.pty
@pytest.mark.parametrize(("answer", "says", "status"), [("y\r", "✓ 1/1", 0), ("\r", "Nothing was run.", 1)])
async def test_in_a_terminal_the_user_is_asked(
    project: Path, tmp_path: Path, answer: str, says: str, status: int
) -> None:
    def converse(environ: dict[str, str]) -> int:
        command = ("eval", "locate", "--model", "mine")
        with Terminal(*command, cwd=project, data=tmp_path / "data", environ=environ) as terminal:
            terminal.wait_for("1 attempt uses an API key and may cost money (mine/m). Continue? [y]es, [N]o:")
            terminal.send(answer)
            terminal.wait_for(says)
            return terminal.process.wait(60)

    async with ChatPeer(["feed/retry.py:10"], key="sk-mine-1") as peer:
        environ = config_for(peer, tmp_path, "MINE_API_KEY")
        assert await asyncio.to_thread(converse, environ) == status
        assert len(peer.requests) == (status == 0)


async def test_ctrl_c_prints_what_there_is(project: Path, tmp_path: Path) -> None:
    """A process of its own, from the start of its interpreter."""
    hangs = asyncio.Event()

    def reply(context: Context) -> str:
        if "next_delay" in str(context):
            return "feed/retry.py:10"
        hangs.set()
        return "Hm"

    async with ChatPeer(reply, faults=[Fault()], always=Fault(hang="within", after=2)) as peer:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cogency_tui", "eval", "--model", "mine"),
            cwd=project,
            env={**os.environ, **config_for(peer, tmp_path), "COGENCY_DATA": str(tmp_path / "data")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        ended = asyncio.ensure_future(process.communicate())
        await asyncio.wait([ended, asyncio.ensure_future(hangs.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert not ended.done(), ended.result()
        process.send_signal(signal.SIGINT)
        out, err = (each.decode() for each in await ended)
    assert process.returncode == 130, err
    assert [line.split()[1:] for line in out.splitlines() if line.startswith(("locate", "feature"))] == [
        ["✓", "1/1"],
        ["–"],
    ]
    assert "Traceback" not in err
    assert not (tmp_path / "data").exists()
