"""The timeline of a conversation on the screen: keys pressed on it, and what it shows."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.requests import Frame, Requests
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.tab_bar import TabBar
from cogency_tui.tui.timeline.files_view import FileRows
from cogency_tui.tui.timeline.screen import ThenView, TimelineScreen
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView
from cogency_tui.tui.timeline.slider import FactLine
from tests.tui.driving import shown, until
from tests.tui.review.stage import going_on
from tests.tui.scripted import EPOCH, call, respond, result, think, user

FRAME = Frame(
    (("system prompt", "You are a coding agent.\n" * 3), ("tools", "read\nedit\n")), "", "xml", 30_000, 0
)

SHOP: list[Event] = [
    user("Fix the flaky checkout test"),
    think("The gateway may answer late.", "t1", 1),
    call("c1", "read", at=2, file="src/app.py"),
    result("c1", "read", content="x = 1", at=3),
    call("c2", "edit", at=5, file="src/app.py", old="x = 1", new="x = 2"),
    result("c2", "edit", "1 replacement", at=6),
    respond("The **retry** loop slept before it checked. It does not any more.", "r1", 8),
    user("and a note, please", 60),
    call("c3", "write", at=62, file="notes.md", content="# Retry\n"),
    result("c3", "write", "Wrote 8 bytes", at=63),
    respond("It is in `notes.md`.", "r2", 65),
]
"""Two turns, of three cycles and two; the requests go out after these events."""

_ASKED = (0, 3, 5, 7, 9)


async def make_past(agent: Agent) -> str:
    """A conversation whose times, files and figures are always the same; its id."""
    store, project = await agent.store(), agent.project
    made = await store.create_conversation(
        str(project), dialect="xml", provider="openai", model="gpt-5.6-sol"
    )
    requests, edits = Requests(store.database), Edits(store.database, lambda: EPOCH + 5.5)
    blobs = Blobs(store.database.path.parent / "blobs", limit=1 << 20, quota=1 << 30)
    for index, event in enumerate(SHOP):
        number = await store.append(made.id, event)
        if event["type"] == "call" and event["id"] != "c1":
            origin = await edits.origin(made.id)
            before, after = (ABSENT, b"# Retry\n") if event["id"] == "c3" else (b"x = 1\n", b"x = 2\n")
            old = before if isinstance(before, Version) else kept(blobs, before)
            path = "notes.md" if event["id"] == "c3" else "src/app.py"
            change = FileChange(path, old, kept(blobs, after))
            await edits.add(origin, event["id"], "edit", [change])
        if index in _ASKED:
            asked = await requests.add(made.id, 0, number, FRAME, "")
            await requests.settle(asked, "replay", 1)
            await store.database.write(
                lambda connection, id=asked, at=event["timestamp"]: connection.execute(
                    "UPDATE requests SET timestamp = ? WHERE id = ?", (at, id)
                )
            )
            step: Measure = {"input": 1200 * (index + 1), "output": 90, "duration": 2.0, "cost": 0.01}
            step |= {"ttft": 0.4, "provider": "openai", "model": "gpt-5.6-sol", "mode": "replay"}
            await store.record_usage(made.id, step)
            await store.database.write(
                lambda connection, at=event["timestamp"] + 0.5: connection.execute(
                    "UPDATE usage SET timestamp = ? WHERE id = (SELECT max(id) FROM usage)", (at,)
                )
            )
    (project / "src" / "app.py").write_text("x = 3\n")
    (project / "notes.md").write_text("# Retry\n")
    return made.id


def kept(blobs: Blobs, data: bytes) -> Version:
    """A version of a file whose content is kept."""
    stored = blobs.put_bytes(data)
    return Version("file", stored.digest, stored.size, 0o644, stored.stored)


@asynccontextmanager
async def travelling(
    agent: Agent, *queries: str, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator["Traveller"]:
    """The timeline after these turns."""
    async with going_on(agent, *queries, size=size) as pilot:
        traveller = Traveller(pilot)
        await traveller.open()
        yield traveller


class Traveller:
    """Presses keys on the timeline, and reads it."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot

    @property
    def app(self) -> CogencyApp:
        app: Any = self.pilot.app
        return app

    @property
    def screen(self) -> TimelineScreen:
        return next(each for each in self.app.screen_stack if isinstance(each, TimelineScreen))

    @property
    def facts(self) -> str:
        return shown(self.screen.query_one(FactLine))

    @property
    def then(self) -> str:
        return shown(self.screen.query_one(ThenView))

    @property
    def detail(self) -> str:
        return shown(self.screen.query_one(TabBar))

    @property
    def event(self) -> str:
        return shown(self.screen.query_one("#timeline-event"))

    @property
    def messages(self) -> str:
        return shown(self.screen.query_one(ExchangeView))

    @property
    def files(self) -> str:
        return shown(self.screen.query_one(FileRows))

    @property
    def text(self) -> str:
        return shown(self.screen.query_one("#timeline-file-text"))

    async def open(self) -> None:
        """Open it with its key."""
        await self.pilot.press("ctrl+t")
        await self.until(lambda: isinstance(self.app.screen, TimelineScreen))
        await self.until(lambda: "event" in self.facts)
        await self.settled()

    async def press(self, *keys: str) -> None:
        """Press keys, and wait after each until what it leads to is shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.settled()

    async def settled(self) -> None:
        """Return when nothing is read or is about to be."""
        await self.pilot.pause()
        while self._works:
            await self.until(lambda: not self._works)
            await self.pilot.pause()

    @property
    def _works(self) -> bool:
        workers: Any = self.app.workers
        if any(each.group.startswith("timeline") and not each.is_finished for each in workers):
            return True
        return isinstance(self.app.screen, TimelineScreen) and not self.screen.details.settled

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)


def here(project: Path, text: str) -> bool:
    """Whether the file of all these tests holds this now."""
    return (project / "src" / "app.py").read_text() == text
