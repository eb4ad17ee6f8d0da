"""What fills the context, the summary that makes it less, and what all of it took: over the real engine."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.timeline.costs import CostReport, RequestCost
from cogency_tui.agent.timeline.model import Asked, Point
from cogency_tui.config.schema import Settings
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.events import CacheMiss, Measure
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import PLAIN, Chunk, Options, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts, Prices
from cogency_tui.providers.offline.title_words import is_title_task
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.requests import Frame, Request
from cogency_tui.tui.cost.cache_misses import draw_cache_miss, missed_cache
from cogency_tui.tui.cost.compaction_screen import CompactDialog
from cogency_tui.tui.cost.context_screen import ContextScreen, SummaryScreen
from cogency_tui.tui.cost.screen import CostScreen
from cogency_tui.tui.cost.why_screen import CostRow, WhyScreen, cost_rows, draw_cost_note
from cogency_tui.tui.kit.dialogs import Choices, Confirmation
from cogency_tui.tui.status.screen import StatusScreen
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.timeline.screen import TimelineScreen
from cogency_tui.tui.transcript.call_unit import CallUnit
from tests.peers.anthropic import AnthropicPeer
from tests.peers.scripted import Reply, ScriptedProvider
from tests.tui.driving import (
    at_work,
    conversation_of,
    finished,
    live_line_of,
    main_of,
    prompt_of,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.scripted import respond
from tests.tui.subagents.stage import REPLIES, delegating, watching

READ = '<execute>[{"name": "read", "args": {"file": "src/app.py"}}]</execute>'
SUMMARY = "## So far\n\nThe person greets."


def working(
    project: Path, *replies: Reply, size: int = 8000, width: int = 120
) -> AbstractAsyncContextManager[Pilot[Any]]:
    """The app over an agent whose model says `replies`, at a price."""
    provider = ScriptedProvider(*replies, size=1000)
    provider.facts = ModelFacts(context_size=size, prices=Prices(1.0, 0.1, 1.0, 10.0))
    agent = Agent(
        provider, project=project, data=project.parent / "data", permissions="auto", settings=Settings()
    )
    return at_work(agent, (width, 40))


async def talk(pilot: Pilot[Any], *texts: str) -> None:
    for text in texts:
        await send(pilot, text)
        await finished(pilot)


async def compact(pilot: Pilot[Any]) -> None:
    """Have the conversation summarized: see what it would replace, and confirm it."""
    await opened(pilot, "/compact", CompactDialog)
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def opened(pilot: Pilot[Any], command: str, screen: type[Any]) -> Any:
    await send(pilot, command)
    await until(pilot, lambda: isinstance(pilot.app.screen, screen))
    return pilot.app.screen


async def body(pilot: Pilot[Any], selector: str) -> str:
    await until(pilot, lambda: shown(pilot.app.screen.query_one(selector)).strip())
    return shown(pilot.app.screen.query_one(selector))


@pytest.mark.exhaustive
async def test_before_the_first_message_there_is_nothing_to_show_and_after_it_the_foot_stays_in_sight(
    project: Path,
) -> None:
    async with working(project, "Hello.", size=0) as pilot:
        for command in ("/context", "/cost", "/compact"):
            await send(pilot, command)
            await until(pilot, lambda: "This conversation is empty." in told(pilot))
            pilot.app.clear_notifications()
            await until(pilot, lambda: not told(pilot))
            assert pilot.app.screen is main_of(pilot)
        store = await main_of(pilot).agent.store()
        assert await store.count() == 0

        await talk(pilot, "hi")
        await opened(pilot, "/context", ContextScreen)
        text = " ".join((await body(pilot, "#context-body")).split())
        assert "The context size of this model is unknown" in text
        assert "free" not in text
        await pilot.press("escape")

        # On a small screen.
        await pilot.resize_terminal(60, 16)
        for command, screen in (("/context", ContextScreen), ("/cost", CostScreen)):
            shown_screen = await opened(pilot, command, screen)
            await until(pilot, lambda: shown(pilot.app.screen.query_one(Choices)).strip())
            assert shown_screen.query_one(Choices).region.bottom <= 16
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))


@pytest.mark.exhaustive
async def test_the_context_is_a_table_of_its_parts_and_the_cost_one_of_models(project: Path) -> None:
    async with working(project, READ, "It says x.", width=160) as pilot:
        await talk(pilot, "read it")
        for width in (160, 80):
            await pilot.resize_terminal(width, 40)
            await until(pilot, lambda width=width: pilot.app.screen.size.width == width)
            await opened(pilot, "/context", ContextScreen)
            check_parts(await body(pilot, "#context-body"))
            await pilot.press("escape")

        await pilot.resize_terminal(120, 40)
        await opened(pilot, "/cost", CostScreen)
        text = await body(pilot, "#cost-body")
        assert "2 requests" in shown(pilot.app.screen.query_one("#cost-title"))
        await pilot.click(Choices, offset=(1, 0))
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

    [row] = [line for line in text.splitlines() if "scripted/scripted-1" in line]
    assert "$0.0" in row
    assert "(estimated)" in " ".join(text.split())


def check_parts(text: str) -> None:
    rows = {line.strip().partition("  ")[0]: line.split() for line in text.splitlines() if "%" in line}
    assert {"system prompt", "tools", "environment", "history", "results"} <= set(rows)
    assert "of 8.0k tokens used, scripted/scripted-1" in text
    assert "used, ~" in text
    assert "free" in text
    for row in ("system prompt", "results"):
        assert rows[row][-2].startswith("~")
        assert "▄" in rows[row][-3]
    shares = [float(row[-1].rstrip("%")) for name, row in rows.items() if "used," not in row and name]
    assert 98 <= sum(shares) <= 102
    assert "Nothing summarized yet." in text


@pytest.mark.exhaustive
async def test_a_conversation_is_summarised_at_the_persons_word(project: Path) -> None:
    replies = ("Hello. " * 300, SUMMARY, "Going on.", SUMMARY, "Queued and answered.")
    async with working(project, *replies, width=180) as pilot:
        await talk(pilot, "hi")
        await until(pilot, lambda: "% context" in shown(status_of(pilot)))
        before = status_of(pilot).status.context
        await compact(pilot)
        await until(pilot, lambda: "◇ Summarized 2 messages · " in shown(conversation_of(pilot)))
        await until(pilot, lambda: status_of(pilot).status.context < before)
        assert not main_of(pilot).bridge.working
        await talk(pilot, "go on")
        await until(pilot, lambda: "Going on." in shown(conversation_of(pilot)))

        # What is queued goes on after the summary.
        await compact(pilot)
        main_of(pilot).bridge.send(Written("next"))
        await until(pilot, lambda: "Queued and answered." in shown(conversation_of(pilot)))
        text = shown(conversation_of(pilot))
        assert text.rindex("Summarized ") < text.index("next")


@pytest.mark.exhaustive
async def test_a_summary_says_that_it_is_being_written_and_can_be_interrupted(project: Path) -> None:
    failure = NetworkError("No connection to scripted.", "Check the network.")
    replies = ("Half<<hang>>", "Hello.", "Sum<<hang>>", "Again.", failure)
    async with working(project, *replies) as pilot:
        # Nothing is summarised while a turn runs.
        await send(pilot, "hi")
        await until(pilot, lambda: "Half" in shown(conversation_of(pilot)))
        await send(pilot, "/compact")
        await until(pilot, lambda: "Interrupt it first" in told(pilot))
        assert not main_of(pilot).bridge.compacting
        main_of(pilot).bridge.interrupt()
        await finished(pilot)

        await talk(pilot, "hi")
        await compact(pilot)
        await until(pilot, lambda: "Summarizing the conversation" in shown(live_line_of(pilot)))
        await send(pilot, "meanwhile")
        await until(pilot, lambda: "1 queued" in shown(live_line_of(pilot)))
        await pilot.press("escape")
        await until(
            pilot,
            lambda: "◇ Interrupted: nothing was summarized." in shown(conversation_of(pilot)),
        )
        await finished(pilot)
        assert prompt_of(pilot).text == "meanwhile"
        await talk(pilot, "hello again")
        await until(pilot, lambda: "Again." in shown(conversation_of(pilot)))

        # One that cannot be made says why.
        await compact(pilot)
        await until(pilot, lambda: "No connection to scripted. Check the network." in told(pilot))
        assert not main_of(pilot).bridge.working


async def summarised(pilot: Pilot[Any]) -> SummaryScreen:
    """A conversation with a summary, which is open."""
    await talk(pilot, "hi")
    await compact(pilot)
    await until(pilot, lambda: "Summarized " in shown(conversation_of(pilot)))
    await opened(pilot, "/context", ContextScreen)
    text = await body(pilot, "#context-body")
    assert "Older messages are replaced by a summary: 6 words, by scripted/scripted-1" in " ".join(
        text.split()
    )
    await pilot.press("escape")
    return await opened_summary(pilot)


async def opened_summary(pilot: Pilot[Any]) -> SummaryScreen:
    await opened(pilot, "/context", ContextScreen)
    await body(pilot, "#context-body")
    await pilot.press("e")
    await until(pilot, lambda: isinstance(pilot.app.screen, SummaryScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SummaryScreen)
    return screen


@pytest.mark.exhaustive
async def test_the_summary_can_be_seen_left_and_edited(project: Path) -> None:
    async with working(project, "Hello.", SUMMARY, "Yes.") as pilot:
        screen = await summarised(pilot)
        area = screen.query_one(TextArea)
        assert area.text == SUMMARY
        assert "by scripted/scripted-1" in shown(screen.query_one("#summary-title"))
        # One that is unchanged is left at once, what was written is not lost to an escape.
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        screen = await opened_summary(pilot)
        await pilot.press("x", "escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        screen = await opened_summary(pilot)
        area = screen.query_one(TextArea)
        assert area.text == SUMMARY
        area.load_text("Remember the milk.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: "Summary saved." in told(pilot))
        await talk(pilot, "go on")
        provider: Any = main_of(pilot).agent.provider
        await opened(pilot, "/context", ContextScreen)
        assert "edited by you" in " ".join((await body(pilot, "#context-body")).split())

    assert "Remember the milk." in str([*provider.sent, *provider.seeds])


async def test_a_summary_is_not_emptied_nor_saved_over_one_that_took_its_place(project: Path) -> None:
    async with working(project, "Hello.", SUMMARY, "More.", "Another summary.") as pilot:
        screen = await summarised(pilot)
        problem = screen.query_one("#summary-problem")
        screen.query_one(TextArea).load_text("  \n")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "A summary cannot be empty." in shown(problem))
        assert pilot.app.screen is screen

        bridge = main_of(pilot).bridge
        assert bridge.conversation_id is not None
        async for _event in bridge.agent.stream("more", conversation_id=bridge.conversation_id):
            pass
        await bridge.agent.compact(bridge.conversation_id)
        screen.query_one(TextArea).load_text("Mine.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Another summary was made" in shown(problem))


@pytest.mark.exhaustive
async def test_a_past_conversation_says_what_it_took_and_what_was_estimated(project: Path) -> None:
    data = project.parent / "data"
    agent = Agent("offline", project=project, data=data, permissions="auto")
    async for event in agent.stream("list files"):
        assert event["type"] != "error"
    async with at_work(Agent("offline", project=project, data=data), (160, 40)) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: status_of(pilot).status.total.get("input"))
        await opened(pilot, "/cost", CostScreen)
        text = await body(pilot, "#cost-body")
        assert "offline/offline-1" in text
        assert "Cost unknown" in text


async def test_cost_why_lists_the_parts_and_opens_one_where_it_stands(project: Path) -> None:
    replies = [READ, "It says x.", *["Yes."] * 8]
    async with working(project, *replies, width=100) as pilot:
        main_of(pilot).agent.mode = "replay"
        await talk(pilot, "read it", *["sure?"] * 8)
        screen = await opened(pilot, "/cost why", WhyScreen)
        text = await body(pilot, "#why-list")
        for expected in ("Total of 10 requests", "Requests", "Turn 1, step 2"):
            assert expected in text
        # It would be the whole list again.
        assert "Most expensive" not in text
        assert "Includes earlier tool results" in await body(pilot, "#why-note")

        await pilot.press("end")
        await until(pilot, lambda: "included in 9 requests since" in shown(screen.query_one("#why-note")))
        assert "× 9 requests" in shown(screen.query_one("#why-list")).partition("Tool results")[2]
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        place = conversation_of(pilot).cursor.place
        assert place is not None
        assert isinstance(conversation_of(pilot).transcript.units[place.unit], CallUnit)


class Titling(ScriptedProvider):
    """Uses 700 tokens for a title."""

    title = "Greeting"

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        async for chunk in super().stream(messages, options):
            yield chunk
        if is_title_task(messages):
            yield Usage(input=600, output=100)


async def test_the_request_for_the_title_counts_in_all_figures_alike(project: Path) -> None:
    agent = Agent(Titling("Hello."), project=project, data=project.parent / "data", permissions="auto")
    async with at_work(agent, (120, 40)) as pilot:
        await talk(pilot, "hi")
        await until(pilot, lambda: conversation_of(pilot).transcript.title == "Greeting")
        bar = status_of(pilot)
        await until(pilot, lambda: bar.status.total.get("input", 0) >= 600)
        await opened(pilot, "/status", StatusScreen)
        status = await body(pilot, "#status-body")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await opened(pilot, "/cost", CostScreen)
        cost = (await body(pilot, "#cost-body")).splitlines()[1].split()
        assert ["Tokens", "sent", cost[1]] in [line.split() for line in status.splitlines()]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        screen = await opened(pilot, "/cost why", WhyScreen)
        rows = [line.split() for line in (await body(pilot, "#why-list")).splitlines()]
        assert rows[0][:4] == ["Total", "of", "2", "requests"]
        assert ["Title", "1", "request", "700", "–"] in rows
        await pilot.press("down")
        note = screen.query_one("#why-note")
        await until(pilot, lambda: "Gave this conversation its title." in shown(note))
        await pilot.press("enter")
        assert pilot.app.screen is screen


class RunningOn(ScriptedProvider):
    """Goes on for 450 tokens after each answer, as one does that is given up in a shared connection."""

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        async for chunk in super().stream(messages, options):
            yield chunk
        if options.report_rest:
            options.report_rest(Usage(0, 50, billed_input=400, estimated=True))


async def test_the_rest_of_a_stopped_answer_is_a_row_of_its_own(project: Path) -> None:
    agent = Agent(
        RunningOn("Hello."), project=project, data=project.parent / "data", permissions="auto", mode="replay"
    )
    async with at_work(agent, (120, 40)) as pilot:
        await talk(pilot, "hi")
        screen = await opened(pilot, "/cost why", WhyScreen)
        rows = [line.split() for line in (await body(pilot, "#why-list")).splitlines()]
        assert ["Stopped", "answers", "1", "request", "~450", "–"] in rows
        await pilot.press("end")
        note = screen.query_one("#why-note")
        await until(pilot, lambda: "Went on at the provider after they were stopped." in shown(note))


def report_of(requests: int) -> CostReport:
    """A report on so many requests."""
    frame = Frame((), "", "xml", 30_000, 0)
    costs = [
        RequestCost(
            Asked(Request(float(turn), 0, turn, frame), turn, 1, recorded=True),
            Point(turn, turn, (respond("x", f"r{turn}"),)),
            {"input": 100 * turn},
            0,
        )
        for turn in range(1, requests + 1)
    ]
    return CostReport(costs, [], [], [each.measure for each in costs])


def test_a_request_is_shown_with_the_mode_the_effort_and_the_tier_that_it_had() -> None:
    choices: Measure = {"provider": "p", "model": "m", "mode": "replay", "effort": "low", "tier": "flex"}
    cost = replace(report_of(1).requests[0], measure=choices)
    [*_, last] = draw_cost_note(CostRow("Requests", cost), 160, theme_styles_of("night"))
    assert "p/m, replay mode, effort low, tier flex. Includes earlier tool results." in last.text


@pytest.mark.parametrize(("requests", "listed"), [(10, 10), (19, 19), (20, 30)])
def test_the_dearest_parts_are_listed_apart_only_from_a_long_list(requests: int, listed: int) -> None:
    rows = cost_rows(report_of(requests))
    assert sum(isinstance(row, CostRow) for row in rows) == listed


async def test_cost_why_has_the_requests_of_sub_agents_and_opens_the_agent(project: Path) -> None:
    model = ScriptedProvider(*REPLIES, size=10_000)
    model.facts = ModelFacts(context_size=8000, prices=Prices(1.0, 0.1, 1.0, 10.0))
    agent = delegating(project, model)
    async with watching(agent, size=(100, 45)) as agents:
        pilot = agents.pilot
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await opened(pilot, "/cost", CostScreen)
        cost = (await body(pilot, "#cost-body")).partition("total")[2].split()[4]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await opened(pilot, "/cost why", WhyScreen)
        rows = (await body(pilot, "#why-list")).splitlines()
        assert rows[0].strip().startswith("Total of 9 requests, 7 by sub-agents")
        assert rows[0].split()[-1] == cost
        requests = [row.strip() for row in rows[rows.index("  Requests") + 1 : rows.index("  Tool results")]]
        assert [row[: row.index("  ")] for row in requests if not row.startswith("tester")] == [
            "Turn 1, step 1",
            *("reviewer, step 1", "reviewer, step 2"),
            *("editor, step 1", "editor, step 2", "editor, step 3"),
            "reviewer, step 3",
            "Turn 1, step 2",
        ]
        for _ in requests:
            if "By sub-agent editor" in await body(pilot, "#why-note"):
                break
            await pilot.press("down")
        assert "Enter show sub-agent" in shown(pilot.app.screen.query_one(Choices))
        await pilot.press("enter")
        await agents.until(lambda: agents.is_open and agents.rows.agent)
        assert agents.rows.agent is not None
        assert agents.rows.agent.node.name == "editor"


async def test_the_providers_diagnosis_of_its_cache_is_shown_where_it_has_one(project: Path) -> None:
    async with AnthropicPeer(["One.", "Two.", "Three."]) as peer:
        endpoint = Endpoint("anthropic", peer.base_url, "test-model", "K", "sk-key")
        provider = HttpProvider(endpoint, AnthropicWire(endpoint, own=True))
        data = project.parent / "data"
        agent = Agent(provider, project=project, data=data, settings=Settings(titles=False))
        async with at_work(agent, (100, 40)) as pilot:
            await talk(pilot, "first", "second")
            # Instructions are a part of the system prompt.
            (project / "AGENTS.md").write_text("Answer in one word.\n")
            await talk(pilot, "third")
            screen = await opened(pilot, "/cost why", WhyScreen)
            requests = (await body(pilot, "#why-list")).splitlines()
            missed = [line.strip()[:14] for line in requests if "cache miss" in line]
            assert missed == ["Turn 3, step 1"]
            assert "Cache" not in await body(pilot, "#why-note")
            await pilot.press("end")
            note = "Cache missed: the system prompt changed (about"
            await until(pilot, lambda: note in shown(screen.query_one("#why-note")))
            text = " ".join(shown(screen.query_one("#why-note")).split())
            assert "system_changed" in text
            assert "0 of them read from the provider's cache, 1.8k written to it" in text
            await pilot.resize_terminal(60, 16)
            await until(pilot, lambda: note[:30] in shown(screen.query_one("#why-note")))
            await pilot.resize_terminal(100, 40)
            await pilot.press("escape")

            # The same for the cycle at a point of the timeline.
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))
            await pilot.press("ctrl+t")
            await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
            await pilot.press("4")
            costs = "#timeline-costs"
            await until(pilot, lambda: note in " ".join(shown(pilot.app.screen.query_one(costs)).split()))
            await pilot.press("home", "right")
            await until(pilot, lambda: "This step" in shown(pilot.app.screen.query_one(costs)))
            await until(pilot, lambda: "Cache missed" not in shown(pilot.app.screen.query_one(costs)))


@pytest.mark.parametrize(
    ("miss", "text"),
    [
        ({"reason": "tools_changed", "tokens": 4200}, "Cache missed: the tools changed (about 4.2k tokens)."),
        ({"reason": "input_changed"}, "Cache missed: the system prompt or an earlier message changed."),
        ({"reason": "of_next_year", "tokens": 10}, "Cache missed (about 10 tokens)."),
        (
            {"reason": "unexplained", "tokens": 4200},
            "Cache missed: the provider gives no reason (about 4.2k tokens).",
        ),
        (
            {"reason": "comparison_response_not_found"},
            "Cache not diagnosed: the provider no longer has the previous request.",
        ),
    ],
)
def test_a_diagnosis_is_words_with_the_providers_code(miss: CacheMiss, text: str) -> None:
    [line] = draw_cache_miss({"cache_miss": miss}, 120, theme_styles_of("night"))
    assert line.text.strip() == f"{text}  {miss['reason']}"
    assert missed_cache({"cache_miss": miss}) == text.startswith("Cache missed")
    assert draw_cache_miss({}, 120, theme_styles_of("night")) == []
