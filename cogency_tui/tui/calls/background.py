"""The background commands: listed in the tool calls pane, with readable output, stopped on request. When one
of the conversation ends, or writes what is watched for, the user is notified.

Commands are polled when results arrive, when a turn begins or ends, and once a second while any runs. No
timer runs otherwise.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
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
    """Updates the tool calls pane of `screen` with the agent's background commands. `changed` is called when
    another number of the conversation's runs, `go_to` shows the list. `others` returns the titles of the
    other open conversations, by id."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        changed: Callable[[], None],
        go_to: Callable[[], None],
        others: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        super().__init__(screen, bridge)
        self._others = others
        self._changed = changed
        self._go_to = go_to
        self._running = 0
        self._timer: Timer | None = None
        self._pane: ToolCalls | None = None
        self._shown: list[BackgroundCommand] = []
        self._known: dict[str, BackgroundState] = {}
        """The commands as they were at the last poll."""
        self._notified: dict[str, float] = {}
        """When the user was last notified of what a command wrote, on the monotonic clock."""
        self._told: dict[str, BackgroundState] = {}
        """The commands as they were when the user was last notified of what they wrote."""
        self._stopped: set[str] = set()
        """The commands that the user has stopped."""

    def handlers(self) -> dict[str, Handler]:
        return {"show_background": self.show}

    def show(self, _argument: str = "") -> None:
        """Show the list, if there is one."""
        self.refresh()
        if self._shown:
            self._go_to()
        else:
            self.say("No background processes.")

    @property
    def count(self) -> int:
        """The number of those of the conversation that run."""
        return sum(each.state == "running" and not each.conversation for each in self._shown)

    @property
    def running(self) -> list[str]:
        """Those of the conversation that run, each with its id and its command."""
        background, id = self._bridge.agent.background, self._bridge.conversation_id
        if background is None or id is None:
            return []
        listed = background.of(id).listed()
        return [f"{each.id}  {one_line(each.command)}" for each in listed if each.ended is None]

    def refresh(self) -> None:
        """Refresh the pane with the present state of the commands."""
        background = self._bridge.agent.background
        listed = background.listed() if background else []
        for each in listed:
            self._notify(each)
        self._known = {each.id: each for each in listed}
        commands = self._arranged(listed)
        if commands or self._shown:
            self._shown = commands
            # A poll may come after the screen's widgets are removed, when a query would fail.
            self._pane = self._pane or self._screen.query_one(ToolCalls)
            self._pane.show_commands(commands, self._output)
        if self.count != self._running:
            self._running = self.count
            self._changed()
        running = sum(command.state == "running" for command in commands)
        if running > 0 and self._timer is None:
            self._timer = self._screen.set_interval(INTERVAL, self.refresh, name="background")
        elif running == 0 and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _arranged(self, listed: "Sequence[BackgroundState]") -> list[BackgroundCommand]:
        """The commands of this conversation, then those of others that run. What ended with a conversation
        that is not open any more is left out; what runs for none is a sub-agent's."""
        id, titles = self._bridge.conversation_id, self._others()
        own, others = list[BackgroundCommand](), list[BackgroundCommand]()
        for each in listed:
            if each.owner in titles:
                if each.ended is None:
                    others.append(_as_shown(each, titles[each.owner]))
            elif each.ended is None or each.owner in ("", id):
                own.append(_as_shown(each))
        return own + sorted(others, key=lambda command: command.conversation)

    def _notify(self, now: "BackgroundState") -> None:
        """Notify the user of what has happened since the last poll to a command of this conversation."""
        before = self._known.get(now.id)
        if now.owner != self._bridge.conversation_id or before is None:
            return
        if now.ended is not None and before.ended is None and now.id not in self._stopped:
            text = f"{now.id} has ended: {now.described}\n$ {one_line(now.command)}"
            (self.warn if now.ended.status else self.say)(text)
        elif now.matches > before.matches and now.match and self._may_notify(now.id):
            before = self._told.get(now.id, before)
            self._told[now.id] = now
            self.say(f"{now.id}: {one_line(now.match)}{_describe_others(now, before)}")

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
            stopped = await asyncio.shield(background.stop(id, by_user=True))
        except ToolError as exc:
            self.complain(exc)
        else:
            self.say(f"{stopped.id}: {_as_you(stopped, stopped.described)}")
        self.refresh()

    def _output(self, id: str) -> str:
        background = self._bridge.agent.background
        try:
            return background.output(id) if background else ""
        except ToolError:
            # The command has been dropped in favor of later ones.
            return ""


def _as_shown(listed: "BackgroundState", conversation: str = "") -> BackgroundCommand:
    ended = listed.ended
    state: State = "running" if ended is None else "done" if ended.status == 0 else "failed"
    remark = _as_you(listed, listed.how)
    found = ""
    if ended is not None and ended.stopped:
        state, found = "interrupted", remark
    if ended is None and listed.watched:
        found = "1 match" if listed.matches == 1 else f"{listed.matches:,} matches"
        # Some of a flood is not searched.
        found = f"at least {found}" if listed.skipped and listed.matches else found
        skipped = f" · {listed.skipped:,} bytes too fast to be searched" if listed.skipped else ""
        matches = f" · {found}" if listed.matches else ""
        remark = f"watching {one_line(listed.watched)}{matches}{skipped}"
        found = found if listed.matches else "watching"
    return BackgroundCommand(
        *(listed.id, listed.command, listed.started, listed.seconds, state, remark, found), conversation
    )


def _as_you(state: "BackgroundState", text: str) -> str:
    """Address the user who has stopped the command."""
    return text.replace("by the user", "by you", 1) if state.by_user else text


def _describe_others(now: "BackgroundState", before: "BackgroundState") -> str:
    """Describe what else it wrote since then that matches, and what was not searched."""
    count, skipped = now.matches - before.matches - 1, now.skipped - before.skipped
    others = f" and {count:,} more" if count > 0 else ""
    return f"{others}{f'; {skipped:,} bytes came too fast to be searched' if skipped > 0 else ''}"
