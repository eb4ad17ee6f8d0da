"""Messages that are sent while the agent works, over the real agent: at the next step, or after the turn."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.events import Event
from cogency_tui.tools.function import reads
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.message_queue import MessageQueue
from cogency_tui.tui.transcript.units import TurnEnd, UserMessage
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    told,
    until,
)
from tests.tui.test_message_queue import queue_of, rows_of

STEP = '<execute>[{"name": "wait", "args": {}}]</execute>'


class Work:
    """An agent whose model calls a tool that waits until `go_on` is set, once a step, then says `Done.`"""

    def __init__(self, project: Path, *replies: Any, max_iterations: int | None = None) -> None:
        self.provider = ScriptedProvider(*(replies or (STEP, STEP, "Done.", "Done.")))
        self.go_on = asyncio.Event()
        self.steps = 0

        @reads
        async def wait() -> str:
            """Wait."""
            self.steps += 1
            await self.go_on.wait()
            return f"step {self.steps} done"

        data = project.with_name("data")
        settings = Settings(provider="offline", titles=False)
        self.agent = Agent(
            self.provider,  # pyright: ignore[reportArgumentType]
            project=project,
            data=data,
            tools=[wait],
            mode="replay",
            permissions="auto",
            settings=settings,
            max_iterations=max_iterations,
        )

    @property
    def last_request(self) -> list[str]:
        """The last request after the first message."""
        return [message["content"] for message in self.provider.sent[-1][2:]]

    async def stored(self, pilot: Pilot[Any]) -> list[str]:
        """The stored events in brief."""
        id = main_of(pilot).bridge.conversation_id or ""
        return [_in_brief(event) for event in await (await self.agent.store()).events(id)]


def _in_brief(event: Event) -> str:
    return event["content"] if event["type"] == "user" or event["type"] == "respond" else event["type"]


@asynccontextmanager
async def working(
    work: Work, *messages: str, size: tuple[int, int] = (100, 30)
) -> AsyncGenerator[Pilot[int]]:
    """An app whose agent runs its first step, while `messages` wait."""
    async with app_over(work.agent).run_test(size=size, notifications=True) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: work.steps)
        for message in messages:
            await send(pilot, message)
        await until(pilot, lambda: len(rows_of(pilot)) == len(messages))
        yield pilot


def times_of(pilot: Pilot[Any]) -> list[str]:
    """When the messages of the queue go, as the list shows it."""
    return [row.rsplit("  ", 1)[-1].removesuffix(" ↑ ↓ ✕") for row in rows_of(pilot)]


async def test_messages_go_at_the_next_step_in_order(project: Path) -> None:
    work = Work(project, STEP, "Done.")
    async with working(work, "one", "two") as pilot:
        assert times_of(pilot) == ["at the next step"] * 2
        work.go_on.set()
        await finished(pilot)
        assert rows_of(pilot) == []
        assert work.last_request[-2:] == ["one", "two"]
        assert "step 1 done" in work.last_request[-3]
        assert len(work.provider.sent) == 2
        assert await work.stored(pilot) == ["go", "call", "result", "one", "two", "Done."]
        transcript = conversation_of(pilot).transcript
        messages = [unit.text for unit in transcript.units if isinstance(unit, UserMessage)]
        assert messages == ["go", "one", "two"]
        ends = [unit for unit in transcript.units if isinstance(unit, TurnEnd)]
        assert [end.interrupted or end.unanswered for end in ends] == [False] * 3
        assert transcript.turns == 3


async def test_a_command_and_what_is_behind_it_go_after_the_turn(project: Path) -> None:
    work = Work(project, STEP, "First.", "Second.")
    async with working(work, "!true", "two") as pilot:
        assert times_of(pilot) == ["after this turn", "after this turn, behind 1"]
        work.go_on.set()
        await finished(pilot)
        assert await work.stored(pilot) == ["go", "call", "result", "First.", "! true", "two", "Second."]


async def test_a_message_is_put_off_until_after_the_turn_and_back(project: Path) -> None:
    work = Work(project, STEP, "First.", "Second.")
    async with working(work, "one", "two") as pilot:
        await pilot.press("up", "up", "alt+t")
        await until(
            pilot,
            lambda: (
                times_of(pilot) == ["editing below · after this turn (Alt+T)", "after this turn, behind 1"]
            ),
        )
        footer = main_of(pilot).query_one(Footer)
        await until(pilot, lambda: "Alt+T at the next step" in shown(footer))
        await pilot.press("alt+t")
        await until(
            pilot, lambda: times_of(pilot) == ["editing below · at the next step (Alt+T)", "at the next step"]
        )
        await pilot.press("down", "alt+t", "enter")
        await until(pilot, lambda: times_of(pilot) == ["at the next step", "after this turn"])
        work.go_on.set()
        await finished(pilot)
        assert await work.stored(pilot) == ["go", "call", "result", "one", "First.", "two", "Second."]


async def test_the_key_explains_why_a_message_waits_until_after_the_turn(project: Path) -> None:
    work = Work(project)
    async with working(work, "!true", "two") as pilot:
        await pilot.press("up", "alt+t")
        await until(pilot, lambda: "waits behind 1, which goes after the turn. Alt+↑" in _toasts(pilot))
        pilot.app.clear_notifications()
        await pilot.press("up", "alt+t")
        await until(pilot, lambda: "A ! command goes after the turn." in _toasts(pilot))
        await pilot.press("down", "alt+up", "alt+t")
        await until(pilot, lambda: times_of(pilot)[0] == "editing below · after this turn (Alt+T)")
        work.go_on.set()
        await finished(pilot)


def _toasts(pilot: Pilot[Any]) -> str:
    return " ".join(told(pilot).split())


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_row_offers_the_key_in_a_small_terminal(project: Path, size: tuple[int, int]) -> None:
    work = Work(project)
    async with working(work, "one", size=size) as pilot:
        await pilot.press("up")
        await until(pilot, lambda: "at the next step (Alt+T)" in rows_of(pilot)[0])
        work.go_on.set()
        await finished(pilot)


async def test_a_message_that_is_edited_does_not_go_nor_do_those_behind_it(project: Path) -> None:
    work = Work(project, STEP, STEP, "First.", "Second.", "Third.")
    async with working(work, "one", "two") as pilot:
        await pilot.press("up", "up")
        work.go_on.set()
        await finished(pilot)
        assert queue_of(pilot) == ["one", "two"]
        assert await work.stored(pilot) == ["go", *["call", "result"] * 2, "First."]
        await pilot.press("!", "enter")
        await finished(pilot)
        await until(pilot, lambda: not queue_of(pilot))
        await finished(pilot)
        assert (await work.stored(pilot))[-4:] == ["one!", "Second.", "two", "Third."]


async def test_a_message_that_is_removed_does_not_go(project: Path) -> None:
    work = Work(project, STEP, "Done.")
    async with working(work, "one") as pilot:
        await pilot.press("up", "alt+x")
        work.go_on.set()
        await finished(pilot)
        assert await work.stored(pilot) == ["go", "call", "result", "Done."]


async def test_escape_gives_back_what_has_not_gone(project: Path) -> None:
    work = Work(project)
    async with working(work, "one") as pilot:
        await pilot.press("escape")
        await finished(pilot)
        assert prompt_of(pilot).text == "one"
        assert await work.stored(pilot) == ["go", "call", "result"]
        assert len(work.provider.sent) == 1


async def test_a_turn_that_fails_gives_back_what_has_not_gone(project: Path) -> None:
    work = Work(project, STEP, NetworkError("Nothing is listening."), "Never asked.")
    async with working(work, "!touch ran", "one", "two") as pilot:
        await pilot.press("up", "exclamation_mark")
        work.go_on.set()
        await until(pilot, lambda: prompt_of(pilot).text == "one\n\ntwo!" and not rows_of(pilot))
        await finished(pilot)
        assert (await work.stored(pilot)) == ["go", "call", "result", "error"]
        assert len(work.provider.sent) == 2
        assert not (project / "ran").exists()
        await until(pilot, lambda: "clear the prompt" in seen(pilot))
        await pilot.press("ctrl+c", *["up"] * 4)
        assert prompt_of(pilot).text == "!touch ran"


async def test_a_turn_that_is_stopped_at_its_last_step_gives_back_what_waits(project: Path) -> None:
    work = Work(project, STEP, STEP, "Never asked.", max_iterations=2)
    async with working(work, "!touch ran") as pilot:
        work.go_on.set()
        await until(pilot, lambda: prompt_of(pilot).text == "!touch ran")
        await finished(pilot)
        assert not (project / "ran").exists()


@pytest.mark.parametrize("key", ["alt+x", "enter"])
async def test_the_turn_goes_on_if_its_message_is_removed_or_edited_as_it_ends(
    project: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    work = Work(project, STEP, "First.", "Second.")
    async with working(work, "one") as pilot:
        asked: list[bool] = []
        steers = MessageQueue.steers.fget
        assert steers is not None

        def ask(queue: MessageQueue, steers: Callable[[MessageQueue], bool] = steers) -> bool:
            found = steers(queue)
            asked.append(found)
            if asked == [True]:
                # The user is faster than the end of the turn.
                prompt_of(pilot).edit_queued(0)
            return found

        monkeypatch.setattr(MessageQueue, "steers", property(ask))
        work.go_on.set()
        await finished(pilot)
        assert prompt_of(pilot).text == "one"
        assert await work.stored(pilot) == ["go", "call", "result", "First."]
        transcript = conversation_of(pilot).transcript
        ends = [unit for unit in transcript.units if isinstance(unit, TurnEnd) and not unit.is_empty]
        assert [end.interrupted or end.unanswered for end in ends] == [False]
        await pilot.press(key)
        await finished(pilot)
        rest = ["one", "Second."] if key == "enter" else []
        assert await work.stored(pilot) == ["go", "call", "result", "First.", *rest]
