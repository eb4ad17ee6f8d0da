"""Whole turns: what the consumer sees, what the model is sent, what is left in the store."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import Mode
from cogency_tui.errors import NetworkError, UsageError
from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta
from cogency_tui.providers.http_transport import ATTEMPTS
from tests.agent.conftest import MakeAgent
from tests.peers.scripted import ScriptedProvider
from tests.peers.words import words
from tests.protocol.streams import coalesce


def block(*calls: tuple[str, dict[str, Any]]) -> str:
    return "<execute>\n" + json.dumps([{"name": name, "args": args} for name, args in calls]) + "\n</execute>"


READ = block(("read", {"file": "greet.py"}))
EDIT = block(("edit", {"file": "greet.py", "old": "hello", "new": "goodbye"}))


async def turn(
    agent: Agent, query: str = "go", *, conversation_id: str | None = None, chunks: bool = False
) -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id=conversation_id, chunks=chunks)]


def types(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events]


def results(events: Sequence[Event]) -> list[ResultEvent]:
    return [event for event in events if event["type"] == "result" and not event.get("partial")]


def provider_of(agent: Agent) -> ScriptedProvider:
    assert isinstance(agent.provider, ScriptedProvider)
    return agent.provider


@pytest.mark.parametrize("mode", ["resume", "replay", "auto"])
async def test_a_turn_reads_edits_and_answers(make_agent: MakeAgent, project: Path, mode: Mode) -> None:
    agent = make_agent(f"<think>look</think>{READ}", EDIT, "Done.", mode=mode)
    events = await turn(agent)
    assert types(events) == [
        *["user", "think", "call", "execute", "result", "metric"],
        *["call", "execute", "result", "metric", "respond", "metric", "end"],
    ]
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert [path.name for path in project.iterdir()] == ["greet.py"]


async def test_a_file_that_is_replaced_has_its_counts_in_the_result(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "new.py").write_text("a\nb\nc\n")
    replaced = block(("write", {"file": "new.py", "content": "d\n", "overwrite": True}))
    agent = make_agent(block(("read", {"file": "new.py"})), replaced, "Done.", permissions="auto")
    _read, written = results(await turn(agent))
    assert written["payload"].get("lines") == {"added": 1, "removed": 3}


async def test_chunks_carry_the_same_as_units(make_agent: MakeAgent) -> None:
    replies = (
        f"<think>a b</think>Let me see.{block(('read', {'file': 'greet.py'}), ('list', {}))}",
        "All good.",
    )
    whole = await turn(make_agent(*replies))
    chunks = await turn(make_agent(*replies), chunks=True)
    assert len(chunks) > len(whole)
    assert any(event.get("partial") for event in chunks if event["type"] == "result")
    without_partial = [event for event in chunks if not event.get("partial")]
    assert _units(without_partial) == _units(whole)


def _units(events: Sequence[Event]) -> list[Any]:
    return [unit for unit in coalesce(events) if unit[0] not in ("metric", "result")]


@pytest.mark.exhaustive
async def test_results_come_in_call_order_without_chunks(make_agent: MakeAgent) -> None:
    slow_first = block(("shell", {"command": "sleep 0.2; echo slow"}), ("read", {"file": "none.py"}))
    events = await turn(make_agent(slow_first, "ok"))
    assert [event["tool"] for event in results(events)] == ["shell", "read"]
    events = await turn(make_agent(block(("find", {"content": "x"}), ("nope", {})), "ok"), chunks=True)
    assert {event["tool"] for event in results(events)} == {"find", "nope"}


@pytest.mark.parametrize(
    "path", ["../outside.txt", "link/secret.txt", "/etc/shadow", "greet.py/../../outside.txt"], ids=str
)
async def test_nothing_outside_the_project_is_touched(
    make_agent: MakeAgent, project: Path, path: str
) -> None:
    outside = project.parent / "elsewhere"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (project / "link").symlink_to(outside)
    calls = block(("read", {"file": path}), ("write", {"file": path, "content": "x", "overwrite": True}))
    events = await turn(make_agent(calls, "I could not."))
    assert [event["payload"]["error"] for event in results(events)] == [True, True]
    assert "secret" not in str([event["payload"]["content"] for event in results(events)])
    assert (outside / "secret.txt").read_text() == "secret"
    assert not (project.parent / "outside.txt").exists()
    assert types(events)[-1] == "end"


async def test_a_malformed_block_is_handed_back_and_the_turn_goes_on(
    make_agent: MakeAgent, project: Path
) -> None:
    broken = '<execute>[{"name": "write", "args": {"file": "a", "content": "x"}}, {"name": "read", "args": {]}]</execute>'
    agent = make_agent(broken, EDIT, "Done.", mode="replay")
    events = await turn(agent)
    assert types(events)[:6] == ["user", "call", "error", "result", "result", "metric"]
    assert [event["payload"]["error"] for event in results(events)[:2]] == [True, True]
    assert not (project / "a").exists()
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    told = provider_of(agent).sent[1][-1]["content"]
    assert "line 1, column" in told
    assert "Write the whole block again" in told


async def test_three_malformed_blocks_end_the_turn(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(*["<execute>[{]</execute>"] * 5))
    assert types(events).count("metric") == 3
    assert types(events)[-3:] == ["metric", "error", "end"]


async def test_three_batches_of_failures_end_the_turn(make_agent: MakeAgent) -> None:
    failing = block(("read", {"file": "none"}))
    events = await turn(make_agent(failing, failing, READ, failing, failing, failing, "never"))
    assert types(events).count("metric") == 6
    assert types(events)[-2:] == ["error", "end"]
    problem = events[-2]
    assert problem["type"] == "error"
    assert "every call failed in 3 steps in a row" in problem["payload"]["error"]
    assert "Last error: read: none: there is no such file" in problem["payload"]["error"]


async def test_the_last_cycle_is_told_so_and_runs_nothing(make_agent: MakeAgent, project: Path) -> None:
    agent = make_agent(READ, block(("write", {"file": "late.txt", "content": "x"})), max_iterations=2)
    events = await turn(agent)
    assert "last step" in provider_of(agent).sent[1][-1]["content"]
    assert results(events)[-1]["payload"]["error"]
    assert not (project / "late.txt").exists()
    assert types(events)[-2:] == ["error", "end"]


async def test_an_empty_batch_goes_on(make_agent: MakeAgent) -> None:
    events = await turn(make_agent("<execute>[]</execute>", "ok"))
    assert types(events) == ["user", "execute", "result", "metric", "respond", "metric", "end"]
    assert (
        results(events)[0]["payload"].get("advice", "").endswith("if you are done, answer without a block.")
    )


async def test_an_end_alone_is_no_answer(make_agent: MakeAgent) -> None:
    events = await turn(make_agent("<end>", "Done."))
    assert "You wrote nothing" in results(events)[0]["payload"]["outcome"]
    assert types(events)[-3:] == ["respond", "metric", "end"]


async def test_what_follows_the_boundary_is_neither_shown_nor_paid_for(make_agent: MakeAgent) -> None:
    agent = make_agent(READ + "I know already." * 1000 + "<<hang>>", "ok")
    events = await turn(agent)
    assert types(events)[-1] == "end"
    assert "already" not in str(events)


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_interrupting_the_model_leaves_what_it_said(make_agent: MakeAgent, mode: Mode) -> None:
    agent = make_agent("Half a sent<<hang>>", "Whole.", mode=mode)
    async with agent:
        events: list[Event] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if provider_of(agent).hanging.is_set() or event["type"] == "respond":
                await provider_of(agent).hanging.wait()
                agent.interrupt("c")
        assert types(events)[-2:] == ["metric", "interrupt"]
        stored = await (await agent.store()).events("c")
        assert stored[-1]["type"] == "respond"
        assert stored[-1]["content"] == "Half a sent"
        events = await turn(agent, "go on", conversation_id="c")
    assert types(events)[-1] == "end"
    contents = [words(message["content"]) for message in provider_of(agent).sent[-1]]
    assert contents[-1] == "go on"
    assert contents[1:] == ([] if mode == "resume" else ["go", "Half a sent", "go on"])


async def test_interrupting_a_command_answers_it_at_once_and_ends_its_processes(
    make_agent: MakeAgent, project: Path
) -> None:
    command = "echo $$ > pid; sleep 60 & sleep 60"
    agent = make_agent(block(("shell", {"command": command}), ("shell", {"command": "echo never > b"})), "ok")
    events: list[Event] = []
    async with agent:
        async for event in agent.stream("go"):
            events.append(event)
            if event["type"] == "result" and event.get("partial"):
                await asyncio.to_thread(_wait_for_text, project / "pid")
                agent.interrupt()
    assert [event["payload"]["outcome"] for event in results(events)] == ["interrupted", "interrupted"]
    assert [event["payload"]["state"] for event in results(events)] == ["interrupted", "interrupted"]
    # The first has run, the second has not.
    assert [event["payload"].get("not_run", False) for event in results(events)] == [False, True]
    assert [event["duration"] > 0 for event in results(events)] == [True, False]
    assert types(events)[-1] == "interrupt"
    assert not (project / "b").exists()
    assert not _group_alive(int((project / "pid").read_text()))


def _wait_for_text(path: Path) -> None:
    # The file is written by another process: there is nothing but the file to wait for.
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.005)


def _group_alive(group: int) -> bool:
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False


async def test_a_consumer_that_leaves_stops_the_turn(make_agent: MakeAgent) -> None:
    agent = make_agent("One two<<hang>>")
    async with agent:
        stream = agent.stream("go", conversation_id="c")
        async for event in stream:
            if event["type"] == "respond":
                break
        await stream.aclose()
        stored = await (await agent.store()).events("c")
    assert types(stored) == ["user", "respond"]


async def test_one_turn_at_a_time_in_a_conversation(make_agent: MakeAgent) -> None:
    agent = make_agent("a<<hang>>")
    async with agent:
        stream = agent.stream("go", conversation_id="c")
        await anext(stream)
        with pytest.raises(UsageError):
            await turn(agent, conversation_id="c")
        await stream.aclose()


async def test_resume_sends_the_context_once_and_then_only_what_is_new(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, "First.", "Second.", mode="resume")
    async with agent:
        await turn(agent, "one", conversation_id="c")
        await turn(agent, "two", conversation_id="c")
    provider = provider_of(agent)
    assert len(provider.seeds) == 1
    assert [[m["role"] for m in sent] for sent in provider.sent] == [["user"]] * 3
    assert words(provider.sent[0][0]["content"]) == "one"
    assert provider.sent[1][0]["content"].startswith("<results>")
    assert provider.sent[2][0]["content"] == "two"


async def test_changing_the_mode_within_a_turn_takes_effect_with_the_next_cycle(
    make_agent: MakeAgent,
) -> None:
    agent = make_agent(READ, "Done.", mode="resume")
    modes: list[str] = []
    async with agent:
        async for event in agent.stream("go", chunks=False):
            if event["type"] == "metric":
                modes.append(event["step"].get("mode", ""))
                agent.mode = "replay"
    assert modes == ["resume", "replay"]
    assert len(provider_of(agent).sent[1]) == 4


async def test_metrics_say_what_resume_saves(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(READ, "Done.", mode="resume"))
    metrics = [event for event in events if event["type"] == "metric"]
    step, total = metrics[-1]["step"], metrics[-1]["total"]
    assert step.get("input", 0) < step.get("replay_input", 0)
    assert total.get("input", 0) == sum(metric["step"].get("input", 0) for metric in metrics)
    assert total.get("output", 0) > 0


async def test_another_agent_goes_on_from_the_store(make_agent: MakeAgent) -> None:
    await turn(make_agent(READ, "First."), "one", conversation_id="c")
    agent = make_agent("Second.", mode="replay")
    await turn(agent, "two", conversation_id="c")
    contents = [words(message["content"]) for message in provider_of(agent).sent[0]]
    assert contents[1] == "one"
    assert "hello" in contents[3]
    assert contents[4:] == ["First.", "two"]


async def test_a_question_is_asked_with_the_diff_and_its_answer_counts(
    make_agent: MakeAgent, project: Path
) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=len(asked) > 1, scope="conversation", reason="not yet")

    again = block(("edit", {"file": "greet.py", "old": "goodbye", "new": "hi"}))
    agent = make_agent(EDIT, EDIT, again, "Done.", permissions="ask", ask=ask)
    events = await turn(agent)
    assert '+print("goodbye")' in asked[0].detail
    assert "not yet" in results(events)[0]["payload"]["outcome"]
    assert [event["payload"]["error"] for event in results(events)] == [True, False, False]
    assert len(asked) == 2
    assert (project / "greet.py").read_text() == 'print("hi")\n'


@pytest.mark.parametrize(
    ("mode", "edits", "runs"),
    [("plan", False, False), ("ask", False, False), ("edits", True, False), ("auto", True, True)],
)
async def test_permission_modes(
    make_agent: MakeAgent, project: Path, mode: str, edits: bool, runs: bool
) -> None:
    agent = make_agent(READ, EDIT, block(("shell", {"command": "true"})), "Done.", permissions=mode)
    events = await turn(agent)
    done = [not event["payload"]["error"] for event in results(events) if event["tool"] != "turn"]
    assert done == [True, edits, runs]
    assert ("goodbye" in (project / "greet.py").read_text()) is edits


async def test_a_file_outside_is_asked_for_in_every_mode(make_agent: MakeAgent, tmp_path: Path) -> None:
    outside = tmp_path / "notes.txt"
    outside.write_text("the note")
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True)

    agent = make_agent(block(("read", {"file": str(outside)})), "Done.", permissions="auto", ask=ask)
    events = await turn(agent)
    assert "outside the project" in asked[0].reason
    assert "the note" in str(results(events)[0]["payload"]["content"])


async def test_an_endpoint_that_fails_ends_the_turn_with_its_error(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(NetworkError("connection refused", "Start the server."), mode="replay"))
    assert types(events) == ["user", "error", "end"], "a request that never arrived is not counted"
    last = events[-2]
    assert last["type"] == "error"
    assert last["payload"] == {"error": "connection refused", "hint": "Start the server."}


async def test_a_request_that_is_interrupted_before_it_arrives_is_not_counted(make_agent: MakeAgent) -> None:
    agent = make_agent(NetworkError("no route"), "Too late.", mode="resume")
    events: list[Event] = []
    async for event in agent.stream("go", conversation_id="c"):
        events.append(event)
        if event["type"] == "error":
            agent.interrupt("c")
    assert types(events) == ["user", "error", "interrupt"]
    payload = next(event["payload"] for event in events if event["type"] == "error")
    assert (payload.get("attempt"), payload.get("attempts")) == (2, ATTEMPTS)
    assert (await (await agent.store()).usage("c")).get("input") == 0


async def test_a_request_that_is_interrupted_at_the_endpoint_is_counted(make_agent: MakeAgent) -> None:
    agent = make_agent("<<hang>>", mode="replay")
    events: list[Event] = []

    async def interrupt() -> None:
        await provider_of(agent).hanging.wait()
        agent.interrupt("c")

    async with asyncio.TaskGroup() as group:
        group.create_task(interrupt())
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
    assert types(events) == ["user", "metric", "interrupt"]


async def test_long_output_is_cut_for_the_model_and_whole_in_the_store(make_agent: MakeAgent) -> None:
    agent = make_agent(block(("shell", {"command": "seq 1 20000"})), "Done.", mode="replay")
    events = await turn(agent)
    assert len(str(results(events)[0]["payload"]["content"])) > 100_000
    told = provider_of(agent).sent[1][-1]["content"]
    assert len(told) < 40_000
    assert "omitted" in told
    assert "20000" in told


async def test_a_conversation_keeps_its_dialect_until_another_is_chosen(make_agent: MakeAgent) -> None:
    await turn(make_agent("§respond: One.\n§end", dialect="delimiter"), "one", conversation_id="c")
    agent = make_agent("§respond: Two.\n§end", mode="replay")
    events = await turn(agent, "two", conversation_id="c")
    assert types(events) == ["user", "respond", "metric", "end"]
    assert "Protocol: delimiter" in provider_of(agent).sent[0][0]["content"]
    agent = make_agent("<response>Three.</response>", mode="replay", dialect="action")
    events = await turn(agent, "three", conversation_id="c")
    assert types(events) == ["user", "respond", "metric", "end"]
    assert [words(m["content"]) for m in provider_of(agent).sent[0][1:]] == [
        "one",
        "<response>\nOne.\n</response>",
        "two",
        "<response>\nTwo.\n</response>",
        "three",
    ]


async def test_closing_while_a_turn_runs_records_its_end(make_agent: MakeAgent) -> None:
    agent = make_agent("Half<<hang>>")
    await agent.open()
    stream = agent.stream("go", conversation_id="c")
    assert (await anext(stream))["type"] == "user"
    await provider_of(agent).hanging.wait()
    await agent.close()
    rest = [event async for event in stream]
    assert types(rest)[-1] == "interrupt"
    async with agent:
        assert types(await (await agent.store()).events("c")) == ["user", "respond"]


@pytest.mark.exhaustive
async def test_actions_overlap_with_each_other_and_with_the_writing(make_agent: MakeAgent) -> None:
    fetch = '<action type="tool" mode="async" id="{0}">{{"name": "shell", "parameters": {{"command": "sleep 0.5; echo {0}"}}, "output_key": "{0}"}}</action>'
    text = fetch.format("one") + fetch.format("two") + "<response>Text before. $two and $$one</response>"
    started = time.monotonic()
    events = await turn(make_agent(text, dialect="action"), chunks=True)
    # Shells run one after the other, as they may touch everything: this is about text and the first.
    first_text = next(event for event in events if event["type"] == "respond")
    last_result = results(events)[-1]
    assert first_text["timestamp"] < last_result["timestamp"]
    answer = "".join(event["content"] for event in events if event["type"] == "respond")
    assert answer == "Text before. two\n and $one"
    assert time.monotonic() - started < 30
    assert types(events)[-1] == "end"


async def test_a_failed_action_that_ends_the_turn(make_agent: MakeAgent) -> None:
    failing = '<action mode="sync" id="a">{"name": "read", "parameters": {"file": "none"}, "on_error": "fail"}</action>'
    later = '<action mode="async" id="b">{"name": "list", "parameters": {}}</action>'
    events = await turn(make_agent(failing + later + "<response>no</response>", dialect="action"))
    assert types(events)[-2:] == ["error", "end"]
    last = events[-2]
    assert last["type"] == "error"
    assert '"a" failed (read: ' in last["payload"]["error"]


async def test_a_turn_without_a_response_is_given_its_results(make_agent: MakeAgent) -> None:
    action = '<action mode="async" id="a">{"name": "read", "parameters": {"file": "greet.py"}}</action>'
    agent = make_agent(action, "<response>Read.</response>", dialect="action", mode="replay")
    events = await turn(agent)
    assert types(events) == ["user", "call", "result", "metric", "respond", "metric", "end"]
    assert "hello" in provider_of(agent).sent[1][-1]["content"]


async def test_reasoning_before_and_after_text_is_two_thoughts(make_agent: MakeAgent) -> None:
    class Reasoning(ScriptedProvider):
        async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
            for chunk in (ReasoningDelta("One "), ReasoningDelta("thought."), TextDelta("Text. ")):
                yield chunk
            for chunk in (ReasoningDelta("Another."), TextDelta("More text.")):
                yield chunk

    events = await turn(make_agent(llm=Reasoning(), mode="replay"))
    said = [event for event in events if event["type"] == "think" or event["type"] == "respond"]
    assert len({event["id"] for event in said}) == 4
    assert [(event["type"], event["content"]) for event in said] == [
        ("think", "One thought."),
        ("respond", "Text."),
        ("think", "Another."),
        ("respond", "More text."),
    ]


async def test_what_was_done_when_the_person_interrupted_stays_done(
    make_agent: MakeAgent, project: Path
) -> None:
    calls = block(("write", {"file": "new.txt", "content": "x"}), ("shell", {"command": "sleep 60"}))
    agent = make_agent(calls)
    events: list[Event] = []
    async with agent:
        async for event in agent.stream("go"):
            events.append(event)
            if event["type"] == "result" and event["tool"] == "shell" and event.get("partial"):
                agent.interrupt()
    outcomes = {event["tool"]: event["payload"]["outcome"] for event in results(events)}
    assert outcomes["write"].startswith("created, ")
    assert outcomes["shell"] == "interrupted"


async def test_the_time_that_tools_take_is_no_time_of_writing(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(block(("shell", {"command": "sleep 0.4"})), "Done."))
    step = next(event["step"] for event in events if event["type"] == "metric")
    assert step.get("duration", 0) >= 0.4
    assert step.get("writing", 1) < 0.4


async def test_an_answer_of_very_many_parts_breaks_off_and_keeps_what_came(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.agent.cycle.MOST_UNITS", 20)
    events = await turn(make_agent("<think>a</think>b" * 1000))
    errors = [event["payload"]["error"] for event in events if event["type"] == "error"]
    assert ["more than 20 parts" in error for error in errors] == [True]
    assert 10 <= types(events).count("think") < 100
