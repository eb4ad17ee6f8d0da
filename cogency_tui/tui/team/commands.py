"""`/share`, the offer to share, the worker that sends, and what the screen shows of them."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.config.schema import HistorySettings, config_path
from cogency_tui.errors import CogencyError
from cogency_tui.providers.configured_providers import secrets
from cogency_tui.safe_text import one_line
from cogency_tui.team import sharing
from cogency_tui.team.address import address_of
from cogency_tui.team.background import BackgroundWorker
from cogency_tui.team.followed_settings import FileStamp
from cogency_tui.team.local_state import AUDIENCES
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.status.header import Header
from cogency_tui.tui.status.status_bar import StatusBar, work_of

if TYPE_CHECKING:
    from cogency_tui.tui.team.screen import Decision

INTERVAL = 4.0
"""Seconds after which what is shared and what waits is read again."""


class TeamCommands(FeatureCommands):
    """Shares the project of the agent behind `bridge`; `offer` asks on the start screen, or with an empty
    text no longer asks."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, offer: Callable[[str], None]) -> None:
        super().__init__(screen, bridge)
        self._offer = offer
        self._worker: BackgroundWorker | None = None
        self._settings = HistorySettings()
        """Those of the worker."""
        self._project = ""
        self._file = FileStamp(config_path())
        self._timer: Timer | None = None
        self._refreshing = asyncio.Lock()

    def handlers(self) -> dict[str, Handler]:
        return {"share": self.share}

    async def refresh(self) -> None:
        """Have a worker send what is shared, and show what waits."""
        # Turns go on without it; `/share` and `/status` report its failures.
        with suppress(CogencyError):
            async with self._refreshing:
                await self._follow_file()
                found = await self._read()
                if self._bridge.agent.lasting:
                    await self._work()
                    self._show(found)

    async def _follow_file(self) -> None:
        """Apply what the user's configuration says of the history now, if the file has changed.

        Raises:
            ConfigError: the configuration cannot be used.
        """
        if self._file.is_touched:
            self._file.note()
            await asyncio.to_thread(self._bridge.agent.follow_history)

    async def offer(self) -> None:
        """Ask whether to share the project, unless the user has answered that before."""
        with suppress(CogencyError):
            found, address = await self._read(), address_of(self._bridge.agent.settings.history)
            is_open = not (found.share or found.is_private or found.is_declined)
            if is_open and self._bridge.agent.lasting:
                self._offer(f"Share this project's conversations with {one_line(address.name)}?")

    def share(self, _argument: str = "") -> None:
        """Show how the project is shared, and ask whether and with whom to share it."""
        # Only a worker may wait for the result of a screen.
        self._screen.run_worker(self._ask, group="share", exclusive=True)

    async def _ask(self) -> None:
        from cogency_tui.tui.team.screen import ShareScreen

        try:
            terms, found = await self._terms()
            if not self._bridge.agent.lasting:
                self.warn("The store cannot be used, so nothing can be shared. Run /doctor.")
                return
            refusal = found.refusal.failure if found.refusal else ""
            screen = ShareScreen(terms, found.share, is_private=found.is_private, refusal=refusal)
            decision = await app_of(self._screen).push_screen_wait(screen)
            self._offer("")
            if decision is None and found.share is None:
                self.say("Not shared: nothing is sent. /share asks again at any time.")
            if decision is not None:
                await self._carry_out(decision, terms)
                await self.refresh()
        except CogencyError as exc:
            self.complain(exc)

    async def _terms(self) -> tuple[sharing.Terms, sharing.Sharing]:
        """Return what to ask, and how the project is shared now.

        Raises:
            ConfigError: there is no usable address.
            UsageError: the project is private, and not shared.
        """
        agent, settings = self._bridge.agent, self._bridge.agent.settings.history
        address, found = address_of(settings), await self._read()
        store = await agent.store()
        if found.share and found.is_private:
            return sharing.Terms(self._project, found.share.name, address.name, 0), found
        return await sharing.terms_of(store, settings, self._project, agent.project, ""), found

    async def _carry_out(self, decision: "Decision", terms: sharing.Terms) -> None:
        data, settings = self._bridge.agent.data, self._bridge.agent.settings.history
        match decision.answer:
            case "share":
                await asyncio.to_thread(sharing.share, data, settings, terms, decision.audience)
                self.say(f"Shared, and seen by {AUDIENCES[decision.audience]}. /share ends it.")
                # The database may be out of reach for long.
                await self.refresh()
                if problem := await sharing.apply_share(data, settings, terms):
                    self.warn(problem)
            case "never":
                await asyncio.to_thread(sharing.decline, data, terms.project)
                self.say("Not shared, and not offered again. /share shares it at any time.")
            case "end" | "withdraw":
                keep = decision.answer == "end"
                self.say("Ending the sharing …")
                self._report(await sharing.unshare(data, settings, terms.project, keep=keep))

    def _report(self, ended: sharing.Ended) -> None:
        if ended.problem:
            self.warn(f"{ended.words} {ended.problem}")
        else:
            withdrawn = f" {sharing.counted(ended.withdrawn)} withdrawn." if ended.withdrawn else ""
            self.say(ended.words + withdrawn)

    async def _read(self) -> sharing.Sharing:
        agent = self._bridge.agent
        if not self._project:
            self._project = await sharing.main_project_of(await agent.store(), agent.project)
        here = self._project, str(agent.project), self._bridge.conversation_id
        given = agent.data, agent.settings.history, *here
        return await asyncio.to_thread(sharing.read_sharing, *given)

    async def _work(self) -> None:
        """Start the worker, or one with other settings."""
        agent = self._bridge.agent
        if self._worker is None or self._settings != agent.settings.history:
            if self._worker is not None:
                await self._worker.close()
            self._settings = agent.settings.history
            keys = secrets(agent.settings, os.environ)
            self._worker = BackgroundWorker(
                agent.data, self._settings, os.environ, keys, follows=agent.follows_file
            )
            agent.closes_too(self._worker.close)
        try:
            await self._worker.start()
        except OSError as exc:
            self.warn(f"Nothing is sent to the team's database: {exc.strerror}.")

    def _show(self, found: sharing.Sharing) -> None:
        has_database = bool(self._bridge.agent.settings.history.url)
        header = self._screen.query_one(Header)
        header.move(replace(header.place, shared=_shown_of(found) if has_database else ""))
        worker = found.worker if has_database and found.has_work else None
        refusal = None if found.is_private else found.refusal
        self._screen.query_one(StatusBar).show_team(work_of(worker, found.withdrawing, refusal))
        # Another window may begin to share at any time.
        if self._timer is None and has_database:
            self._timer = self._screen.set_interval(INTERVAL, self._tick)
        elif self._timer is not None:
            (self._timer.resume if has_database else self._timer.pause)()

    def _tick(self) -> None:
        # Below a dialog each change would draw the whole screen again.
        if self._screen.is_active and not self._refreshing.locked():
            self._screen.run_worker(self.refresh, group="team")


def _shown_of(found: sharing.Sharing) -> str:
    """Return what the heading shows of the sharing of the conversation."""
    if found.share is None or found.is_private or found.withheld == "other":
        return ""
    if found.withheld:
        return found.withheld
    return "refused" if found.refusal and found.refusal.is_whole else found.share.audience
