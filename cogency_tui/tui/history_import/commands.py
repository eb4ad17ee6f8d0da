"""The command `/import`, and the offer on the start screen."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.screen import Screen

from cogency_tui.agent.importers.importer import READERS, Tally
from cogency_tui.agent.importers.jobs import count_importable, import_all
from cogency_tui.agent.importers.offer import agents_used, note_offer
from cogency_tui.errors import in_words
from cogency_tui.safe_text import one_line
from cogency_tui.store.foreign_sessions import AGENTS
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.number_format import plural

_MOST_TITLES = 3


class ImportCommands(FeatureCommands):
    """Imports histories beside `screen`; `offer` shows on the start screen what can be imported: a title, the
    names of the agents, and how much it is, or nothing.
    """

    def __init__(self, screen: Screen[Any], bridge: Bridge, offer: Callable[[str, str, str], None]) -> None:
        super().__init__(screen, bridge)
        self._offer = offer
        self._is_running = False

    def handlers(self) -> dict[str, Handler]:
        return {"import_history": self.run}

    async def make_offer(self, directory: Path, names: Sequence[str]) -> None:
        """Offer the import of what these agents have, with numbers, if there is anything."""
        if found := await count_importable(directory, names):
            await asyncio.to_thread(note_offer, directory)
            listed = in_words([each.title for each in found], _MOST_TITLES)
            events = plural(sum(each.events for each in found), "event")
            self._offer(listed, ",".join(each.name for each in found), events)

    async def run(self, argument: str = "") -> None:
        """Import the histories of the agents that are named, or of all that were used here."""
        if self._is_running:
            self.warn("An import is running. Its end is reported.")
            return
        names = [name for name in argument.replace(",", " ").lower().split() if name]
        names = [] if names == ["all"] else names
        unknown = [name for name in names if name not in READERS]
        if unknown:
            self.warn(f"Unknown agent {one_line(unknown[0])!r}. Known are {', '.join(READERS)}.")
            return
        if not self._bridge.agent.lasting:
            self.warn("The store cannot be used, so nothing can be imported. Run /doctor.")
            return
        names = names or await asyncio.to_thread(agents_used, Path.home())
        if not names:
            self.say(f"Nothing to import: none of {', '.join(AGENTS.values())} was used here.")
            return
        self._offer("", "", "")
        self._screen.run_worker(self._import(names), group="import-history")

    async def _import(self, names: Sequence[str]) -> None:
        directory = (await self._bridge.agent.store()).database.path.parent
        self._is_running = True
        listed = in_words([AGENTS[name] for name in names])
        self.say(f"Importing all projects from {listed}. You can go on working.")
        tallies: dict[str, Tally] = {}
        try:
            async for tally in import_all(directory, names):
                tallies[tally.name] = tally
        except OSError as exc:
            self.warn(f"The import failed: {exc.strerror}.")
            return
        finally:
            self._is_running = False
        self._report([*tallies.values()])

    def _report(self, tallies: list[Tally]) -> None:
        new = [each for each in tallies if each.events]
        for tally in tallies:
            if problem := _problem(tally):
                self.warn(
                    f"{tally.title}: {problem}. List: cogency-tui import --from {tally.name} --all --dry-run"
                )
        if new:
            counts = [f"{plural(each.events, 'event')} of {each.title}" for each in new]
            self.say(f"Imported {in_words(counts)}. Ctrl+R searches all projects for them.")
        else:
            self.say("Nothing new to import.")


def _problem(tally: Tally) -> str:
    """Say how much was left out; empty if nothing was."""
    unread = "1 session or folder" if tally.unread == 1 else f"{tally.unread:,} sessions or folders"
    found = [f"{unread} could not be read"] if tally.unread else []
    if tally.unknown:
        found.append(f"{plural(tally.unknown, 'record')} not understood and left out")
    if tally.cut:
        found.append(f"{plural(tally.cut, 'text')} cut")
    return ", ".join(found)
