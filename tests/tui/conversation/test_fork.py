"""Where a fork ends, and the fork itself: in a real store."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.fork import last_event
from cogency_tui.tui.conversation.fork_dialog import ForkDialog
from cogency_tui.tui.status.header import Header
from cogency_tui.tui.transcript.units import UserMessage
from tests.tui.driving import (
    app_over,
    at_work,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.reading import fed
from tests.tui.scripted import ScriptedAgent, call, error, failure, respond, result, think, user, user_command

EVENTS: list[Event] = [
    user("one"),
    think("hm", "t1"),
    call("a", "read"),
    call("b", "read"),
    result("a", "read"),
    result("b", "read"),
    respond("first", "r1"),
    user("two"),
    call("c", "shell"),
    user("three"),
    respond("third", "r2"),
]
STORED = [(100 + place, event) for place, event in enumerate(EVENTS)]


@pytest.mark.parametrize(
    ("unit", "ends"),
    [
        (0, None),  # the first message: a new conversation
        (1, 101),
        (2, 105),  # a call, with the one that ran beside it
        (3, 105),
        (4, 106),
        (5, 106),  # the end of the turn
        (6, 106),  # a message: what was before it
        (7, 108),  # a call that has no result
        (9, 108),
        (10, 110),
    ],
)
def test_a_fork_ends_with_its_unit(unit: int, ends: int | None) -> None:
    assert last_event(fed(EVENTS), unit, STORED) == ends


def test_what_is_not_stored_belongs_to_what_is_above_it() -> None:
    shown_events = [*EVENTS[:7], error("lost"), *EVENTS[7:8], error("again")]

    assert last_event(fed(shown_events), 5, STORED) == 106
    assert last_event(fed(shown_events), 8, STORED) == 107


def test_a_fork_at_an_error_that_ended_its_turn_has_it() -> None:
    refused = failure("No connection.")
    events = [user("one"), refused, error("on the way"), refused, respond("first", "r1"), user("two")]
    stored = [event for event in events if event["type"] != "error" or event is refused]
    ends = [last_event(fed(events), unit, list(enumerate(stored, 100))) for unit in range(5)]
    assert ends == [None, 101, 100, 102, 103]


@pytest.mark.parametrize(
    ("unit", "ends"),
    [
        (0, 100),  # the command, with its output
        (1, 100),  # the message after it: what was before
        (2, 102),
        (4, 103),
        (5, 103),  # the second message
        (6, 105),
    ],
)
def test_a_fork_after_the_users_commands_loses_no_turn(unit: int, ends: int) -> None:
    events = [
        user_command("git status"),
        user("one"),
        respond("first", "r1"),
        user_command("make"),
        user("two"),
        respond("second", "r2"),
    ]
    assert last_event(fed(events), unit, list(enumerate(events, 100))) == ends


async def confirm_fork(pilot: Pilot[Any], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ForkDialog))
    await pilot.press("enter")


@pytest.mark.parametrize("key", ["f", "e"])
async def test_a_text_that_begins_with_the_key_goes_to_the_prompt(project: Path, key: str) -> None:
    async with app_over(ScriptedAgent(project, [respond("Done.")])).run_test() as pilot:
        await send(pilot, "go")
        await finished(pilot)
        view, bridge = conversation_of(pilot), main_of(pilot).bridge
        before = bridge.conversation_id
        view.focus()
        view.go_to_unit(0)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkDialog))
        await pilot.press("i")
        await until(pilot, lambda: prompt_of(pilot).text == f"{key}i")
        await pilot.press("x")
        await until(pilot, lambda: prompt_of(pilot).text == f"{key}ix")
        assert bridge.conversation_id == before


@pytest.mark.exhaustive
async def test_f_goes_on_in_a_fork_up_to_the_block(project: Path) -> None:
    agent = Agent("offline", project=project, data=project.parent / "data", permissions="auto")
    async with at_work(agent) as pilot:
        view, bridge = conversation_of(pilot), main_of(pilot).bridge
        for text in ("list the files", "list the files again"):
            await send(pilot, text)
            await finished(pilot)
        heading = main_of(pilot).query_one(Header)
        await until(pilot, lambda: "List the files" in shown(heading))
        first = bridge.conversation_id
        whole = len(view.transcript.units)
        second = [index for index, unit in enumerate(view.transcript.units) if isinstance(unit, UserMessage)][
            1
        ]
        view.focus()
        view.go_to_unit(second - 1)

        await confirm_fork(pilot, "f")
        await until(pilot, lambda: bridge.conversation_id != first)
        await until(pilot, lambda: len(view.transcript.units) == second)
        assert "list the files again" not in shown(view)

        store = await agent.store()
        fork = await store.conversation(bridge.conversation_id or "")
        assert fork is not None
        assert fork.parent == first
        assert len(fed(await store.events(first or "")).units) == whole

        await until(pilot, lambda: "List the files   ⑂ fork  " in shown(heading))
        assert fork.forked_after == 1
        await send(pilot, "list the files a third time")
        await finished(pilot)
        await until(pilot, lambda: "list the files a third time   ⑂ fork of List the files" in shown(heading))
        fork = await store.conversation(fork.id)
        assert fork is not None
        assert (fork.title, fork.forked_after) == ("list the files a third time", None)
        assert len(fed(await store.events(first or "")).units) == whole

        # What was said is to be said differently in its fork.
        fork_id = bridge.conversation_id
        view.focus()
        view.go_to_unit(0)
        await confirm_fork(pilot, "f")
        await until(pilot, lambda: bridge.conversation_id != fork_id)
        await until(pilot, lambda: prompt_of(pilot).text == "list the files")
        assert prompt_of(pilot).has_focus
        assert not view.transcript.units
