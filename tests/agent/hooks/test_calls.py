"""Hooks before and after calls: what they receive, refuse, report, and what happens when they fail."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import AgentSettings
from tests.agent.delegation import block, delegated, named, results
from tests.agent.hooks.bench import Bench, call, edit, edits, hook, only_result, runs, shell, turn
from tests.cases import cases


def received(path: Path) -> list[dict[str, Any]]:
    """What hooks received that append their input to a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_hook_receives_the_event(bench: Bench, tmp_path: Path) -> None:
    (bench.root / "a.py").write_text("x = 1\n")
    log = tmp_path / "log"
    events = ["before_call", "before_edit", "after_edit", "after_call"]
    logging = shell(events, 'cat >> "$1"', str(log))  # pyright: ignore[reportArgumentType]
    async with bench.agent(
        edit("x = 1", "x = 2"), call("shell", command="echo hello"), "Ok.", hooks={"log": logging}
    ) as agent:
        edited, ran = results(await turn(agent))
    found = received(log)
    assert [(each["event"], each["tool"]) for each in found] == [
        *((event, "edit") for event in events),
        ("before_call", "shell"),
        ("after_call", "shell"),
    ]
    first, after = found[0], found[2]
    assert (first["hook"], first["project"], first["conversation"]) == ("log", str(bench.root), "c")
    assert first["call"] == edited["id"]
    assert first["args"] == {"file": "a.py", "old": "x = 1", "new": "x = 2", "all": False}
    assert (first["file"], first["files"]) == (f"{bench.root}/a.py", [f"{bench.root}/a.py"])
    assert "result" not in first
    assert after["result"]["state"] == "done"
    assert after["result"]["content"].startswith("--- a/a.py")
    assert found[-1]["call"] == ran["id"]
    assert "hello" in found[-1]["result"]["content"]
    assert "file" not in found[-1]


async def test_a_call_that_is_blocked_does_not_run_and_asks_nobody(bench: Bench) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True)

    guard = shell("before_call", 'echo "No cleaning." >&2; exit 2', tools=["bash"])
    never = shell("before_call", "exit 0")
    agent = bench.agent(
        call("shell", command="touch gone"), "Ok.", hooks={"guard": guard, "never": never}, permissions="ask"
    )
    agent.ask = ask
    async with agent:
        payload = only_result(await turn(agent))["payload"]
    assert not (bench.root / "gone").exists()
    assert asked == []
    assert payload["outcome"] == "The hook guard blocked this call: No cleaning."
    assert payload.get("brief") == "Blocked by the hook guard: No cleaning."
    assert payload["state"] == "failed"
    assert [(run["name"], run["state"], run["outcome"]) for run in payload.get("hooks", ())] == [
        ("guard", "blocked", "No cleaning.")
    ]
    assert "No cleaning." in bench.sent


async def test_after_a_call_exit_2_tells_the_model_and_undoes_nothing(bench: Bench) -> None:
    file = bench.root / "a.py"
    file.write_text("x = 1\n")
    hooks = {"lint": shell("after_edit", 'echo "a.py:1: x is a poor name" >&2; exit 2')}
    async with bench.agent(edit("x = 1", "x = 2"), "Ok.", hooks=hooks) as agent:
        payload = only_result(await turn(agent))["payload"]
    assert file.read_text() == "x = 2\n"
    assert payload["state"] == "done"
    assert payload.get("note") == "[The hook lint reports:]\n```\na.py:1: x is a poor name\n```"


async def test_any_other_status_is_the_hooks_own_failure(bench: Bench) -> None:
    hooks = {"broken": shell(["before_call", "after_call"], "echo oh no >&2; exit 1")}
    async with bench.agent(call("shell", command="true"), "Ok.", hooks=hooks) as agent:
        payload = only_result(await turn(agent))["payload"]
    assert payload["state"] == "done"
    assert payload.get("note") is None
    assert [(run["on"], run["state"], run["outcome"]) for run in payload.get("hooks", ())] == [
        ("before_call", "failed", "exit 1: oh no"),
        ("after_call", "failed", "exit 1: oh no"),
    ]


@cases(
    ("words", "outcome"),
    [
        (["no-such-program-at-all"], "no-such-program-at-all was not found, or is not executable"),
        (["./missing.sh"], "./missing.sh was not found, or is not executable"),
        (["./text"], "./text was not found, or is not executable"),
        (["./script"], "it is no program; a script needs a first line such as #!/bin/sh"),
        (["sh", "-c", "kill -9 $$"], "killed by signal 9"),
        (["sh", "-c", "exit 3"], "exit 3"),
    ],
)
async def test_a_hook_that_cannot_run_says_why(bench: Bench, words: list[str], outcome: str) -> None:
    (bench.root / "text").write_text("x")
    (bench.root / "script").write_text("echo no first line\n")
    (bench.root / "script").chmod(0o755)
    async with bench.agent(
        call("shell", command="true"), "Ok.", hooks={"h": hook("after_call", *words)}
    ) as agent:
        (run,) = runs(await turn(agent))
    assert run["state"] == "failed"
    assert outcome in run["outcome"]


