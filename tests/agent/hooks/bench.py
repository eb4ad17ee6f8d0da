"""A project with hooks, and a model that says what the test wrote."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cogency_tui.agent.agent import Agent
from cogency_tui.config.hooks import HookEvent, HookSettings
from cogency_tui.config.schema import Settings
from cogency_tui.protocol.events import Event, HookRun, ResultEvent
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.edits import Edits
from tests.agent.delegation import block, results
from tests.peers.scripted import Reply, ScriptedProvider

RUFF = str(Path(sys.executable).with_name("ruff"))
FORMAT = HookSettings(on="after_edit", command=[RUFF, "format", "--no-cache", "{file}"], files="*.py")


def hook(on: HookEvent | list[HookEvent], *words: str, **more: Any) -> HookSettings:
    return HookSettings(on=on, command=list(words), **more)


def shell(on: HookEvent | list[HookEvent], script: str, *words: str, **more: Any) -> HookSettings:
    """A hook that is a script; `words` are its `$1` and so on."""
    return hook(on, "sh", "-c", script, "hook", *words, **more)


class Bench:
    """Agents over one project and store, with the user's hooks."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.data = data
        self.provider = ScriptedProvider()

    def agent(
        self,
        *replies: Reply,
        hooks: dict[str, HookSettings] | None = None,
        settings: Any = None,
        **options: Any,
    ) -> Agent:
        configured = Settings(hooks=hooks or {}, claude_hooks=False, titles=False)
        if settings:
            configured = msgspec.structs.replace(configured, **settings)
        self.provider = ScriptedProvider(*replies)
        options = {"permissions": "auto", "mode": "replay", **options}
        return Agent(self.provider, project=self.root, data=self.data, settings=configured, **options)

    @property
    def sent(self) -> str:
        """The last message that the model was sent."""
        return str(self.provider.sent[-1][-1]["content"])


def call(name: str, **args: Any) -> str:
    return block((name, args))


def edit(old: str, new: str, file: str = "a.py") -> str:
    return call("edit", file=file, old=old, new=new)


async def turn(agent: Agent, query: str = "go") -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c")]


def only_result(events: Sequence[Event]) -> ResultEvent:
    (result,) = results(events)
    return result


def runs(events: Sequence[Event]) -> list[HookRun]:
    """The runs of hooks for all calls."""
    return [run for result in results(events) for run in result["payload"].get("hooks", ())]


def notices(events: Sequence[Event]) -> list[str]:
    return [event["payload"]["error"] for event in events if event["type"] == "error"]


async def edits(agent: Agent) -> list[Edit]:
    return await Edits((await agent.store()).database).of_conversation("c")
