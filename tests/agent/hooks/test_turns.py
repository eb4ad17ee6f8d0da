"""Hooks around messages, turns and sessions: context for the model, refusals, and turns that continue."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.hooks.turn_hooks import MOST_CONTINUATIONS, HookBlockedError
from cogency_tui.config.hooks import EVENTS
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.transcript import fenced
from tests.agent.delegation import results
from tests.agent.hooks.bench import Bench, call, edits, hook, notices, shell, turn


def received(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_every_event_comes_in_its_order(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (bench.root / "a.py").write_text("x = 1\n")
    hooks = {"log": shell([*EVENTS], 'cat >> "$1"', str(log))}
    write = call("write", file="b.py", content="y\n")
    async with bench.agent(f"Writing.\n{write}", "Done.", "Again.", hooks=hooks) as agent:
        await turn(agent, "first")
        await turn(agent, "second")
    found = received(log)
    assert [each["event"] for each in found] == [
        *("before_session", "before_turn", "before_message", "before_call", "before_edit"),
        *("after_edit", "after_call", "after_message", "after_message", "after_turn"),
        *("before_turn", "before_message", "after_message", "after_turn", "after_session"),
    ]
    by_event = {each["event"]: each for each in reversed(found)}
    assert by_event["before_session"]["source"] == "startup"
    assert by_event["before_message"]["message"] == "first"
    assert [each["message"] for each in found if each["event"] == "after_message"] == [
        "Writing.",
        "Done.",
        "Again.",
    ]
    ended = by_event["after_turn"]
    assert (ended["state"], ended["message"], ended["continued"]) == ("done", "Done.", False)


async def test_a_conversation_that_goes_on_is_resumed(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = {"log": shell("before_session", 'cat >> "$1"', str(log))}
    for _ in range(2):
        async with bench.agent("Ok.", hooks=hooks) as agent:
            await turn(agent)
    assert [each["source"] for each in received(log)] == ["startup", "resume"]


async def test_what_they_print_before_a_message_is_context_for_the_model(bench: Bench) -> None:
    hooks = {
        "branch": shell("before_session", "echo On branch main."),
        "time": shell("before_message", "echo It is late."),
        "quiet": shell("before_turn", "true"),
    }
    async with bench.agent("Ok.", "Ok.", hooks=hooks) as agent:
        events = await turn(agent, "hello")
        first = bench.sent
        await turn(agent, "and on")
    time = f"[The hook time adds, not the user:]\n{fenced('It is late.')}"
    assert f"hello\n\n[The hook branch adds, not the user:]\n{fenced('On branch main.')}\n\n{time}" in first
    assert bench.sent.endswith(f"and on\n\n{time}")
    assert notices(events) == []
    (message,) = [event for event in events if event["type"] == "user"]
    assert message["content"] == "hello"
    assert message.get("hooks_added") == [{"name": "branch", "lines": 1}, {"name": "time", "lines": 1}]


async def test_a_json_object_says_nothing_to_the_user(bench: Bench) -> None:
    hooks = {
        "empty": shell("after_turn", "echo {}"),
        "object": shell("before_turn", "printf '{\n\"ok\": true}\n'"),
        "list": shell("after_turn", "echo '[]'"),
    }
    async with bench.agent("Ok.", hooks=hooks) as agent:
        assert notices(await turn(agent)) == ["Hook list (after_turn): []"]


async def test_a_blocked_message_is_not_sent_and_nothing_of_it_is_stored(bench: Bench) -> None:
    hooks = {"guard": shell("before_message", "grep -q secret && { echo Not that. >&2; exit 2; }; true")}
    async with bench.agent("Ok.", hooks=hooks) as agent:
        with pytest.raises(
            HookBlockedError, match=r"The message was not sent: the hook guard blocked it: Not"
        ):
            await turn(agent, "the secret")
        assert bench.provider.sent == []
        store = await agent.store()
        assert await store.events("c") == []
        await turn(agent, "hello")
        assert [event["content"] for event in await store.events("c") if event["type"] == "user"] == ["hello"]


async def test_a_message_whose_check_is_interrupted_is_not_sent(bench: Bench, tmp_path: Path) -> None:
    ready, door = tmp_path / "ready", tmp_path / "door"
    os.mkfifo(ready)
    script = '[ -e "$2" ] && exit 0; echo > "$1"; exec sleep 600'
    hooks = {
        "branch": shell("before_session", "echo On branch main."),
        "guard": shell("before_message", script, str(ready), str(door)),
    }
    async with bench.agent("Ok.", hooks=hooks) as agent:
        running = asyncio.create_task(turn(agent, "the secret"))
        await asyncio.to_thread(ready.read_text)
        agent.interrupt("c")
        events = await running
        assert [event["type"] for event in events] == ["error", "interrupt"]
        assert notices(events) == ["Interrupted: the message was not sent."]
        assert bench.provider.sent == []
        assert await (await agent.store()).events("c") == []

        door.touch()
        await turn(agent, "hello")
    assert "the secret" not in json.dumps([*bench.provider.sent, *bench.provider.seeds])
    # The session's first message is this one.
    assert "hello\n\n[The hook branch adds" in bench.sent


async def test_a_message_that_no_hook_checks_is_sent_as_without_hooks(bench: Bench) -> None:
    async with bench.agent("Ok.", hooks={"fmt": shell("after_edit", "true")}) as agent:
        await turn(agent)
        conversation = agent._conversations.conversation("c", agent)  # pyright: ignore[reportPrivateUsage]
        with conversation.working():
            conversation.interrupt()
            assert conversation.turn_hooks is not None
            assert await conversation.begin_hooks("hello", is_new=True) is None


async def test_a_turn_that_is_blocked_does_not_begin(bench: Bench) -> None:
    hooks = {"guard": shell("before_turn", "echo Closed. >&2; exit 2")}
    async with bench.agent("Ok.", hooks=hooks) as agent:
        with pytest.raises(
            HookBlockedError, match=r"The turn did not begin: the hook guard blocked it: Closed\."
        ):
            await turn(agent)
    assert bench.provider.sent == []


async def test_failures_and_words_are_notices(bench: Bench) -> None:
    hooks = {
        "broken": shell("before_message", "echo oh no >&2; exit 1"),
        "says": shell("after_turn", "echo All is well."),
        "silent": shell("after_turn", "true"),
    }
    async with bench.agent("Ok.", hooks=hooks) as agent:
        events = await turn(agent)
    assert notices(events) == [
        "Hook broken (before_message): failed: exit 1: oh no",
        "Hook says (after_turn): All is well.",
    ]
    assert events[-1]["type"] == "end"


async def test_a_turn_continues_with_the_reason_of_a_hook(bench: Bench, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    script = '[ -e "$1" ] && exit 0; touch "$1"; echo The tests were not run. >&2; exit 2'
    hooks = {"tests": shell("after_turn", script, str(flag))}
    async with bench.agent("Done.", "Now they were.", hooks=hooks) as agent:
        events = await turn(agent)
    asked = f"[The hook tests, not the user, asks you to continue:]\n{fenced('The tests were not run.')}"
    assert json.dumps(asked) in bench.sent
    answers = [event["content"] for event in events if event["type"] == "respond"]
    assert "".join(answers) == "Done.Now they were."
    assert [event["type"] for event in events].count("end") == 1


async def test_hooks_cannot_continue_a_turn_for_ever(bench: Bench) -> None:
    hooks = {"never": shell("after_turn", "echo Go on. >&2; exit 2")}
    async with bench.agent(*["Ok."] * 20, hooks=hooks) as agent:
        events = await turn(agent)
    assert len(bench.provider.sent) == MOST_CONTINUATIONS + 1
    assert notices(events) == [
        *["Hook never (after_turn) continues the turn: Go on."] * MOST_CONTINUATIONS,
        f"Not continued: hooks have continued this turn {MOST_CONTINUATIONS} times.",
    ]
    assert events[-1]["type"] == "end"


async def test_a_hook_after_a_message_may_have_the_model_go_on(bench: Bench) -> None:
    hooks = {"polite": shell("after_message", "grep -q please || { echo Say please. >&2; exit 2; }")}
    async with bench.agent("Done.", "Done, please.", hooks=hooks) as agent:
        events = await turn(agent)
    assert "Say please." in bench.sent
    assert len(bench.provider.sent) == 2
    assert [result["payload"]["outcome"] for result in results(events)] == [
        f"[The hook polite, not the user, asks you to continue:]\n{fenced('Say please.')}"
    ]


async def test_after_a_failed_turn_it_is_told_so(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = {"log": shell("after_turn", 'cat >> "$1"; echo ignored >&2; exit 2', str(log))}
    async with bench.agent(NetworkError("gone"), hooks=hooks) as agent:
        await turn(agent)
    assert [each["state"] for each in received(log)] == ["failed"]
    assert len(bench.provider.sent) == 1


async def test_an_interrupt_ends_a_hook_before_a_message(bench: Bench, tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    hooks = {"slow": shell("before_message", 'echo $$ > "$1"; sleep 1000', str(started))}
    async with bench.agent("Ok.", hooks=hooks) as agent:
        running = asyncio.create_task(turn(agent))
        pid = int(await asyncio.to_thread(started.read_text))
        agent.interrupt("c")
        events = await running
    assert events[-1]["type"] == "interrupt"
    assert bench.provider.sent == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_they_change_is_journaled_too(bench: Bench) -> None:
    (bench.root / "notes.txt").write_text("one\n")
    hooks = {"note": shell("after_turn", "echo two >> notes.txt")}
    async with bench.agent("Ok.", hooks=hooks) as agent:
        events = await turn(agent)
        assert [(each.tool, each.path) for each in await edits(agent)] == [("hook:note", "notes.txt")]
        undo = await agent.undo("c")
        await undo.apply(await undo.of_turn())
    assert (bench.root / "notes.txt").read_text() == "one\n"
    assert notices(events) == ["Hook note (after_turn): changed notes.txt (+1 −0)"]


async def test_changes_before_a_message_belong_to_its_turn(bench: Bench) -> None:
    script = "echo more >> $0.txt"
    hooks = {
        on: hook(on, "sh", "-c", script, on)
        for on in ("before_session", "before_turn", "before_message", "after_turn", "after_session")
    }
    for text in ("first", "second"):
        async with bench.agent("Ok.", hooks=hooks) as agent:
            await turn(agent, text)
    async with bench.agent() as agent:
        found = [(each.tool.removeprefix("hook:"), each.origin.turn) for each in await edits(agent)]
    assert found == [(name, number) for number in (1, 2) for name in hooks]


async def test_the_hook_that_runs_is_known(bench: Bench, tmp_path: Path) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    os.mkfifo(started)
    os.mkfifo(go_on)
    hooks = {"slow": shell("before_message", 'echo > "$1"; cat "$2"', str(started), str(go_on))}
    async with bench.agent("Ok.", hooks=hooks) as agent:
        running = asyncio.create_task(turn(agent))
        await asyncio.to_thread(started.read_text)
        assert (agent.running_hook("c"), agent.running_hook(None), agent.running_hook("d")) == (
            "slow",
            "slow",
            "",
        )
        await asyncio.to_thread(go_on.write_text, "")
        await running
        assert agent.running_hook("c") == ""


async def test_without_hooks_nothing_of_them_is_imported(bench: Bench) -> None:
    import subprocess
    import sys

    code = (
        "import asyncio, sys\n"
        "from cogency_tui.agent.agent import Agent\n"
        "async def main():\n"
        f"    async with Agent('offline', project={str(bench.root)!r}, data={str(bench.data)!r}) as agent:\n"
        "        async for _ in agent.stream('hello'): pass\n"
        "asyncio.run(main())\n"
        "print(*[name for name in sys.modules if 'agent.hooks' in name])\n"
    )
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""