async def test_after_a_failed_call_it_receives_the_failure(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = {"log": shell("after_call", 'cat >> "$1"', str(log))}
    async with bench.agent(call("shell", command="exit 3"), "Ok.", hooks=hooks) as agent:
        await turn(agent)
    (found,) = received(log)
    assert (found["result"]["state"], found["result"]["outcome"]) == ("failed", "exit 3")


async def test_it_has_the_environment_of_commands(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-1234567890abcdefghij")
    (bench.root / "a.py").write_text("x = 1\n")
    hooks = {"env": shell("after_edit", "env | grep -E 'COGENCY|API_KEY'; pwd; tty")}
    async with bench.agent(edit("x = 1", "x = 2"), "Ok.", hooks=hooks) as agent:
        (run,) = runs(await turn(agent))
    lines = run["output"].splitlines()
    assert "SOME_API_KEY" not in run["output"]
    assert f"COGENCY_PROJECT={bench.root}" in lines
    assert f"COGENCY_FILE={bench.root}/a.py" in lines
    assert "COGENCY_HOOK=env" in lines
    assert str(bench.root) in lines
    assert "not a tty" in lines


async def test_addresses_with_passwords_are_not_in_its_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://u:pw@h/db")
    monkeypatch.setenv("OTHER_URL", "postgres://h/db")
    (bench.root / "a.py").write_text("x = 1\n")
    hooks = {"env": shell("after_edit", "env | grep -E '_URL' | sed s,postgres,,")}
    async with bench.agent(edit("x = 1", "x = 2"), "Ok.", hooks=hooks) as agent:
        (run,) = runs(await turn(agent))
    assert run["output"].splitlines() == ["OTHER_URL=://h/db"]


async def test_no_hooks_run_inside_a_hook(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGENCY_HOOK", "outer")
    async with bench.agent(
        call("shell", command="true"), "Ok.", hooks={"h": shell("after_call", "true")}
    ) as agent:
        assert runs(await turn(agent)) == []


async def test_secrets_in_its_output_are_hidden(bench: Bench) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    hooks = {"leak": shell("after_call", f"echo {key}; echo {key} >&2; exit 2")}
    async with bench.agent(call("shell", command="true"), "Ok.", hooks=hooks) as agent:
        payload = only_result(await turn(agent))["payload"]
    assert key not in json.dumps(payload)


async def test_calls_of_sub_agents_run_hooks_too(bench: Bench, tmp_path: Path) -> None:
    (bench.root / "a.py").write_text("x = 1\n")
    log = tmp_path / "log"
    hooks = {"log": shell("after_edit", 'cat >> "$1"', str(log))}
    settings = {"agents": {"sub": AgentSettings(description="works", permissions="edits")}}
    replies = (block(named("agent", "sub", task="go")), edit("x = 1", "x = 2"), "Done.", "Ok.")
    async with bench.agent(*replies, hooks=hooks, settings=settings) as agent:
        await turn(agent)
        (sub,) = await delegated(agent)
    (found,) = received(log)
    assert found["conversation"] == sub.id


async def test_hooks_of_calls_that_run_together_run_one_by_one(bench: Bench, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (bench.root / name).write_text("x = 1\n")
    lock = tmp_path / "lock"
    script = 'mkdir "$2" || exit 1; echo done >> "$1"; rmdir "$2"'
    both = block(*(("edit", {"file": name, "old": "x = 1", "new": "x = 2"}) for name in ("a.py", "b.py")))
    async with bench.agent(
        both, "Ok.", hooks={"add": shell("after_edit", script, "{file}", str(lock))}
    ) as agent:
        ran = runs(await turn(agent))
        made = {(each.tool, each.path, each.call) for each in await edits(agent)}
    assert [run["state"] for run in ran] == ["done", "done"]
    assert len({each[2] for each in made}) == 2
    assert {path for tool, path, _ in made if tool == "hook:add"} == {"a.py", "b.py"}


async def test_an_interrupt_ends_a_hook_that_runs(bench: Bench, tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    hooks = {"slow": shell("before_call", 'echo $$ > "$1"; sleep 1000', str(started))}
    async with bench.agent(call("shell", command="touch ran"), "Ok.", hooks=hooks) as agent:
        running = asyncio.create_task(turn(agent))
        pid = int(await asyncio.to_thread(started.read_text))
        agent.interrupt("c")
        events = await running
    assert events[-1]["type"] == "interrupt"
    assert not (bench.root / "ran").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_call_that_is_interrupted_in_its_hook_has_its_result(bench: Bench, tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    hooks = {"slow": shell("after_call", 'echo $$ > "$1"; sleep 1000', str(started))}
    async with bench.agent(call("write", file="a.txt", content="x\n"), "Ok.", hooks=hooks) as agent:
        running = asyncio.create_task(turn(agent))
        await asyncio.to_thread(started.read_text)
        agent.interrupt("c")
        events = await running
    [result] = [each for each in events if each["type"] == "result" and not each.get("partial")]
    assert (result["payload"]["state"], result["payload"]["error"]) == ("done", False)
    assert events[-1]["type"] == "interrupt"
