"""The scheduler: one result for every call, conflicts in order, the rest at once, and nothing hangs."""

import asyncio
import logging
import os
import random
import time
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.scheduler import MOST_CALLS
from cogency_tui.config.schema import Permissions
from cogency_tui.errors import ToolError
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, ToolKind, Touch
from cogency_tui.tools.files import Read, Write
from cogency_tui.tools.registry import default_tools
from cogency_tui.tools.shell.shell_tool import Shell
from tests.agent.stage import PATIENCE, Stage, StepArgs

# Batches.


async def test_calls_of_a_batch_overlap() -> None:
    stage = Stage()
    stage.step.hold("a", "b", "c")
    for label in "abc":
        stage.do(label)
    await stage.step.until("+a", "+b", "+c")
    assert stage.scheduler.busy
    assert not stage.scheduler.idle
    stage.step.release("c", "b", "a")
    await stage.end()
    assert len(stage.results) == 3
    assert not any(map(stage.failed, stage.results))


async def test_a_failed_call_blocks_none_of_the_others() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No luck.", "Try b.")]}
    a, b = stage.do("a"), stage.do("b")
    await stage.end()
    assert (stage.failed(a), stage.outcome(a)) == (True, "No luck. Try b.")
    assert (stage.failed(b), stage.outcome(b)) == (False, "did b")


async def test_an_outcome_marked_failed_keeps_its_content() -> None:
    stage = Stage()
    stage.step.faults = {"a": [Outcome("exit status 1", {"output": "x"}, failed=True)]}
    a = stage.do("a")
    await stage.end()
    assert stage.results[a]["payload"] == {
        "outcome": "exit status 1",
        "content": {"output": "x"},
        "error": True,
        "state": "failed",
        "sources": [],
    }


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("stop", {"label": "a"}, 'no tool "stop"'),
        (7, {"label": "a"}, 'no tool "unknown"'),
        ("step", {}, '"label" is missing'),
        ("step", {"label": "a", "colour": "red"}, 'unknown argument "colour"'),
        ("step", {"label": [1]}, '"label" must be a string'),
        ("step", None, "must be an object"),
        ("step", ["a"], "must be an object"),
    ],
)
async def test_a_call_that_cannot_be_bound_fails_and_says_why(name: Any, args: Any, told: str) -> None:
    stage = Stage()
    bad, good = stage.submit(name, args), stage.do("good")
    await stage.end()
    assert stage.failed(bad)
    assert told in stage.outcome(bad)
    assert not stage.failed(good)


