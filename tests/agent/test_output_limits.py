"""Answers that the output limit of a model cuts off, over every wire that reports it: none ends the turn, and
the model learns the cause."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cogency_tui.protocol import Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import CallDelta, Chunk, CutOff, ReasoningDelta, TextDelta, Usage
from tests.agent.conftest import MakeAgent
from tests.agent.test_every_wire import Work
from tests.agent.test_turns import results, turn, types
from tests.peers.scripted import ScriptedProvider
from tests.peers.server import Context, Fault
from tests.peers.ways import KEY, WAYS

LIMITS = {
    "Chat Completions": "length",
    "Responses": "length",
    "Responses WebSocket": "length",
    "Realtime": "max_output_tokens",
    "Anthropic Messages": "max_tokens",
    "Anthropic threads": "max_tokens",
    "Gemini": "MAX_TOKENS",
    "Gemini Interactions": "incomplete",
}
"""The reason that each wire gives; Gemini Live has none."""

TEXT = "The document is written and I am explain"
CALL = '{"file": "big.txt", "content": "one line and anoth'
WRITTEN: dict[Dialect, str] = {
    "xml": f'<execute>\n[{{"name": "write", "args": {CALL}',
    "delimiter": f'§call: {{"name": "write", "args": {CALL}',
    "action": f'<action id="w">\n{{"name": "write", "parameters": {CALL}',
}
ENDINGS: dict[Dialect, str] = {
    "xml": "Done.",
    "delimiter": "§respond: Done.\n§end",
    "action": "<response>Done.</response>",
    "native": "Done.",
}


def cut(*chunks: Chunk) -> Sequence[Chunk]:
    return [*chunks, Usage(1, 1), CutOff()]


def errors(events: Sequence[Event]) -> list[str]:
    return [each["payload"]["error"] for each in events if each["type"] == "error"]


def goes_on(context: Context) -> str:
    return "ing it." if "output limit" in context[-1]["content"] else TEXT


def always_cut(_context: Context) -> str:
    return TEXT


@pytest.mark.parametrize("name", LIMITS)
async def test_text_that_is_cut_off_goes_on(name: str, tmp_path: Path) -> None:
    work = Work(WAYS[name], tmp_path)
    faults = [Fault(finish=LIMITS[name])]
    async with (
        work.way.peer(goes_on, model=work.way.model, key=KEY, faults=faults) as peer,
        work.agent(work.way.connect(peer)) as agent,
    ):
        events = await turn(agent)
    assert [each["content"] for each in events if each["type"] == "respond"] == [TEXT, "ing it."]
    assert "Go on exactly where it stopped" in peer.exchanges[1].context[-1]["content"]
    assert events[-1]["type"] == "end"


@pytest.mark.parametrize("name", LIMITS)
async def test_three_cut_answers_end_the_turn_with_an_error_that_names_the_limit(
    name: str, tmp_path: Path
) -> None:
    work = Work(WAYS[name], tmp_path)
    always = Fault(finish=LIMITS[name])
    async with (
        work.way.peer(always_cut, model=work.way.model, key=KEY, always=always) as peer,
        work.agent(work.way.connect(peer)) as agent,
    ):
        events = await turn(agent)
    assert len(peer.exchanges) == 3
    assert errors(events)[-1] == (
        "Turn stopped: 3 answers in a row were cut off by the output limit of the model."
    )


@pytest.mark.parametrize("dialect", WRITTEN)
async def test_a_call_that_is_cut_off_names_the_limit_and_the_cure(
    make_agent: MakeAgent, project: Path, dialect: Dialect
) -> None:
    provider = ScriptedProvider(cut(TextDelta(WRITTEN[dialect])), ENDINGS[dialect])
    events = await turn(make_agent(llm=provider, dialect=dialect, mode="replay"))
    assert [each["payload"]["state"] for each in results(events)] == ["failed"]
    report = provider.sent[1][-1]["content"]
    assert "reached the output limit of the model in the middle of this call" in report
    assert "then append each further part with edit" in report
    assert not (project / "big.txt").exists()


@pytest.mark.parametrize("arguments", [CALL, ""])
async def test_a_native_call_that_is_cut_off_does_not_run_and_the_others_do(
    make_agent: MakeAgent, arguments: str
) -> None:
    calls = [CallDelta(0, "c1", "list", "{}"), CallDelta(1, "c2", "list", arguments)]
    provider = ScriptedProvider(cut(*calls), "Done.", native=True)
    events = await turn(make_agent(llm=provider, dialect="native", mode="replay"))
    assert sorted(each["payload"]["state"] for each in results(events)) == ["done", "failed"]
    assert provider.sent[1][-1]["content"].count("in the middle of this call") == 1


async def test_a_complete_native_call_runs_although_the_answer_reached_the_limit(
    make_agent: MakeAgent,
) -> None:
    provider = ScriptedProvider(cut(CallDelta(0, "c1", "list", "{}")), "Done.", native=True)
    events = await turn(make_agent(llm=provider, dialect="native"))
    assert [each["payload"]["state"] for each in results(events)] == ["done"]


@pytest.mark.parametrize("written", [TextDelta("<think>Well, then"), ReasoningDelta("Well, then")])
async def test_a_thought_that_is_cut_off_is_reported(make_agent: MakeAgent, written: Chunk) -> None:
    provider = ScriptedProvider(cut(written), "Done.")
    await turn(make_agent(llm=provider, mode="replay"))
    assert "before it had a call or text" in provider.sent[1][-1]["content"]
    assert "Think less" in provider.sent[1][-1]["content"]


async def test_a_cut_response_of_actions_goes_on(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider(cut(TextDelta(f"<response>{TEXT}")), ENDINGS["action"])
    events = await turn(make_agent(llm=provider, dialect="action", mode="replay"))
    assert len(provider.sent) == 2
    assert events[-1]["type"] == "end"


async def test_a_limit_in_the_last_step_is_shown_to_the_user(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(llm=ScriptedProvider(cut(TextDelta(TEXT))), max_iterations=1))
    assert errors(events) == ["The output limit of the model cut this answer off."]


async def test_three_empty_answers_end_the_turn_and_the_error_says_so(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(llm=ScriptedProvider(*[[Usage(1, 1)]] * 3)))
    assert errors(events)[-1] == "Turn stopped: 3 answers in a row were empty."
    assert types(events)[-2:] == ["error", "end"]


async def test_answers_without_a_call_end_the_turn_without_blaming_a_tool(make_agent: MakeAgent) -> None:
    events = await turn(make_agent(llm=ScriptedProvider(*["<think>Hm.</think>"] * 3)))
    assert errors(events)[-1] == (
        "Turn stopped: no call could be run in 3 steps in a row. "
        "Last error: You wrote only a thought: neither a call nor an answer."
    )
