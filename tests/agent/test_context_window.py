"""What the model is given: windows, summaries, and what fills the context."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.budget import ANSWER
from cogency_tui.agent.cycle_metrics import Calibration, Meter, characters_in
from cogency_tui.agent.request_messages import build_messages, capped
from cogency_tui.config.schema import BudgetSettings, Settings, SpanLimits
from cogency_tui.errors import ContextTooLongError, ProviderProtocolError, UsageError
from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.models import ModelFacts, Prices
from tests.agent.test_recovery import notices
from tests.agent.test_turns import turn, types
from tests.peers.scripted import Reply, ScriptedProvider
from tests.peers.words import words
from tests.tiny_tokenizer import use_tiny_tokenizer

READ = '<execute>[{"name": "read", "args": {"file": "greet.py"}}]</execute>'
SUMMARY = "## So far\nThe person greets."
SUMMARIES: dict[Dialect, str] = {
    "xml": f"<think>what was it</think>{SUMMARY}",
    "delimiter": f"§think: what was it\n§respond: {SUMMARY}\n§end",
    "action": f"<thought>what was it</thought><response>{SUMMARY}</response>",
}


def agent_of(
    tmp_path: Path, project: Path, *replies: Reply, size: int = 0, **options: Any
) -> tuple[Agent, ScriptedProvider]:
    provider = ScriptedProvider(*replies)
    provider.facts = ModelFacts(context_size=size)
    dialect: Dialect = options.pop("dialect", "xml")
    mode = options.pop("mode", "replay")
    agent = Agent(
        provider,
        project=project,
        data=tmp_path / "data",
        settings=Settings(**options),
        permissions="auto",
        mode=mode,
        dialect=dialect,
    )
    return agent, provider


def texts(messages: Sequence[Message]) -> list[str]:
    return [words(message["content"]) for message in messages[1:]]


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        ("shell", "exit 1\nred [1]\ntitle"),
        ("processes", "exit 1\nred [1]\ntitle"),
        ("read", "exit 1\n\x1b[1;31mred\x1b[0m [1]\n\x1b]0;x\x07title"),
    ],
)
def test_the_model_is_sent_no_escapes_of_what_a_command_writes(tool: str, sent: str) -> None:
    written = "exit 1\n\x1b[1;31mred\x1b[0m [1]\n\x1b]0;x\x07title"
    event = result("c", tool, written)
    assert capped(event, 1000)["payload"]["content"] == sent
    assert event["payload"]["content"] == written
    # What is taken out does not count.
    assert capped(result("c", "shell", "\x1b[0m" * 1000 + "x"), 100)["payload"]["content"] == "x"


def result(id: str, tool: str, content: str) -> ResultEvent:
    return {
        "type": "result",
        "timestamp": 0.0,
        "id": id,
        "tool": tool,
        "duration": 0.0,
        "payload": {"outcome": "", "content": content, "error": False, "state": "done"},
    }


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
async def test_compacting_puts_the_models_summary_in_the_place_of_the_events(
    tmp_path: Path, project: Path, dialect: Dialect
) -> None:
    answer = {"xml": "Hello.", "delimiter": "§respond: Hello.\n§end", "action": "<response>Hello.</response>"}
    agent, provider = agent_of(
        tmp_path, project, answer[dialect], SUMMARIES[dialect], answer[dialect], dialect=dialect
    )
    async with agent:
        await turn(agent, "hi there", conversation_id="c")
        done = await agent.compact("c")
        assert done["messages"] == 2
        history = await agent.history("c")
        summary = await history.summary()
        assert summary is not None
        assert summary.text == SUMMARY
        assert summary.model == "scripted/scripted-1"
        await turn(agent, "and now?", conversation_id="c")
        events = await (await agent.store()).events("c")
    assert [event["type"] for event in events] == ["user", "respond"] * 2
    asked, after = texts(provider.sent[1]), texts(provider.sent[2])
    assert asked[0] == "hi there"
    assert "Write a summary" in asked[-1]
    assert after[0].endswith(SUMMARY)
    assert after[1:] == ["and now?"]


async def test_a_summary_can_be_edited_and_goes_into_the_next_one(tmp_path: Path, project: Path) -> None:
    agent, provider = agent_of(tmp_path, project, "Hello.", SUMMARY, "Yes.", "Both.")
    async with agent:
        await turn(agent, "hi there", conversation_id="c")
        history = await agent.history("c")
        with pytest.raises(UsageError, match="no summary"):
            await history.edit_summary("x")
        await agent.compact("c")
        with pytest.raises(UsageError, match="empty"):
            await history.edit_summary("  ")
        await history.edit_summary("The person is called Ada.")
        await turn(agent, "again", conversation_id="c")
        await agent.compact("c")
        summary = await history.summary()
    assert summary is not None
    assert summary.text == "Both."
    told = texts(provider.sent[3])
    assert told[0].endswith("(edited by the user):\n\nThe person is called Ada.")
    assert told[1] == "again"


async def test_the_users_messages_stay_verbatim_beside_the_summary(tmp_path: Path, project: Path) -> None:
    agent, provider = agent_of(tmp_path, project, "Hello.", "Yes.", SUMMARY, "Both.", "Bye.")
    async with agent:
        await turn(agent, "call me  Ada", conversation_id="c")
        await turn(agent, "x" * 50_000, conversation_id="c")
        await agent.compact("c")
        await turn(agent, "and now?", conversation_id="c")
        parts = {part.name: part.tokens for part in await (await agent.history("c")).context()}
    assert "do not repeat them" in texts(provider.sent[2])[-1]
    before, last = (message["content"] for message in provider.sent[3][1:])
    assert "verbatim:\n\n1. call me  Ada\n\n2. xxx" in before
    assert before.endswith(f"(by the model):\n\n{SUMMARY}")
    # A paste gives way to the conversation.
    assert "characters omitted" in before
    assert len(before) < 45_000
    assert last == "and now?"
    assert parts["summary"] > 9_000


async def test_the_users_messages_are_summarised_too_where_they_need_not_stay(
    tmp_path: Path, project: Path
) -> None:
    agent, provider = agent_of(tmp_path, project, "Hello.", SUMMARY, "Bye.", compact_keeps_messages=False)
    async with agent:
        await turn(agent, "call me Ada", conversation_id="c")
        await agent.compact("c")
        await turn(agent, "and now?", conversation_id="c")
    assert "word for word" in texts(provider.sent[1])[-1]
    assert "Ada" not in str(provider.sent[2])


async def test_a_nearly_full_context_is_compacted_by_itself_and_the_turn_goes_on(
    tmp_path: Path, project: Path
) -> None:
    (project / "greet.py").write_text("x = 1\n" * 400)
    agent, provider = agent_of(tmp_path, project, READ, READ, SUMMARY, READ, "Done.", size=3700)
    async with agent:
        events = await turn(agent, "read it thrice", conversation_id="c")
    assert types(events)[-1] == "end"
    assert notices(events)[0] == "Context nearly full: summarizing older messages"
    assert "Summarized " in notices(events)[1]
    after = texts(provider.sent[3])
    assert SUMMARY in after[0]
    # The latest cycle stays as it was.
    assert after[1].startswith("<execute>")
    assert after[2].startswith("<results>")


async def test_a_context_that_the_provider_refuses_is_compacted_once(tmp_path: Path, project: Path) -> None:
    too_long = ContextTooLongError("Too long.", "Start a new one.")
    agent, _provider = agent_of(tmp_path, project, READ, too_long, SUMMARY, "Done.")
    events = await turn(agent)
    assert types(events)[-1] == "end"
    agent, _provider = agent_of(tmp_path, project, READ, too_long, SUMMARY, too_long)
    last, end = (await turn(agent))[-2:]
    assert (last["type"], end["type"]) == ("error", "end")
    assert last["type"] == "error"
    assert last["payload"]["error"] == "Too long."


async def test_a_conversation_too_long_to_be_summarised_is_given_in_short(
    tmp_path: Path, project: Path
) -> None:
    (project / "greet.py").write_text("x = 1\n" * 4000)
    agent, provider = agent_of(tmp_path, project, READ, "Done.", ContextTooLongError("Too long."), SUMMARY)
    async with agent:
        await turn(agent, conversation_id="c")
        await agent.compact("c")
    lengths = [sum(len(text) for text in texts(sent)) for sent in provider.sent]
    assert lengths[2] > 20_000
    assert lengths[3] < 5_000


async def test_there_may_be_nothing_to_summarise_or_no_summary_written(tmp_path: Path, project: Path) -> None:
    agent, _provider = agent_of(tmp_path, project, "Hello.", READ)
    async with agent:
        with pytest.raises(UsageError, match="nothing to summarize"):
            await agent.compact("c")
        await turn(agent, conversation_id="c")
        with pytest.raises(ProviderProtocolError, match="returned no summary"):
            await agent.compact("c")


async def test_the_parts_of_the_context_are_all_of_it(tmp_path: Path, project: Path) -> None:
    agent, provider = agent_of(tmp_path, project, READ, "Done.", SUMMARY)
    async with agent:
        await turn(agent, "hello", conversation_id="c")
        history = await agent.history("c")
        parts = await history.context()
        assert [part.name for part in parts] == [
            "system prompt",
            "tools",
            "environment",
            "history",
            "results",
        ]
        sent = sum(len(message["content"]) for message in provider.sent[1]) + len("Done.")
        assert sum(part.tokens for part in parts) == pytest.approx(sent / 4, abs=5)
        await agent.compact("c")
        names = [part.name for part in await history.context()]
        assert names == ["system prompt", "tools", "environment", "summary"]


def history_of(cycles: int) -> list[Event]:
    events: list[Event] = [{"type": "user", "timestamp": 0.0, "content": "do it"}]
    for number in range(cycles):
        call = {"name": "read", "args": {"file": f"f{number}"}}
        events.append({"type": "call", "timestamp": 0.0, "id": f"c{number}", "content": json.dumps(call)})
        events.append(
            {
                "type": "result",
                "timestamp": 0.0,
                "id": f"c{number}",
                "tool": "read",
                "duration": 0.0,
                "payload": {"outcome": "Read", "content": f"text {number}", "error": False, "state": "done"},
            }
        )
    return events


def test_a_window_keeps_the_latest_messages_and_the_request() -> None:
    messages = build_messages("s", history_of(10), "xml", 1000, window=6)
    assert len(messages) - 1 <= 6
    assert messages[1]["role"] == "user"
    assert "earlier messages are omitted" in messages[1]["content"]
    assert messages[1]["content"].endswith("do it")
    assert "text 9" in messages[-1]["content"]


def test_a_window_moves_in_steps_so_that_the_beginning_stays() -> None:
    beginnings = [build_messages("s", history_of(n), "xml", 1000, window=8)[1] for n in range(4, 40)]
    moves = sum(one != other for one, other in pairwise(beginnings))
    assert moves <= 36 * 2 / 4 + 1
    assert build_messages("s", history_of(3), "xml", 1000, window=8) == build_messages(
        "s", history_of(3), "xml", 1000
    )


FACTS = ModelFacts(context_size=1000, prices=Prices(input=2.0, cached=0.2, cache_write=2.5, output=10.0))


def step_of(usage: Usage | None, mode: str, *, sent: int, calibration: Calibration | None = None) -> Any:
    messages: list[Message] = [{"role": "user", "content": "x" * 4000}]
    meter = Meter(characters_in(messages), calibration, clock=lambda: 0.0)
    meter.text("y" * 400)
    if usage is not None:
        meter.usage(usage)
    return meter.step(mode=mode, reason="", provider="p", model="m", facts=FACTS, sent=sent)


def test_cost_follows_from_what_is_billed() -> None:
    usage = Usage(100, 50, cached=800, billed_input=1000, cache_written=100)
    step = step_of(usage, "resume", sent=400)
    assert step["cost"] == pytest.approx((100 * 2 + 800 * 0.2 + 100 * 2.5 + 50 * 10) / 1e6)
    assert (step["input"], step["billed_input"], step["cached"]) == (100, 1000, 800)
    assert step["replay_input"] == 1000


def test_without_a_report_only_what_was_sent_is_counted_and_marked() -> None:
    step = step_of(None, "resume", sent=400)
    assert (step["input"], step["output"], step["estimated"]) == (100, 100, True)
    assert step["replay_input"] == 1000


@pytest.mark.parametrize(("model", "bytes_of_a_token"), [("gpt-6.1-sol", 1), ("claude-sonnet-5-5", 4)])
async def test_until_a_provider_reports_its_models_tokenizer_counts(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, model: str, bytes_of_a_token: int
) -> None:
    use_tiny_tokenizer(monkeypatch, tmp_path)
    agent, provider = agent_of(tmp_path, project, "Hello.")
    provider.model = model
    async with agent:
        before = {part.name: part.tokens for part in await (await agent.history("c")).context()}
        await turn(agent, "Say hello.", conversation_id="c")
        after = {part.name: part.tokens for part in await (await agent.history("c")).context()}
    system = provider.sent[0][0]["content"]
    length = len(system.encode()) if bytes_of_a_token == 1 else len(system)
    assert sum(before.values()) == pytest.approx(length / bytes_of_a_token, rel=0.002)
    assert sum(after[name] for name in before) == pytest.approx(len(system) / 4, rel=0.002)


async def test_the_first_forecast_of_the_budget_is_by_the_tokenizer(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_tiny_tokenizer(monkeypatch, tmp_path)
    limits = BudgetSettings(turn=SpanLimits(soft_tokens=1))
    agent, provider = agent_of(tmp_path, project, "Hello.", budget=limits)
    provider.model = "gpt-6.1-sol"
    async with agent:
        [notice] = notices(await turn(agent, "Say hello."))
    expected = sum(len(message["content"].encode()) for message in provider.sent[0]) + ANSWER
    needed = int(notice.removesuffix(".").rpartition(" ")[2].replace(",", ""))
    assert needed == pytest.approx(expected, rel=0.002)


def test_estimates_follow_the_last_report() -> None:
    calibration = Calibration()
    step_of(Usage(2000, 10), "replay", sent=4000, calibration=calibration)
    assert step_of(None, "replay", sent=4000, calibration=calibration)["input"] == 2000
