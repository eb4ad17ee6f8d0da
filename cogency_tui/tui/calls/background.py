"""The background commands: listed in the tool calls pane, with readable output, stopped on request. When one
of the conversation ends, or writes what is watched for, the user is notified.

Commands are polled when results arrive, when a turn begins or ends, and once a second while any runs. No
timer runs otherwise.
"""

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.calls.rows import BackgroundCommand
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.call_unit import State

if TYPE_CHECKING:
    from cogency_tui.tools.shell.background import BackgroundState

INTERVAL = 1.0
"""Seconds between two polls while a command runs."""

QUIET = 30.0
"""Seconds between two notices of what the same command wrote."""


class BackgroundCommands(FeatureCommands):
    """Updates the tool calls pane of `screen` with the agent's background commands."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._timer: Timer | None = None
        self._pane: ToolCalls | None = None
        self._shown: list[BackgroundCommand] = []
        self._known: dict[str, BackgroundState] = {}
        """The commands as they were at the last poll."""
        self._notified: dict[str, float] = {}
        """When the user was last notified of what a command wrote, on the monotonic clock."""
        self._stopped: set[str] = set()
        """The commands that the user has stopped."""

    def handlers(self) -> dict[str, Handler]:
        return {}

    def refresh(self) -> None:
        """Refresh the pane with the present state of the commands."""
        background = self._bridge.agent.background
        listed = background.listed() if background else []
        for each in listed:
            self._notify(each)
        self._known = {each.id: each for each in listed}
        commands = [_as_shown(each) for each in listed]
        if commands or self._shown:
            self._shown = commands
            # A poll may come after the screen's widgets are removed, when a query would fail.
            self._pane = self._pane or self._screen.query_one(ToolCalls)
            self._pane.show_commands(commands, self._output)
        running = any(command.state == "running" for command in commands)
        if running and self._timer is None:
            self._timer = self._screen.set_interval(INTERVAL, self.refresh, name="background")
        elif not running and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _notify(self, now: "BackgroundState") -> None:
        """Notify the user of what has happened since the last poll to a command of this conversation."""
        before = self._known.get(now.id)
        if now.owner != self._bridge.conversation_id or before is None:
            return
        if now.ended is not None and before.ended is None and now.id not in self._stopped:
            text = f"{now.id} has ended: {now.described}\n$ {one_line(now.command)}"
            (self.warn if now.ended.status else self.say)(text)
        elif now.matches > before.matches and now.match and self._may_notify(now.id):
            self.say(f"{now.id}: {one_line(now.match)}")

    def _may_notify(self, id: str) -> bool:
        at = monotonic()
        if at - self._notified.get(id, -QUIET) < QUIET:
            return False
        self._notified[id] = at
        return True

    def ask_to_stop(self, command: BackgroundCommand) -> None:
        """Ask for confirmation, then stop the command."""
        from cogency_tui.tui.kit.dialogs import Confirmation

        question = f"Stop {command.id}?\n\n$ {one_line(command.command)}"

        def answered(yes: bool | None) -> None:
            if yes:
                self._screen.run_worker(partial(self._stop, command.id), group="stop")

        app_of(self._screen).push_screen(Confirmation(question), answered)

    async def _stop(self, id: str) -> None:
        background = self._bridge.agent.background
        if background is None:
            return
        try:
            self._stopped.add(id)
            # A stop once begun is completed: a half-stopped command would be left without an owner.
            stopped = await asyncio.shield(background.stop(id))
        except ToolError as exc:
            self.complain(exc)
        else:
            self.say(f"{stopped.id}: {stopped.described}")
        self.refresh()

    def _output(self, id: str) -> str:
        background = self._bridge.agent.background
        try:
            return background.output(id) if background else ""
        except ToolError:
            # The command has been dropped in favor of later ones.
            return ""


def _as_shown(listed: "BackgroundState") -> BackgroundCommand:
    ended = listed.ended
    state: State = "running" if ended is None else "done" if ended.status == 0 else "failed"
    remark = ended.described if ended is not None else ""
    found = ""
    if ended is None and listed.watched:
        found = "1 match" if listed.matches == 1 else f"{listed.matches:,} matches"
        remark = f"watching {one_line(listed.watched)}{f' · {found}' if listed.matches else ''}"
        found = found if listed.matches else "watching"
    return BackgroundCommand(listed.id, listed.command, listed.started, listed.seconds, state, remark, found)
