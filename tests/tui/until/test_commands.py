"""`/until` on the screen, over a real agent: the loop, its place in the bar, steering, interrupts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.errors import AuthenticationError
from cogency_tui.tools.function import reads
from cogency_tui.tui.transcript.units import Notice, UserMessage
from tests.agent.test_turns import block
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    live_line_of,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    status_of,
    told,
    until,
)

CHECK = "grep -q '# good' README.md"
FIX = block(
    ("read", {"file": "README.md"}),
    ("write", {"file": "README.md", "content": "# good\n", "overwrite": True}),
)
WAIT = block(("wait", {}))


class Work:
    """An agent over a scripted model; its tool `wait` waits until `go_on` is set."""

    def __init__(self, project: Path, *replies: Any) -> None:
        self.provider = ScriptedProvider(*replies)
        self.go_on = asyncio.Event()
        self.waits = 0

        @reads
        async def wait() -> str:
            """Wait."""
            self.waits += 1
            await self.go_on.wait()
            return "waited"

        self.agent = Agent(
            self.provider,  # pyright: ignore[reportArgumentType]
            project=project,
            data=project.with_name("data"),
            tools=[wait],
            mode="replay",
            permissions="auto",
            settings=Settings(provider="offline", titles=False),
        )

    @asynccontextmanager
    async def app(self, size: tuple[int, int] = (120, 40), **options: Any) -> AsyncGenerator[Pilot[int]]:
        async with app_over(self.agent, **options).run_test(size=size, notifications=True) as pilot:
            yield pilot
        await self.agent.close()

    @property
    def asked(self) -> list[str]:
        """What the last request has after the system message."""
        return [message["content"] for message in self.provider.sent[-1][1:]]


def notices(pilot: Pilot[Any]) -> list[str]:
    units = conversation_of(pilot).transcript.units
    return [unit.text for unit in units if isinstance(unit, Notice)]


async def reported(pilot: Pilot[Any]) -> None:
    """Return when nothing is worked on any more, and the report is shown."""
    await finished(pilot)
    await until(pilot, lambda: notices(pilot))


def messages(pilot: Pilot[Any]) -> list[tuple[str, str]]:
    units = conversation_of(pilot).transcript.units
    return [(unit.text, unit.until) for unit in units if isinstance(unit, UserMessage)]


async def test_it_works_until_the_command_succeeds(project: Path) -> None:
    work = Work(project, "Hm.", WAIT, FIX, "Done.")
    async with work.app() as pilot:
        await send(pilot, f"/until {CHECK}")
        await until(pilot, lambda: work.waits)
        await until(pilot, lambda: "until grep -q '# good' README… · turn 2 of 20" in shown(status_of(pilot)))
        at = shown(status_of(pilot)).index("until")
        await pilot.hover(status_of(pilot), offset=(at, 0))
        assert str(status_of(pilot).tooltip) == f"Works until `{CHECK}` succeeds. Click for how to stop"
        await pilot.click(status_of(pilot), offset=(at, 0))
        await until(
            pilot,
            lambda: f"Until `{CHECK}` succeeds: turn 2 of 20. Esc stops" in " ".join(told(pilot).split()),
        )
        work.go_on.set()
        await reported(pilot)
        assert notices(pilot) == [f"`{CHECK}` succeeded after 2 turns, 1 file changed."]
        assert messages(pilot) == [
            (f"`{CHECK}` failed. Make it succeed.", f"until {CHECK} · turn 1 of 20"),
            (
                f"`{CHECK}` failed with the same output as before. Make it succeed.",
                f"until {CHECK} · turn 2 of 20",
            ),
        ]
        assert f"until {CHECK} · turn 1 of 20" in seen(pilot)
        assert main_of(pilot).title_shown == f"! {CHECK}"
        assert main_of(pilot).bridge.until is None
        assert "until" not in shown(status_of(pilot))


async def test_lines_below_the_command_are_the_first_message(project: Path) -> None:
    work = Work(project, FIX, "Done.")
    async with work.app() as pilot:
        await send(pilot, f"/until {CHECK}\nMake the README good.\n\nBe brief.")
        await reported(pilot)
        assert notices(pilot) == [f"`{CHECK}` succeeded after 1 turn, 1 file changed."]
        assert messages(pilot)[0] == (
            "Make the README good.\n\nBe brief.",
            f"until {CHECK} · turn 1 of 20",
        )


async def test_the_check_is_in_the_activity_line(project: Path) -> None:
    gate = project / "gate"
    work = Work(project)
    async with work.app() as pilot:
        await send(pilot, f"/until while [ ! -e {gate.name} ]; do sleep 0.02; done")
        await until(pilot, lambda: "Running while" in shown(live_line_of(pilot)))
        assert "· first run" in shown(status_of(pilot))
        gate.touch()
        await reported(pilot)
        assert notices(pilot)[0].endswith("succeeds already.")


async def test_a_message_steers_and_the_work_goes_on(project: Path) -> None:
    work = Work(project, WAIT, "Steered.", FIX, "Done.")
    async with work.app() as pilot:
        await send(pilot, f"/until {CHECK}")
        await until(pilot, lambda: work.waits)
        await send(pilot, "use markdown")
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)
        work.go_on.set()
        await finished(pilot)
        assert [place for _text, place in messages(pilot)] == [
            f"until {CHECK} · turn 1 of 20",
            "",
            f"until {CHECK} · turn 2 of 20",
        ]
        assert notices(pilot) == [f"`{CHECK}` succeeded after 2 turns, 1 file changed."]


async def test_a_message_that_waits_during_the_check_is_the_next_turns(project: Path) -> None:
    gate = project / "gate"
    check = f"while [ ! -e {gate.name} ]; do sleep 0.02; done; {CHECK}"
    work = Work(project, FIX, "Done.")
    async with work.app() as pilot:
        await send(pilot, f"/until {check}")
        await until(pilot, lambda: "Running while" in shown(live_line_of(pilot)))
        await send(pilot, "write it")
        gate.touch()
        await finished(pilot)
        ((text, place),) = messages(pilot)
        assert text == "write it"
        assert place.endswith("turn 1 of 20")
        assert "write it\n\n[engine] After each of your turns" in work.provider.sent[0][-1]["content"]


@pytest.mark.parametrize("where", ["turn", "check"])
async def test_escape_stops_the_loop_and_what_runs(project: Path, where: str) -> None:
    work = Work(project, WAIT)
    command = "false" if where == "turn" else "sleep 60"
    async with work.app() as pilot:
        await send(pilot, f"/until {command}")
        if where == "turn":
            await until(pilot, lambda: work.waits)
        else:
            await until(pilot, lambda: "Running sleep" in shown(live_line_of(pilot)))
        await pilot.press("escape")
        await reported(pilot)
        (notice,) = notices(pilot)
        assert notice.startswith(f"Stopped{' after 1 turn' if where == 'turn' else ''}: interrupted. ")
        assert main_of(pilot).bridge.until is None
        assert len(work.provider.sent) == (where == "turn")


async def test_off_ends_it_after_the_turn(project: Path) -> None:
    work = Work(project, WAIT, "Done.")
    async with work.app() as pilot:
        await send(pilot, "/until false")
        await until(pilot, lambda: work.waits)
        await send(pilot, "/until off")
        await until(pilot, lambda: "`false` does not run again." in told(pilot))
        await send(pilot, "/until make")
        work.go_on.set()
        await reported(pilot)
        assert notices(pilot) == ["Stopped after 1 turn: switched off. `false` failed (exit 1)."]
        assert len(work.provider.sent) == 2


async def test_a_failed_turn_ends_it_and_gives_the_messages_back(project: Path) -> None:
    work = Work(project, WAIT, AuthenticationError("The key is wrong."))
    async with work.app() as pilot:
        await send(pilot, "/until false")
        await until(pilot, lambda: work.waits)
        await send(pilot, "!echo later")
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)
        work.go_on.set()
        await reported(pilot)
        await until(pilot, lambda: prompt_of(pilot).text == "!echo later")
        assert notices(pilot) == ["Stopped after 1 turn: The key is wrong. `false` failed (exit 1)."]


async def test_a_message_with_a_command_that_cannot_be_run_is_given_back(project: Path) -> None:
    work = Work(project)
    async with work.app() as pilot:
        typed = "/until --max-turns 3 no-such-program -q\nfix it"
        await send(pilot, typed)
        await until(pilot, lambda: "The shell cannot run `no-such-program -q`" in seen(pilot))
        await until(pilot, lambda: prompt_of(pilot).text == typed)
        assert main_of(pilot).bridge.until is None
        assert work.provider.sent == []


async def test_a_running_turn_becomes_the_first_one(project: Path) -> None:
    work = Work(project, WAIT, FIX, "Done.")
    async with work.app() as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: work.waits)
        await send(pilot, f"/until {CHECK}")
        await until(pilot, lambda: "turn 1 of 20" in shown(status_of(pilot)))
        work.go_on.set()
        await reported(pilot)
        assert notices(pilot) == [f"`{CHECK}` succeeded after 1 turn."]


async def test_a_running_turn_that_fails_ends_it(project: Path) -> None:
    work = Work(project, WAIT, AuthenticationError("The key is wrong."))
    async with work.app() as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: work.waits)
        await send(pilot, "/until touch checked")
        await until(pilot, lambda: "turn 1 of 20" in shown(status_of(pilot)))
        work.go_on.set()
        await reported(pilot)
        assert notices(pilot) == ["Stopped after 1 turn: the turn failed. `touch checked` has not succeeded."]
        assert not (project / "checked").exists()


async def test_the_end_is_shown_whole_with_its_reason_and_what_did_not_hold(project: Path) -> None:
    missing = "import file mismatch: the module has been collected from another directory " * 2
    command = f"echo '{missing}'; false"
    work = Work(project, "One.")
    async with work.app(size=(60, 16)) as pilot:
        await send(pilot, f"/until --max-turns 1 {command}")
        await reported(pilot)
        report = f"Stopped after 1 turn: the limit of 1 turn is reached. `{command[:59]}…` failed (exit 1): {missing}"
        assert notices(pilot) == [report.strip()]
        view = conversation_of(pilot)
        await until(pilot, lambda: "".join(report.split()) in "".join(shown(view).split()))


async def test_without_a_command_it_says_how(project: Path) -> None:
    async with Work(project).app() as pilot:
        await send(pilot, "/until")
        await until(pilot, lambda: "/until CMD runs CMD" in told(pilot))
        await send(pilot, "/until off")
        await until(pilot, lambda: "No /until is running." in told(pilot))
        await send(pilot, "/until --max-turns 0 make")
        await until(pilot, lambda: "--max-turns must be a whole number" in told(pilot))
        assert prompt_of(pilot).text == "/until --max-turns 0 make"


async def test_another_one_waits_in_the_prompt(project: Path) -> None:
    work = Work(project, WAIT, "Done.")
    async with work.app() as pilot:
        await send(pilot, "/until --max-turns 1 false")
        await until(pilot, lambda: work.waits)
        await send(pilot, "/until true")
        await until(pilot, lambda: "One is already running (`false`). /until off ends it." in told(pilot))
        assert prompt_of(pilot).text == "/until true"
        prompt_of(pilot).clear_draft()
        work.go_on.set()
        await finished(pilot)


async def test_a_conversation_that_ended_in_it_says_how_to_go_on(project: Path) -> None:
    work = Work(project, "One.")
    async with work.app() as pilot:
        await send(pilot, "/until --max-turns 1 false")
        await finished(pilot)
        conversation = main_of(pilot).bridge.conversation_id
    again = Work(project, FIX, "Done.")
    async with again.app(conversation_id=conversation) as pilot:
        await until(pilot, lambda: notices(pilot) == ["`false` has not succeeded. To continue: /until false"])
        assert prompt_of(pilot).text == ""
        # A message that no user has written is not in the history.
        await pilot.press("up")
        assert "Make it succeed" not in prompt_of(pilot).text
        prompt_of(pilot).clear_draft()
        await send(pilot, "/until true")
        await finished(pilot)
