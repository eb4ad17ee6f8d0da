"""A past: conversations in a real store, each with what is to be found in it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.preview import PreviewPane, PreviewView
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.recall.search_bar import SearchField
from cogency_tui.tui.terminal.title_and_notifications import State
from tests.tui.driving import app_over, opened, shown, until
from tests.tui.scripted import EPOCH, call, respond, result, think, user

DAY = 86_400.0


def agent_in(project: Path) -> Agent:
    """A real agent, with the offline model, and a store beside the project."""
    return Agent("offline", project=project, data=project.parent / "data", permissions="auto")


async def begin(
    store: Store, project: Path, events: Sequence[Event], *, days: float = 0.0, cost: float = 0.0, **more: Any
) -> StoredConversation:
    """A conversation that was worked on so many days ago; its model cost so much."""
    made = await store.create_conversation(
        str(project), dialect="xml", provider="openai", model="gpt-5.6-sol", **more
    )
    for each in events:
        event: Any = {**each, "timestamp": each["timestamp"] - days * DAY}
        await store.append(made.id, event)
    if cost:
        await store.record_usage(made.id, {"input": 12_400, "output": 800, "cost": cost})
    await date(store, made, EPOCH - days * DAY)
    found = await store.conversation(made.id)
    assert found is not None
    return found


async def date(store: Store, conversation: StoredConversation, moment: float) -> None:
    """Have a conversation be from then: the store dates it by the clock of the machine."""
    sql = "UPDATE conversations SET created = ?, updated = ? WHERE id = ?"
    await store.database.write(lambda connection: connection.execute(sql, (moment, moment, conversation.id)))


def flaky_test() -> list[Event]:
    """A turn with a thought, calls and an answer that is long enough to scroll."""
    output = "\n".join(f"tests/test_checkout.py line {number}" for number in range(30))
    return [
        user("Fix the flaky checkout test"),
        think("The gateway may answer late: a retry hides that.", "t1"),
        call("c1", "read", path="src/checkout/retry.py"),
        result("c1", "read", content="for attempt in range(3):\n    sleep(INTERVAL)"),
        call("c2", "shell", command="pytest -x tests"),
        result("c2", "shell", "failed", f"{output}\nE   the needle in the output", error=True),
        respond(
            "The **retry** loop sleeps before it checks.\n\n"
            + "\n\n".join(f"Paragraph {number} of the answer." for number in range(12))
            + "\n\nSo a fast answer is only seen one retry later.\n\n```python\nfor attempt in range(3):\n```",
            "r1",
        ),
        user("and now?"),
        respond("It passes: 3 runs, no failure.", "r2"),
    ]


def small(title: str, answer: str = "Done.") -> list[Event]:
    """One turn."""
    return [user(title), respond(answer, "r1")]


async def usual(agent: Agent) -> dict[str, StoredConversation]:
    """Some weeks of work in two projects, with forks."""
    store, project = await agent.store(), agent.project
    other = project.with_name("blog")
    made = {
        "old": await begin(store, project, small("Upgrade httpx", "Nothing to retry."), days=60, cost=1.2),
        "week": await begin(
            store, project, small("Add pagination to orders"), days=4, cost=0.09, branch="pages"
        ),
        "blog": await begin(store, other, small("Write about the retry loop"), days=2),
        "yesterday": await begin(store, project, small("Rename the cart model"), days=1, branch="main"),
    }
    made["flaky"] = await begin(store, project, flaky_test(), cost=0.31, branch="main")
    return made


async def fork(
    agent: Agent, of: StoredConversation, through: int | None, asked: str, answer: str
) -> StoredConversation:
    """A fork in which it went on in another way, one second after what it comes from."""
    store = await agent.store()
    made = await agent.recall.fork(of.id, through)
    for event in (user(asked, 1.0), respond(answer, f"f-{asked}", 2.0)):
        await store.append(made.id, event)
    await store.record_usage(made.id, {"input": 900, "output": 100, "cost": 0.02})
    await date(store, made, EPOCH + 2)
    found = await store.conversation(made.id)
    assert found is not None
    return found


class NothingOpen:
    """The open conversations where there are none."""

    def states(self) -> dict[str, State]:
        return {}

    def is_shown(self, conversation_id: str) -> bool:
        del conversation_id
        return False

    def close(self, conversation_id: str) -> None:
        raise AssertionError(conversation_id)


@asynccontextmanager
async def recalled(
    agent: Agent, size: tuple[int, int] = (160, 45), query: str = "", *, close: bool = True
) -> AsyncGenerator[Pilot[Any]]:
    """The app with the recall screen opened, as soon as it shows what it found."""
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        await open_recall(pilot, agent, query)
        yield pilot
    if close:
        await agent.close()


async def open_recall(pilot: Pilot[Any], agent: Agent, query: str = "") -> None:
    """Open the screen by its key, or by its command with what is to be looked for."""
    if query:
        await pilot.app.screen.run_action(f"screen.command('recall', {query!r})")
    else:
        await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
    await settled(pilot)


async def search(pilot: Pilot[Any], text: str) -> None:
    """Put `text` into the field, and wait for what is found."""
    screen_of(pilot).query_one(SearchField).value = text
    await settled(pilot)


async def select(pilot: Pilot[Any], conversation: StoredConversation) -> None:
    """Go down the list to this conversation."""
    while list_of(pilot).key != conversation.id or not list_of(pilot).has_focus:
        before = list_of(pilot).selected, list_of(pilot).has_focus
        await pilot.press("down")
        assert (list_of(pilot).selected, list_of(pilot).has_focus) != before
    await settled(pilot)


async def settled(pilot: Pilot[Any]) -> None:
    """Return when all that was asked for has been found and is shown."""
    await pilot.pause()
    while _busy(pilot):
        await until(pilot, lambda: not _busy(pilot))
        await pilot.pause()


def _busy(pilot: Pilot[Any]) -> bool:
    workers: Any = pilot.app.workers
    return any(each.group.startswith("recall") and not each.is_finished for each in workers)


def is_open(pilot: Pilot[Any]) -> bool:
    """Whether the recall screen is what is seen."""
    return isinstance(pilot.app.screen, RecallScreen)


def screen_of(pilot: Pilot[Any]) -> RecallScreen:
    app: Any = pilot.app
    return next(each for each in reversed(app.screen_stack) if isinstance(each, RecallScreen))


def list_of(pilot: Pilot[Any]) -> RecallList:
    return screen_of(pilot).query_one(RecallList)


def preview_of(pilot: Pilot[Any]) -> PreviewView:
    return screen_of(pilot).query_one(PreviewView)


def listed(pilot: Pilot[Any]) -> str:
    return shown(list_of(pilot))


def previewed(pilot: Pilot[Any]) -> str:
    return shown(preview_of(pilot))


def head(pilot: Pilot[Any]) -> str:
    """What is said above the list, and above the preview."""
    screen = screen_of(pilot)
    pane = screen.query_one(PreviewPane)
    names = [
        "#recall-title",
        "#recall-chips",
        *(["#recall-preview-title", "#recall-facts"] if pane.display else []),
    ]
    return "\n".join(shown(screen.query_one(name)) for name in names)
