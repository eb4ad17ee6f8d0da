"""Runs attempts at tasks: each with an agent, a project and a store of its own, which are removed with it.

Invariant: the user's configuration gives providers and keys, and nothing else of the user's is used: no
store, profile, permission rule, instruction, MCP server or project.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase

from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.child_processes import run_helper
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings
from cogency_tui.errors import CogencyError
from cogency_tui.evals.figures import Figures, figures_of, malformed_in
from cogency_tui.evals.tasks import Outcome, Task
from cogency_tui.protocol.events import Event, error_text
from cogency_tui.providers.configured_providers import create_provider, known_providers
from cogency_tui.providers.offline.provider import DELAY_VARIABLE
from cogency_tui.store.store import new_conversation_id
from cogency_tui.temporary_files import make_directory

_GIT_SECONDS = 20.0

_GIT = (
    *("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"),
    *("-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false"),
)


@dataclass(frozen=True, slots=True)
class Combination:
    """A model with a dialect, an effort and a session mode, which the report names by the `letter`. The
    `settings` may leave the name of the `model` to its provider. `priced`: the price of the model is known.
    """

    letter: str
    settings: Settings
    model: str
    priced: bool = False

    @property
    def name(self) -> str:
        """The model with its provider, as the user names it."""
        return f"{self.settings.provider}/{self.model}"

    @property
    def uses_key(self) -> bool:
        """True if its requests are made with a key, and so may be charged."""
        known = known_providers(self.settings, os.environ)
        return any(
            each.name == self.settings.provider and each.key_source and each.key_found for each in known
        )


def combine(
    models: Sequence[str],
    dialects: Sequence[str],
    mode: str | None,
    max_cost: float | None,
    efforts: Sequence[str] = (),
) -> list[Combination]:
    """Each model, named `PROVIDER/MODEL` or `PROVIDER`, with each dialect and each effort; where there are no
    names, those of the configuration. `max_cost` is in USD for each attempt.

    Raises:
        ConfigError: the configuration or one of the models cannot be used.
    """
    named = [dict(zip(("provider", "model"), _parts(each), strict=True)) for each in dict.fromkeys(models)]
    common = {"mode": mode, "budget.turn.hard": max_cost}
    chosen = [
        {**model, **common, "dialect": dialect, "effort": effort}
        for model in named or [{}]
        for dialect in dict.fromkeys(dialects) or [None]
        for effort in dict.fromkeys(efforts) or [None]
    ]
    return [_combination(_letter(number), flags) for number, flags in enumerate(chosen)]


def _parts(name: str) -> tuple[str, str]:
    """The provider and the model of `PROVIDER/MODEL`; a model's own name may have slashes."""
    provider, _, model = name.partition("/")
    return provider, model


def _letter(number: int) -> str:
    """A, B, … Z, AA, AB, …"""
    more, last = divmod(number, len(ascii_uppercase))
    return (_letter(more - 1) if more else "") + ascii_uppercase[last]


def _combination(letter: str, flags: Mapping[str, str | float | None]) -> Combination:
    settings = replace(load_settings(flags=flags), mcp={}, agents={}, workflows={}, diagnostics=False)
    provider = create_provider(settings, _environment())
    return Combination(letter, settings, provider.model, priced=provider.facts.prices is not None)


@dataclass(frozen=True, slots=True)
class Planned:
    """The attempt of this `number` at a task, from 1."""

    task: Task
    combination: Combination
    number: int