@pytest.mark.exhaustive
async def test_a_call_under_a_name_of_another_agent_is_ours_in_its_result(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("retry = 1\n")
    stage = Stage(default_tools(), root=tmp_path)
    found = stage.submit("grep", {"pattern": "retry", "include": "*.py"})
    unbound = stage.submit("bash", {})
    await stage.end()
    assert stage.results[found]["payload"]["content"] == "a.py:1: retry = 1"
    assert [stage.results[id]["tool"] for id in (found, unbound)] == ["find", "shell"]
    assert stage.outcome(unbound).startswith('bash is shell here: "command" is missing')


async def test_after_an_edit_that_fails_the_later_ones_and_the_command_run_in_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    stage = Stage(default_tools(), root=tmp_path)
    failed = stage.submit("edit", {"file": "a", "old": "three", "new": "3"})
    edits = [
        stage.submit("edit", {"file": "a", "old": old, "new": new})
        for old, new in (("one", "1"), ("1", "ONE"), ("two", "2"))
    ]
    shown = stage.submit("shell", {"command": "cat a"})
    await stage.end()
    assert stage.failed(failed)
    assert not any(map(stage.failed, edits))
    assert stage.results[shown]["payload"]["content"] == "exit 0\nONE\n2"


async def test_a_call_that_is_no_record_fails() -> None:
    stage = Stage()
    stage.scheduler.submit({"type": "call", "timestamp": 0.0, "id": "c", "content": "[broken"})
    await stage.end()
    assert stage.failed("c")


@pytest.mark.parametrize(
    "fault",
    [
        ValueError("odd"),
        TimeoutError("a socket's"),
        RecursionError("deep"),
        asyncio.CancelledError("its own"),
        SystemExit(3),
        BaseExceptionGroup("group", [SystemExit(3)]),
        ExceptionGroup("group", [ValueError("odd")]),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_whatever_a_tool_raises_is_a_failed_result(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage()
    stage.step.faults = {"a": [fault]}
    a, b = stage.do("a"), stage.do("b")
    await stage.end()
    assert stage.failed(a)
    assert stage.outcome(a).startswith(f"step crashed: {type(fault).__name__}")
    assert not stage.failed(b)
    assert "step broke" in caplog.text


class Brittle:
    """Breaks where the file that it touches is asked for, or where it is planned."""

    name = "brittle"
    description = "Breaks."
    args = StepArgs
    kind: ToolKind = "other"
    aliases = NO_ALIASES

    def touch(self, args: StepArgs, context: ToolContext, /) -> Touch:
        if args.label == "touch":
            raise OSError("no such disk")
        return Touch()

    async def plan(self, args: StepArgs, context: ToolContext) -> Intent:
        raise KeyError(args.label)

    async def run(self, args: StepArgs, context: ToolContext) -> Outcome:
        raise AssertionError


@pytest.mark.parametrize(
    ("label", "told"), [("touch", "OSError: no such disk"), ("plan", "KeyError: 'plan'")]
)
async def test_a_tool_that_breaks_before_it_runs_is_a_failed_result(label: str, told: str) -> None:
    stage = Stage([Brittle()])
    call = stage.submit("brittle", {"label": label})
    await stage.end()
    assert (stage.failed(call), stage.outcome(call)) == (True, f"brittle crashed: {told}")


async def test_a_call_is_announced_and_its_output_shown_while_it_runs() -> None:
    stage = Stage()
    stage.step.hold("a")
    a = stage.do("a")
    await stage.step.until("+a")
    assert [(p["id"], p["payload"]["content"]) for p in stage.previews] == [(a, ""), (a, "a reports")]
    assert all(preview.get("partial") for preview in stage.previews)
    stage.step.release("a")
    await stage.end()


# Conflicts.


async def test_reads_and_writes_of_a_file_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old\n")
    stage = Stage([Read(), Write()], root=tmp_path)
    stage.submit("read", {"file": "b"})
    stage.submit("write", {"file": "b", "content": "new\n", "overwrite": True})
    last = stage.submit("read", {"file": "./b"})
    await stage.end()
    assert stage.content(last) == "1\tnew"
    assert not any(map(stage.failed, stage.results))


async def test_a_command_runs_between_the_writes_around_it(tmp_path: Path) -> None:
    stage = Stage([Write(), Shell()], root=tmp_path)
    stage.submit("write", {"file": "a", "content": "one"})
    copied = stage.submit("shell", {"command": "cat a > b"})
    stage.submit("write", {"file": "a", "content": "two", "overwrite": True})
    await stage.end()
    assert not any(map(stage.failed, stage.results)), stage.outcome(copied)
    assert (tmp_path / "b").read_text() == "one"
    assert (tmp_path / "a").read_text() == "two"


async def test_writers_wait_for_each_other_and_readers_do_not() -> None:
    stage = Stage()
    stage.step.hold("read 1", "read 2", "write", "elsewhere")
    stage.do("read 1", file="f")
    stage.do("read 2", file="f")
    stage.do("write", file="f", writes=True)
    stage.do("read 3", file="f")
    stage.do("elsewhere", file="g", writes=True)
    await stage.step.until("+read 1", "+read 2", "+elsewhere")
    await stage.quiet()
    assert "+write" not in stage.step.log
    stage.step.release("read 1", "read 2")
    await stage.step.until("+write")
    await stage.quiet()
    assert "+read 3" not in stage.step.log
    stage.step.release("write", "elsewhere")
    await stage.end()
    assert stage.step.before("-read 1", "+write", "-write", "+read 3")


async def test_what_may_touch_everything_waits_for_writers_and_holds_back_later_ones() -> None:
    stage = Stage()
    stage.do("first", file="f", writes=True)
    stage.do("command", everything=True, writes=True)
    stage.do("second", file="g", writes=True)
    stage.do("pure")
    await stage.end()
    assert stage.step.before("-first", "+command", "-command", "+second")
    assert stage.step.before("+pure", "+command")


async def test_a_failed_writer_lets_the_next_one_go() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No.")]}
    stage.do("a", file="f", writes=True)
    b = stage.do("b", file="f", writes=True)
    await stage.end()
    assert not stage.failed(b)


# Permissions.


async def test_a_call_that_the_user_declines_says_so_and_is_asked_for_once() -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=False, reason="not today")

    stage = Stage(permissions="ask", ask=ask)
    call = stage.act("a", {"writes": True}, retry=3)
    read = stage.act("b")
    await stage.end()
    assert stage.failed(call)
    assert stage.outcome(call) == "The user declined: step a. Their reason: not today"
    payload = stage.results[call]["payload"]
    assert (payload["state"], payload.get("words")) == ("declined", "not today")
    assert payload.get("refused") == "the user declined it: not today"
    assert stage.results[call]["duration"] < 0.5
    assert "+a" not in stage.step.log
    assert not stage.failed(read)
    assert "refused" not in stage.results[read]["payload"]
    assert [question.call_id for question in asked] == [call]
    assert stage.pauses == []


async def test_without_anyone_to_ask_it_is_refused() -> None:
    stage = Stage(permissions="ask")
    call = stage.do("a", writes=True)
    await stage.end()
    assert stage.outcome(call) == (
        "Not allowed: it changes files; no user is available to approve it. "
        "Allowed instead: reading and searching inside the project."
    )
    assert stage.results[call]["payload"].get("refused") == "it changes files"


async def test_the_time_that_the_person_takes_is_not_the_call_s() -> None:
    answered = asyncio.Event()

    async def ask(question: Question) -> Answer:
        await answered.wait()
        return Answer(allow=True)

    stage = Stage(permissions="ask", ask=ask)
    call = stage.act("a", {"writes": True}, timeout=0.3)
    # Longer than the timeout; there is no condition to wait for, as nothing must happen.
    await asyncio.sleep(0.5)
    answered.set()
    await stage.end()
    assert not stage.failed(call)


# Cancelling.


@pytest.mark.parametrize("turns", range(8))
async def test_cancelling_at_any_point_stops_everything(turns: int) -> None:
    stage = Stage()
    stage.step.hold("a", "b", "detached")
    stage.do("a", file="f", writes=True)
    stage.do("b")
    stage.do("waits", file="f", writes=True)
    stage.act("detached", mode="fire_and_forget")
    for _ in range(turns):
        await asyncio.sleep(0)
    stage.scheduler.cancel()
    stage.scheduler.take()
    async with asyncio.timeout(PATIENCE):
        await stage.scheduler.settle()
    started = {entry[1:] for entry in stage.step.log if entry[0] == "+"}
    assert {entry[1:] for entry in stage.step.log if entry[0] == "!"} == started
    assert "waits" not in started
    late = stage.do("late")
    stage.scheduler.finish()
    await stage.quiet()
    assert stage.results == {}
    assert late not in stage.results


class Stubborn:
    """Answers a cancellation with a failure of its own, after it has cleaned up."""

    name = "stubborn"
    description = "Cleans up."
    args = StepArgs
    kind: ToolKind = "other"
    aliases = NO_ALIASES

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.runs = 0
        self.clean = False

    async def plan(self, args: StepArgs, context: ToolContext) -> Intent:
        return Intent("read", "wait")

    async def run(self, args: StepArgs, context: ToolContext) -> Outcome:
        self.runs += 1
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.clean = True
        raise ToolError("Interrupted.")


async def test_what_answers_a_cancellation_itself_is_not_tried_again() -> None:
    tool = Stubborn()
    stage = Stage([tool])
    stage.submit("stubborn", {"label": "a"}, id="a", mode="async", retry=3)
    await tool.started.wait()
    stage.scheduler.cancel()
    async with asyncio.timeout(PATIENCE):
        await stage.scheduler.settle()
    assert (tool.runs, tool.clean) == (1, True)
    assert stage.scheduler.take() == []


# Actions: dependencies.


@pytest.mark.parametrize("declared", ["earlier", "later"])
async def test_an_action_starts_when_what_it_depends_on_has_succeeded(declared: str) -> None:
    stage = Stage()
    stage.step.hold("base")
    if declared == "earlier":
        stage.act("base")
    stage.act("next", depends_on=["base"])
    if declared == "later":
        stage.act("base")
    stage.act("other")
    await stage.step.until("+base", "-other")
    assert "+next" not in stage.step.log
    stage.step.release("base")
    await stage.step.until("-next")
    await stage.end()
    assert stage.step.before("-base", "+next")


async def test_a_failure_skips_the_chain_behind_it_and_each_names_its_cause() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No.")]}
    a = stage.act("a", output_key="value")
    b = stage.act("b", depends_on=["a"])
    c = stage.act("c", depends_on=["b"])
    d = stage.act("d", {"value": "$value"})
    e = stage.act("e")
    await stage.end()
    assert stage.outcome(a) == "No."
    assert stage.outcome(b) == 'Skipped: it depends on "a", which failed'
    assert stage.outcome(c) == 'Skipped: it depends on "b", which was skipped'
    assert stage.outcome(d) == 'Skipped: it depends on "a", which failed'
    assert [stage.results[id]["payload"]["state"] for id in (b, c, d)] == ["skipped"] * 3
    assert all(map(stage.failed, (a, b, c, d)))
    assert not stage.failed(e)
    assert stage.step.log == ["+a", "!a", "+e", "-e"]


async def test_what_depends_on_a_malformed_action_is_skipped() -> None:
    stage = Stage()
    stage.scheduler.refuse("lost", "a")
    b = stage.act("b", depends_on=["a"])
    await stage.end()
    assert stage.outcome(b) == 'Skipped: it depends on "a", which failed'
    assert set(stage.results) == {b}


async def test_an_id_that_is_never_declared_is_reported_when_the_stream_closes() -> None:
    stage = Stage()
    a = stage.act("a", depends_on=["ghost"])
    b = stage.act("b", depends_on=["a"])
    await stage.quiet()
    assert stage.results == {}
    assert stage.scheduler.busy
    assert not stage.scheduler.holding
    await stage.end()
    assert stage.outcome(a) == 'Skipped: it depends on "ghost", which is not declared'
    assert stage.outcome(b) == 'Skipped: it depends on "a", which was skipped'


async def test_a_cycle_is_reported_and_what_hangs_on_it_is_skipped() -> None:
    stage = Stage()
    a = stage.act("a", depends_on=["c"])
    b = stage.act("b", depends_on=["a"])
    c = stage.act("c", depends_on=["b"])
    own = stage.act("own", depends_on=["own"])
    behind = stage.act("behind", depends_on=["b"])
    free = stage.act("free")
    await stage.end()
    for call in (a, b, c, own):
        assert stage.outcome(call).startswith("Not run: its dependencies form a cycle (")
    assert stage.outcome(behind) == 'Skipped: it depends on "b", which failed'
    assert not stage.failed(free)


async def test_a_cycle_is_reported_while_something_else_still_runs() -> None:
    stage = Stage()
    stage.step.hold("endless")
    stage.act("endless", mode="fire_and_forget")
    a = stage.act("a", depends_on=["b"])
    stage.act("b", depends_on=["a"])
    await stage.end()
    assert "cycle" in stage.outcome(a)
    stage.scheduler.cancel()
    await stage.scheduler.settle()


async def test_a_dependency_goes_before_the_turn_at_a_file() -> None:
    stage = Stage()
    a = stage.act("a", {"file": "f", "writes": True}, depends_on=["b"])
    b = stage.act("b", {"file": "f", "writes": True})
    await stage.end()
    assert not stage.failed(a)
    assert not stage.failed(b)
    assert stage.step.before("-b", "+a")


async def test_turns_and_dependencies_that_cross_do_not_lock() -> None:
    stage = Stage()
    for label, file, needs in (("a", "f", "d"), ("b", "f", ""), ("c", "g", "b"), ("d", "g", "")):
        stage.act(label, {"file": file, "writes": True}, depends_on=[needs] if needs else [])
    await stage.end()
    assert not any(map(stage.failed, stage.results))
    assert stage.step.before("-b", "+c")
    assert stage.step.before("-d", "+a")


# Actions: variables.


async def test_a_name_brings_the_earlier_result_and_waits_for_it() -> None:
    stage = Stage()
    stage.step.hold("a")
    stage.act("a", {"value": {"n": [1, None]}}, output_key="found")
    stage.act("b", {"value": ["$found", "is $found", "$$found", "$HOME", "$5.00", {"k": "$found"}]})
    await stage.step.until("+a")
    await stage.quiet()
    assert "+b" not in stage.step.log
    stage.step.release("a")
    await stage.end()
    value = {"n": [1, None]}
    assert stage.step.got["b"] == [value, 'is {"n": [1, null]}', "$found", "$HOME", "$5.00", {"k": value}]


async def test_an_escaped_name_alone_waits_for_nothing_and_loses_its_escape() -> None:
    stage = Stage()
    stage.step.hold("a")
    stage.act("a", output_key="found")
    stage.act("b", {"value": "$$found and $$HOME"})
    await stage.step.until("-b")
    assert stage.step.got["b"] == "$found and $$HOME"
    stage.step.release("a")
    await stage.end()


async def test_a_result_without_content_is_its_outcome() -> None:
    stage = Stage()
    stage.act("a", output_key="found")
    stage.act("b", {"value": "$found"})
    await stage.end()
    assert stage.step.got["b"] == "did a"


async def test_a_name_means_the_last_action_before_that_declares_it() -> None:
    stage = Stage()
    stage.act("a", {"value": 1}, output_key="n")
    stage.act("b", {"value": "$n and 1"}, output_key="n")
    stage.act("c", {"value": "$n and 2"}, output_key="n")
    stage.act("later", {"value": 9}, output_key="later", depends_on=["d"])
    stage.act("d", {"value": "$n, $later"})
    await stage.end()
    assert stage.step.got["c"] == "1 and 1 and 2"
    assert "+d" not in stage.step.log
    assert stage.scheduler.value_of("n") == "1 and 1 and 2"


async def test_a_name_declared_only_later_is_text() -> None:
    stage = Stage()
    stage.act("a", {"value": "$later"})
    stage.act("b", {"value": 1}, output_key="later")
    await stage.end()
    assert stage.step.got["a"] == "$later"


async def test_arguments_are_checked_with_the_values_in_them() -> None:
    stage = Stage()
    stage.act("a", {"value": True}, output_key="yes")
    good = stage.act("b", {"writes": "$yes"})
    bad = stage.act("c", {"writes": "$yes!"})
    await stage.end()
    assert not stage.failed(good)
    assert '"writes" must be true or false' in stage.outcome(bad)


async def test_an_action_on_a_file_not_known_yet_waits_for_every_writer() -> None:
    stage = Stage()
    stage.step.hold("writer")
    stage.act("name", {"value": "f"}, output_key="path")
    stage.act("writer", {"file": "f", "writes": True})
    stage.act("reader", {"file": "$path"})
    await stage.step.until("-name", "+writer")
    await stage.quiet()
    assert "+reader" not in stage.step.log
    stage.step.release("writer")
    await stage.end()
    assert stage.step.before("-writer", "+reader")


async def test_the_value_of_a_name_is_told_as_text_or_what_became_of_it() -> None:
    stage = Stage()
    stage.step.hold("a")
    stage.step.faults = {"b": [ToolError("No.")]}
    stage.act("a", {"value": [1]}, output_key="one")
    stage.act("b", output_key="two")
    stage.act("c", output_key="three", depends_on=["b"])
    assert stage.scheduler.declared == {"one", "two", "three"}
    assert stage.scheduler.value_of("one") is None
    stage.step.release("a")
    await stage.end()
    told = [stage.scheduler.value_of(name) for name in ("one", "two", "three")]
    assert told == ["[1]", "(two: failed)", "(three: skipped)"]


async def test_a_name_stands_for_what_was_produced_rather_than_for_the_report() -> None:
    stage = Stage()
    stage.step.faults = {
        "a": [Outcome("did a", "1\tx", value="x\r\n")],
        "b": [Outcome("did b", "none", value="")],
    }
    stage.act("a", output_key="found")
    stage.act("b", output_key="empty")
    told = stage.act("c", {"value": ["$found", "<$empty>"]})
    await stage.end()
    assert stage.step.got["c"] == ["x\r\n", "<>"]
    assert stage.content(told) == ["x\r\n", "<>"]
    assert stage.content("call-1") == "1\tx"


async def test_nothing_is_spliced_into_a_command_that_is_a_list(tmp_path: Path) -> None:
    stage = Stage([Shell()], root=tmp_path)
    stage.act("a", {"value": "x; touch pwned"}, output_key="evil")
    args = {"command": ["bash", "-lc", 'echo "<$evil>"']}
    call = stage.submit("shell", args, id="b", mode="async", output_key="out")
    await stage.end()
    assert stage.content(call) == "exit 0\n<>"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("argument", ["command", "cmd"])
async def test_nothing_is_spliced_into_a_command(tmp_path: Path, argument: str) -> None:
    (tmp_path / "sub").mkdir()
    stage = Stage([Shell()], root=tmp_path)
    stage.act("a", {"value": 'x"; touch pwned; echo "'}, output_key="evil")
    stage.act("b", {"value": "sub"}, output_key="place")
    stage.act("c", {"value": 20}, output_key="limit")
    args = {argument: 'pwd; echo "$evil $$evil"', "cwd": "$place", "timeout": "$limit"}
    call = stage.submit("shell", args, id="d", mode="async", output_key="out")
    stage.act("e", {"value": "$out"})
    await stage.end()
    line = 'x"; touch pwned; echo "'
    assert stage.content(call) == f"exit 0\n{tmp_path}/sub\n{line} {line}"
    assert stage.step.got["e"] == f"{tmp_path}/sub\n{line} {line}\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["sub"]


async def test_a_command_that_is_all_value_does_not_run(tmp_path: Path) -> None:
    stage = Stage([Shell()], root=tmp_path)
    stage.act("a", {"value": "touch pwned"}, output_key="evil")
    call = stage.submit("shell", {"command": "$evil"}, id="b", mode="async", retry=2)
    await stage.end()
    assert stage.failed(call)
    assert stage.outcome(call).startswith("A value cannot be run as a command")
    assert list(tmp_path.iterdir()) == []


async def test_a_command_waits_for_its_values_and_is_skipped_without_them(tmp_path: Path) -> None:
    stage = Stage([Shell()], root=tmp_path)
    stage.step.faults = {"a": [ToolError("No.")]}
    stage.act("a", output_key="lost")
    call = stage.submit("shell", {"command": "echo ${lost} > it"}, id="b", mode="async")
    escaped = stage.submit("shell", {"command": "echo $$lost; echo $$ > pid"}, id="c", mode="async")
    await stage.end()
    assert stage.outcome(call) == 'Skipped: it depends on "a", which failed'
    assert stage.content(escaped) == "exit 0" + "\n(no output)"
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


async def test_a_yes_for_a_command_is_for_the_values_that_were_shown(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True, scope="conversation")

    stage = Stage([Shell()], root=tmp_path, permissions="ask", ask=ask)
    command = {"command": 'echo "$text"'}
    for number, value in enumerate(["one", "two", "one"]):
        stage.act(f"a{number}", {"value": value}, output_key="text")
        stage.submit("shell", command, id=f"b{number}", mode="sync")
        await stage.next_cycle()
    assert [question.detail.rpartition("\n")[2] for question in asked] == ['  text = "one"', '  text = "two"']
    assert {question.pattern for question in asked} == {""}


@pytest.mark.exhaustive
async def test_a_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    data = b"\xc3\xa9 $HOME\r\n\t\"'\\\n" * 70_000 + b"no newline at the end"
    assert len(data) > 1_000_000
    (tmp_path / "from").write_bytes(data)
    stage = Stage([Read(), Write()], root=tmp_path)
    stage.submit("read", {"file": "from"}, id="a", mode="async", output_key="app")
    await stage.next_cycle()
    stage.submit("write", {"file": "to", "content": "$app"}, id="b", mode="async")
    await stage.end()
    assert (tmp_path / "to").read_bytes() == data


# Actions: over the cycles of a turn.


async def test_a_value_lives_until_the_turn_ends() -> None:
    stage = Stage()
    stage.act("a", {"value": [1]}, output_key="one")
    await stage.next_cycle()
    stage.act("b", {"value": {"k": "$one"}}, output_key="two")
    await stage.next_cycle()
    assert stage.scheduler.declared == {"one", "two"}
    assert (stage.scheduler.idle, stage.scheduler.busy, stage.scheduler.holding) == (True, False, False)
    stage.act("c", {"value": ["$one", "$two"]}, depends_on=["a", "b"])
    await stage.end()
    assert stage.step.got["c"] == [[1], {"k": [1]}]
    assert stage.scheduler.value_of("two") == '{"k": [1]}'


async def test_another_turn_knows_nothing_of_it() -> None:
    stage = Stage()
    stage.act("a", {"value": 1}, output_key="one")
    await stage.end()
    other = Stage()
    b = other.act("b", {"value": "$one"})
    c = other.act("c", depends_on=["a"])
    await other.end()
    assert (other.step.got["b"], other.failed(b)) == ("$one", False)
    assert other.outcome(c) == 'Skipped: it depends on "a", which is not declared'
    assert other.scheduler.used_ids == {"b"}, "a skipped action may be written again under its id"


async def test_what_failed_in_an_earlier_cycle_skips_its_dependents() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No.")]}
    stage.act("a", output_key="one")
    stage.act("b", output_key="two", depends_on=["a"])
    stage.scheduler.refuse("lost", "m")
    await stage.next_cycle()
    c = stage.act("c", depends_on=["a"])
    d = stage.act("d", {"value": "$two"})
    e = stage.act("e", depends_on=["m"])
    await stage.end()
    assert stage.outcome(c) == 'Skipped: it depends on "a", which failed'
    assert stage.outcome(d) == 'Skipped: it depends on "b", which was skipped'
    assert stage.outcome(e) == 'Skipped: it depends on "m", which failed'
    assert stage.scheduler.value_of("one") == "(one: failed)"


async def test_an_action_that_was_malformed_may_be_written_again_under_its_id() -> None:
    stage = Stage()
    stage.scheduler.refuse("lost", "a")
    await stage.next_cycle()
    assert stage.scheduler.used_ids == set()
    a = stage.act("a")
    b = stage.act("b", depends_on=["a"])
    await stage.next_cycle()
    assert stage.scheduler.used_ids == {"a", "b"}
    assert not stage.failed(a)
    assert not stage.failed(b)


async def test_a_second_action_of_an_id_takes_nothing_from_the_first() -> None:
    stage = Stage()
    stage.act("a", output_key="one")
    stage.scheduler.refuse("again", "a")
    b = stage.act("b", depends_on=["a"])
    await stage.next_cycle()
    stage.scheduler.refuse("once more", "a")
    c = stage.act("c", depends_on=["a"])
    await stage.end()
    assert not stage.failed(b)
    assert not stage.failed(c)


async def test_an_id_declared_later_in_the_turn_does_not_save_what_waited_for_it() -> None:
    stage = Stage()
    a = stage.act("a", depends_on=["b"])
    await stage.next_cycle()
    stage.act("b")
    c = stage.act("c", depends_on=["a"])
    await stage.end()
    assert stage.outcome(a) == 'Skipped: it depends on "b", which is not declared'
    assert stage.outcome(c) == 'Skipped: it depends on "a", which was skipped'


async def test_a_cycle_of_dependencies_is_over_with_its_cycle() -> None:
    stage = Stage()
    stage.act("a", depends_on=["b"])
    stage.act("b", depends_on=["a"])
    await stage.next_cycle()
    c = stage.act("c", depends_on=["a"])
    d = stage.act("d")
    await stage.end()
    assert stage.outcome(c) == 'Skipped: it depends on "a", which failed'
    assert not stage.failed(d)


async def test_retries_and_timeouts_settle_before_the_next_cycle() -> None:
    stage = Stage()
    stage.step.hold("late")
    stage.step.faults = {"b": [ToolError("1"), ToolError("2")]}
    stage.act("late", timeout=0.01, output_key="one")
    stage.act("b", {"value": 5}, on_error="retry", output_key="two")
    await stage.next_cycle()
    c = stage.act("c", {"value": "$one"})
    stage.act("d", {"value": "$two"})
    await stage.end()
    assert stage.outcome(c) == 'Skipped: it depends on "late", which failed'
    assert stage.step.got["d"] == 5


async def test_what_was_forgotten_and_still_runs_is_waited_for_in_its_own_cycle_only() -> None:
    stage = Stage()
    stage.step.hold("server")
    stage.act("server", {"value": 5}, mode="fire_and_forget", output_key="port")
    await stage.next_cycle()
    b = stage.act("b", depends_on=["server"])
    c = stage.act("c", {"value": "$port"})
    await stage.next_cycle()
    wanted = 'Skipped: it depends on "server", which has no result'
    assert (stage.outcome(b), stage.outcome(c)) == (wanted, wanted)
    assert stage.scheduler.value_of("port") == "(port: without a result)"
    stage.step.release("server")
    await stage.step.until("-server")
    await stage.quiet()
    await stage.next_cycle()
    stage.act("d", {"value": "$port"})
    await stage.end()
    assert stage.step.got["d"] == 5


async def test_calls_of_a_batch_are_not_carried_on() -> None:
    stage = Stage()
    stage.do("a", value="x" * 1000)
    await stage.next_cycle()
    assert stage.scheduler.used_ids == set()
    assert stage.scheduler.declared == set()


# Actions: modes.


async def test_a_sync_action_holds_and_an_async_one_does_not() -> None:
    stage = Stage()
    stage.step.hold("a", "b")
    stage.act("a", mode="async")
    assert not stage.scheduler.holding
    stage.act("b", mode="sync")
    assert stage.scheduler.holding
    stage.step.release("b")
    await stage.until(lambda: not stage.scheduler.holding)
    assert not stage.scheduler.idle
    stage.step.release("a")
    await stage.end()


async def test_a_sync_action_that_waits_for_what_is_yet_to_be_written_does_not_hold() -> None:
    stage = Stage()
    stage.act("a", mode="sync", depends_on=["b"])
    assert not stage.scheduler.holding
    stage.act("b", mode="sync")
    await stage.end()
    assert stage.step.before("-b", "+a")


async def test_what_is_forgotten_is_answered_at_once_and_its_failure_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage()
    stage.step.hold("a")
    stage.step.faults = {"a": [ToolError("No.")]}
    a = stage.act("a", mode="fire_and_forget")
    await stage.end()
    assert not stage.failed(a)
    assert stage.outcome(a).startswith("Started")
    assert stage.scheduler.idle
    async with asyncio.timeout(PATIENCE):
        await stage.scheduler.settle()
    with caplog.at_level(logging.WARNING):
        stage.step.release("a")
        await stage.quiet()
    assert "failed: No." in caplog.text
    assert set(stage.results) == {a}
    assert stage.previews == []


async def test_what_is_forgotten_holds_no_file() -> None:
    stage = Stage()
    stage.step.hold("server")
    stage.act("server", {"everything": True, "writes": True}, mode="fire_and_forget")
    b = stage.act("b", {"file": "f", "writes": True})
    await stage.end()
    assert not stage.failed(b)
    stage.scheduler.cancel()
    await stage.scheduler.settle()
    assert "!server" in stage.step.log


async def test_what_depends_on_something_forgotten_waits_for_its_result() -> None:
    stage = Stage()
    stage.step.hold("a")
    stage.act("a", {"value": 5}, mode="fire_and_forget", output_key="n")
    stage.act("b", {"value": "$n"})
    await stage.step.until("+a")
    await stage.quiet()
    assert "+b" not in stage.step.log
    stage.step.release("a")
    await stage.end()
    assert stage.step.got["b"] == 5


# Actions: timeout, retry, on_error.


async def test_a_timeout_ends_the_action_with_a_failure() -> None:
    stage = Stage()
    stage.step.hold("a")
    a = stage.act("a", timeout=0.01)
    await stage.end()
    assert (stage.failed(a), stage.outcome(a)) == (True, "step did not end in time (0.01 s)")
    assert stage.step.log == ["+a", "!a"]


async def test_retries_back_off_and_stop_at_the_first_success() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("1"), ValueError("2"), Outcome("3", failed=True)]}
    a = stage.act("a", {"value": "at last"}, retry=5)
    await stage.end()
    assert (stage.failed(a), stage.content(a)) == (False, "at last")
    assert stage.pauses == [0.2, 0.4, 0.8]


async def test_the_pauses_between_many_attempts_are_bounded() -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No.") for _ in range(200)]}
    a = stage.act("a", retry=100)
    await stage.end()
    assert stage.failed(a)
    assert len(stage.pauses) == 100
    assert max(stage.pauses) == 5.0


async def test_a_timeout_is_of_each_attempt() -> None:
    stage = Stage()
    stage.step.hold("a")
    a = stage.act("a", timeout=0.005, retry=2)
    await stage.end()
    assert stage.step.log == ["+a", "!a"] * 3
    assert stage.failed(a)


@pytest.mark.parametrize(
    ("more", "attempts"),
    [({}, 1), ({"on_error": "skip"}, 1), ({"on_error": "retry"}, 4), ({"on_error": "retry", "retry": 1}, 2)],
)
async def test_on_error_says_how_often_it_is_tried(more: dict[str, Any], attempts: int) -> None:
    stage = Stage()
    stage.step.faults = {"a": [ToolError("No.") for _ in range(9)]}
    stage.act("a", **more)
    await stage.end()
    assert stage.step.log.count("+a") == attempts
    assert stage.scheduler.failure == ""


async def test_on_error_fail_names_the_action_and_starts_nothing_more() -> None:
    stage = Stage()
    stage.step.hold("runs")
    stage.step.faults = {"a": [ToolError("No.")]}
    stage.act("runs")
    stage.act("a", {"file": "f", "writes": True}, on_error="fail")
    stage.act("after", {"file": "f", "writes": True})
    await stage.until(lambda: bool(stage.scheduler.failure))
    assert '"a"' in stage.scheduler.failure
    await stage.quiet()
    assert "+after" not in stage.step.log
    stage.scheduler.cancel()
    await stage.scheduler.settle()
    assert "!runs" in stage.step.log


# Any graph.


@dataclass(frozen=True)
class Action:
    """One action of a random graph. `uses` is a name in its arguments; `fate` what its run comes to."""

    depends_on: tuple[int, ...]
    file: str
    writes: bool
    fate: str
    mode: str
    output_key: str
    uses: str


def _graphs(*distances: int) -> st.SearchStrategy[list[Action]]:
    """Lists of actions that depend on those at these distances: 0 on itself, 9 on none that there is."""

    def placed(actions: list[Action]) -> list[Action]:
        return [
            replace(
                action,
                depends_on=tuple(d if d > 8 else n + d for d in action.depends_on if d > 8 or n + d >= 0),
            )
            for n, action in enumerate(actions)
        ]

    action = st.builds(
        Action,
        depends_on=st.lists(st.sampled_from(distances), max_size=2).map(tuple),
        file=st.sampled_from(["", "f", "f", "g"]),
        writes=st.booleans(),
        fate=st.sampled_from(["done", "done", "done", "done", "done", "failed", "broken", "late"]),
        mode=st.sampled_from(["async", "async", "async", "sync", "fire_and_forget"]),
        output_key=st.sampled_from(["", "", "x", "y"]),
        uses=st.sampled_from(["", "", "", "x", "y"]),
    )
    return st.lists(action, min_size=1, max_size=8).map(placed)


class Graph:
    """What a list of actions means: who needs whom, who is in whose way, and what each comes to."""

    def __init__(self, actions: list[Action]) -> None:
        self.actions = actions
        self.needs = [self._needs(index) for index in range(len(actions))]
        self.named = [self._source(index) is not None for index in range(len(actions))]

    def _source(self, index: int) -> int | None:
        name = self.actions[index].uses
        earlier = [n for n in range(index) if name and self.actions[n].output_key == name]
        return earlier[-1] if earlier else None

    def _needs(self, index: int) -> list[int]:
        """The actions that this one needs; -1 is one that is not there."""
        source = self._source(index)
        ids = [n if n < len(self.actions) else -1 for n in self.actions[index].depends_on]
        return ids if source is None else [*ids, source]

    def conflict(self, one: int, two: int) -> bool:
        a, b = self.actions[one], self.actions[two]
        somewhere = self.named[one] or self.named[two] or a.file == b.file
        return (a.writes or b.writes) and bool(a.file) and bool(b.file) and somewhere

    def runs(self, index: int, seen: tuple[int, ...] = ()) -> bool:
        """Whether it comes to run: all that it needs is there and ends well."""
        if index < 0 or index in seen:
            return False
        return all(self.ends_well(other, (*seen, index)) for other in self.needs[index])

    def ends_well(self, index: int, seen: tuple[int, ...] = ()) -> bool:
        return self.runs(index, seen) and self.actions[index].fate == "done"


async def _play(actions: list[Action], rng: random.Random) -> None:
    graph, stage = Graph(actions), Stage()
    step = stage.step
    ids: list[str] = []

    def check_progress() -> None:
        """In the stillness before anything is let go: what can run runs, and nothing else has begun."""
        log = step.log
        open_now = [n for n, call in enumerate(ids) if call not in stage.results or f"+a{n}" in log]
        open_now = [n for n in open_now if f"-a{n}" not in log and f"!a{n}" not in log]
        for n in range(len(ids)):
            if f"+a{n}" in log or ids[n] in stage.results:
                continue
            ready = all(other >= 0 and f"-a{other}" in log for other in graph.needs[n])
            forgotten = [o for o in open_now if actions[o].mode == "fire_and_forget" and f"+a{o}" in log]
            free = not any(graph.conflict(n, o) for o in open_now if o < n and o not in forgotten)
            free = free and not any(
                graph.conflict(n, o) for o in open_now if o > n and o not in forgotten and f"+a{o}" in log
            )
            assert not (ready and free), f"a{n} could run, but does not: {log}"

    async def let_one_go() -> bool:
        await stage.quiet()
        check_progress()
        running = [n for n in range(len(ids)) if _runs(step.log, n) and actions[n].fate != "late"]
        if running:
            step.release(f"a{rng.choice(running)}")
        await stage.quiet()
        return bool(running)

    for number, action in enumerate(actions):
        label = f"a{number}"
        if action.fate != "done":
            fault = ToolError("No.") if action.fate == "failed" else ValueError("odd")
            step.faults[label] = [fault]
        step.hold(label)
        while stage.scheduler.holding:
            if not await let_one_go():
                await stage.until(lambda: not stage.scheduler.holding or _any_runs(step.log, actions))
        args = {"file": action.file or None, "writes": action.writes}
        more = {"value": f"${action.uses}"} if action.uses else {}
        record = {"output_key": action.output_key} if action.output_key else {}
        timeout = {"timeout": 0.004} if action.fate == "late" else {}
        depends_on = [f"a{other}" for other in action.depends_on]
        call = stage.act(
            label, {**args, **more}, mode=action.mode, depends_on=depends_on, **record, **timeout
        )
        ids.append(call)
    stage.scheduler.finish()
    while True:
        if await let_one_go():
            continue
        late = [f"!a{n}" for n in range(len(ids)) if _runs(step.log, n) and actions[n].fate == "late"]
        if stage.scheduler.busy:
            await stage.until(lambda: not stage.scheduler.busy or _any_runs(step.log, actions))
        elif late:
            await step.until(*late)
        else:
            break
    check_log(graph, stage, ids)


def _runs(log: list[str], number: int) -> bool:
    label = f"a{number}"
    return f"+{label}" in log and f"-{label}" not in log and f"!{label}" not in log


def _any_runs(log: list[str], actions: list[Action]) -> bool:
    return any(_runs(log, n) for n, action in enumerate(actions) if action.fate != "late")


def check_log(graph: Graph, stage: Stage, ids: list[str]) -> None:
    log = stage.step.log
    assert sorted(stage.results) == sorted(ids)
    for number, (action, call) in enumerate(zip(graph.actions, ids, strict=True)):
        started = graph.runs(number)
        assert log.count(f"+a{number}") == started, (number, log)
        expected = not started or (action.fate != "done" and action.mode != "fire_and_forget")
        assert stage.failed(call) == expected, (number, stage.outcome(call))
        for other in graph.needs[number] if started else []:
            assert stage.step.before(f"-a{other}", f"+a{number}")
    check_turns(graph, log)


def check_turns(graph: Graph, log: list[str]) -> None:
    """What is in conflict never ran at once, and in order unless something depends on what comes later."""
    spans = {
        number: (log.index(f"+a{number}"), max(_places(log, f"-a{number}", f"!a{number}")))
        for number, action in enumerate(graph.actions)
        if f"+a{number}" in log and action.mode != "fire_and_forget"
    }
    forward = any(other >= number for number, needs in enumerate(graph.needs) for other in needs)
    for one, two in combinations(sorted(spans), 2):
        if graph.conflict(one, two):
            in_order = spans[one][1] < spans[two][0]
            assert in_order or (forward and spans[two][1] < spans[one][0]), (one, two, log)


def _places(log: list[str], *entries: str) -> list[int]:
    return [place for place, entry in enumerate(log) if entry in entries]


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(
    _graphs(-1, -2, -3) | _graphs(-1, -2, -3, -1, -2, 1, 2) | _graphs(-1, -2, -3, 1, 0, 9),
    st.integers(0, 1 << 16),
)
def test_every_graph_of_actions_comes_to_its_end(actions: list[Action], seed: int) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE):
            await _play(actions, random.Random(seed))

    logging.disable(logging.ERROR)
    try:
        asyncio.run(play())
    finally:
        logging.disable(logging.NOTSET)


