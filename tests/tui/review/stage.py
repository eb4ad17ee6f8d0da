"""A real agent whose model does what the test wrote, in a project with files, and its review on the screen."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.review.model import HunkState
from cogency_tui.config.schema import Settings
from cogency_tui.store.store import new_conversation_id
from cogency_tui.tui.review.diff_annotations import FileTitle, ReviewHeader
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.file_list import FileList
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.review.text_editor import ReviewText, TextEditor
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, conversation_of, until
from tests.tui.screen_user import ScreenUser

LINES = "".join(f"line_{number} = {number}\n" for number in range(1, 41))


def block(name: str, **args: Any) -> str:
    """What the model writes to have a tool called."""
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


def edit(file: str, old: str, new: str) -> str:
    return block("edit", file=file, old=old, new=new)


def write(file: str, content: str) -> str:
    return block("write", file=file, content=content)


def shell(command: str) -> str:
    return block("shell", command=command)


def working(project: Path, *replies: str) -> Agent:
    """An agent whose model answers with these, each in one piece."""
    return agent_of(project, ScriptedProvider(*replies, size=10_000))


def agent_of(project: Path, provider: ScriptedProvider) -> Agent:
    return Agent(
        provider,
        project=project,
        data=project.parent / "data",
        permissions="auto",
        settings=Settings(),
    )


@asynccontextmanager
async def reviewing(
    agent: Agent, *, turns: int = 1, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator["Reviewer"]:
    """The review after so many turns."""
    async with going_on(agent, *["go"] * turns, size=size) as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        yield reviewer


@asynccontextmanager
async def going_on(
    agent: Agent, *queries: str, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator[Pilot[Any]]:
    """The app over a conversation in which the agent has answered these, which ends with it."""
    id = await answered(agent, *queries)
    async with app_over(agent, conversation_id=id).run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        yield pilot
    await agent.close()


async def answered(agent: Agent, *queries: str) -> str:
    """A conversation in which the agent has answered these; its id."""
    id = new_conversation_id()
    for query in queries:
        async for _event in agent.stream(query, conversation_id=id, chunks=False):
            pass
    return id


class Reviewer(ScreenUser[ReviewScreen]):
    """Presses keys on the review, and reads it."""

    SCREEN = ReviewScreen
    GROUPS = ("review-", "editor")

    @property
    def view(self) -> DiffView:
        return self.screen.query_one(DiffView)

    @property
    def files(self) -> FileList:
        return self.screen.query_one(FileList)

    @property
    def header(self) -> ReviewHeader:
        return self.screen.query_one(ReviewHeader)

    @property
    def title(self) -> FileTitle:
        return self.screen.query_one(FileTitle)

    @property
    def editor(self) -> TextEditor:
        return self.screen.query_one(TextEditor)

    @property
    def area(self) -> ReviewText:
        return self.screen.query_one(ReviewText)

    @property
    def states(self) -> tuple[HunkState, ...]:
        """How the hunks of the open file stand."""
        return self.view.file.file.states if self.view.file else ()

    @property
    def path(self) -> str:
        return self.view.file.file.path if self.view.file else ""

    async def open(self) -> None:
        """Open it with its key."""
        await self.pilot.press("f5")
        await self.until(lambda: self.is_open)
        await self.settled()


async def write_text(reviewer: Reviewer, text: str, *keys: str) -> None:
    """Put `text` in the place of what is in the text field, and press keys."""
    await reviewer.until(lambda: reviewer.editor.is_open)
    reviewer.area.text = text
    await reviewer.press(*keys)
