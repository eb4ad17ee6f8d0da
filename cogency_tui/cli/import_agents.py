"""`cogency-tui import --from`: imports the histories of other agents."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cogency_tui.agent.importers.importer import READERS, Importer, Tally
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.errors import UsageError, in_words
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store

_PAUSE = 2.0
"""Seconds between two looks for new events."""

_MOST_PROBLEMS = 5
_STEP = 2.0
"""Seconds between two reports of progress."""


def names_in(given: str) -> list[str]:
    """Split a list of agents' names.

    Raises:
        UsageError: one is unknown.
    """
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    if names == ["all"]:
        return list(READERS)
    for name in names:
        if name not in READERS:
            raise UsageError(f"Unknown agent {name!r}.", f"Known are {', '.join(READERS)}, and all.")
    if not names:
        raise UsageError("--from needs the name of an agent.", f"Known are {', '.join(READERS)}, and all.")
    return list(dict.fromkeys(names))


async def import_agents(
    store: Store,
    names: Sequence[str],
    project: Path | None,
    *,
    dry: bool,
    follow: bool,
    as_json: bool,
) -> int:
    """Import the sessions of these agents, of `project` or of all, and print what has come of it; if
    `follow`, go on until an interrupt. Return the exit status.
    """
    blobs = Blobs(store.database.path.parent / BLOBS)
    importer = Importer(store, blobs, Path.home(), os.environ, project)
    tallies = [await _import(importer, name, dry=dry) for name in names]
    for tally in tallies:
        _report(tally, dry=dry, as_json=as_json)
    if not any(tally.sessions or tally.unchanged or tally.unread for tally in tallies) and not as_json:
        elsewhere = sum(tally.elsewhere for tally in tallies)
        where = f" in this project. --all imports {elsewhere:,} of other projects" if elsewhere else ""
        talk(f"Nothing to import{where}.")
    unread = {tally.name: tally.unread for tally in tallies}
    while follow and not dry:
        await asyncio.sleep(_PAUSE)
        for name in names:
            tally = await _import(importer, name, dry=False)
            if tally.events or tally.unknown or tally.unread > unread[name]:
                _report(tally, dry=False, as_json=as_json)
            unread[name] = tally.unread
    return 0


async def _import(importer: Importer, name: str, *, dry: bool) -> Tally:
    tally, reported = Tally(name), time.monotonic()
    async for each in importer.run(name, dry=dry):
        tally = each
        if time.monotonic() - reported > _STEP:
            reported = time.monotonic()
            talk(f"{tally.title}: {tally.sessions:,} sessions, {tally.events:,} new events.")
    return tally


def _report(tally: Tally, *, dry: bool, as_json: bool) -> None:
    if as_json:
        print_json(asdict(tally))
        return
    if tally.sessions or tally.unchanged:
        _report_new(tally, dry=dry)
    if problems := _problems(tally):
        talk(f"{tally.title}: {in_words(problems)}{_left_alone(tally)}:")
    for problem in tally.problems[:_MOST_PROBLEMS]:
        talk(f"  {problem}")
    if len(tally.problems) > _MOST_PROBLEMS:
        talk("  … --json lists more.")


def _problems(tally: Tally) -> list[str]:
    """Say how much was left out, and why."""
    found: list[str] = []
    if tally.unread:
        unread = "1 session or folder" if tally.unread == 1 else f"{tally.unread:,} sessions or folders"
        found.append(f"{unread} could not be read")
    if tally.unknown:
        records = "1 record was" if tally.unknown == 1 else f"{tally.unknown:,} records were"
        found.append(f"{records} not understood and left out")
    if tally.cut:
        found.append("1 text was cut" if tally.cut == 1 else f"{tally.cut:,} texts were cut")
    return found


def _left_alone(tally: Tally) -> str:
    """Say why the problems may be fewer than at the last import."""
    if not tally.unchanged:
        return ""
    sessions = "1 session has" if tally.unchanged == 1 else f"{tally.unchanged:,} sessions have"
    return f" ({sessions} not changed, and not been read again)"


def _report_new(tally: Tally, *, dry: bool) -> None:
    found = "to import" if dry else "imported"
    conversations = f"{tally.conversations:,} new conversation{'' if tally.conversations == 1 else 's'}"
    events = f"{tally.events:,} new event{'' if tally.events == 1 else 's'}"
    print_text(f"{tally.title}: {conversations} and {events} {found}.")