def plan(tasks: Sequence[Task], combinations: Sequence[Combination], times: int) -> Iterator[Planned]:
    """All attempts, in an order in which the first ones are a fair comparison."""
    for number in range(1, times + 1):
        for task in tasks:
            for combination in combinations:
                yield Planned(task, combination, number)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that has ended. `failure` states why it failed, and is empty if it succeeded; `dialect` is
    the one that the model wrote, `slips` are what it was sent about malformed calls. `effort_refused`: the
    model refused the effort, and used its own default.
    """

    planned: Planned
    failure: str
    figures: Figures
    dialect: str
    answer: str = ""
    slips: Sequence[str] = ()
    effort_refused: bool = False


class Evaluation:
    """Runs attempts of at most `limit` seconds each; `report` is called with each attempt that has ended."""

    def __init__(self, limit: float, report: Callable[[Attempt], None]) -> None:
        self.stopped = False
        self._limit = limit
        self._report = report
        self._turns: set[_Turn] = set()

    async def run(self, planned: Iterable[Planned], jobs: int) -> None:
        """Run the attempts, at most `jobs` at the same time, until all have ended or `stop` is called."""
        remaining = iter(planned)
        await asyncio.gather(*(self._work(remaining) for _ in range(jobs)))

    def stop(self) -> None:
        """Stop what runs, and begin no other attempt."""
        self.stopped = True
        for turn in self._turns:
            turn.stop()

    async def _work(self, remaining: Iterator[Planned]) -> None:
        for planned in remaining:
            if self.stopped:
                return
            async with _scratch() as directory:
                attempt = await self._attempt(planned, directory)
            if not self.stopped:
                self._report(attempt)

    async def _attempt(self, planned: Planned, directory: Path) -> Attempt:
        turn = _Turn(planned, directory, self._limit)
        self._turns.add(turn)
        try:
            await asyncio.to_thread(make_project, turn.project, planned.task.files)
            await turn.run()
            failure = turn.failure or ("" if self.stopped else await turn.check())
        except CogencyError as exc:
            failure = exc.advice
        except OSError as exc:
            failure = f"The temporary project cannot be used: {exc}."
        finally:
            self._turns.discard(turn)
        return turn.attempt(failure)


class _Turn:
    """The turn of one attempt, in a project below `directory`."""

    def __init__(self, planned: Planned, directory: Path, limit: float) -> None:
        self.project = directory / "project"
        self.failure = ""
        """Why the turn did not end well."""
        self._planned = planned
        self._directory = directory
        self._limit = limit
        self._dialect: str = planned.combination.settings.dialect
        self._effort_refused = False
        self._events: list[Event] = []
        self._seconds = 0.0
        self._late = False
        self._stopped = False
        self._agent: Agent | None = None

    def stop(self) -> None:
        """Interrupt the turn, as soon as it has begun."""
        self._stopped = True
        if self._agent is not None:
            self._agent.interrupt()

    async def run(self) -> None:
        """Run the turn to its end, or to the limit of time.

        Raises:
            CogencyError: it could not begin.
        """
        if self._stopped:
            return
        self._agent = agent = self._create_agent()
        conversation = new_conversation_id()
        async with agent:
            started = time.monotonic()
            timer = asyncio.get_running_loop().call_later(self._limit, self._stop_late)
            try:
                await self._read(agent, conversation)
            finally:
                timer.cancel()
                self._seconds = time.monotonic() - started
                self._effort_refused = agent.refuses(agent.effort)
        self.failure = f"stopped after {self._limit:g} s" if self._late else failure_in(self._events)

    async def _read(self, agent: Agent, conversation: str) -> None:
        prompt = self._planned.task.prompt
        async for event in agent.stream(prompt, conversation_id=conversation, chunks=False):
            self._events.append(event)
            if event["type"] == "metric":
                # The model may not have the dialect that was chosen.
                self._dialect = event["step"].get("dialect", self._dialect)
            if self._stopped:
                # It was stopped before it began.
                agent.interrupt()

    async def check(self) -> str:
        """Why the task is not done; empty if it is."""
        task = self._planned.task
        outcome = Outcome(self.project, task.files, answer_in(self._events), self._events)
        return await asyncio.to_thread(task.check, outcome)

    def attempt(self, failure: str) -> Attempt:
        """The attempt, which has failed for this reason unless it is empty."""
        figures = figures_of(self._events, self._seconds)
        answer, slips = answer_in(self._events), malformed_in(self._events)
        return Attempt(self._planned, failure, figures, self._dialect, answer, slips, self._effort_refused)

    def _stop_late(self) -> None:
        self._late = True
        self.stop()

    def _create_agent(self) -> Agent:
        combination, task = self._planned.combination, self._planned.task
        own = {
            "COGENCY_CONFIG": str(self._directory / "config" / "config.toml"),
            "COGENCY_DATA": str(self._directory / "data"),
        }
        # With the user's own environment, whose configuration has the prices.
        provider = create_provider(combination.settings, _environment())
        settings = replace(combination.settings, permissions=task.permissions)
        agent = Agent(provider, settings=settings, project=self.project, environ={**os.environ, **own})
        agent.is_last_turn = True
        return agent


def _environment() -> dict[str, str]:
    """The user's environment; the offline model makes no pauses for show."""
    return {DELAY_VARIABLE: "0", **os.environ}


def make_project(directory: Path, files: Mapping[str, str]) -> None:
    """Create a project with these files, committed where git is installed. Blocks."""
    directory.mkdir()
    write_files(directory, files)
    environ = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    with suppress(FileNotFoundError, TimeoutError):
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
            run_helper([*_GIT, *words], seconds=_GIT_SECONDS, environ=environ, cwd=directory)


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write texts by their paths below `directory`. Blocks."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


def answer_in(events: Sequence[Event]) -> str:
    """The model's words after the last result."""
    last = max((index for index, event in enumerate(events) if event["type"] == "result"), default=-1)
    return "\n".join(event["content"] for event in events[last + 1 :] if event["type"] == "respond")


def failure_in(events: Sequence[Event]) -> str:
    """The error that ended the turn; empty if it ended well."""
    if not events or events[-1]["type"] != "end":
        return "interrupted"
    last = events[-2] if len(events) > 1 else events[-1]
    return (
        error_text(last["payload"]) if last["type"] == "error" and not last["payload"].get("notice") else ""
    )


@asynccontextmanager
async def _scratch() -> AsyncGenerator[Path]:
    """A temporary directory that is removed at the end."""
    directory = (await asyncio.to_thread(make_directory, "project")).resolve()
    try:
        yield directory
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
