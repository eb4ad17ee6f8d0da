"""Actions on past conversations from their list: renaming, the trash, exports, comparisons.

Each method reports its result to the user.

Invariant: nothing is deleted, and no file is overwritten.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from textual.screen import Screen

from cogency_tui.agent.recall.recall import Where
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.recall.background_search import Place
from cogency_tui.tui.recall.export import Form, directory_of, export
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen
from cogency_tui.tui.recall.row_lines import title_of
from cogency_tui.tui.recall.rows import RecallEntry
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.workspace.protected_names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

_NAMED = 40
_NOTICE, _NOTICE_FRAME = 67, 5
"""The most cells of text in a row of a notification, and those that surround it."""

_AT_WORK: dict[State | None, str] = {
    "working": "is running. Stop it first.",
    "waiting": "is waiting for you. Answer or stop it first.",
}
"""Why an open conversation cannot be moved to the trash, by its state."""

Deed: TypeAlias = Literal["rename", "trash", "undo", "export", "compare", "statistics"]
"""The actions available in the list."""

_ABSENT: dict[Deed, str] = {
    "rename": "Only its owner can rename a conversation of the team.",
    "trash": "A conversation of the team is removed by its owner: `cogency-tui history withdraw`.",
    "export": "Open the conversation first: then it is here, and /export writes it into a file.",
    "compare": "Open the conversation first: then it is here, and can be compared in all projects (F2).",
    "statistics": "`cogency-tui usage --team` prints the usage of the team, for those who may see it.",
}
"""Why an action is not available in the team's database."""


class Opened(Protocol):
    """The conversations that are open in this program."""

    def states(self) -> Mapping[str, State]:
        """Their states, by their ids."""
        ...

    def is_shown(self, conversation_id: str) -> bool:
        """Return whether it is the one on the screen below the list."""
        ...

    def close(self, conversation_id: str) -> None:
        """Close an open conversation; a new one begins in place of the one that is shown."""
        ...


