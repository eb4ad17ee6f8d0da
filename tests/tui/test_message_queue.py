"""Messages that wait while the agent works: seen, changed, moved, removed, and given back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key
from textual.pilot import Pilot

from cogency_tui.errors import StoreError
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.message_queue import MessageQueue, given_back
from cogency_tui.tui.prompt.queue_list import QueueList
from tests.tui.driving import app_over, finished, main_of, prompt_of, send, shown, until
from tests.tui.scripted import ScriptedAgent, paused, respond


def queue_of(pilot: Pilot[Any]) -> list[str]:
    return [message.text for message in main_of(pilot).bridge.queue.messages]


def rows_of(pilot: Pilot[Any]) -> list[str]:
    listed = main_of(pilot).query_one(QueueList)
    return [line.strip() for line in shown(listed).splitlines()] if listed.display else []


@pytest.fixture
def agent(project: Path) -> ScriptedAgent:
    return ScriptedAgent(project, [paused, respond("ok")])


async def waiting(pilot: Pilot[Any], *messages: str) -> None:
    """Have the agent work, and `messages` wait."""
    await send(pilot, "go")
    for message in messages:
        await send(pilot, message)
    await until(pilot, lambda: len(rows_of(pilot)) == len(messages))


@pytest.mark.exhaustive
async def test_messages_that_wait_are_listed_walked_through_changed_and_sent_in_order(
    agent: ScriptedAgent,
) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "one", "two")
        assert [row.split()[:2] for row in rows_of(pilot)] == [["1", "one"], ["2", "two"]]

        # Up brings a message back, and Enter puts it in its place.
        prompt_of(pilot).insert("draft")
        await pilot.press("up", "up")
        assert prompt_of(pilot).text == "one"
        await until(pilot, lambda: "editing below" in rows_of(pilot)[0])
        await pilot.press("!", "enter")
        assert queue_of(pilot) == ["one!", "two"]
        assert prompt_of(pilot).text == "draft"

        # A walk keeps what was changed, and ends at the draft.
        await pilot.press("up", "x", "up", "y", "down", "down")
        assert prompt_of(pilot).text == "draft"
        assert queue_of(pilot) == ["one!y", "twox"]

        agent.gate.set()
        await until(pilot, lambda: agent.asked == ["go", "one!y", "twox"])
        await finished(pilot)
        assert rows_of(pilot) == []


@pytest.mark.exhaustive
async def test_a_message_that_is_edited_is_not_sent_before_it_is_put_back(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:

        async def work_while_waiting(*messages: str) -> None:
            await finished(pilot)
            agent.gate.clear()
            agent.asked.clear()
            await waiting(pilot, *messages)

        await work_while_waiting("one", "two")
        await pilot.press("up", "up")
        agent.gate.set()
        await finished(pilot)
        assert agent.asked == ["go"]
        await pilot.press("!", "enter")
        await until(pilot, lambda: agent.asked == ["go", "one!", "two"])

        # A turn that ends during an edit leaves the edit with its message.
        await work_while_waiting("one", "two", "three")
        await pilot.press("up", "up")
        agent.gate.set()
        await until(pilot, lambda: queue_of(pilot) == ["two", "three"])
        await finished(pilot)
        await pilot.press("!", "enter")
        await until(pilot, lambda: agent.asked == ["go", "one", "two!", "three"])

        # A walk after the turn goes to the next message, though the first is sent.
        await work_while_waiting("one", "two", "three")
        await pilot.press("up", "up", "up")
        agent.gate.set()
        await finished(pilot)
        await pilot.press("x", "down")
        assert prompt_of(pilot).text == "two"
        await until(pilot, lambda: agent.asked == ["go", "onex"])
        await pilot.press("!", "enter")
        await until(pilot, lambda: agent.asked == ["go", "onex", "two!", "three"])


@pytest.mark.exhaustive
async def test_the_message_that_is_edited_is_moved_removed_emptied_or_left(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "one", "two", "three")
        await pilot.press("up", "alt+up", "alt+up", "alt+up")
        assert queue_of(pilot) == ["three", "one", "two"]
        await pilot.press("alt+down")
        assert queue_of(pilot) == ["one", "three", "two"]
        await pilot.press("alt+x")
        assert queue_of(pilot) == ["one", "two"]
        assert prompt_of(pilot).text == ""

        # Escape leaves it as it was, and interrupts nothing.
        await pilot.press("up", "x", "escape")
        assert queue_of(pilot) == ["one", "two"]
        assert prompt_of(pilot).text == ""
        assert main_of(pilot).bridge.working

        row = shown(main_of(pilot).query_one(QueueList)).splitlines()[1]
        await pilot.click(QueueList, offset=(row.index("↑"), 1))
        await until(pilot, lambda: queue_of(pilot) == ["two", "one"])
        await pilot.click(QueueList, offset=(row.index("↓"), 0))
        await until(pilot, lambda: queue_of(pilot) == ["one", "two"])
        await pilot.click(QueueList, offset=(row.index("✕"), 0))
        await until(pilot, lambda: queue_of(pilot) == ["two"])
        await pilot.click(QueueList, offset=(6, 0))
        await until(pilot, lambda: prompt_of(pilot).text == "two")
        await pilot.press("escape")

        # An emptied message goes away, and a walk from it to the one after it.
        await send(pilot, "four")
        await send(pilot, "five")
        await pilot.press("up", "up", "up", "ctrl+u", "down")
        assert prompt_of(pilot).text == "four"
        assert queue_of(pilot) == ["four", "five"]
        await pilot.press("ctrl+u", "enter")
        assert queue_of(pilot) == ["five"]


async def test_escape_interrupts_and_gives_the_queue_back(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await waiting(pilot, "one", "!make", "two")
        prompt_of(pilot).insert("draft")
        await pilot.press("escape")
        await finished(pilot)
        assert prompt_of(pilot).text == "one\n\ntwo\n\ndraft"
        assert rows_of(pilot) == []
        assert agent.asked == ["go"]
        prompt_of(pilot).replace_text("")
        await pilot.press("up")
        assert prompt_of(pilot).text == "!make"


async def test_the_first_message_is_offered_to_the_running_answer(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "!make", "one")
        assert agent.steered == []
        await pilot.press("up", "up", "alt+x")
        await until(pilot, lambda: queue_of(pilot) == ["one"])
        assert agent.steered == ["one"]
        # While it is edited, it is not, nor if it is to wait for the turn.
        await pilot.press("up", "alt+t", "!", "enter")
        assert queue_of(pilot) == ["one!"]
        assert agent.steered == ["one"]


async def test_the_history_has_an_edited_message_as_it_is_sent(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await send(pilot, "first")
        await send(pilot, "second")
        await pilot.press("up", "up")
        await pilot.press("!")
        await pilot.press("down")
        await pilot.press("?")
        await pilot.press("enter")
        entries = [each.text for each in prompt_of(pilot).entries]
        assert entries == ["go", "first", "second", "first!", "second?"]


async def test_an_interrupt_gives_back_the_edited_message_in_its_place(agent: ScriptedAgent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "one", "two", "three")
        prompt_of(pilot).insert("draft")
        await pilot.press("up", "up", "!", "ctrl+c")
        await finished(pilot)
        assert prompt_of(pilot).text == "one\n\ntwo!\n\nthree\n\ndraft"


@pytest.mark.parametrize("key", ["ctrl+c", "escape"])
async def test_an_interrupt_takes_effect_after_the_message_that_was_sent_before_it(
    agent: ScriptedAgent, key: str
) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "one")
        for typed in ("t", "w", "o", "enter", key):
            # Without waiting for the key before.
            pilot.app.post_message(Key(typed, typed if len(typed) == 1 else None))
        await until(pilot, lambda: prompt_of(pilot).text == "one\n\ntwo")
        await finished(pilot)
        assert agent.asked == ["go"]


async def test_messages_that_cannot_be_sent_return_in_order(project: Path) -> None:
    agent = ScriptedAgent(project, [paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await waiting(pilot, "one", "two", "three")

        async def fail(*_arguments: object, **_named: object) -> None:
            raise StoreError("The disk is full.")

        agent.run_turn = fail
        agent.gate.set()
        await finished(pilot)
        await until(pilot, lambda: prompt_of(pilot).text == "one\n\ntwo\n\nthree")


def test_a_command_never_takes_a_message_with_it() -> None:
    text, commands = given_back([Written("!rm x"), Written("and then")], Written("!ls"))
    assert text == Written("and then", {})
    assert [command.text for command in commands] == ["!rm x", "!ls"]
    assert given_back([Written("!a")], Written("!b")) == (Written("!b"), [Written("!a")])
    assert given_back([Written("!a"), Written("!b")], Written("")) == (Written("!b"), [Written("!a")])


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "take", "hold", "hold_instead", "release", "remove", "up", "down"]),
        st.integers(0, 4),
    ),
    max_size=40,
)


@given(ACTS)
def test_nothing_is_lost_or_sent_twice_whatever_is_done(acts: list[tuple[str, int]]) -> None:
    queue = MessageQueue(lambda: None)
    added = 0
    gone = list[Written]()
    held: Written | None = None
    """The message that is being edited: whatever happens to others, the edit stays with it."""
    for act, place in acts:
        match act:
            case "add":
                queue.add(Written(f"m{added}"))
                added += 1
            case "take":
                first = queue.messages[:1]
                taken = queue.take()
                assert taken is None or (taken,) == first
                gone += [taken] if taken else []
            case "hold" if place < len(queue) and held is None:
                held = queue.hold(place)
            case "hold_instead" if held is not None:
                others = [*queue.messages, None, None, None, None, None]
                assert queue.hold_instead(place, held) == others[place]
                held = others[place]
            case "release" if held is not None:
                queue.release(held)
                held = None
            case "remove" if place < len(queue):
                gone.append(queue.messages[place])
                held = None if queue.held == place else held
                queue.remove(place)
            case "up" | "down":
                queue.move(place, -1 if act == "up" else 1)
            case _:
                continue
        assert (None if queue.held is None else queue.messages[queue.held]) == held
        left = sorted(message.text for message in (*gone, *queue.messages))
        assert left == sorted(f"m{number}" for number in range(added))
