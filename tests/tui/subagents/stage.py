"""The agents of a conversation on the screen: a model that delegates, keys pressed, and what is shown."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import AgentSettings, Permissions, Settings
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk
from cogency_tui.store.edit_records import FileChange
from cogency_tui.store.edits import Edits
from cogency_tui.store.requests import Frame
from cogency_tui.store.store import Store
from cogency_tui.tui.subagents.details import AgentFiles, AgentMessages, CostPane, PromptView
from cogency_tui.tui.subagents.screen import AgentsScreen
from cogency_tui.tui.subagents.tree import AgentList
from tests.agent.delegation import block, named
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, conversation_of, send, shown, until
from tests.tui.recall.past import date
from tests.tui.review.stage import answered
from tests.tui.screen_user import ScreenUser
from tests.tui.scripted import EPOCH, call, respond, result, user
from tests.tui.stored_past import blobs_of, record_request, version_of

AGENTS = {
    "reviewer": AgentSettings(instructions="Be strict."),
    "editor": AgentSettings(),
    "tester": AgentSettings(max_iterations=1),
}
DELEGATE = block(
    named("agent", "reviewer", task="Look at the price"), named("agent", "tester", task="Run the tests")
)
READ = block(("read", {"file": "src/app.py"}))
EDIT = block(("edit", {"file": "src/app.py", "old": "x = 1", "new": "x = 2"}))
REPLIES = (
    f"I delegate.{DELEGATE}",
    *(f"I read.{READ}", block(named("agent", "editor", task="Double it"))),
    *(EDIT, block(("write", {"file": "notes.md", "content": "one\ntwo\n"})), "It is doubled."),
    *("The price is **right** now.", READ, "All done."),
)
"""The first sub-agent delegates to a third, which changes two files; the second one fails."""


class HeldModel(ScriptedProvider):
    """A model whose answer number `held` waits for `go_on`; `asked` is set meanwhile."""

    def __init__(self, *replies: str, held: int) -> None:
        super().__init__(*replies, size=10_000)
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self._held = held

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        if len(self.sent) == self._held:
            self.asked.set()
            await self.go_on.wait()
        async for chunk in super().answer(messages):
            yield chunk


def delegating(
    project: Path, model: ScriptedProvider | None = None, permissions: Permissions = "auto"
) -> Agent:
    """An agent with sub-agents."""
    return Agent(
        model or ScriptedProvider(*REPLIES, size=10_000),
        project=project,
        data=project.parent / "data",
        permissions=permissions,
        mode="replay",
        settings=Settings(agents=AGENTS),
    )


class Watcher(ScreenUser[AgentsScreen]):
    """Presses keys on the agents screen, and reads it."""

    SCREEN = AgentsScreen
    GROUPS = ("agents",)

    @property
    def rows(self) -> AgentList:
        return self.screen.query_one(AgentList)

    @property
    def tree(self) -> list[str]:
        """The lines of the tree."""
        return [line.strip() for line in shown(self.rows).splitlines() if line.strip()]

    @property
    def messages(self) -> str:
        return shown(self.screen.query_one(AgentMessages))

    @property
    def prompt(self) -> str:
        return shown(self.screen.query_one(PromptView))

    @property
    def cost(self) -> str:
        return shown(self.screen.query_one(CostPane))

    @property
    def files(self) -> str:
        return shown(self.screen.query_one(AgentFiles))

    async def open(self) -> None:
        """Open it with its command."""
        await send(self.pilot, "/agents")
        await self.until(lambda: self.is_open and self.tree)
        await self.settled()


@asynccontextmanager
async def watching(
    agent: Agent, *, size: tuple[int, int] = (160, 45), id: str | None = None
) -> AsyncGenerator[Watcher]:
    """The agents of the conversation `id`, or of one turn of a new one."""
    id = id or await answered(agent, "Fix the price")
    async with app_over(agent, conversation_id=id).run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        watcher = Watcher(pilot)
        await watcher.open()
        yield watcher
    await agent.close()


_FRAME = Frame(
    (
        ("system prompt", "You are a coding agent.\n" * 3),
        ("tools", "read\nedit\n"),
        ("role", "You are the sub-agent reviewer of another agent.\nBe strict.\n"),
    ),
    *("", "xml", 30_000, 0),
)


async def make_agents(agent: Agent) -> str:
    """A conversation with sub-agents whose times, figures and files are always the same; its id."""
    past = _Past(await agent.store(), agent.project)
    root = await past.begin(
        *(user("Fix the price"), respond("I have it reviewed.", "r0", 1)),
        *(call("c1", "agent", at=2, name="reviewer", task="Look at the price of each order"),),
        *(call("c2", "agent", at=2, name="tester", task="Run the tests"),),
        *(call("c3", "agent", at=2, name="publisher", task="Publish it"),),
        result("c1", "agent", "answered after 2 calls", "It is right now.", duration=12.4, at=15),
        result(
            "c2", "agent", "tester did not finish: the limit of 2 cycles.", error=True, duration=3.1, at=16
        ),
        result("c3", "agent", "You declined.", state="declined", duration=0, at=17),
        respond("The price is **right** now.", "r1", 18),
    )
    reviewer = await past.begin(
        *(user("Look at the price of each order", 2), respond("I read first.", "r2", 3)),
        *(call("c4", "read", at=4, file="src/app.py"), result("c4", "read", content="x = 1", at=5)),
        call("c5", "agent", at=6, name="editor", task="Double it"),
        result("c5", "agent", "answered after 1 call", "Doubled.", duration=6.0, at=12),
        respond("It is **right** now: see `src/app.py`.", "r3", 14),
        caller=(root, "c1"),
    )
    await past.begin(user("Run the tests", 2.5), caller=(root, "c2"))
    editor = await past.begin(
        *(user("Double it", 6), call("c6", "edit", at=7, file="src/app.py", old="x = 1", new="x = 2")),
        *(result("c6", "edit", "1 replacement", at=8), respond("Doubled.", "r4", 12)),
        caller=(reviewer, "c5"),
        model="gpt-5-mini",
    )
    await past.change(editor, "c6")
    return root


async def make_chain(agent: Agent, depth: int) -> str:
    """A conversation whose sub-agent started one, and so on, with names and tasks that a terminal must not
    get as they are; its id."""
    past = _Past(await agent.store(), agent.project)
    ids = [await past.begin(user("Begin"), *_delegation(0))]
    for level in range(1, depth + 1):
        calls = _delegation(level) if level < depth else [respond("Done.", "last", 99)]
        ids.append(await past.begin(user("Go on"), *calls, caller=(ids[-1], f"c{level - 1}")))
    return ids[0]


def _delegation(level: int) -> list[Event]:
    id, name = f"c{level}", f"\x1b[31m審査員{level}"
    return [
        call(id, "agent", at=level, name=name, task="確認\u202eする\n" * 20),
        result(id, "agent", "answered", at=90, duration=60.0),
    ]


class _Past:
    """Makes conversations in a store."""

    def __init__(self, store: Store, project: Path) -> None:
        self._store = store
        self._project = project

    async def begin(
        self, *events: Event, caller: tuple[str, str] = ("", ""), model: str = "gpt-5.6-sol"
    ) -> str:
        """A conversation with these events and a request for each answer; that of a sub-agent of `caller`."""
        store, (parent, started_by) = self._store, caller
        made = await store.create_conversation(
            str(self._project),
            dialect="xml",
            provider="openai",
            model=model,
            parent=parent or None,
            call=started_by or None,
        )
        for event in events:
            number = await store.append(made.id, event)
            if event["type"] in ("user", "result"):
                figures: Measure = {"input": 2400, "cost": 0.02, "model": model}
                await record_request(store, made.id, number, _FRAME, figures)
        await date(store, made, events[0]["timestamp"])
        return made.id

    async def change(self, conversation: str, call_id: str) -> None:
        """Have a call of this conversation change a file."""
        database = self._store.database
        edits = Edits(database, lambda: EPOCH + 7.5)
        blobs = blobs_of(self._store)
        change = FileChange("src/app.py", version_of(blobs, b"x = 1\n"), version_of(blobs, b"x = 2\ny = 3\n"))
        await edits.add(await edits.origin(conversation), call_id, "edit", [change])
