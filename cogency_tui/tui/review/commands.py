"""Commands for the review of the conversation: opening, refreshing, and jumps back from it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec
from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.transcript.call_unit import CallUnit, FileChange
from cogency_tui.tui.transcript.units import TurnChanges, UserMessage
from cogency_tui.tui.undo.outcome import describe_undo, symbol_of

if TYPE_CHECKING:
    from cogency_tui.agent.review.model import ChangedLines, Decision, TurnLines
    from cogency_tui.agent.review.review import Review
    from cogency_tui.tui.review.screen import Jump, ReviewCommand, ReviewScreen
    from cogency_tui.workspace.diff import LineCounts


class ReviewCommands(FeatureCommands):
    """Opens the review over `screen`, whose conversation is on `display`. `changed` is called when it is
    closed, and files may have been changed in it.
    """

    def __init__(
        self, screen: Screen[Any], bridge: Bridge, display: Display, changed: Callable[[], None]
    ) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._changed = changed
        self._reviews: dict[str, Review] = {}
        self._shown: ReviewScreen | None = None
        self._state: State = "idle"
        self._uncounted = False
        self._counted = 0
        """The turns whose changes are counted."""
        self._is_counting = self._is_outdated = False

    def handlers(self) -> dict[str, Handler]:
        return {"review": self.open}

    def open(self, _argument: str = "", *, call: str = "") -> None:
        """Show the review, beginning with the changes of `call`."""
        conversation_id = self.begun()
        if conversation_id is None or self._shown is not None:
            return
        from cogency_tui.tui.review.screen import ReviewScreen

        title = self._display.transcript.title
        review = self._review_of(conversation_id)
        self._shown = ReviewScreen(review, self._bridge.agent.project, title, call)
        app_of(self._screen).push_screen(self._shown, self._closed)
        self.report_state(self._state)
        self.work()

    def report_state(self, state: State) -> None:
        """Show in an open review whether the agent works, or waits for the user."""
        self._state = state
        if self._shown is not None:
            self._screen.call_after_refresh(partial(self._shown.report_state, state))

    def refresh(self) -> None:
        """Refresh an open review."""
        self._is_outdated = True
        if self._shown is not None and self._shown.is_mounted:
            self._shown.reload()

    def note_results(self) -> None:
        """Show what the results that have come changed: together with the edits before, this may be less."""
        self.refresh()
        if self._display.transcript.has_edits:
            self._count_so_far()

    def progress(self) -> None:
        """Show what a sub-agent has changed so far: its results are not in the conversation."""
        self.refresh()
        self._count_so_far()

    def _count_so_far(self) -> None:
        """Count the agent's lines while a turn runs."""
        self._is_outdated = True
        if not self._is_counting:
            self._is_counting = True
            self._screen.run_worker(self._count_running_turn, group="changed-files-so-far")

    async def _count_running_turn(self) -> None:
        try:
            while self._is_outdated and self._bridge.working:
                self._is_outdated = False
                await self._show_net_so_far(self._bridge.conversation_id)
        finally:
            self._is_counting = False

    async def _show_net_so_far(self, conversation_id: str | None) -> None:
        if conversation_id is None:
            return
        review = self._review_of(conversation_id)
        try:
            await review.lines_of_last_turn()
            net = await review.net_lines()
            # Edits that are gone were decided by others.
            is_lost = not self._display.transcript.changes().keys() <= net.keys()
            lines = await review.changed_lines() if self._uncounted or is_lost else None
        except CogencyError:
            # The error is reported when the user opens the review.
            return
        # What has come since is counted next.
        if self._is_outdated or self._bridge.conversation_id != conversation_id:
            return
        if lines is None:
            self._show_net(net)
        else:
            self._show_lines(lines)

    def work(self) -> None:
        """Update an open review when a turn begins or ends; else count the changes of one that has ended."""
        working, shown = self._bridge.working, self._shown
        # The turn of a queued message began before the one before it was counted.
        is_behind = self._uncounted or self._display.transcript.turns > self._counted + 1
        if not working and is_behind:
            self.recount()
        if shown is not None:
            self.refresh()
        elif not (working or is_behind):
            self._count_ended_turn()

    def _count_ended_turn(self) -> None:
        conversation_id, ended = self._bridge.conversation_id, self._display.transcript.turns
        if not any(self._calls_of_last_turn()):
            self._counted = ended
        elif conversation_id is not None:
            work = partial(self._count_last_turn, conversation_id, ended)
            self._screen.run_worker(work, group="review", exclusive=True)

    def recount(self) -> None:
        """Mark the files that the agent's lines are in: commands report none, and some may have been
        reverted."""
        self._uncounted, self._counted = self._bridge.working, 0
        conversation_id = self._bridge.conversation_id
        self._screen.run_worker(self._count_comments, group="review-comments", exclusive=True)
        if conversation_id is None or not self._display.transcript.calls:
            return
        if self._uncounted:
            self._count_so_far()
        else:
            work = partial(self._recount, conversation_id)
            self._screen.run_worker(work, group="changed-files", exclusive=True)

    def note_sent(self) -> None:
        """Show that the comments were sent with a message."""
        self._screen.query_one(PromptBox).remind_of_comments(0)

    async def _count_comments(self) -> None:
        """Show how many comments go with the next message."""
        conversation_id, count = self._bridge.conversation_id, 0
        if conversation_id is not None and self._display.transcript.calls:
            try:
                count = await self._review_of(conversation_id).unsent_comments()
            except CogencyError:
                # The error is reported when the user opens the review.
                return
        if self._bridge.conversation_id == conversation_id:
            self._screen.query_one(PromptBox).remind_of_comments(count)

    async def _recount(self, conversation_id: str) -> None:
        try:
            lines = await self._review_of(conversation_id).changed_lines()
        except CogencyError:
            # The error is reported when the user opens the review.
            return
        if self._bridge.working:
            self._uncounted = True
        elif self._bridge.conversation_id == conversation_id:
            self._counted = self._display.transcript.turns
            self._show_lines(lines)

    async def _count_last_turn(self, conversation_id: str, ended: int) -> None:
        review = self._review_of(conversation_id)
        try:
            turn, lines = await review.lines_of_last_turn()
            is_changed = bool(lines.files) or self._may_be_reverted()
            net = await review.net_lines() if is_changed else {}
        except CogencyError:
            # The error is reported when the user opens the review.
            return
        # The next turn may have begun since: then the whole conversation is counted at its end.
        if self._bridge.conversation_id == conversation_id and turn == ended:
            self._counted = turn
            if is_changed:
                self._show(net, {turn: _turn_changes(lines)}, {})

    def _may_be_reverted(self) -> bool:
        """Return whether a command of the last turn may have reverted what its other results report."""
        is_run = any(call.name == "shell" for call in self._calls_of_last_turn())
        return is_run and bool(self._display.transcript.changes())

    def _calls_of_last_turn(self) -> Iterator[CallUnit]:
        transcript = self._display.transcript
        calls = takewhile(lambda index: index > transcript.turn_start, reversed(transcript.calls))
        return map(transcript.call, calls)

    def compare(self) -> None:
        """Compare the agent's files with the disk, where others have changed files."""
        self.refresh()
        conversation_id = self._bridge.conversation_id
        if conversation_id is None or conversation_id not in self._reviews:
            return
        if self._bridge.working:
            self._count_so_far()
        else:
            self._screen.run_worker(
                partial(self._compare, conversation_id), group="changed-files-on-disk", exclusive=True
            )

    async def _compare(self, conversation_id: str) -> None:
        try:
            net = await self._review_of(conversation_id).net_lines()
        except CogencyError:
            # The error is reported when the user opens the review.
            return
        is_current = self._bridge.conversation_id == conversation_id and not self._bridge.working
        if is_current and self._show_net(net):
            # Edits may be gone, or there again.
            self.recount()

    def _show_net(self, net: "Mapping[str, LineCounts]") -> bool:
        """Show these differences on the disk, if others are shown; return whether they were."""
        changes = _changes(net)
        is_new = {change.path: change for change in changes} != self._display.transcript.changes()
        if is_new:
            self._display.show_changes(changes, {}, {})
        return is_new

    def _show_lines(self, lines: "ChangedLines") -> None:
        self._show(lines.net, _changes_by_turn(lines), lines.decisions)

    def _show(
        self,
        net: "Mapping[str, LineCounts]",
        turns: Mapping[int, TurnChanges],
        decisions: "Mapping[str, Decision]",
    ) -> None:
        self._display.show_changes(_changes(net), turns, decisions)

    def _review_of(self, conversation_id: str) -> "Review":
        """The conversation's review, whose results are cached."""
        review = self._reviews.get(conversation_id)
        if review is None:
            review = self._bridge.agent.review(conversation_id)
            self._reviews = {conversation_id: review}
        return review

    async def _closed(self, answer: "Jump | ReviewCommand | None") -> None:
        from cogency_tui.tui.review.screen import Jump, ReviewCommand

        self._shown = None
        self._changed()
        if isinstance(answer, Jump):
            self._go_to(answer)
        elif isinstance(answer, ReviewCommand):
            await self._screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")

    def _go_to(self, jump: "Jump") -> None:
        """Show the call in the conversation; if it is not there, the user's message of its turn."""
        transcript = self._display.transcript
        found = transcript.call_with(jump.call)
        messages = [index for index, unit in enumerate(transcript.units) if isinstance(unit, UserMessage)]
        unit = found[0] if found else messages[jump.turn - 1] if 0 < jump.turn <= len(messages) else None
        if unit is None:
            self.warn("That turn is not shown in the conversation.")
            return
        self._display.go_to_unit(unit)


def _changes_by_turn(lines: "ChangedLines") -> dict[int, TurnChanges]:
    undos: dict[int, list[str]] = {}
    for undo in lines.undos:
        undos.setdefault(undo.after, []).append(f"{symbol_of(undo)} {describe_undo(undo)}")
    nothing = TurnChanges("", [])
    made = {turn: _turn_changes(own) for turn, own in lines.turns.items()}
    return made | {
        turn: msgspec.structs.replace(made.get(turn, nothing), undos=texts) for turn, texts in undos.items()
    }


def _turn_changes(lines: "TurnLines") -> TurnChanges:
    return TurnChanges(lines.call, _changes(lines.files), lines.decision)


def _changes(lines: Mapping[str, "LineCounts"]) -> list[FileChange]:
    return [FileChange(path, *counts) for path, counts in lines.items()]
