"""A past with figures: two models in two projects over some weeks, of which one got worse."""

import json
import sqlite3
from pathlib import Path
from typing import cast

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.cycle import brief_result
from cogency_tui.protocol.events import CallState, Measure
from cogency_tui.store import usage
from cogency_tui.store.edit_records import ABSENT, FileChange, Origin, State, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store, StoredConversation

DAY = 86_400.0
NOW = 1_775_563_200.0
"""Tuesday, 7 April 2026, 12:00 UTC: in the week 2026-W15."""


class Past:
    """Fills a store: each method adds to a conversation at a moment, in days before `NOW`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._count = 0

    async def begin(
        self,
        project: Path | str,
        model: str = "openai/gpt",
        *,
        parent: str | None = None,
        call: str | None = None,
    ) -> StoredConversation:
        provider, _, name = model.partition("/")
        return await self.store.create_conversation(
            str(project), dialect="xml", provider=provider, model=name, parent=parent, call=call
        )

    async def say(self, id: str, days: float) -> int:
        """The user's message; return its number."""
        return await self.store.append(
            id, {"type": "user", "timestamp": NOW - days * DAY, "content": "go on"}
        )

    async def ask(self, id: str, days: float, model: str = "openai/gpt", **figures: object) -> None:
        """A request, sent with the events so far, and its answer."""
        provider, _, name = model.partition("/")
        moment = NOW - days * DAY
        frame = json.dumps({"provider": provider, "model": name, "system": [], "summary": ""})
        step: dict[str, object] = {
            **{"input": 1000, "output": 100, "cached": 500, "duration": 4.0, "ttft": 0.5, "writing": 1.5},
            **{"cost": 0.01, "provider": provider, "model": name, "mode": "replay"},
            **figures,
        }
        known = {figure: value for figure, value in step.items() if value is not None}

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO request_frames VALUES (?, ?)", (model, frame))
            connection.execute(
                "INSERT INTO requests (conversation_id, timestamp, since, through, frame, note, mode, sent)"
                " SELECT ?, ?, 0, coalesce(max(seq), 0), ?, '', 'replay', 1 FROM events",
                (id, moment, model),
            )
            usage.record(connection, id, cast("Measure", known))
            connection.execute(
                "UPDATE usage SET timestamp = ? WHERE id = (SELECT max(id) FROM usage)", (moment,)
            )

        await self.store.database.write(work)

    async def call(
        self, id: str, days: float, tool: str = "shell", state: CallState = "done", *, seconds: float = 0.5
    ) -> str:
        """A call with its result; return its id."""
        self._count += 1
        unit, moment = f"c{self._count}", NOW - days * DAY
        content = json.dumps({"name": tool, "args": {}})
        await self.store.append(id, {"type": "call", "timestamp": moment, "id": unit, "content": content})
        result = brief_result(unit, tool, "x", moment, state)
        result["duration"] = seconds
        await self.store.append(id, result)
        return unit

    async def edit(
        self,
        conversation: StoredConversation,
        days: float,
        path: str,
        *states: State,
        tool: str = "edit",
        caller: str = "",
        call: str = "",
    ) -> int:
        """An edit with a hunk in each of these states, in a call of its own; return its number."""
        caller = caller or conversation.id
        call = call or await self.call(caller, days, tool)
        origin = Origin(conversation.id, caller, 1, conversation.project)
        edits = Edits(self.store.database, clock=lambda: NOW - days * DAY)
        (made,) = await edits.add(
            origin, call, tool, [FileChange(path, ABSENT, Version("file", "0" * 64, 3, 0o644))]
        )
        hunks = [f"{place:012x}" for place in range(len(states))]
        parts = [(made.id, hunk) for hunk in hunks]
        marks = [(made.id, hunk, state) for hunk, state in zip(hunks, states, strict=True) if state != "new"]

        def work(connection: sqlite3.Connection) -> None:
            outline = json.dumps({"no_lines": "", "parts": parts, "hunks": []})
            connection.execute("INSERT INTO review_outlines VALUES (?, ?)", (f"1:{made.id}", outline))
            connection.executemany("INSERT INTO edit_marks VALUES (?, ?, ?, '', 0)", marks)

        await self.store.database.write(work)
        return made.id

    async def date(self, id: str, days: float) -> None:
        """Date a conversation: the store does so by the clock of the machine."""
        sql = "UPDATE conversations SET created = ?, updated = ? WHERE id = ?"
        moment = NOW - days * DAY
        await self.store.database.write(lambda connection: connection.execute(sql, (moment, moment, id)))


async def usual(agent: Agent) -> None:
    """Two models in this project, of which `gpt` fails more often in the last weeks; some work in another."""
    past = Past(await agent.store())
    for days, model, calls, failed, reverted in (
        (50, "openai/gpt", 30, 2, 3),
        (45, "anthropic/claude", 25, 2, 4),
        (20, "openai/gpt", 20, 7, 8),
        (12, "anthropic/claude", 25, 2, 4),
        (5, "openai/gpt", 15, 6, 6),
        (1, "local/qwen", 4, 1, 0),
    ):
        conversation = await past.begin(agent.project, model)
        await past.say(conversation.id, days)
        for number in range(calls):
            await past.ask(conversation.id, days, model, **_figures(model, number))
            state: CallState = "failed" if number < failed else "done"
            call = await past.call(conversation.id, days, "shell" if number % 3 else "edit", state)
            if number % 3 == 0 and state == "done":
                lost = min(3, max(0, reverted - number // 3 * 3))
                states: list[State] = ["reverted" if place < lost else "kept" for place in range(3)]
                path = f"src/checkout/part_{number % 4}.py"
                await past.edit(conversation, days, path, *states, "new", call=call)
        await past.date(conversation.id, days)
    other = await past.begin(agent.project.with_name("blog"), "openai/gpt")
    await past.say(other.id, 3)
    await past.ask(other.id, 3)
    await past.date(other.id, 3)


def _figures(model: str, number: int) -> dict[str, object]:
    if model == "local/qwen":
        return {"cost": None, "malformed": 1 if number % 2 else 0}
    return {"estimated": True} if model == "anthropic/claude" and number % 2 else {}