async def test_a_command_that_the_mode_refuses_asks_git_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $* >> {tmp_path}/asked\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (tmp_path / "project").mkdir()
    modes: tuple[Permissions, ...] = ("plan", "ask")
    for mode in modes:
        stage = Stage([Shell()], root=tmp_path / "project", permissions=mode)
        refused = stage.submit("shell", {"command": "git stash drop; rm -r x; git clean -fdx"})
        await stage.end()
        assert stage.failed(refused)
        # The same command is looked at where it may run.
        assert (tmp_path / "asked").exists() == (mode != "plan")
        assert bool(stage.results[refused]["payload"].get("refused"))


# Very many calls.


@pytest.mark.exhaustive
async def test_of_very_many_calls_the_first_are_run_and_the_others_say_so() -> None:
    stage = Stage()
    calls = [stage.do(f"step {number}") for number in range(MOST_CALLS + 2)]
    await stage.end()
    assert not any(map(stage.failed, calls[:MOST_CALLS]))
    for call in calls[MOST_CALLS:]:
        assert stage.failed(call)
        assert f"first {MOST_CALLS} calls" in stage.outcome(call)


@pytest.mark.exhaustive
async def test_values_that_would_multiply_beyond_measure_fail_the_call() -> None:
    stage = Stage()
    stage.act("a", {"value": "x" * (1 << 20)}, output_key="big")
    call = stage.act("b", {"value": ["$big" * 20] * 2})
    await stage.end()
    assert stage.failed(call)
    assert "the limit is 33,554,432" in stage.outcome(call)


@pytest.mark.exhaustive
@pytest.mark.parametrize("backwards", [False, True])
async def test_a_chain_of_calls_costs_time_in_proportion_to_its_length(backwards: bool) -> None:
    costs: list[float] = []
    for length in (40, 40, 160, 160):
        stage = Stage()
        numbers = range(length)
        began = time.process_time()
        for number in reversed(numbers) if backwards else numbers:
            stage.act(f"{number}", depends_on=[f"{number - 1}"] if number else [])
        await stage.end()
        costs.append(time.process_time() - began)
        assert len(stage.results) == length
    assert min(costs[2:]) <= 12 * max(0.02, min(costs[:2]))
