"""A scripted agent: the engine's interface, events from a list, so that the interface is tested alone."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Sequence
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.image_mentions import image_mentions
from cogency_tui.agent.permissions.gate import Ask, Inquire
from cogency_tui.agent.project.instructions import Instructions
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import Trust
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.review.model import ChangedLines, Overview, TurnLines
from cogency_tui.agent.subagent_progress import progress_payload
from cogency_tui.config.layers import Configured, configure
from cogency_tui.config.schema import DialectChoice, EffortChoice, Mode, Permissions, Settings
from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import (
    CallState,
    ErrorPayload,
    Event,
    Image,
    Measure,
    PlannedStep,
    PlanState,
    StepState,
)
from cogency_tui.protocol.events import Step as StepFields
from cogency_tui.protocol.plan import PLAN_GLYPHS, describe_plan
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.store import StoredConversation
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.images import sendable
from cogency_tui.workspace.paths import Workspace

EPOCH = 1_790_000_000.0


_NUMBERS = count()

Inner: TypeAlias = tuple[str, str, StepState, str]
"""A call within a call: the tool, the subject, the state, and the outcome."""


def user(text: str, at: float = 0.0, *, images: Sequence[Image] = ()) -> Event:
    event: Event = {"type": "user", "timestamp": EPOCH + at, "content": text}
    if images:
        event["images"] = [*images]
    return event


def image(name: str = "shot.png", width: int = 1200, height: int = 800, size: int = 34_200) -> Image:
    """An image whose content is nowhere."""
    digest = sha256(f"{name}{width}{height}".encode()).hexdigest()
    return Image(name=name, digest=digest, media_type="image/png", width=width, height=height, size=size)


def user_command(
    command: str,
    outcome: str = "exit 0 after 0.1 s",
    output: str = "",
    *,
    state: CallState = "done",
    duration: float = 0.1,
    at: float = 0.0,
) -> Event:
    return {
        "type": "user",
        "timestamp": EPOCH + at,
        "content": f"! {command}",
        "ran": {
            "command": command,
            "state": state,
            "outcome": outcome,
            "output": output,
            "duration": duration,
        },
    }


def think(text: str, id: str = "t1", at: float = 0.0, *, interrupted: bool = False) -> Event:
    event: Event = {"type": "think", "timestamp": EPOCH + at, "id": id, "content": text}
    if interrupted:
        event["interrupted"] = True
    return event


def respond(text: str, id: str = "r1", at: float = 0.0) -> Event:
    return {"type": "respond", "timestamp": EPOCH + at, "id": id, "content": text}


def call(id: str, name: str, /, *, partial: bool = False, at: float = 0.0, **args: Any) -> Event:
    content = json.dumps({"name": name, "args": args} if name else {"args": args})
    event: Event = {"type": "call", "timestamp": EPOCH + at, "id": id, "content": content}
    if partial:
        event["partial"] = True
    return event


def started(id: str, tool: str, at: float = 0.0) -> Event:
    return output(id, tool, "", at)


def output(id: str, tool: str, text: str, at: float = 0.0) -> Event:
    payload: Any = {"outcome": "running", "content": text, "error": False, "state": "running"}
    timestamp = EPOCH + at
    return {
        "type": "result",
        "timestamp": timestamp,
        "id": id,
        "tool": tool,
        "duration": 0.0,
        "payload": payload,
        "partial": True,
    }


def steps(id: str, tool: str, *calls: Inner) -> Event:
    """The progress of a call."""
    found: list[StepFields] = []
    for name, subject, state, outcome in calls:
        within = f"{id}.{next(_NUMBERS)}"
        found.append({"call": within, "state": "running", "tool": name, "subject": subject, "outcome": ""})
        if state != "running":
            found.append({"call": within, "state": state, "tool": name, "subject": "", "outcome": outcome})
    event = output(id, tool, "")
    assert event["type"] == "result"
    event["payload"] = progress_payload(found)
    return event


def result(
    id: str,
    tool: str,
    outcome: str = "done",
    content: Any = "",
    *,
    error: bool = False,
    state: CallState | None = None,
    duration: float = 0.012,
    at: float = 0.0,
    images: Sequence[Image] = (),
) -> Event:
    state = state or ("failed" if error else "done")
    payload: Any = {"outcome": outcome, "content": content, "error": state != "done", "state": state}
    if images:
        payload["images"] = [*images]
    timestamp = EPOCH + at
    return {
        "type": "result",
        "timestamp": timestamp,
        "id": id,
        "tool": tool,
        "duration": duration,
        "payload": payload,
    }


def plan(id: str, *steps: str, at: float = 0.0) -> list[Event]:
    """An update of the plan: steps with their glyphs (`✓ Read`, `▸ Write`, `○ Test`)."""
    states: dict[str, PlanState] = {glyph: state for state, glyph in PLAN_GLYPHS.items()}
    planned: list[PlannedStep] = [{"text": each[2:], "state": states[each[0]]} for each in steps]
    ended = result(id, "plan", describe_plan(planned), None, at=at)
    assert ended["type"] == "result"
    ended["payload"]["plan"] = planned
    return [call(id, "plan", at=at, steps=planned), ended]


def metric(step: Measure, total: Measure) -> Event:
    return {"type": "metric", "timestamp": EPOCH, "step": step, "total": total}


def error(text: str, hint: str = "") -> Event:
    return {"type": "error", "timestamp": EPOCH, "payload": {"error": text, "hint": hint}}


def failure(text: str, hint: str = "", kind: str = "network", at: float = 0.0) -> Event:
    """The error that ended a turn, as it is stored."""
    payload: ErrorPayload = {"error": text, "hint": hint, "failure": kind}
    return {"type": "error", "timestamp": EPOCH + at, "payload": payload}


def notice(text: str, retry: float | None = None, at: float = 0.0, *, attempt: int = 2) -> Event:
    payload: ErrorPayload = {"error": text, "notice": True}
    if retry is not None:
        payload = {**payload, "retry": retry, "attempt": attempt, "attempts": 5}
    return {"type": "error", "timestamp": EPOCH + at, "payload": payload}


def execute() -> Event:
    return {"type": "execute", "timestamp": EPOCH}


def end() -> Event:
    return {"type": "end", "timestamp": EPOCH}


def interrupt() -> Event:
    return {"type": "interrupt", "timestamp": EPOCH}


Step: TypeAlias = Event | Callable[["ScriptedAgent"], Coroutine[Any, Any, None]]
"""An event, or a coroutine function that is awaited (to wait, or to ask) before the next one."""


@dataclass
class ScriptedProvider:
    name: str = "openai"
    model: str = "gpt-5.6-sol"
    facts: ModelFacts = field(default_factory=lambda: ModelFacts(context_size=200_000))
    resumes: bool = True
    native: bool = False


@dataclass
class NoDatabase:
    """Has no rows of anything. Beside `path` are the marks of what is open."""

    path: Path = field(default_factory=lambda: Path.home() / "data" / "cogency.db")
    read_only: bool = False

    async def read(self, work: Any) -> list[Any]:
        return []


@dataclass
class ScriptedStore:
    past: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    listed: list[StoredConversation] = field(default_factory=list[StoredConversation])
    database: NoDatabase = field(default_factory=NoDatabase)
    notices: list[str] = field(default_factory=list[str])

    async def conversations(
        self, project: str | None = None, *, limit: int, before: StoredConversation | None = None
    ) -> list[StoredConversation]:
        return self.listed[:limit]

    async def count(self, project: str | None = None) -> int:
        return len(self.listed)

    async def conversation(self, id: str) -> StoredConversation | None:
        return next((each for each in self.listed if each.id == id), None)

    async def recover(self, conversation_id: str) -> list[Event]:
        return []

    async def events(self, conversation_id: str) -> list[Event]:
        return self.past[conversation_id]

    async def numbered_events(self, conversation_id: str, after: int = 0) -> list[tuple[int, Event]]:
        return list(enumerate(self.past[conversation_id], 1))[after:]

    async def event_pages(
        self, conversation_id: str, after: int = 0
    ) -> AsyncGenerator[list[tuple[int, Event]]]:
        yield await self.numbered_events(conversation_id, after)

    async def delegated(self, parent: str) -> list[StoredConversation]:
        return []

    async def usage(self, conversation_id: str) -> Measure:
        return {"input": 1200, "output": 300}


class NothingToReview:
    """The review of a conversation in which nothing was changed."""

    async def overview(self, by: str = "turn") -> Overview:
        return Overview((), {}, can_undo=False, can_redo=False)

    async def lines_of_last_turn(self) -> tuple[int, TurnLines]:
        return 1, TurnLines("", {})

    async def net_lines(self) -> dict[str, LineCounts]:
        return {}

    async def unsent_comments(self) -> int:
        return 0

    async def changed_lines(self) -> ChangedLines:
        return ChangedLines({}, {})


class NoProfile:
    """Nothing is known of the person, and nobody asks."""

    async def offers(self, conversation_id: str) -> bool:
        return False


class ScriptedAgent:
    """Plays one script a turn, over and over when there are more turns than scripts. A
    turn ends after figures if a message waits."""

    def __init__(self, project: Path, *scripts: Sequence[Step], settings: Settings | None = None) -> None:
        self.settings = settings or Settings(provider="openai")
        self.configured = Configured(self.settings)
        self.mode: Mode = "auto"
        self.dialect: DialectChoice | None = None
        self.effort: EffortChoice = "auto"
        self.permissions: Permissions = "ask"
        self.ask: Ask | None = None
        self.inquire: Inquire | None = None
        self.provider = ScriptedProvider()
        self.workspace = Workspace(project)
        self.data = project.with_name("data")
        self.past = ScriptedStore()
        self.sandbox = "not sandboxed: switched off"
        self.asked: list[str] = []
        self.steered: list[str] = []
        """The messages that were offered to running answers."""
        self.attached: list[list[Image]] = []
        """The images of each message."""
        self.contents: dict[str, bytes] = {}
        """Those of images, by digest."""
        self.answers: list[Any] = []
        self.closed = False
        self.profile = NoProfile()
        self.background: Any = None
        self.expires: float | None = None
        self.recall = Recall(self.store, str(project))  # pyright: ignore[reportArgumentType]
        self.project_settings = ProjectSettings(
            Trust(project.with_name("trusted.toml")),
            self.workspace.root,
            lambda: self.settings,
            project.with_name("config"),
        )
        self.gate = asyncio.Event()
        """Scripts wait for it with `paused`."""
        self._scripts = list(scripts)
        self._interrupted = asyncio.Event()

    def running_hook(self, conversation_id: str | None) -> str:
        return ""

    def session_expires(self, conversation_id: str | None) -> float | None:
        return self.expires

    def allows_edits(self, conversation_id: str | None, *, in_turn: bool) -> bool:
        return False

    async def approve_by_mode(self, conversation_id: str | None) -> int:
        return 0

    async def files_changed(self, conversation_id: str | None) -> None:
        return

    @property
    def project(self) -> Path:
        return self.workspace.root

    @property
    def home(self) -> "ScriptedAgent":
        return self

    @property
    def rerun_of(self) -> None:
        return None

    @property
    def rerun_turn(self) -> int:
        return 0

    @property
    def is_worktree_removed(self) -> bool:
        return False

    @property
    def worktree(self) -> str:
        return ""

    @property
    def lasting(self) -> bool:
        return False

    def is_of_other_project(self, _conversation: object) -> bool:
        return False

    def root_of(self, project: str) -> Path | None:
        del project
        return None

    def instructions(self, conversation_id: str | None) -> Instructions:
        return Instructions()

    def reload(self) -> None:
        """Read the user's file, which then replaces the given settings."""
        self.configured = configure()
        self.settings = self.configured.settings

    async def open(self) -> None:
        return

    async def close(self) -> None:
        self.closed = True
        await self.recall.close()

    async def store(self) -> ScriptedStore:
        return self.past

    def review(self, conversation_id: str) -> NothingToReview:
        return NothingToReview()

    def refuses(self, effort: EffortChoice) -> bool:
        return False

    def begin_choices(self) -> None:
        pass

    async def resume_choices(self, conversation_id: str) -> str:
        return ""

    async def store_choices(self, conversation_id: str) -> None:
        pass

    def interrupt(self, conversation_id: str | None = None) -> None:
        self._interrupted.set()

    def beside(self) -> "ScriptedAgent":
        other = copy(self)
        other.asked = []
        other._interrupted = asyncio.Event()
        return other

    @property
    def in_project(self) -> "ScriptedAgent":
        return self

    async def leave(self, conversation_id: str | None) -> None:
        self._interrupted.set()

    def steer(self, conversation_id: str, query: str) -> None:
        self.steered.append(query)

    async def retry_turn(
        self, queue: EventQueue, *, conversation_id: str, message_waits: Callable[[], bool] = lambda: False
    ) -> None:
        await self._run("", queue, message_waits)

    async def add_image(self, content: bytes, name: str) -> Image:
        found = sendable(content, name)
        digest = sha256(found.content).hexdigest()
        self.contents[digest] = found.content
        return {
            "name": name,
            "digest": digest,
            "media_type": found.media_type,
            "width": found.width,
            "height": found.height,
            "size": len(found.content),
        }

    async def read_mentioned(self, text: str) -> dict[str, Image]:
        return {
            mention: await self.add_image((self.project / path).read_bytes(), path)
            for mention, path in image_mentions(text).items()
            if (self.project / path).is_file()
        }

    async def image_content(self, image: Image) -> bytes:
        if image["digest"] not in self.contents:
            raise StoreError("Stored file content is missing.", "It cannot be restored.")
        return self.contents[image["digest"]]

    async def run_turn(
        self,
        query: str,
        queue: EventQueue,
        *,
        conversation_id: str,
        typed: str = "",
        images: Sequence[Image] = (),
        attached: Collection[str] = (),
        message_waits: Callable[[], bool] = lambda: False,
    ) -> None:
        self.attached.append([*images])
        queue.put(user(query, images=images))
        await self._run(query, queue, message_waits)

    async def _run(self, query: str, queue: EventQueue, message_waits: Callable[[], bool]) -> None:
        self._interrupted.clear()
        script: Sequence[Step] = self._scripts[len(self.asked) % len(self._scripts)] if self._scripts else ()
        self.asked.append(query)
        for step in script:
            if callable(step):
                work = asyncio.ensure_future(step(self))
                stop = asyncio.ensure_future(self._interrupted.wait())
                await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
                stop.cancel()
                if work.done():
                    work.result()
                work.cancel()
            else:
                queue.put(step)
                if step["type"] == "metric" and message_waits():
                    break
            if self._interrupted.is_set():
                queue.put(interrupt())
                return
        queue.put(end())


async def paused(agent: ScriptedAgent) -> None:
    """A step that waits until the test opens the agent's gate."""
    await agent.gate.wait()