class Upkeep:
    """Runs the actions for `screen`, and notifies it of changes to its list: `renamed` gets an id and a
    title, `removed` the id of a conversation that left the list, `returned` the id of one that came back."""

    def __init__(
        self,
        screen: Screen[Any],
        agent: "Agent",
        opened: Opened,
        clock: Callable[[], float],
        *,
        renamed: Callable[[str, str], None],
        removed: Callable[[str], None] = lambda _id: None,
        returned: Callable[[str], None] = lambda _id: None,
    ) -> None:
        self._screen = screen
        self._agent = agent
        self._opened = opened
        self._clock = clock
        self._renamed = renamed
        self._removed = removed
        self._returned = returned
        self._trashed: list[RecallEntry] = []

    @property
    def can_undo(self) -> bool:
        """True if a conversation was moved to the trash here."""
        return bool(self._trashed)

    async def do(self, what: Deed, entry: RecallEntry | None, where: Place) -> None:
        """Run an action, on the conversation `entry` if it needs one; the list shows `where`."""
        if where == "team" and what in _ABSENT:
            self.report(_ABSENT[what])
        elif what == "statistics":
            self.show_statistics(where)
        elif what == "undo" and where != "trash":
            await self.undo()
        elif entry is None:
            return
        elif what == "rename":
            self.rename(entry)
        elif what == "export":
            self.export(entry)
        elif what == "compare":
            await self.compare(entry)
        elif what == "undo":
            await self.restore(entry)
        elif where == "trash":
            self.report("Already in the trash (u restore).")
        else:
            await self.trash(entry)

    def rename(self, entry: RecallEntry) -> None:
        """Ask for another title, and set it."""

        async def given(title: str | None) -> None:
            if title is not None:
                await self.set_title(entry, title)

        shown = entry.conversation.title
        app_of(self._screen).push_screen(RenameScreen(one_line(shown) if shown else ""), given)

    async def set_title(self, entry: RecallEntry, title: str) -> None:
        """Set the title; an empty one restores that from the first message."""
        try:
            await self._agent.recall.rename(entry.conversation.id, title)
        except CogencyError as exc:
            self.complain(exc)
        else:
            self._renamed(entry.conversation.id, title)

    async def trash(self, entry: RecallEntry) -> None:
        """Move a conversation to the trash; ask first about one that is open here, which is then closed."""

        async def answered(yes: bool | None) -> None:
            if yes:
                await self._trash(entry)

        id = entry.conversation.id
        if id in self._opened.states() and not self._refusal(id):
            app_of(self._screen).push_screen(Confirmation(self._describe_trashing(entry)), answered)
        else:
            await self._trash(entry)

    def _describe_trashing(self, entry: RecallEntry) -> str:
        """The question whether to move a conversation that is open here to the trash."""
        if self._opened.is_shown(entry.conversation.id):
            return "Move the open conversation to the trash? A new one begins."
        return f"Move {_name(entry)} to the trash? It is open, and will be closed."

    async def _trash(self, entry: RecallEntry) -> None:
        """Move a conversation to the trash, unless it is at work."""
        id = entry.conversation.id
        if refusal := self._refusal(id):
            self.warn(f"{_name(entry)} {refusal}")
            return
        try:
            await self._agent.recall.trash(id)
        except CogencyError as exc:
            self.complain(exc)
            return
        if id in self._opened.states():
            self._opened.close(id)
        self._trashed.append(entry)
        self._removed(entry.conversation.id)
        self.report(f"Moved {_name(entry)} to the trash (u undo).")

    def _refusal(self, id: str) -> str:
        """Why a conversation is not moved to the trash; empty if it can be."""
        background = self._agent.background
        if (state := self._opened.states().get(id)) in _AT_WORK:
            return _AT_WORK[state]
        if background and any(command.ended is None for command in background.of(id).listed()):
            return "has a command running in the background. Stop it first."
        return ""

    async def restore(self, entry: RecallEntry) -> None:
        """Restore a conversation from the list of the trash."""
        if await self._restore(entry):
            self._removed(entry.conversation.id)

    async def undo(self) -> None:
        """Undo the last move to the trash; requires `can_undo`."""
        entry = self._trashed.pop()
        if await self._restore(entry):
            self._returned(entry.conversation.id)

    async def _restore(self, entry: RecallEntry) -> bool:
        try:
            await self._agent.recall.restore(entry.conversation.id)
        except CogencyError as exc:
            self.complain(exc)
            return False
        self._trashed = [each for each in self._trashed if each.conversation.id != entry.conversation.id]
        self.report(f"Restored {_name(entry)} from the trash.")
        return True

    def export(self, entry: RecallEntry) -> None:
        """Ask for a format, and write the conversation into a file."""

        def chosen(form: Form | None) -> None:
            if form is not None:
                self.export_as(entry, form)

        dialog = ExportScreen(title_of(entry), directory_of(self._agent))
        app_of(self._screen).push_screen(dialog, chosen)

    def export_as(self, entry: RecallEntry, form: Form, path: Path | None = None) -> None:
        """Write the conversation into a new file, at `path` or else in the directory of exports."""
        # The app runs it, so that it completes even if the screen is closed in the meantime.
        app_of(self._screen).run_worker(partial(self._export, entry, form, path), group="recall-export")

    async def _export(self, entry: RecallEntry, form: Form, path: Path | None) -> None:
        try:
            path = await export(self._agent, entry.conversation, form, app_of(self._screen).theme, path)
        except CogencyError as exc:
            self.complain(exc)
        else:
            app = app_of(self._screen)
            where = _in_rows(path, app.size.width)
            app.notify(f"Exported {_name(entry)} to\n{where}", timeout=15, markup=False)

    async def compare(self, entry: RecallEntry) -> None:
        """Compare a fork with its parent, or a conversation that is no fork with its latest fork."""
        from cogency_tui.tui.recall.branch_comparison import ComparisonScreen

        recall, conversation = self._agent.recall, entry.conversation
        try:
            left, right = conversation.parent, conversation.id
            if left is None:
                tree = await recall.tree(conversation.id)
                forks = [fork.conversation for fork in tree.forks if fork.conversation.trashed is None]
                if not forks:
                    self.report("This conversation has no fork to compare with. f creates one.")
                    return
                left, right = conversation.id, forks[-1].id
            comparison = await recall.compare(left, right)
        except CogencyError as exc:
            self.complain(exc)
            return
        app_of(self._screen).push_screen(ComparisonScreen(comparison))

    def show_statistics(self, where: Place) -> None:
        """Show the statistics of periods."""
        from cogency_tui.tui.recall.statistics import StatisticsScreen

        def ask(place: Where, since: float | None) -> Any:
            return self._agent.recall.statistics(where=place, since=since)

        app_of(self._screen).push_screen(StatisticsScreen(ask, where, clock=self._clock))

    def report(self, text: str) -> None:
        """Show a notification."""
        self._screen.notify(text, markup=False)

    def warn(self, text: str) -> None:
        """Show a warning."""
        self._screen.notify(text, severity="warning", markup=False)

    def complain(self, error: CogencyError) -> None:
        """Report an error, with the next step."""
        app_of(self._screen).notify(error.advice, severity="error", markup=False)


def _in_rows(path: Path, width: int) -> str:
    """The path of a file in the notifications of a screen `width` cells wide: broken, if anywhere, before
    the name of the file."""
    shown = short_path(path)
    directory, slash, name = shown.rpartition("/")
    return shown if cells(shown) <= min(_NOTICE, width - _NOTICE_FRAME) else f"{directory}{slash}\n{name}"


def _name(entry: RecallEntry) -> str:
    return f"“{fit(title_of(entry), _NAMED)}”"
