"""Turns until a command succeeds: what runs, what the model is sent, when it ends, and what is reported."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent import until as module
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.until import Limits, Until, read_until
from cogency_tui.config.schema import Mode
from cogency_tui.errors import AuthenticationError, UsageError
from cogency_tui.protocol.events import Event, RanCommand
from cogency_tui.protocol.transcript import user_message
from cogency_tui.providers.models import ModelFacts, Prices
from cogency_tui.store.store import new_conversation_id
from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import EDIT, block, provider_of, turn
from tests.peers.scripted import ScriptedProvider

PRICED = ModelFacts(context_size=200_000, prices=Prices(input=100, cached=100, cache_write=100, output=100))

FAILS = "cat greet.py; grep -q goodbye greet.py"
"""Succeeds once `EDIT` has been made."""

OTHER = block(("write", {"file": "other.py", "content": "x = 1\n"}))


async def work(
    agent: Agent, until: Until, query: str = "", conversation: str | None = None, *, chunks: bool = False
) -> list[Event]:
    return [event async for event in agent.until(until, query, conversation_id=conversation, chunks=chunks)]


def runs(events: list[Event]) -> list[RanCommand]:
    return [event["ran"] for event in events if event["type"] == "user" and "ran" in event]


def messages(events: list[Event]) -> list[str]:
    return [event["content"] for event in events if event["type"] == "user" and "ran" not in event]


def report(events: list[Event]) -> str:
    """The report, which comes before the last event."""
    found = events[-2] if len(events) > 1 and events[-1]["type"] == "end" else events[-1]
    assert found["type"] == "error"
    assert found["payload"].get("notice")
    return found["payload"]["error"]


async def test_it_goes_on_until_the_command_succeeds(make_agent: MakeAgent, project: Path) -> None:
    agent = make_agent("Let me think.", EDIT, "Done.")
    until = Until(FAILS)
    events = await work(agent, until)
    assert until.held
    assert [ran["state"] for ran in runs(events)] == ["failed", "failed", "done"]
    assert messages(events) == [
        f"`{FAILS}` failed. Make it succeed.",
        f"`{FAILS}` failed with the same output as before. Make it succeed.",
    ]
    assert report(events) == f"`{FAILS}` succeeded after 2 turns, 1 file changed."
    assert events[-1]["type"] == "end"
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


async def test_a_command_that_succeeds_at_once_needs_no_turn(make_agent: MakeAgent) -> None:
    agent = make_agent()
    events = await work(agent, Until("true"))
    assert report(events) == "`true` succeeds already."
    assert provider_of(agent).sent == []


async def test_with_a_message_the_turn_comes_first(make_agent: MakeAgent) -> None:
    agent = make_agent(EDIT, "Done.")
    events = await work(agent, Until(FAILS), "say goodbye")
    assert messages(events) == ["say goodbye"]
    assert len(runs(events)) == 1
    last = provider_of(agent).sent[0][-1]["content"]
    assert last.endswith(
        f"say goodbye\n\n[engine] After each of your turns the user's command `{FAILS}` runs, until it "
        "succeeds: turn 1 of 20."
    )


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_the_model_is_sent_the_new_output_and_its_place(make_agent: MakeAgent, mode: Mode) -> None:
    fails = "seq 20; cat greet.py; false"
    agent = make_agent("Hm.", EDIT, "Done.", mode=mode)
    async with agent:
        events = await work(agent, Until(fails, Limits(turns=2)))
    first, second, third = (ran["output"] for ran in runs(events))
    assert first.startswith("1\n2\n")
    assert second == '[unchanged: 18 lines]\n19\n20\nprint("hello")'
    assert third == '[unchanged: 17 lines]\n18\n19\n20\nprint("goodbye")'
    sent = "\n\n".join(message["content"] for message in provider_of(agent).sent[1])
    assert second in sent
    assert sent.endswith(f"\n\n[engine] Until `{fails}` succeeds: turn 2 of 2.")


async def test_what_is_sent_is_rendered_again_from_the_store(make_agent: MakeAgent) -> None:
    agent, conversation = make_agent("Hm.", EDIT, "Done.", mode="replay"), new_conversation_id()
    async with agent:
        await work(agent, Until(FAILS), conversation=conversation)
        stored = await (await agent.store()).events(conversation)
        rendered = [user_message(event) for event in stored if event["type"] == "user"]
    sent = [each["content"] for each in provider_of(agent).sent[-1] if each["role"] == "user"]
    assert rendered[:4] == [each for each in sent if not each.startswith("<results>")]


async def test_it_ends_at_the_limit_of_turns(make_agent: MakeAgent) -> None:
    agent = make_agent(EDIT, "One.", OTHER, "Two.")
    until = Until("false", Limits(turns=2))
    events = await work(agent, until)
    assert until.held is False
    assert report(events) == (
        "Stopped after 2 turns, 2 files changed: the limit of 2 turns is reached. `false` failed (exit 1)."
    )


async def test_it_ends_when_nothing_changes(make_agent: MakeAgent) -> None:
    agent = make_agent("One.", "Two.", "Three.")
    events = await work(agent, Until("echo took 0.1 s at 0x$RANDOM; echo broken; exit 3"))
    assert len(messages(events)) == 2
    assert "3 failures with the same output, and no file changed between them." in report(events)
    assert report(events).endswith("failed (exit 3): broken")


async def test_the_same_failure_after_a_change_is_no_repetition(make_agent: MakeAgent) -> None:
    agent = make_agent("One.", EDIT, "Two.", "Three.", "Four.")
    events = await work(agent, Until("false"))
    assert len(messages(events)) == 4


async def test_it_ends_before_a_request_that_would_cost_too_much(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider("One.", "Two.")
    provider.facts = PRICED
    once = await turn(make_agent(llm=provider, mode="replay"), conversation_id="once")
    cost = next(event["step"].get("cost", 0.0) for event in once if event["type"] == "metric")
    agent = make_agent(llm=provider, mode="replay")
    events = await work(agent, Until("date +%N; false", Limits(cost=cost * 1.5)))
    assert len(provider.sent) == 2, (cost, report(events))
    assert "Request not sent: $" in report(events)
    assert report(events).startswith("Stopped after 2 turns, $")
    # The limit is not the conversation's.
    assert len(await work(agent, Until("true"), "go on")) > 2
    assert len(provider.sent) == 3


async def test_an_error_of_a_turn_ends_it(make_agent: MakeAgent) -> None:
    agent = make_agent(AuthenticationError("The key is wrong."), "Never.")
    events = await work(agent, Until("false"))
    assert "Stopped after 1 turn: The key is wrong. `false` failed (exit 1)." in report(events)
    assert len(runs(events)) == 1


@pytest.mark.parametrize("where", ["turn", "check"])
async def test_an_interrupt_ends_it(make_agent: MakeAgent, where: str) -> None:
    agent = make_agent("Thinking<<hang>>")
    command = "false" if where == "turn" else "echo begun; sleep 60"
    until, events, conversation = Until(command), list[Event](), new_conversation_id()
    async with asyncio.timeout(30):
        async for event in agent.until(until, conversation_id=conversation, chunks=True):
            events.append(event)
            is_begun = event["type"] == "result" and "begun" in event["payload"]["content"]
            if event["type"] == "respond" or is_begun:
                agent.interrupt(conversation)
    assert until.was_interrupted
    assert report(events).startswith("Stopped")
    assert ": interrupted. " in report(events)


async def test_it_ends_when_its_time_is_up(make_agent: MakeAgent) -> None:
    agent = make_agent("Thinking<<hang>>")
    until = Until("false", Limits(seconds=0.3))
    events = await work(agent, until)
    assert "the limit of 0.3 s is reached" in report(events)
    assert not until.was_interrupted
    late = await work(agent, Until("sleep 60", Limits(seconds=0.3)))
    unfinished = "not finished: /until reached its limit of 0.3 s"
    assert f"the limit of 0.3 s is reached. `sleep 60` failed ({unfinished})" in report(late)
    (ran,) = runs(late)
    assert (ran["state"], ran["outcome"]) == ("failed", unfinished)


async def test_a_command_that_hangs_has_failed_with_what_it_printed(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 1)
    agent = make_agent("Done.")
    events = await work(agent, Until("echo begun; sleep 60", Limits(turns=1)), "go")
    (ran,) = runs(events)
    assert ran["state"] == "failed"
    assert ran["output"].startswith("begun")
    assert "timed out after 1 s" in report(events)


async def test_its_changes_are_the_users_and_the_model_does_not_choose_it(
    make_agent: MakeAgent, project: Path
) -> None:
    agent = make_agent("Done.", permissions="ask")
    until = Until("echo mine > mine.txt; false", Limits(turns=1))
    await work(agent, until, "go")
    assert (project / "mine.txt").exists()
    assert until.files == 0


async def test_without_chunks_there_are_no_previews(make_agent: MakeAgent) -> None:
    events = await work(make_agent("Done."), Until("true"), "go")
    assert not [event for event in events if event.get("partial")]


async def test_pytest_is_held_with_a_real_project(make_agent: MakeAgent, project: Path) -> None:
    (project / "calc.py").write_text(
        "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a + b\n"
    )
    (project / "test_calc.py").write_text(
        "from calc import add, mul\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_mul():\n    assert mul(2, 3) == 6\n"
    )
    fix_add = block(("edit", {"file": "calc.py", "old": "a - b", "new": "a + b"}))
    fix_mul = block(("edit", {"file": "calc.py", "old": "b):\n    return a + b\n\n\ndef mul(a, b):\n    return a + b", "new": "b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b"}))  # fmt: skip
    agent = make_agent(fix_add, "Added.", fix_mul, "Multiplied.")
    command = f"{sys.executable} -B -m pytest -q -p no:cacheprovider -p no:asyncio --rootdir . -c /dev/null"
    until = Until(command)
    events = await work(agent, until)
    assert until.held, runs(events)
    assert until.turn == 2
    first, second, _last = (ran["output"] for ran in runs(events))
    assert "2 failed" in first
    assert "[unchanged: " in second
    assert "test_calc.py::test_mul" in second
    assert "test_add" not in second


def test_what_follows_the_command_is_read() -> None:
    until, message = read_until(
        "--max-turns 3 --max-cost=0.5 --timeout 60 pytest -q\nFix it.\n\nAll of it.\n"
    )
    assert until.command == "pytest -q"
    assert until.limits == Limits(3, 0.5, 60.0)
    assert message == "Fix it.\n\nAll of it."
    assert until.due == "turn"
    assert read_until("make --max-turns 3")[0].command == "make --max-turns 3"


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("", "/until needs a command."),
        ("--max-turns 3", "/until needs a command."),
        ("--max-turns none make", "--max-turns must be a whole number of at least 1, not 'none'."),
        ("--max-cost 0 make", "--max-cost must be a number above 0, not '0'."),
        ("--timeout inf make", "--timeout must be a number above 0, not 'inf'."),
        ("--bogus pytest", "Unknown option --bogus."),
        ("--max-turns 3 --max-costs=1 make", "Unknown option --max-costs=1."),
        ("--timeout", "--timeout needs a value, and a command after it."),
        ("make \u202eclean", "This command contains invisible characters."),
    ],
)
def test_a_mistake_is_explained(argument: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_until(argument)
    assert str(caught.value) == problem


@pytest.mark.parametrize("stops", [True, False])
async def test_one_that_was_stopped_before_it_began_runs_nothing(make_agent: MakeAgent, stops: bool) -> None:
    until: Any = Until("true")
    if stops:
        until.stop()
    events = await work(make_agent(), until)
    assert bool(runs(events)) != stops
    assert ("interrupted" in report(events)) == stops


@pytest.mark.parametrize(
    ("command", "last"),
    [
        ("no-such-program -q", "no-such-program: command not found"),
        ("./README.md", "./README.md: Permission denied"),
        ("if true", "syntax error: unexpected end of file"),
        ("echo 'open", "unexpected EOF while looking for matching `''"),
    ],
)
async def test_a_command_that_cannot_be_run_needs_no_turn(
    make_agent: MakeAgent, project: Path, command: str, last: str
) -> None:
    (project / "README.md").touch()
    agent = make_agent()
    text = report(await work(agent, Until(command)))
    assert text.startswith(f"Stopped: the command cannot be run. `{command}` failed (exit ")
    assert last in text
    assert provider_of(agent).sent == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("no-such-program -q", "no-such-program: command not found"),
        ("X=1 no-such-program >log # all", "no-such-program: command not found"),
        ("/no/such/program -q", "/no/such/program: No such file or directory"),
        ("if true", "syntax error: unexpected end of file"),
        ("echo 'open", "unexpected EOF while looking for matching `''"),
    ],
)
async def test_with_a_message_a_command_that_cannot_be_run_needs_no_turn_either(
    make_agent: MakeAgent, command: str, problem: str
) -> None:
    agent, until = make_agent(), Until(command)
    with pytest.raises(UsageError) as caught:
        await work(agent, until, "fix it")
    assert str(caught.value).startswith(f"The shell cannot run `{command}`: ")
    assert problem in str(caught.value)
    assert provider_of(agent).sent == []


@pytest.mark.parametrize(
    "command",
    [
        *("while ! true; do :; done", "f() { false; }; f", "$SHELL -c false", "A=1 false", "cd . ; false"),
        *("no-such-program || false", "if no-such-program; then :; else false; fi"),
        *(
            "no-such-program | false",
            "! { ! no-such-program; }",
            "true; /no/such/program",
            "./no-such-program",
        ),
        *(
            "cd . && no-such-program",
            "PATH=. no-such-program",
            "/tmp/no-such-program",
            "{ no-such-program; }",
        ),
    ],
)
async def test_a_command_that_can_be_run_begins_with_the_message(make_agent: MakeAgent, command: str) -> None:
    agent = make_agent("One.")
    events = await work(agent, Until(command, Limits(turns=1)), "fix it")
    assert messages(events) == ["fix it"]


@pytest.mark.parametrize(
    "command", ["cd . && no-such-program -q", "echo hi; no-such-program", "true | ./app"]
)
async def test_a_program_that_is_missing_in_a_longer_command_is_a_failure(
    make_agent: MakeAgent, command: str
) -> None:
    agent = make_agent("One.")
    events = await work(agent, Until(command, Limits(turns=1)))
    assert [text.startswith(f"`{command}` failed") for text in messages(events)] == [True]


async def test_a_command_that_cannot_be_run_ends_after_the_turn_that_ran_already(
    make_agent: MakeAgent,
) -> None:
    agent, until, conversation = make_agent("One."), Until("no-such-program"), new_conversation_id()
    await turn(agent, conversation_id=conversation)
    until.attach(in_turn=True)
    async with asyncio.timeout(30):
        from cogency_tui.agent.event_queue import EventQueue

        await agent.run_check(until, EventQueue(), conversation_id=conversation)
    assert until.is_over
    assert "the command cannot be run" in until.report


async def test_a_message_of_the_users_begins_the_count_of_equal_failures_anew(make_agent: MakeAgent) -> None:
    until: Any = Until("false")
    until.due = "check"
    for expected in (1, 2):
        until._judge("broken")
        assert until._repeats == expected
    until.begin_turn("try another way")
    until._judge("broken")
    assert not until.is_over
    assert until._repeats == 1
    until.begin_turn(until.message)
    until._judge("broken")
    assert until._repeats == 2


async def test_the_next_message_says_that_the_command_no_longer_runs(make_agent: MakeAgent) -> None:
    agent, conversation = make_agent("Thinking<<hang>>", "Fine.", "Sure."), new_conversation_id()
    note = "[engine] `false` has not succeeded, and no longer runs after your turns."
    async with asyncio.timeout(30):
        async for event in agent.until(Until("false"), "fix it", conversation_id=conversation, chunks=True):
            if event["type"] == "respond":
                agent.interrupt(conversation)
        await turn(agent, conversation_id=conversation)
        sent = provider_of(agent).sent[-1]
        assert sent[-1]["content"].endswith(note)
        await turn(agent, conversation_id=conversation)
    assert note not in provider_of(agent).sent[-1][-1]["content"]


async def test_the_next_message_says_that_the_program_ended_in_the_answer_before(
    make_agent: MakeAgent,
) -> None:
    agent, conversation = make_agent("One.", "Fine.", "Sure."), new_conversation_id()
    note = "[engine] The program ended while you wrote your last answer: it is incomplete."
    async with agent:
        await turn(agent, conversation_id=conversation)
        half: Event = {"type": "respond", "timestamp": 1.0, "id": "r", "content": "Half an"}
        half["interrupted"] = half["orphaned"] = True
        await (await agent.store()).append(conversation, half)
        await turn(agent, conversation_id=conversation)
        assert provider_of(agent).sent[-1][-1]["content"].endswith(note)
        await turn(agent, conversation_id=conversation)
        assert note not in provider_of(agent).sent[-1][-1]["content"]


async def test_the_next_message_says_nothing_of_a_command_that_has_succeeded(make_agent: MakeAgent) -> None:
    agent, conversation = make_agent("One.", EDIT, "Done.", "Sure."), new_conversation_id()
    await work(agent, Until(FAILS), conversation=conversation)
    await turn(agent, conversation_id=conversation)
    assert "no longer runs" not in str(provider_of(agent).sent[-1][-1])


async def test_a_command_that_a_turn_is_to_write_may_be_missing(make_agent: MakeAgent) -> None:
    agent = make_agent("One.", "Two.")
    events = await work(agent, Until("./later.sh", Limits(turns=2)), "write it")
    assert len(messages(events)) == 2


async def test_without_a_price_the_cost_is_unknown(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider("One.")
    provider.facts = ModelFacts(context_size=200_000)
    agent, until = make_agent(llm=provider, mode="replay"), Until("false", Limits(turns=1, cost=0.5))
    events = await work(agent, until)
    assert provider.sent[0][-1]["content"].endswith("turn 1 of 1, cost unknown.")
    assert until.progress == "turn 1 of 1 · cost unknown"
    errors = [event["payload"]["error"] for event in events if event["type"] == "error"]
    assert any("is unknown, so dollar limits do not apply" in error for error in errors)


def test_the_progress_has_the_time_at_which_it_stops() -> None:
    until = Until("make", Limits(seconds=3600), clock=lambda: 1_000_000.0)
    at = time.strftime("%H:%M", time.localtime(1_003_600))
    assert until.progress == f"first run · stops at {at}"
