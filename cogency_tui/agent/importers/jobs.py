"""The import of other agents' histories in a process of its own, beside the interface."""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

from cogency_tui.agent.importers.importer import Importer, Tally, survey
from cogency_tui.child_processes import Job, is_abandoned
from cogency_tui.errors import CogencyError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store

VARIABLES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_DB", "XDG_DATA_HOME", "VIBE_HOME"),
    *("GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
)
"""Variables of the agents that say where they keep their sessions."""

_STEP = 0.5
"""Seconds between two reports."""

_JOB = Job("cogency_tui.agent.importers.jobs", nice=10, variables=VARIABLES)


async def count_importable(directory: Path, names: Sequence[str]) -> list[Tally]:
    """Return what there is to import of these agents into the store in `directory`, of all projects."""
    found: list[Tally] = []
    async with aclosing(_JOB.lines("survey", str(directory), *names)) as lines:
        async for line in lines:
            found.append(Tally(**json.loads(line)))
    return found


async def import_all(directory: Path, names: Sequence[str]) -> AsyncGenerator[Tally]:
    """Import the sessions of these agents, of all projects; yield the tallies from time to time, the last one
    of each agent at its end."""
    async with aclosing(_JOB.lines("import", str(directory), *names)) as lines:
        async for line in lines:
            yield Tally(**json.loads(line))


def lines(action: str, directory: str, *names: str) -> Iterator[str]:
    """The job: a tally as a line of JSON each."""
    loop = asyncio.new_event_loop()
    tallies = (_survey if action == "survey" else _import)(Path(directory), names)
    try:
        while not is_abandoned():
            try:
                yield json.dumps(asdict(loop.run_until_complete(anext(tallies))))
            except StopAsyncIteration:
                return
    finally:
        loop.run_until_complete(tallies.aclose())
        loop.close()


async def _survey(directory: Path, names: Sequence[str]) -> AsyncGenerator[Tally]:
    async with await Store.open(directory) as store:
        for tally in await survey(store, Blobs(directory / BLOBS), Path.home(), os.environ, names):
            yield tally


async def _import(directory: Path, names: Sequence[str]) -> AsyncGenerator[Tally]:
    reported = time.monotonic()
    async with await Store.open(directory) as store:
        importer = Importer(store, Blobs(directory / BLOBS), Path.home(), os.environ, None)
        for name in names:
            tally = Tally(name)
            try:
                async for tally in importer.run(name):
                    if time.monotonic() - reported > _STEP:
                        reported = time.monotonic()
                        yield tally
            except CogencyError as exc:
                tally.problems.insert(0, exc.advice)
            yield tally
