"""The parties of a schedule: a conversation with a real agent, here or in a process of its own."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.review.model import Target
from cogency_tui.config.schema import Settings
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.test_turns import block, results, turn
from tests.peers.scripted import ScriptedProvider

Call = tuple[str, dict[str, Any]]


class Party(Protocol):
    """Works in one conversation."""

    name: str

    async def call(self, *calls: Call) -> list[bool]:
        """Have the model make these calls, each in a message; which of them were done."""
        ...

    async def decide(self, what: str, number: int) -> list[str]:
        """A decision of the user's, chosen by a number: `revert`, `all`, `undo`, `redo`, `back`, `again`.
        The paths left in conflict; `nothing` if there was nothing to decide."""
        ...


class Here:
    """A party in this process."""

    def __init__(self, name: str, agent: Agent) -> None:
        self.name, self.agent = name, agent

    async def call(self, *calls: Call) -> list[bool]:
        replies = [partial(self._reply, each) for each in calls]
        self.agent.provider = ScriptedProvider(*replies, "Done.", size=10_000)
        events = await turn(self.agent, conversation_id=self.name)
        return [not each["payload"]["error"] for each in results(events)]

    def _reply(self, call: Call) -> str:
        """What the model writes; a `put` is the whole file, as it is then, with other lines for one of it, or with
        what is new of these at its end, if somebody has replaced that one."""
        name, args = call
        if name != "put":
            return block(call)
        lines = (self.agent.project / args["file"]).read_text().splitlines()
        old, new = args["old"], args["new"]
        if old in lines:
            at = lines.index(old)
            lines[at : at + 1] = new
        else:
            lines += [line for line in new if line != old]
        content = "".join(f"{line}\n" for line in lines)
        return block(("write", {"file": args["file"], "content": content, "overwrite": True}))

    async def decide(self, what: str, number: int) -> list[str]:
        review, undo = self.agent.review(self.name), await self.agent.undo(self.name)
        try:
            match what:
                case "undo" | "redo":
                    plan = await (undo.of_turn() if what == "undo" else undo.redo())
                    if plan.obstacles:
                        return [each.path for each in plan.obstacles]
                    await undo.apply(plan, agreed=True)
                    return []
                case "back":
                    await review.undo()
                    return []
                case "again":
                    await review.redo()
                    return []
                case "all":
                    outcome = await review.revert(Target(None))
                case _:
                    files = [file for group in (await review.overview()).groups for file in group.files]
                    if not files:
                        return ["nothing"]
                    random = Random(number)
                    file = random.choice(files)
                    hunks = tuple(hunk.id for hunk in file.hunks if random.random() < 0.5)
                    outcome = await review.revert(Target(file.key.turn, file.path, hunks))
            return [each.path for each in outcome.conflicts]
        except UsageError:
            return ["nothing"]
        except WorkspaceError as error:
            return [str(error)]


def agent_at(project: Path, data: Path) -> Agent:
    return Agent(ScriptedProvider(), project=project, data=data, settings=Settings(), permissions="auto")


@asynccontextmanager
async def parties_here(project: Path, data: Path) -> AsyncGenerator[tuple[Here, Here]]:
    """Two in one program."""
    async with agent_at(project, data) as agent:
        beside = agent.beside()
        beside.permissions = "auto"
        yield Here("a", agent), Here("b", beside)


class Elsewhere:
    """A party in a process of its own, which is in no project yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.agent.edits.parties", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def call(self, *calls: Call) -> list[bool]:
        return await self._tell("call", *calls)

    async def decide(self, what: str, number: int) -> list[str]:
        return await self._tell("decide", what, number)

    async def enter(self, project: Path, data: Path) -> None:
        await self._tell("enter", str(project), str(data))

    async def leave(self) -> None:
        await self._tell("leave")

    def end(self) -> None:
        self._process.communicate(timeout=60)

    async def _tell(self, *request: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{json.dumps(request)}\n")
        stdin.flush()
        return json.loads(await in_thread(stdout.readline))


async def _serve(name: str) -> None:
    party: Here | None = None
    while line := await asyncio.to_thread(sys.stdin.readline):
        what, *arguments = json.loads(line)
        answer: object = None
        if what == "enter":
            agent = agent_at(Path(arguments[0]), Path(arguments[1]))
            await agent.open()
            party = Here(name, agent)
        elif party is None:
            raise ValueError(what)
        elif what == "leave":
            await party.agent.close()
        else:
            answer = await getattr(party, what)(*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
