"""The timeline of a conversation on the screen: keys pressed on it, and what it shows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.requests import Frame
from cogency_tui.tui.timeline.files_view import FileRows
from cogency_tui.tui.timeline.screen import ThenView, TimelineScreen
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView
from cogency_tui.tui.timeline.slider import FactLine
from tests.tui.driving import shown
from tests.tui.review.stage import going_on
from tests.tui.screen_user import ScreenUser
from tests.tui.scripted import EPOCH, call, respond, result, think, user
from tests.tui.stored_past import blobs_of, record_request, version_of

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
    edits, blobs = Edits(store.database, lambda: EPOCH + 5.5), blobs_of(store)
    for index, event in enumerate(SHOP):
        number = await store.append(made.id, event)
        if event["type"] == "call" and event["id"] != "c1":
            origin = await edits.origin(made.id)
            before, after = (ABSENT, b"# Retry\n") if event["id"] == "c3" else (b"x = 1\n", b"x = 2\n")
            old = before if isinstance(before, Version) else version_of(blobs, before)
            path = "notes.md" if event["id"] == "c3" else "src/app.py"
            change = FileChange(path, old, version_of(blobs, after))
            await edits.add(origin, event["id"], "edit", [change])
        if index in _ASKED:
            figures: Measure = {
                "input": 1200 * (index + 1),
                "cost": 0.01,
                "ttft": 0.4,
                "model": "gpt-5.6-sol",
            }
            asked = await record_request(store, made.id, number, FRAME, figures)
            await store.database.write(
                lambda connection, id=asked, at=event["timestamp"]: connection.execute(
                    "UPDATE requests SET timestamp = ? WHERE id = ?", (at, id)
                )
            )
            await store.database.write(
                lambda connection, at=event["timestamp"] + 0.5: connection.execute(
                    "UPDATE usage SET timestamp = ? WHERE id = (SELECT max(id) FROM usage)", (at,)
                )
            )
    (project / "src" / "app.py").write_text("x = 3\n")
    (project / "notes.md").write_text("# Retry\n")
    return made.id


@asynccontextmanager
async def travelling(
    agent: Agent, *queries: str, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator["Traveller"]:
    """The timeline after these turns."""
    async with going_on(agent, *queries, size=size) as pilot:
        traveller = Traveller(pilot)
        await traveller.open()
        yield traveller


class Traveller(ScreenUser[TimelineScreen]):
    """Presses keys on the timeline, and reads it."""

    SCREEN = TimelineScreen
    GROUPS = ("timeline",)

    @property
    def facts(self) -> str:
        return shown(self.screen.query_one(FactLine))

    @property
    def then(self) -> str:
        return shown(self.screen.query_one(ThenView))

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
        await self.until(lambda: self.is_open and "event" in self.facts)
        await self.settled()

    @property
    def works(self) -> bool:
        return super().works or (self.is_open and not self.screen.details.settled)


def here(project: Path, text: str) -> bool:
    """Whether the file of all these tests holds this now."""
    return (project / "src" / "app.py").read_text() == text
